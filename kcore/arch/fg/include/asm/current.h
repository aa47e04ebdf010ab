/* SPDX-License-Identifier: GPL-2.0 */
/* The running task of the CPU that the engine has entered. */
#ifndef _ASM_FG_CURRENT_H
#define _ASM_FG_CURRENT_H
#ifndef __ASSEMBLY__
struct task_struct;
extern struct task_struct *fg_current;
#define get_current() (fg_current)
#define current get_current()
#endif
#endif
