// SPDX-License-Identifier: GPL-2.0
/* Interrupts between CPUs and softirqs: requests to the engine, which delivers them when their time has come. */
#include "fg.h"
#include <linux/interrupt.h>
#include <linux/irq_work.h>
#include <asm/irq_regs.h>

DEFINE_PER_CPU_ALIGNED(irq_cpustat_t, irq_stat);
DEFINE_PER_CPU(struct pt_regs *, __irq_regs);

static void (*fg_softirqs[NR_SOFTIRQS])(
#ifndef FG_HAS_SOFTIRQ_VOID
	struct softirq_action *
#else
	void
#endif
	);

void arch_smp_send_reschedule(int cpu) { fg_request(FG_RESCHED, cpu, 0, 0); }
void arch_send_call_function_single_ipi(int cpu) { fg_request(FG_CALL, cpu, 0, 0); }

void arch_send_call_function_ipi_mask(const struct cpumask *mask)
{
	int cpu;

	for_each_cpu(cpu, mask)
		fg_request(FG_CALL, cpu, 0, 0);
}

/* The tree's own question came with v5.11. */
static bool fg_is_pending(struct irq_work *work) { return atomic_read(&work->node.a_flags) & IRQ_WORK_PENDING; }

/* A work for another CPU lies on the list of function calls there, as those of the tree do. */
bool irq_work_queue_on(struct irq_work *work, int cpu)
{
	if (fg_is_pending(work))
		return false;
	atomic_or(IRQ_WORK_CLAIMED | CSD_TYPE_IRQ_WORK, &work->node.a_flags);
	__smp_call_single_queue(cpu, &work->node.llist);
	return true;
}

/* A work of the CPU itself comes as soon as interrupts are on again: when the call is over. */
static struct llist_head fg_own_works;

bool irq_work_queue(struct irq_work *work)
{
	if (fg_is_pending(work))
		return false;
	atomic_or(IRQ_WORK_CLAIMED | CSD_TYPE_IRQ_WORK, &work->node.a_flags);
	llist_add(&work->node.llist, &fg_own_works);
	return true;
}

void fg_irq_works(void)
{
	struct irq_work *work, *next;

	fg_interrupt_begin();
	llist_for_each_entry_safe(work, next, llist_reverse_order(llist_del_all(&fg_own_works)), node.llist)
		irq_work_single(work);
	fg_interrupt_end();
}

void irq_work_single(void *place)
{
	struct irq_work *work = place;

	atomic_andnot(IRQ_WORK_PENDING, &work->node.a_flags);
	work->func(work);
	if (!fg_is_pending(work))
		atomic_andnot(IRQ_WORK_BUSY, &work->node.a_flags);
}

#ifdef FG_HAS_SOFTIRQ_VOID
void open_softirq(int number, void (*action)(void)) { fg_softirqs[number] = action; }
#else
void open_softirq(int number, void (*action)(struct softirq_action *)) { fg_softirqs[number] = action; }
#endif

void raise_softirq(unsigned int number) { fg_request(FG_SOFTIRQ, fg_cpu, number, 0); }
void raise_softirq_irqoff(unsigned int number) { raise_softirq(number); }
void __raise_softirq_irqoff(unsigned int number) { raise_softirq(number); }

fg_s64 fg_softirq(u32 cpu, u64 now, u32 number);
static fg_s64 fg_softirq_body(u32 number)
{
	if (number >= NR_SOFTIRQS || !fg_softirqs[number])
		return -ENOENT;
	__preempt_count_add(SOFTIRQ_OFFSET);
#ifdef FG_HAS_SOFTIRQ_VOID
	fg_softirqs[number]();
#else
	fg_softirqs[number](NULL);
#endif
	__preempt_count_sub(SOFTIRQ_OFFSET);
	return 0;
}
fg_s64 fg_softirq(u32 cpu, u64 now, u32 number) { return FG_CALL(cpu, now, fg_softirq_body(number)); }

fg_s64 fg_ipi(u32 cpu, u64 now, u32 kind);
static fg_s64 fg_ipi_body(u32 kind)
{
	fg_interrupt_begin();
	if (kind == FG_RESCHED)
		scheduler_ipi();
	else
		generic_smp_call_function_single_interrupt();
	fg_interrupt_end();
	return 0;
}
fg_s64 fg_ipi(u32 cpu, u64 now, u32 kind) { return FG_CALL(cpu, now, fg_ipi_body(kind)); }
