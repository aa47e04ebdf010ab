// SPDX-License-Identifier: GPL-2.0
/* What the engine may look at between two calls. Views change nothing; a field that a tree lacks is 0. */
#include "fg.h"

/* What a task is expected to use when it runs again, or the sum of that on a queue. */
static u32 fg_util_est(const struct sched_avg *avg)
{
#ifdef FG_HAS_UTIL_EST_PAIR
	return max(avg->util_est.ewma, avg->util_est.enqueued & ~UTIL_AVG_UNCHANGED);
#else
	return avg->util_est & ~UTIL_AVG_UNCHANGED;
#endif
}

static void fg_view_entity(const struct sched_entity *se, struct fg_task_view *view)
{
	view->vruntime = se->vruntime;
	view->sum_exec = se->sum_exec_runtime;
	view->weight = scale_load_down(se->load.weight);
	view->on_rq = se->on_rq;
	view->load_avg = se->avg.load_avg;
	view->runnable_avg = se->avg.runnable_avg;
	view->util_avg = se->avg.util_avg;
	view->load_sum = se->avg.load_sum;
	view->runnable_sum = se->avg.runnable_sum;
	view->util_sum = se->avg.util_sum;
	view->last_update = se->avg.last_update_time;
	view->util_est = fg_util_est(&se->avg);
#ifdef FG_HAS_DEADLINE
	view->deadline = se->deadline;
	view->vlag = se->vlag;
	view->slice = se->slice;
#endif
#ifdef FG_HAS_DELAYED
	view->delayed = se->sched_delayed;
#endif
}

fg_s64 fg_view_task(u32 number, struct fg_task_view *view);
fg_s64 fg_view_task(u32 number, struct fg_task_view *view)
{
	const struct task_struct *task = fg_task(number);

	if (!task)
		return -ESRCH;
	*view = (struct fg_task_view) { };
	fg_view_entity(&task->se, view);
	view->cpu = task_cpu(task);
	view->state = fg_state(task);
	view->on_cpu = task->on_cpu;
	view->prio = task->prio;
	view->rr_slice = task->rt.time_slice;
	view->dl_throttled = task->dl.dl_throttled;
	view->dl_non_contending = task->dl.dl_non_contending;
	view->dl_yielded = task->dl.dl_yielded;
	view->dl_runtime = task->dl.runtime;
	view->dl_deadline = task->dl.deadline;
#ifdef CONFIG_UCLAMP_TASK
	view->clamp_min = uclamp_eff_value((struct task_struct *)task, UCLAMP_MIN);
	view->clamp_max = uclamp_eff_value((struct task_struct *)task, UCLAMP_MAX);
#endif
	return 0;
}

fg_s64 fg_view_queue(u32 number, u32 cpu, struct fg_queue_view *view);
fg_s64 fg_view_queue(u32 number, u32 cpu, struct fg_queue_view *view)
{
	struct task_group *group = fg_group(number);
	const struct cfs_rq *queue;
	const struct sched_entity *entity;

	if (!group || cpu >= fg_cpus)
		return -EINVAL;
	*view = (struct fg_queue_view) { };
#ifdef FG_HAS_TG_CFS_RQ
	queue = tg_cfs_rq(group, cpu);
	entity = group->parent ? tg_se(group, cpu) : NULL;
#else
	queue = group->cfs_rq[cpu];
	entity = group->parent ? group->se[cpu] : NULL;
#endif
	view->group_load_avg = atomic_long_read(&group->load_avg);
	if (entity)
		fg_view_entity(entity, &view->entity);
	view->weight = scale_load_down(queue->load.weight);
#ifdef FG_HAS_MIN_VRUNTIME
	view->min_vruntime = queue->min_vruntime;
#endif
#ifdef FG_HAS_ZERO_VRUNTIME
	view->min_vruntime = queue->zero_vruntime;
#endif
	view->load_avg = queue->avg.load_avg;
	view->runnable_avg = queue->avg.runnable_avg;
	view->util_avg = queue->avg.util_avg;
	view->load_sum = queue->avg.load_sum;
	view->runnable_sum = queue->avg.runnable_sum;
	view->util_sum = queue->avg.util_sum;
	view->last_update = queue->avg.last_update_time;
	view->util_est = fg_util_est(&queue->avg);
#ifdef FG_HAS_NR_QUEUED
	view->nr_queued = queue->nr_queued;
#else
	view->nr_queued = queue->nr_running;
#endif
#ifdef FG_HAS_H_NR_QUEUED
	view->h_nr_queued = queue->h_nr_queued;
#else
	view->h_nr_queued = queue->h_nr_running;
#endif
#ifdef CONFIG_CFS_BANDWIDTH
	view->runtime_remaining = queue->runtime_remaining;
	view->throttled = queue->throttled;
	view->pool = group->cfs_bandwidth.runtime;
#endif
	return 0;
}

