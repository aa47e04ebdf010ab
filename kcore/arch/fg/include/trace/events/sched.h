/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The tree's own tracepoints, of which one tells the engine: who is to go to another CPU.
 *
 * The problem: a balance, a push or a stopper moves tasks, and to look for those that were moved takes a walk over all.
 * set_task_cpu() has had this tracepoint since v2.6.28. The headers that make tracepoints read this file again, and
 * make its name from parts: it must not be a macro then.
 */
#undef trace_sched_migrate_task
#include_next <trace/events/sched.h>
#ifndef FG_TRACE_MOVES
#define FG_TRACE_MOVES
void fg_moves(const struct task_struct *task, unsigned int cpu);
#endif
#define trace_sched_migrate_task(task, cpu) fg_moves(task, cpu)
