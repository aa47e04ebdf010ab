/* SPDX-License-Identifier: GPL-2.0 */
/*
 * There are no stacks to switch. The rest of __schedule() runs on the same host stack with the next task as current,
 * finish_task_switch() included. The counts of preemption agree: every task is switched out at the same depth.
 */
#ifndef _ASM_FG_SWITCH_TO_H
#define _ASM_FG_SWITCH_TO_H
struct task_struct;
void fg_switch(struct task_struct *prev, struct task_struct *next);
#define switch_to(prev, next, last)	\
do {					\
	fg_switch(prev, next);		\
	(last) = (prev);		\
} while (0)
#endif
