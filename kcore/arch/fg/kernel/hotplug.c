// SPDX-License-Identifier: GPL-2.0
/*
 * CPUs that go off line and come back: the steps of the scheduler in the order of a kernel's states of hotplug.
 *
 * A CPU that goes is closed to newcomers at once. Its tasks leave one by one: each schedule() there gives the CPU to the stopper,
 * which puts the task that was to run elsewhere. When nobody is left, which an ordinary schedule() finds, the CPU dies.
 * Up to v5.10 the CPU dies at its next schedule(), and sched_cpu_dying() puts all tasks elsewhere at once.
 */
#include "fg.h"
#include <linux/cpu.h>
#include <linux/sched/hotplug.h>
#include <linux/smp.h>
#include <linux/stop_machine.h>

static bool fg_is_dying(int cpu) { return cpumask_test_cpu(cpu, &__cpu_dying_mask); }

void fg_online(int cpu)
{
	cpumask_set_cpu(cpu, &__cpu_online_mask);
	atomic_inc(&__num_online_cpus);
}

/* The last steps, by the stopper: nobody else is runnable, or is to stay. */
static int fg_die(void *nothing)
{
	cpumask_clear_cpu(fg_cpu, &__cpu_online_mask);
	atomic_dec(&__num_online_cpus);
	fg_masks_leave(fg_cpu);
	smpcfd_dying_cpu(fg_cpu);
	sched_cpu_dying(fg_cpu);
	fg_timers_leave(fg_cpu, cpumask_first(cpu_online_mask));
	return 0;
}

static void fg_begin_to_die(void)
{
	static struct cpu_stop_work works[NR_CPUS];

	stop_one_cpu_nowait(fg_cpu, fg_die, NULL, &works[fg_cpu]);
	if (is_idle_task(current)) {
		schedule_idle();
		fg_stopper_works();
	}
}

/* After each schedule(): a CPU on its way off line that has nothing left to run. */
void fg_die_if_empty(void)
{
	if (!fg_is_dying(fg_cpu) || !cpu_online(fg_cpu) || !is_idle_task(current) || cpu_rq(fg_cpu)->nr_running)
		return;
	fg_begin_to_die();
}

static fg_s64 fg_hotplug_body(u32 on)
{
	int wrong;

	if (!!on != fg_is_dying(fg_cpu))
		return -EINVAL;
	if (on) {
		cpumask_clear_cpu(fg_cpu, &__cpu_dying_mask);
		fg_irqs_on = 0;
		fg_masks_come(fg_cpu);
		sched_cpu_starting(fg_cpu);
		fg_online(fg_cpu);
		fg_irqs_on = 1;
		return sched_cpu_activate(fg_cpu);
	}
	cpumask_set_cpu(fg_cpu, &__cpu_dying_mask);
	wrong = sched_cpu_deactivate(fg_cpu);
	if (wrong) {
		cpumask_clear_cpu(fg_cpu, &__cpu_dying_mask);
		return wrong;
	}
#ifndef FG_HAS_BALANCE_PUSH
	fg_begin_to_die();
#else
	if (is_idle_task(current) && !cpu_rq(fg_cpu)->nr_running)
		fg_die_if_empty();
	else
		resched_cpu(fg_cpu);
#endif
	return 0;
}

fg_s64 fg_hotplug(u32 cpu, u64 now, u32 on);
fg_s64 fg_hotplug(u32 cpu, u64 now, u32 on) { return FG_CALL(cpu, now, fg_hotplug_body(on)); }
