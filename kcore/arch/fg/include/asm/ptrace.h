/* SPDX-License-Identifier: GPL-2.0 */
/* No task here has registers: there is one host stack, and a task is what the scheduler knows of it. */
#ifndef _ASM_FG_PTRACE_H
#define _ASM_FG_PTRACE_H
#include <uapi/asm/ptrace.h>
#ifndef __ASSEMBLY__
struct pt_regs { unsigned long pc; };
#define user_mode(regs) 0
#define kernel_mode(regs) 1
#define profile_pc(regs) instruction_pointer(regs)
#define instruction_pointer(regs) ((regs)->pc)
#define user_stack_pointer(regs) 0UL
#define kernel_stack_pointer(regs) 0UL
#define frame_pointer(regs) 0UL
#define current_pt_regs() ((struct pt_regs *)0)
#define arch_has_single_step() 0
static inline void instruction_pointer_set(struct pt_regs *regs, unsigned long pc) { regs->pc = pc; }
static inline int regs_irqs_disabled(struct pt_regs *regs) { return 1; }
#endif
#endif