/* Without real-time groups each CPU has one queue of the class; who waits there and may go is on a list of its own. */
static void fg_view_rt(const struct rq *rq, struct fg_cpu_view *view)
{
	view->rt_nr_running = rq->rt.rt_nr_running;
	view->rt_highest = rq->rt.highest_prio.curr;
	view->rt_next = rq->rt.highest_prio.next;
	view->rt_overloaded = rq->rt.overloaded;
	if (!plist_head_empty(&rq->rt.pushable_tasks))
		view->rt_first_pushable = plist_first_entry(&rq->rt.pushable_tasks, struct task_struct, pushable_tasks)->pid;
	view->rt_util_avg = rq->avg_rt.util_avg;
	view->dl_util_avg = rq->avg_dl.util_avg;
#ifdef FG_HAS_FAIR_SERVER
	view->server_runtime = rq->fair_server.runtime;
	view->server_deadline = rq->fair_server.deadline;
	view->server_active = rq->fair_server.dl_server_active;
	view->server_throttled = rq->fair_server.dl_throttled;
#else
	view->rt_time = rq->rt.rt_time;
	view->rt_runtime = rq->rt.rt_runtime;
	view->rt_throttled = rq->rt.rt_throttled;
#endif
}

static void fg_view_dl(const struct rq *rq, struct fg_cpu_view *view)
{
	struct rb_node *first = rb_first_cached(&rq->dl.pushable_dl_tasks_root);

	view->dl_nr_running = rq->dl.dl_nr_running;
	view->dl_earliest = rb_first_cached(&rq->dl.root) ? rq->dl.earliest_dl.curr : 0;
	view->dl_overloaded = rq->dl.overloaded;
	view->dl_running_bw = rq->dl.running_bw;
	view->dl_this_bw = rq->dl.this_bw;
	view->dl_total_bw = rq->rd->dl_bw.total_bw;
	if (first)
		view->dl_first_pushable = rb_entry(first, struct task_struct, pushable_dl_tasks)->pid;
}

/* 1: at once; 2: at the next return to user mode, as a lazy request asks. */
static u32 fg_must_schedule(struct task_struct *task)
{
	if (test_tsk_need_resched(task))
		return FG_MUST_SCHEDULE;
	return test_tsk_thread_flag(task, TIF_NEED_RESCHED_LAZY) ? FG_MAY_SCHEDULE : 0;
}

fg_s64 fg_flags(u32 cpu);
fg_s64 fg_flags(u32 cpu)
{
	if (cpu >= fg_cpus)
		return -EINVAL;
	return fg_must_schedule(fg_running[cpu]) | (fg_running[cpu]->task_works ? FG_USER_WORKS : 0);
}

