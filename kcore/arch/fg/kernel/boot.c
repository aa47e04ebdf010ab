// SPDX-License-Identifier: GPL-2.0
/*
 * Boot: the same steps in the same order as a kernel, without what is no scheduling.
 *
 * First the masks of CPUs and nodes, then a copy of the per-CPU data for each CPU, then sched_init() as the first task,
 * an idle task for every other CPU, and each CPU's way up; last sched_init_smp(), which builds the domains and must not
 * run as an idle task.
 */
#include "fg.h"
#include <linux/cpu.h>
#include <linux/init.h>
#include <linux/sched/init.h>
#include <linux/sched/clock.h>
#include <linux/sched/hotplug.h>

struct cpumask __cpu_possible_mask, __cpu_present_mask, __cpu_online_mask, __cpu_active_mask, __cpu_dying_mask;
#ifdef FG_HAS_ENABLED_MASK
struct cpumask __cpu_enabled_mask;
#endif
atomic_t __num_online_cpus;
#ifdef FG_HAS_NUM_POSSIBLE
unsigned int __num_possible_cpus;
#endif
nodemask_t node_states[NR_NODE_STATES];
unsigned int nr_node_ids = MAX_NUMNODES, nr_online_nodes = 1;
u64 jiffies_64 = INITIAL_JIFFIES;
enum system_states system_state = SYSTEM_SCHEDULING;
bool static_key_initialized = true;
#ifndef FG_HAS_RECLAIM_DISTANCE
int node_reclaim_distance = RECLAIM_DISTANCE;
#endif

/* Row 1 + n has bit n in its first word: cpumask_of() shifts the start of the row instead of the bit. */
#define FG_BIT(n) [1 + (n)] = { 1ul << (n) }
#define FG_BITS(n) FG_BIT(n), FG_BIT(n + 1), FG_BIT(n + 2), FG_BIT(n + 3), FG_BIT(n + 4), FG_BIT(n + 5), FG_BIT(n + 6), FG_BIT(n + 7)
const unsigned long cpu_bit_bitmap[BITS_PER_LONG + 1][BITS_TO_LONGS(NR_CPUS)] = {
	FG_BITS(0), FG_BITS(8), FG_BITS(16), FG_BITS(24), FG_BITS(32), FG_BITS(40), FG_BITS(48), FG_BITS(56),
};

/* Of the tree's files: the governor registers itself there. Calls of other levels make files of sysctl and the like. */
extern initcall_t fg_core_initcalls[] __attribute__((visibility("hidden")));
extern initcall_t fg_core_initcalls_end[] __attribute__((visibility("hidden")));

static bool fg_booted;
void fg_keep_first(void);

static void fg_masks(void)
{
	int cpu, node;

	for (cpu = 0; cpu < fg_cpus; cpu++) {
		cpumask_set_cpu(cpu, &__cpu_possible_mask);
		cpumask_set_cpu(cpu, &__cpu_present_mask);
	}
#ifdef FG_HAS_NUM_POSSIBLE
	__num_possible_cpus = fg_cpus;
#endif
	for (node = 0; node < fg_nodes; node++) {
		node_set(node, node_states[N_POSSIBLE]);
		node_set(node, node_states[N_ONLINE]);
		node_set(node, node_states[N_CPU]);
		node_set(node, node_states[N_MEMORY]);
	}
	nr_node_ids = nr_online_nodes = fg_nodes;
#if NR_CPUS > 1
#ifdef FG_HAS_SET_NR_CPU_IDS
	set_nr_cpu_ids(fg_cpus);
#else
	nr_cpu_ids = fg_cpus;
#endif
#endif
}

/* Kernel threads run on each CPU while a kernel boots: the server of the fair class is set up then. */
static void fg_boot_server(int cpu)
{
#ifdef FG_HAS_FAIR_SERVER
	struct rq *rq = cpu_rq(cpu);
	struct rq_flags flags;

	rq_lock(rq, &flags);
	update_rq_clock(rq);
	if (!rq->fair_server.dl_server) {
		dl_server_start(&rq->fair_server);
		dl_server_stop(&rq->fair_server);
	}
	rq_unlock(rq, &flags);
#endif
}

