// SPDX-License-Identifier: GPL-2.0
/*
 * Which CPU is entered, and who runs on it.
 *
 * A real CPU finds itself by a register. Here one host thread plays all of them, so "this CPU" is three globals: its
 * number, the offset of its data, and its current task. The engine sets them at each call.
 */
#include "fg.h"

int fg_cpu;
unsigned long fg_cpu_offset;
unsigned long fg_irqs_on = 1;
struct task_struct *fg_current = &init_task;
struct task_struct *fg_running[NR_CPUS];
unsigned long __per_cpu_offset[NR_CPUS];

/* The number by which the engine knows a task. */
u64 fg_name_of(struct task_struct *task)
{
	if (is_idle_task(task))
		return FG_IDLE;
	return task->sched_class == &stop_sched_class ? FG_STOPPER : task->pid;
}

/*
 * The request names the CPU of this call, at the time of this call. The kernel's own count of switches is in the run
 * queue; this one is for the engine, which puts the next task there.
 */
void fg_switch(struct task_struct *prev, struct task_struct *next)
{
	fg_current = next;
	fg_running[fg_cpu] = next;
	fg_request(FG_SWITCH, fg_cpu, fg_name_of(prev), fg_name_of(next));
}

/* Of the tasks here only the stoppers are kernel threads, and each is bound to its CPU. */
bool kthread_is_per_cpu(struct task_struct *task) { return task->flags & PF_KTHREAD; }

/* A task here has no stack to look at. */
unsigned long __get_wchan(struct task_struct *task) { return 0; }
