/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _ASM_FG_PROCESSOR_H
#define _ASM_FG_PROCESSOR_H
#include <asm/vdso/processor.h>
#include <asm/ptrace.h>
#ifndef __ASSEMBLY__
struct thread_struct { unsigned long nothing; };
#define INIT_THREAD { 0 }
#define TASK_SIZE 0x7ffffffff000UL
#define TASK_UNMAPPED_BASE 0UL
#define STACK_TOP TASK_SIZE
#define STACK_TOP_MAX TASK_SIZE
#define task_pt_regs(task) ((struct pt_regs *)0)
#define KSTK_EIP(task) 0UL
#define KSTK_ESP(task) 0UL
#define start_thread(regs, pc, sp) do { } while (0)
#define prefetch(x) ((void)(x))
#define prefetchw(x) ((void)(x))
#define ARCH_HAS_PREFETCH
#define ARCH_HAS_PREFETCHW
struct task_struct;
unsigned long __get_wchan(struct task_struct *task);
#ifndef FG_HAS_GET_WCHAN
#define get_wchan(task) __get_wchan(task)
#endif
static inline void release_thread(struct task_struct *task) { }
#endif
#endif