static fg_s64 fg_boot_cpus(u64 now)
{
	struct task_struct *first;
	initcall_t *call;
	int cpu;

	fg_running[0] = &init_task;
	fg_begin(0, now);
	fg_online(0);
	cpumask_set_cpu(0, &__cpu_active_mask);
	fg_irqs_on = 0;
	sched_init();
	fg_group_boot();
	fg_irqs_on = 1;
	sched_clock_init();
	init_task.flags |= PF_IDLE;
	for (cpu = 1; cpu < fg_cpus; cpu++) {
		struct task_struct *idle = fg_new_task("swapper");

		fg_set_css(idle, 0);
		init_idle(idle, cpu);
		idle->flags |= PF_IDLE;		/* as each sets when its loop begins */
		fg_running[cpu] = idle;
	}
	for (cpu = 0; cpu < fg_cpus; cpu++)
		fg_stopper_boot(cpu);
	/* Each comes as the second thread of its core, or the first: the tree counts cores that have two (sched_smt_present). */
	for (cpu = 1; cpu < fg_cpus; cpu++)
		fg_masks_leave(cpu);
	for (cpu = 1; cpu < fg_cpus; cpu++) {
		fg_begin(cpu, now);
		fg_irqs_on = 0;
		fg_masks_come(cpu);
		sched_cpu_starting(cpu);
		fg_online(cpu);
		fg_irqs_on = 1;
		sched_cpu_activate(cpu);
	}
	fg_begin(0, now);
	first = fg_new_task("init");
	fg_set_css(first, 0);
	fg_current = first;
	sched_init_smp();
	fg_current = fg_running[0];
	for (call = fg_core_initcalls; call < fg_core_initcalls_end; call++)
		(*call)();
	system_state = SYSTEM_RUNNING;
	for (cpu = 0; cpu < fg_cpus; cpu++) {
		fg_boot_server(cpu);
		clear_tsk_need_resched(fg_running[cpu]);
		/* A kernel's CPU goes idle by schedule(), which notes when that was; forks look for the latest. */
		cpu_rq(cpu)->idle_stamp = now;
		/*
		 * That schedule() also takes off what sched_init() has left there: without hotplug nobody else does, and as
		 * long as it is there the first push of real-time tasks is dropped.
		 */
		cpu_rq(cpu)->balance_callback = NULL;
	}
	return 0;
}

/* Time 0 is "never" to the averages of the tree, so a boot begins later. */
fg_s64 fg_boot(const struct fg_machine *machine);
fg_s64 fg_boot(const struct fg_machine *machine)
{
	fg_s64 wrong;

	if (fg_booted || !machine->now)
		return -EINVAL;
	fg_booted = true;
	fg_keep_first();
	wrong = fg_machine_boot(machine);
	if (wrong)
		return wrong;
	if (__builtin_setjmp(fg_way_out))
		return FG_BROKEN;
	fg_inside = 1;
	fg_masks();
	fg_place_cpus(fg_cpus);
	fg_seen_boot();
	return fg_finish(fg_boot_cpus(machine->now));
}

/* The engine's CPU that keeps the time counts jiffies; the tick of each CPU is a call of its own. */
fg_s64 fg_jiffies(u64 now, u64 count);
fg_s64 fg_jiffies(u64 now, u64 count)
{
	jiffies_64 += count;
	return 0;
}

static fg_s64 fg_tick_body(void)
{
	fg_interrupt_begin();
#ifdef FG_HAS_SCHED_TICK
	sched_tick();
#else
	scheduler_tick();
#endif
	fg_interrupt_end();
	return 0;
}
fg_s64 fg_tick(u32 cpu, u64 now);
fg_s64 fg_tick(u32 cpu, u64 now) { return FG_CALL(cpu, now, fg_tick_body()); }

static fg_s64 fg_timer_body(u32 slot)
{
	fg_s64 answer;

	fg_interrupt_begin();
	answer = fg_fire(slot);
	fg_interrupt_end();
	return answer;
}
fg_s64 fg_timer(u32 cpu, u64 now, u32 slot);
fg_s64 fg_timer(u32 cpu, u64 now, u32 slot) { return FG_CALL(cpu, now, fg_timer_body(slot)); }

fg_s64 fg_set_frequency(u32 cpu, u64 now, u32 scale);
fg_s64 fg_set_frequency(u32 cpu, u64 now, u32 scale)
{
	if (cpu >= fg_cpus || !scale || scale > SCHED_CAPACITY_SCALE)
		return -EINVAL;
	fg_frequency[cpu] = scale;
	return 0;
}
