// SPDX-License-Identifier: GPL-2.0
/*
 * Frequencies: what drivers/cpufreq is to the tree's own governor, schedutil.
 *
 * Each policy has its points, limits and present frequency. schedutil is asked by the tree's own hooks, and what it asks for
 * comes here. A driver that switches fast changes at once, within the call. Any other is used by the governor's thread:
 *
 *	schedutil -> irq_work -> work of the thread -> FG_FREQ_THREAD: the engine says when it runs
 *	-> __cpufreq_driver_target() -> no latency: changed; else FG_FREQ_TIMER: the engine says when that is over
 *
 * The thread is a task that is never queued: what it costs is the engine's. Other governors are rules of the engine.
 */
#include "fg.h"
#include <linux/cpufreq.h>
#include <linux/irq_work.h>
#include <linux/kthread.h>

#define FG_GOVERNORS 8

struct fg_freq {
	struct cpufreq_policy policy;
	u32 rate_limit_us;
	u64 latency;
	void *worker;			/* of the governor's thread */
	struct kthread_work *work;	/* that the thread has not begun with */
	bool woken;			/* the thread was, and does not run yet */
	u32 coming;			/* the driver is at work on this; 0: it is not */
	u32 next;			/* somebody else has asked for this meanwhile; 0: nobody */
	u64 changes;
};

static struct fg_freq *fg_freqs[NR_CPUS];
static u32 fg_freq_count;
static struct cpufreq_governor *fg_governors[FG_GOVERNORS];
/* Whose governor is being set up. */
static struct fg_freq *fg_sets_up;

int cpufreq_register_governor(struct cpufreq_governor *governor)
{
	int row = 0;

	while (row < FG_GOVERNORS && fg_governors[row])
		row++;
	if (row == FG_GOVERNORS)
		fg_stop(FG_FULL, "governors", (unsigned long)__builtin_return_address(0));
	fg_governors[row] = governor;
	return 0;
}

static struct cpufreq_governor *fg_governor_named(const char *name)
{
	int row;

	for (row = 0; row < FG_GOVERNORS && fg_governors[row]; row++)
		if (!strcmp(fg_governors[row]->name, name))
			return fg_governors[row];
	return NULL;
}

static struct fg_freq *fg_freq_of(struct cpufreq_policy *policy) { return container_of(policy, struct fg_freq, policy); }

static u32 fg_number_of(const struct fg_freq *freq)
{
	u32 row = 0;

	while (fg_freqs[row] != freq)
		row++;
	return row;
}

/* The tree asks by CPU who governs it. */
struct cpufreq_policy *cpufreq_cpu_get(unsigned int cpu)
{
	u32 row;

	for (row = 0; row < fg_freq_count; row++)
		if (cpumask_test_cpu(cpu, fg_freqs[row]->policy.cpus))
			return &fg_freqs[row]->policy;
	return NULL;
}

#ifdef FG_HAS_READY_FOR_EAS
bool cpufreq_ready_for_eas(const struct cpumask *cpus)
{
	struct cpufreq_policy *policy;
	int cpu;

	for_each_cpu(cpu, cpus) {
		policy = cpufreq_cpu_get(cpu);
		if (!policy || !sugov_is_governor(policy))
			return false;
	}
	return true;
}
#endif

/* The share of the highest frequency, in 1/1024, at least 1. */
static void fg_runs_at(struct fg_freq *freq, u32 khz)
{
	u64 share = max_t(u64, ((u64)khz << SCHED_CAPACITY_SHIFT) / freq->policy.cpuinfo.max_freq, 1);
	int cpu;

	for_each_cpu(cpu, freq->policy.cpus)
		fg_frequency[cpu] = share;
	if (khz == freq->policy.cur)
		return;
	freq->policy.cur = khz;
	freq->changes++;
	fg_request(FG_FREQ, fg_cpu, fg_number_of(freq), khz);
}

/* The lowest point within the limits that suffices. The search is the tree's, and so is what it says of points that are not worth it. */
static u32 fg_resolve(struct cpufreq_policy *policy, u32 khz, u32 relation)
{
	khz = clamp(khz, policy->min, policy->max);
#ifdef FG_HAS_TABLE_LIMITS
	return policy->freq_table[cpufreq_frequency_table_target(policy, khz, policy->min, policy->max, relation)].frequency;
#else
	return policy->freq_table[cpufreq_frequency_table_target(policy, khz, relation)].frequency;
#endif
}

/* From v5.16 on whoever asks so passes over points that cost no less than a faster one. */
#ifndef CPUFREQ_RELATION_LE
#define CPUFREQ_RELATION_LE CPUFREQ_RELATION_L
#endif
unsigned int cpufreq_driver_resolve_freq(struct cpufreq_policy *policy, unsigned int khz)
{
	return fg_resolve(policy, khz, CPUFREQ_RELATION_LE);
}

