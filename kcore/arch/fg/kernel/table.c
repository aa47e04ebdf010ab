// SPDX-License-Identifier: GPL-2.0
/* The table that the engine gets: the one thing that the library exports. */
#include "fg.h"
#include <generated/utsrelease.h>

/* Each function is defined in the file that does its work. */
fg_s64 fg_boot(const struct fg_machine *machine);
const struct fg_fault *fg_get_fault(void);
const struct fg_request *fg_requests(u32 *count);
const u32 *fg_seen_rows(u32 *count);
void fg_signalled(u32 kind, u64 address, u64 caller);
struct fg_part fg_unused(void);
fg_s64 fg_feature(const char *name, u32 on);
fg_s64 fg_tunable(const char *name, u64 value);
fg_s64 fg_jiffies(u64 now, u64 count);
fg_s64 fg_fork(u32 cpu, u64 now, const struct fg_fork *how);
fg_s64 fg_start(u32 cpu, u64 now, u32 task);
fg_s64 fg_wake(u32 cpu, u64 now, u32 task, u32 how);
fg_s64 fg_schedule(u32 cpu, u64 now, u32 why);
fg_s64 fg_tick(u32 cpu, u64 now);
fg_s64 fg_softirq(u32 cpu, u64 now, u32 number);
fg_s64 fg_ipi(u32 cpu, u64 now, u32 kind);
fg_s64 fg_timer(u32 cpu, u64 now, u32 timer);
fg_s64 fg_stopper(u32 cpu, u64 now);
fg_s64 fg_exit(u32 cpu, u64 now);
fg_s64 fg_user_return(u32 cpu, u64 now);
fg_s64 fg_nice(u32 cpu, u64 now, u32 task, s32 nice);
fg_s64 fg_affinity(u32 cpu, u64 now, u32 task, const u32 *cpus, u32 count);
fg_s64 fg_set_policy(u32 cpu, u64 now, u32 task, const struct fg_policy *policy);
fg_s64 fg_group_new(u32 cpu, u64 now, u32 parent);
fg_s64 fg_group_file(u32 cpu, u64 now, u32 group, const char *file, s64 value);
fg_s64 fg_group_move(u32 cpu, u64 now, u32 task, u32 group);
fg_s64 fg_group_remove(u32 cpu, u64 now, u32 group);
fg_s64 fg_exec(u32 cpu, u64 now);
fg_s64 fg_hotplug(u32 cpu, u64 now, u32 on);
fg_s64 fg_set_frequency(u32 cpu, u64 now, u32 scale);
fg_s64 fg_policy_new(u32 cpu, u64 now, const struct fg_freq_policy *how);
fg_s64 fg_govern(u32 cpu, u64 now, u32 policy, const struct fg_governor *how);
fg_s64 fg_frequency_work(u32 cpu, u64 now, u32 policy);
fg_s64 fg_flags(u32 cpu);
fg_s64 fg_view_task(u32 task, struct fg_task_view *view);
fg_s64 fg_view_queue(u32 group, u32 cpu, struct fg_queue_view *view);
fg_s64 fg_view_cpu(u32 cpu, struct fg_cpu_view *view);
fg_s64 fg_view_quota(u32 group, struct fg_quota_view *view);
fg_s64 fg_view_domain(u32 cpu, u32 level, struct fg_domain_view *view);
fg_s64 fg_view_policy(u32 policy, struct fg_policy_view *view);
fg_s64 fg_set_domain(u32 cpu, u32 level, u64 last_balance, s64 nr_idle_scan);
fg_s64 fg_set_idle_since(u32 cpu, u64 ns);

static const struct fg_table fg_table = {
	.abi = FG_ABI_VERSION,
	.size = sizeof(struct fg_table),
	.release = UTS_RELEASE,
	.identity = fg_identity,
	.hz = HZ,
	.preemption = IS_ENABLED(CONFIG_PREEMPT_LAZY) ? 3 : IS_ENABLED(CONFIG_PREEMPTION) ? 2 :
		      IS_ENABLED(CONFIG_PREEMPT_VOLUNTARY) ? 1 : 0,
	.boot = fg_boot,
	.fault = fg_get_fault,
	.requests = fg_requests,
	.seen = fg_seen_rows,
	.log = fg_log,
	.signalled = fg_signalled,
	.unused = fg_unused,
	.feature = fg_feature,
	.tunable = fg_tunable,
	.jiffies = fg_jiffies,
	.fork = fg_fork,
	.start = fg_start,
	.wake = fg_wake,
	.schedule = fg_schedule,
	.tick = fg_tick,
	.softirq = fg_softirq,
	.ipi = fg_ipi,
	.timer = fg_timer,
	.stopper = fg_stopper,
	.exit = fg_exit,
	.user_return = fg_user_return,
	.nice = fg_nice,
	.affinity = fg_affinity,
	.policy = fg_set_policy,
	.group_new = fg_group_new,
	.group_file = fg_group_file,
	.group_move = fg_group_move,
	.group_remove = fg_group_remove,
	.exec = fg_exec,
	.hotplug = fg_hotplug,
	.frequency = fg_set_frequency,
	.policy_new = fg_policy_new,
	.govern = fg_govern,
	.frequency_work = fg_frequency_work,
	.flags = fg_flags,
	.view_task = fg_view_task,
	.view_queue = fg_view_queue,
	.view_cpu = fg_view_cpu,
	.view_quota = fg_view_quota,
	.view_domain = fg_view_domain,
	.view_policy = fg_view_policy,
	.set_domain = fg_set_domain,
	.set_idle_since = fg_set_idle_since,
};

__attribute__((visibility("default"))) const struct fg_table *fairground_kcore(void)
{
	return &fg_table;
}
