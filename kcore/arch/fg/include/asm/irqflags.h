/* SPDX-License-Identifier: GPL-2.0 */
/* Interrupts are a flag: the engine delivers none during a call, so all that counts is what the code believes. */
#ifndef _ASM_FG_IRQFLAGS_H
#define _ASM_FG_IRQFLAGS_H
#ifndef __ASSEMBLY__
#define ARCH_IRQ_DISABLED 0
#define ARCH_IRQ_ENABLED 1
extern unsigned long fg_irqs_on;
static inline unsigned long arch_local_save_flags(void) { return fg_irqs_on; }
#define arch_local_save_flags arch_local_save_flags
static inline void arch_local_irq_restore(unsigned long flags) { fg_irqs_on = flags; }
#define arch_local_irq_restore arch_local_irq_restore
#include <asm-generic/irqflags.h>
#endif
#endif