unsigned int cpufreq_driver_fast_switch(struct cpufreq_policy *policy, unsigned int khz)
{
	khz = clamp(khz, policy->min, policy->max);
	fg_runs_at(fg_freq_of(policy), khz);
	return khz;
}

/* The driver begins. A kernel's caller sleeps until it is done. Here the call returns, and fg_frequency_work() goes on. */
int __cpufreq_driver_target(struct cpufreq_policy *policy, unsigned int khz, unsigned int relation)
{
	struct fg_freq *freq = fg_freq_of(policy);

	khz = fg_resolve(policy, khz, relation);
	if (freq->coming) {
		freq->next = khz;
		return 0;
	}
	if (khz == policy->cur)
		return 0;
	if (!freq->latency) {
		fg_runs_at(freq, khz);
		return 0;
	}
	freq->coming = khz;
	fg_request(FG_FREQ_TIMER, fg_cpu, fg_number_of(freq), fg_now + freq->latency);
	return 0;
}

void cpufreq_enable_fast_switch(struct cpufreq_policy *policy) { policy->fast_switch_enabled = policy->fast_switch_possible; }
void cpufreq_disable_fast_switch(struct cpufreq_policy *policy) { policy->fast_switch_enabled = false; }
/* The rule for it is in drivers/cpufreq, so the engine gives what comes of it. */
unsigned int cpufreq_policy_transition_delay_us(struct cpufreq_policy *policy) { return fg_freq_of(policy)->rate_limit_us; }

/* The governor's thread, of the policy that is being set up. It is never queued: the engine says when it runs. */
struct task_struct *kthread_create_on_node(int (*function)(void *data), void *data, int node, const char format[], ...)
{
	struct task_struct *task = fg_new_task("sugov"), *running = fg_current;
	struct cfs_rq *queue = &this_rq()->cfs;
	struct sched_entity *entity = queue->curr;

	if (!fg_sets_up)
		fg_stop(FG_UNABLE, "kthread_create_on_node", (unsigned long)__builtin_return_address(0));
	fg_sets_up->worker = data;
	/* A kernel's kthreadd makes it. So the task that runs here is not charged up to now, as who forks is in some trees. */
	fg_current = this_rq()->idle;
	queue->curr = NULL;
	fg_dress(task, 0, SCHED_NORMAL, 0, 0);
	queue->curr = entity;
	fg_current = running;
	/*
	 * It was never queued, so it has no part in the load of a queue. Its change of policy would take that off as from the fair class,
	 * which rounds the sums of the queue: it is of another class.
	 */
	memset(&task->se.avg, 0, sizeof(task->se.avg));
	task->policy = SCHED_FIFO;
	task->rt_priority = 1;
	task->prio = task->normal_prio = MAX_RT_PRIO - 2;
	task->sched_class = &rt_sched_class;
	__set_task_cpu(task, cpumask_first(fg_sets_up->policy.cpus));
	return task;
}

bool kthread_queue_work(struct kthread_worker *worker, struct kthread_work *work)
{
	u32 row;

	for (row = 0; row < fg_freq_count; row++) {
		struct fg_freq *freq = fg_freqs[row];

		if (freq->worker != worker || freq->work == work)
			continue;
		freq->work = work;
		if (!freq->woken && !freq->coming) {
			freq->woken = true;
			fg_request(FG_FREQ_THREAD, fg_cpu, row, 0);
		}
		return true;
	}
	return false;
}

bool kthread_cancel_work_sync(struct kthread_work *work)
{
	u32 row;

	for (row = 0; row < fg_freq_count; row++)
		if (fg_freqs[row]->work == work)
			fg_freqs[row]->work = NULL;
	return false;
}

static struct fg_freq *fg_freq(u32 number) { return number < fg_freq_count ? fg_freqs[number] : NULL; }

/* The thread runs, or its driver is done. */
static fg_s64 fg_frequency_work_body(u32 number)
{
	struct fg_freq *freq = fg_freq(number);

	if (!freq)
		return -EINVAL;
	freq->woken = false;
	if (freq->coming) {
		u32 khz = freq->coming, next = freq->next;

		freq->coming = freq->next = 0;
		fg_runs_at(freq, khz);
		if (next)
			__cpufreq_driver_target(&freq->policy, next, CPUFREQ_RELATION_L);
	}
	while (freq->work && !freq->coming) {
		struct kthread_work *work = freq->work;

		freq->work = NULL;
		work->func(work);
	}
	return 0;
}

fg_s64 fg_frequency_work(u32 cpu, u64 now, u32 number);
fg_s64 fg_frequency_work(u32 cpu, u64 now, u32 number) { return FG_CALL(cpu, now, fg_frequency_work_body(number)); }

