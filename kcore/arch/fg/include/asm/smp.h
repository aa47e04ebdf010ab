/* SPDX-License-Identifier: GPL-2.0 */
/* Interrupts to other CPUs are requests to the engine, which delivers them. */
#ifndef _ASM_FG_SMP_H
#define _ASM_FG_SMP_H
#ifndef __ASSEMBLY__
struct cpumask;
extern int fg_cpu;
#define raw_smp_processor_id() (fg_cpu)
void arch_smp_send_reschedule(int cpu);
void arch_send_call_function_single_ipi(int cpu);
void arch_send_call_function_ipi_mask(const struct cpumask *mask);

#ifndef FG_HAS_ARCH_RESCHEDULE
#define smp_send_reschedule(cpu) arch_smp_send_reschedule(cpu)
#endif
#endif
#endif
