// SPDX-License-Identifier: GPL-2.0
/*
 * What CPUs take at each frequency: what a driver tells the tree's own energy model, by which wake-ups choose among CPUs that differ.
 *
 *	points of a policy -> em_dev_register_perf_domain() -> costs, points that are not worth it
 *	governor of a policy changes -> work of the tree -> rebuild_sched_domains_energy() -> build_perf_domains(), which decides
 */
#include "fg.h"
#include <linux/cpu.h>
#include <linux/cpufreq.h>
#include <linux/device.h>
#include <linux/energy_model.h>
#include <linux/workqueue.h>

static struct device fg_devices[NR_CPUS];
/* Power is asked for by frequency, of the policy whose model is being made. */
static const struct cpufreq_frequency_table *fg_points;
static const u32 *fg_milliwatt;
/* What the tree has left for a thread of the kernel. */
static struct work_struct *fg_work;

struct device *get_cpu_device(unsigned int cpu)
{
	if (cpu >= fg_cpus)
		return NULL;
	fg_devices[cpu].bus = &cpu_subsys;
	return &fg_devices[cpu];
}

/* The lowest point from that frequency on. Trees count in mW up to v5.19. */
static int fg_power(unsigned long *power, unsigned long *khz)
{
	u32 row;

	for (row = 0; fg_points[row].frequency != CPUFREQ_TABLE_END; row++) {
		if (fg_points[row].frequency < *khz)
			continue;
		*khz = fg_points[row].frequency;
#ifdef FG_HAS_ENERGY_MICROWATT
		*power = fg_milliwatt[row] * 1000ul;
#else
		*power = fg_milliwatt[row];
#endif
		return 0;
	}
	return -ERANGE;
}

#ifdef FG_HAS_ENERGY_DEVICE_FIRST
static int fg_power_of(struct device *device, unsigned long *power, unsigned long *khz) { return fg_power(power, khz); }
#else
static int fg_power_of(unsigned long *power, unsigned long *khz, struct device *device) { return fg_power(power, khz); }
#endif

/* A model that the tree refuses is none, as with a driver: wake-ups then do not go by energy. */
void fg_energy_model(struct cpufreq_policy *policy, const u32 *milliwatt, u32 points)
{
	struct em_data_callback asks = EM_DATA_CB(fg_power_of);
	struct device *device = get_cpu_device(cpumask_first(policy->cpus));

	fg_points = policy->freq_table;
	fg_milliwatt = milliwatt;
#ifdef FG_HAS_ENERGY_UNIT
	em_dev_register_perf_domain(device, points, &asks, policy->cpus, true);
#else
	em_dev_register_perf_domain(device, points, &asks, policy->cpus);
#endif
	fg_points = NULL;
	fg_milliwatt = NULL;
}

/* Work for a thread of the kernel. The one that the scheduler leaves rebuilds domains when a governor has changed. */
bool queue_work_on(int cpu, struct workqueue_struct *queue, struct work_struct *work)
{
	if (fg_work && fg_work != work)
		fg_stop(FG_UNABLE, "queue_work_on", (unsigned long)__builtin_return_address(0));
	fg_work = work;
	return true;
}

/*
 * A policy has another governor. Up to v6.5 drivers/cpufreq says so, since then schedutil itself does. The thread runs at once.
 *
 * The tree drops the sum of deadline shares then, and cpusets count it anew. They are not in the build, and nobody has gone: it stays.
 */
void fg_governor_changed(struct cpufreq_policy *policy, struct cpufreq_governor *before)
{
	struct work_struct *work;
	u64 shares;

#ifdef FG_HAS_GOVERNOR_CHANGE
	sched_cpufreq_governor_change(policy, before);
#endif
	work = fg_work;
	fg_work = NULL;
	if (!work)
		return;
	shares = this_rq()->rd->dl_bw.total_bw;
	work->func(work);
	this_rq()->rd->dl_bw.total_bw = shares;
}