fg_s64 fg_view_cpu(u32 cpu, struct fg_cpu_view *view);
fg_s64 fg_view_cpu(u32 cpu, struct fg_cpu_view *view)
{
	struct rq *rq;
	struct sched_domain_shared *shared;

	if (cpu >= fg_cpus)
		return -EINVAL;
	*view = (struct fg_cpu_view) { };
	rq = cpu_rq(cpu);
	view->clock = rq->clock;
	view->clock_task = rq->clock_task;
	view->clock_pelt = rq->clock_pelt;
	view->next_balance = rq->next_balance;
	view->nr_switches = rq->nr_switches;
	view->capacity = rq->cpu_capacity;
	view->avg_idle = rq->avg_idle;
	view->nr_running = rq->nr_running;
	view->running = fg_name_of(fg_running[cpu]);
	view->need_resched = fg_must_schedule(fg_running[cpu]);
#ifdef FG_HAS_NR_IDLE_SCAN
	shared = rcu_dereference_raw(per_cpu(sd_llc_shared, cpu));
	view->nr_idle_scan = shared ? shared->nr_idle_scan : 0;
#endif
	view->user_works = fg_running[cpu]->task_works != NULL;
	fg_view_rt(rq, view);
	fg_view_dl(rq, view);
#ifdef CONFIG_UCLAMP_TASK
	view->clamp_min = rq->uclamp[UCLAMP_MIN].value;
	view->clamp_max = rq->uclamp[UCLAMP_MAX].value;
#endif
	view->online = cpu_online(cpu);
	view->misfit_load = rq->misfit_task_load;
	view->overutilized = rq->rd->overutilized;
#ifdef FG_HAS_ROOT_OVERLOAD
	view->overloaded = rq->rd->overload;
#else
	view->overloaded = rq->rd->overloaded;
#endif
	view->by_energy = sched_energy_enabled() && rcu_dereference_raw(rq->rd->pd);
	return 0;
}

fg_s64 fg_view_quota(u32 number, struct fg_quota_view *view);
fg_s64 fg_view_quota(u32 number, struct fg_quota_view *view)
{
	const struct task_group *group = fg_group(number);

	if (!group)
		return -EINVAL;
	*view = (struct fg_quota_view) { };
#ifdef CONFIG_CFS_BANDWIDTH
	view->quota = group->cfs_bandwidth.quota == RUNTIME_INF ? FG_UNLIMITED : group->cfs_bandwidth.quota;
	view->period = ktime_to_ns(group->cfs_bandwidth.period);
	view->nr_periods = group->cfs_bandwidth.nr_periods;
	view->nr_throttled = group->cfs_bandwidth.nr_throttled;
	view->throttled_time = group->cfs_bandwidth.throttled_time;
#endif
#if defined(CONFIG_CFS_BANDWIDTH) && defined(FG_HAS_BURST)
	view->burst = group->cfs_bandwidth.burst;
	view->nr_burst = group->cfs_bandwidth.nr_burst;
	view->burst_time = group->cfs_bandwidth.burst_time;
#endif
	return 0;
}

static struct sched_domain *fg_domain(u32 cpu, u32 level)
{
	struct sched_domain *domain = cpu < fg_cpus ? rcu_dereference_raw(cpu_rq(cpu)->sd) : NULL;

	while (domain && level--)
		domain = rcu_dereference_raw(domain->parent);
	return domain;
}

fg_s64 fg_view_domain(u32 cpu, u32 level, struct fg_domain_view *view);
fg_s64 fg_view_domain(u32 cpu, u32 level, struct fg_domain_view *view)
{
	struct sched_domain *domain = fg_domain(cpu, level);
	int member;

	if (!domain)
		return -ENOENT;
	*view = (struct fg_domain_view) { };
#ifdef FG_HAS_DOMAIN_NAME
	if (domain->name)
		fg_copy_name(view->name, domain->name, sizeof(view->name));
#endif
	view->last_balance = domain->last_balance;
	view->max_newidle_cost = domain->max_newidle_lb_cost;
	view->weight = domain->span_weight;
	view->flags = domain->flags;
	view->balance_interval = domain->balance_interval;
	view->nr_balance_failed = domain->nr_balance_failed;
	view->first_cpu = cpumask_first(sched_domain_span(domain));
	for_each_cpu(member, sched_domain_span(domain))
		if (member < 512)
			view->span[member / 32] |= 1u << (member % 32);
	return 0;
}

/* Domains start at boot, with nothing known; an engine that begins in the middle of a life sets what they have seen. */
fg_s64 fg_set_domain(u32 cpu, u32 level, u64 last_balance, fg_s64 nr_idle_scan);
fg_s64 fg_set_domain(u32 cpu, u32 level, u64 last_balance, fg_s64 nr_idle_scan)
{
	struct sched_domain *domain = fg_domain(cpu, level);

	if (!domain)
		return -ENOENT;
	domain->last_balance = last_balance;
#ifdef FG_HAS_NR_IDLE_SCAN
	if (nr_idle_scan >= 0 && domain->shared)
		domain->shared->nr_idle_scan = nr_idle_scan;
#endif
	return 0;
}