static fg_s64 fg_policy_new_body(const struct fg_freq_policy *how)
{
	struct cpufreq_frequency_table *points;
	struct fg_freq *freq;
	u32 row;

	if (!how->cpus || !how->points || fg_freq_count == NR_CPUS)
		return -EINVAL;
	freq = fg_allocate(sizeof(*freq));
	points = fg_allocate((how->points + 1) * sizeof(*points));
	for (row = 0; row < how->points; row++)
		points[row].frequency = how->khz[row];
	points[row].frequency = CPUFREQ_TABLE_END;
	freq->latency = how->latency;
	freq->policy.cpu = how->cpu[0];
	freq->policy.freq_table = points;
	freq->policy.freq_table_sorted = CPUFREQ_TABLE_SORTED_ASCENDING;
	freq->policy.cpuinfo.min_freq = how->khz[0];
	freq->policy.cpuinfo.max_freq = how->khz[how->points - 1];
	freq->policy.cpuinfo.transition_latency = how->latency;
	freq->policy.fast_switch_possible = how->fast_switch;
	/* A register is one of the CPU itself; the thread of a policy can be woken from everywhere. */
	freq->policy.dvfs_possible_from_any_cpu = !how->fast_switch;
	if (!zalloc_cpumask_var(&freq->policy.cpus, GFP_KERNEL) || !zalloc_cpumask_var(&freq->policy.related_cpus, GFP_KERNEL))
		return -ENOMEM;
	for (row = 0; row < how->cpus; row++) {
		if (how->cpu[row] >= fg_cpus)
			return -EINVAL;
		cpumask_set_cpu(how->cpu[row], freq->policy.cpus);
		cpumask_set_cpu(how->cpu[row], freq->policy.related_cpus);
	}
	fg_freqs[fg_freq_count++] = freq;
	if (how->milliwatt)
		fg_energy_model(&freq->policy, how->milliwatt, how->points);
	return fg_freq_count - 1;
}

fg_s64 fg_policy_new(u32 cpu, u64 now, const struct fg_freq_policy *how);
fg_s64 fg_policy_new(u32 cpu, u64 now, const struct fg_freq_policy *how) { return FG_CALL(cpu, now, fg_policy_new_body(how)); }

/* What limits on frequencies take of the capacity of the CPUs. */
static void fg_set_pressure(struct fg_freq *freq)
{
#ifdef FG_HAS_CPUFREQ_PRESSURE
	int cpu;

	for_each_cpu(cpu, freq->policy.cpus)
		per_cpu(cpufreq_pressure, cpu) =
			fg_capacity[cpu] - fg_capacity[cpu] * freq->policy.max / freq->policy.cpuinfo.max_freq;
#endif
}

/* A governor is stopped and given up before another one begins, also if it is the same with other tunables. */
static fg_s64 fg_govern_body(u32 number, const struct fg_governor *how)
{
	struct fg_freq *freq = fg_freq(number);
	struct cpufreq_governor *before;
	struct cpufreq_policy *policy;
	int wrong;

	if (!freq || !how->min_khz || how->min_khz > how->max_khz || !how->cur_khz)
		return -EINVAL;
	policy = &freq->policy;
	before = policy->governor;
	if (before) {
		before->stop(policy);
		before->exit(policy);
		policy->governor = NULL;
		freq->worker = NULL;
	}
	policy->min = how->min_khz;
	policy->max = how->max_khz;
	policy->cur = how->cur_khz;
	freq->rate_limit_us = how->rate_limit_us;
	fg_set_pressure(freq);
	if (!how->schedutil) {
		fg_governor_changed(policy, before);
		return how->begin_khz ? __cpufreq_driver_target(policy, how->begin_khz, CPUFREQ_RELATION_L) : 0;
	}
	policy->governor = fg_governor_named("schedutil");
	if (!policy->governor)
		return -ENOENT;
	fg_sets_up = freq;
	wrong = policy->governor->init(policy);
	fg_sets_up = NULL;
	if (wrong)
		return wrong;
	wrong = policy->governor->start(policy);
	if (wrong)
		return wrong;
	policy->governor->limits(policy);
	fg_governor_changed(policy, before);
	return 0;
}

fg_s64 fg_govern(u32 cpu, u64 now, u32 number, const struct fg_governor *how);
fg_s64 fg_govern(u32 cpu, u64 now, u32 number, const struct fg_governor *how)
{
	return FG_CALL(cpu, now, fg_govern_body(number, how));
}

fg_s64 fg_view_policy(u32 number, struct fg_policy_view *view);
fg_s64 fg_view_policy(u32 number, struct fg_policy_view *view)
{
	const struct fg_freq *freq = fg_freq(number);

	if (!freq)
		return -EINVAL;
	*view = (struct fg_policy_view) {
		.cur_khz = freq->policy.cur, .coming_khz = freq->coming, .waits = freq->work != NULL || freq->next, .changes = freq->changes,
	};
	return 0;
}