#ifdef CONFIG_FAIR_GROUP_SCHED
/*
 * A group that is made puts the queue above it on each CPU's list of queues to age. The first balance takes those off
 * again that have nothing, which a kernel makes long before a run. What stayed would come before the run's own queues.
 */
static void fg_leave_leaves(struct rq *rq)
{
	struct cfs_rq *queue, *next;

	list_for_each_entry_safe(queue, next, &rq->leaf_cfs_rq_list, leaf_cfs_rq_list) {
		/* What a group left in its sum as it was made is far below 1 of an average. */
		if (queue->load.weight || queue->avg.load_avg || queue->tg_load_avg_contrib)
			continue;
		list_del(&queue->leaf_cfs_rq_list);
		queue->on_list = 0;
		/* That has aged to nothing by then, or the queue would count as one that has load when it is released. */
		queue->avg.load_sum = queue->avg.runnable_sum = queue->avg.util_sum = 0;
	}
	rq->tmp_alone_branch = &rq->leaf_cfs_rq_list;
}
#else
static void fg_leave_leaves(struct rq *rq) {}
#endif

/* A run begins long after the boot, and finds every CPU as if it had gone idle then. */
fg_s64 fg_set_idle_since(u32 cpu, u64 ns);
fg_s64 fg_set_idle_since(u32 cpu, u64 ns)
{
	if (cpu >= fg_cpus)
		return -EINVAL;
	cpu_rq(cpu)->idle_stamp = ns;
	fg_leave_leaves(cpu_rq(cpu));
	/*
	 * A CPU on which nothing has been queued yet would hand on "never" to a task that is moved there. One that was used
	 * in the boot would have a period end with the first task, and schedutil look before that task counts. Groups that were
	 * made since have used it, and are as old as it is.
	 */
	if (!cpu_rq(cpu)->cfs.avg.last_update_time || list_empty(&root_task_group.children))
		cpu_rq(cpu)->cfs.avg.last_update_time = ns;
	fg_running[cpu]->se.exec_start = ns;
	return 0;
}

/* The switches of features.h, by name. Without debugging they are constants of the compiler, so a build has it on. */
#define SCHED_FEAT(name, enabled) #name,
static const char *const fg_features[] = {
#include "features.h"
};
#undef SCHED_FEAT

fg_s64 fg_feature(const char *name, u32 on);
fg_s64 fg_feature(const char *name, u32 on)
{
	u32 row;

	for (row = 0; row < ARRAY_SIZE(fg_features); row++) {
		if (strcmp(fg_features[row], name))
			continue;
		if (on > 1)
			return !!(sysctl_sched_features & (1ul << row));
		sysctl_sched_features &= ~(1ul << row);
		sysctl_sched_features |= (unsigned long)on << row;
		return 0;
	}
	return -ENOENT;
}

/* Tunables by the names of the tree's files, each in the unit of that file. */
fg_s64 fg_tunable(const char *name, u64 value);
fg_s64 fg_tunable(const char *name, u64 value)
{
#ifdef FG_HAS_BASE_SLICE
	if (!strcmp(name, "base_slice_ns"))
		return sysctl_sched_base_slice = value, 0;
#endif
#ifdef FG_HAS_LATENCY
	if (!strcmp(name, "latency_ns"))
		return sysctl_sched_latency = value, 0;
	if (!strcmp(name, "min_granularity_ns"))
		return sysctl_sched_min_granularity = value, 0;
	if (!strcmp(name, "wakeup_granularity_ns"))
		return sysctl_sched_wakeup_granularity = value, 0;
#endif
#ifdef CONFIG_UCLAMP_TASK
	/* No file: whether some task has asked for clamps before the run. */
	if (!strcmp(name, "clamps_used")) {
		if (value)
			static_branch_enable(&sched_uclamp_used);
		return 0;
	}
#endif
	if (!strcmp(name, "migration_cost_ns"))
		return *(u32 *)&sysctl_sched_migration_cost = value, 0;
	if (!strcmp(name, "nr_migrate"))
		return *(u32 *)&sysctl_sched_nr_migrate = value, 0;
	return -ENOENT;
}
