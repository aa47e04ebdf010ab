// SPDX-License-Identifier: GPL-2.0
/*
 * Tasks: what a fork copies from the first task of the tree, and the calls that change one.
 *
 * fork() of a kernel copies the whole struct of the parent and then repairs it. Only what the scheduler reads is
 * repaired here: the parent is always the first task as it was linked, so that a child does not depend on who ran.
 */
#include "fg.h"
#if __has_include(<linux/resume_user_mode.h>)
#include <linux/resume_user_mode.h>
#else
#include <linux/tracehook.h>
#define resume_user_mode_work tracehook_notify_resume
#endif
#include <linux/sched/task.h>
#include <uapi/linux/sched/types.h>

#define FG_TASKS (1 << 20)

static struct task_struct *fg_tasks[FG_TASKS];
static struct task_struct fg_first;
static u32 fg_task_count = 1;		/* 0 is the first task of the tree */

struct task_struct *fg_task(u32 number)
{
	return number && number < fg_task_count ? fg_tasks[number] : NULL;
}

void fg_keep_first(void);
void fg_keep_first(void) { fg_first = init_task; }

/* What a task asks for is in the struct that a fork copies; that of the first task asks for nothing once sched_init() is over. */
static void fg_ask_for_clamp(struct task_struct *task, int which, unsigned int value, bool asked)
{
#ifdef CONFIG_UCLAMP_TASK
	const unsigned int width = DIV_ROUND_CLOSEST(SCHED_CAPACITY_SCALE, UCLAMP_BUCKETS);

	task->uclamp_req[which].value = value;
	task->uclamp_req[which].bucket_id = min_t(unsigned int, value / width, UCLAMP_BUCKETS - 1);
	task->uclamp_req[which].user_defined = asked;
#endif
}

struct task_struct *fg_new_task(const char *name)
{
	struct task_struct *task;

	if (fg_task_count == FG_TASKS)
		fg_stop(FG_FULL, "tasks", 0);
	task = fg_allocate(sizeof(*task));
	*task = fg_first;
	task->pid = task->tgid = fg_task_count;
	fg_tasks[fg_task_count++] = task;
	fg_copy_name(task->comm, name, sizeof(task->comm));
	refcount_set(&task->usage, 2);
	INIT_LIST_HEAD(&task->tasks);
	INIT_LIST_HEAD(&task->cg_list);
	INIT_LIST_HEAD(&task->children);
	INIT_LIST_HEAD(&task->sibling);
	INIT_LIST_HEAD(&task->rt.run_list);
	task->group_leader = task->real_parent = task;
	task->cpus_ptr = &task->cpus_mask;
	raw_spin_lock_init(&task->pi_lock);
	fg_ask_for_clamp(task, UCLAMP_MIN, 0, false);
	fg_ask_for_clamp(task, UCLAMP_MAX, SCHED_CAPACITY_SCALE, false);
#ifdef CONFIG_RT_MUTEXES
	task->pi_waiters = RB_ROOT_CACHED;
#endif
	/* The first thread of a kernel is given the CPUs that there are, and all others come from it. */
	cpumask_copy(&task->cpus_mask, cpu_possible_mask);
	task->nr_cpus_allowed = fg_cpus;
	task->flags = 0;
	task_thread_info(task)->flags = 0;
	return task;
}

/*
 * The struct that a fork copies has policy, priority and weight of its parent: the averages of the child begin from them.
 * Deadlines are not handed on: that policy is given to the child later.
 */
static void fg_take_weight(struct task_struct *task, int nice, u32 policy, u32 priority)
{
	int row = nice - MIN_NICE;

	task->policy = policy == SCHED_DEADLINE ? SCHED_NORMAL : policy;
	task->rt_priority = priority;
	task->static_prio = NICE_TO_PRIO(nice);
	task->normal_prio = task->prio = priority ? MAX_RT_PRIO - 1 - priority : task->static_prio;
	task->se.load.weight = scale_load(sched_prio_to_weight[row]);
	task->se.load.inv_weight = sched_prio_to_wmult[row];
	if (policy == SCHED_IDLE) {
		task->se.load.weight = scale_load(WEIGHT_IDLEPRIO);
		task->se.load.inv_weight = WMULT_IDLEPRIO;
	}
}

/* The steps of a fork that are the scheduler's. It asks the running task for a priority: that is for once the child's. */
int fg_dress(struct task_struct *task, int nice, u32 policy, u32 priority, u32 group)
{
	struct kernel_clone_args arguments = { };
	int wrong, of_parent = current->normal_prio;

	fg_take_weight(task, nice, policy, priority);
	fg_set_css(task, group);
	arguments.cset = rcu_dereference_raw(task->cgroups);
	current->normal_prio = task->normal_prio;
	wrong = sched_fork(0, task);
	current->normal_prio = of_parent;
	if (wrong)
		return wrong;
#ifdef FG_HAS_CGROUP_FORK
	sched_cgroup_fork(task, &arguments);
	sched_post_fork(task);
#else
	sched_post_fork(task, &arguments);
#endif
	return 0;
}

/*
 * Who forks if no task does. Trees that place a child at fork go by the queue of the current task and by that task's
 * virtual time, and account it. A task from outside has nobody there: its parent stands at the minimum of the queue and has
 * nothing to account, and the queue is a copy.
 */
static struct task_struct *fg_outsider(u32 group)
{
#ifdef FG_HAS_FORK_PLACE
	static struct task_struct outsider;
	static struct cfs_rq queue;

	queue = *fg_group(group)->cfs_rq[fg_cpu];
	outsider = fg_first;
	outsider.se.cfs_rq = &queue;
	queue.curr = &outsider.se;
	outsider.se.vruntime = queue.min_vruntime;
	outsider.se.exec_start = S64_MAX;
	return &outsider;
#else
	return current;
#endif
}

static fg_s64 fg_fork_body(const struct fg_fork *how)
{
	struct sched_attr attr = {
		.size = sizeof(attr), .sched_policy = how->policy, .sched_nice = how->nice, .sched_priority = how->priority,
	};
	struct task_struct *task;
	int wrong;

	if (how->nice < MIN_NICE || how->nice > MAX_NICE || !fg_group(how->group) || how->priority >= MAX_RT_PRIO ||
	    !how->priority == rt_policy(how->policy))
		return -EINVAL;
	task = fg_new_task(how->name);
	if (how->clamp_min >= 0)
		fg_ask_for_clamp(task, UCLAMP_MIN, how->clamp_min, true);
	if (how->clamp_max >= 0)
		fg_ask_for_clamp(task, UCLAMP_MAX, how->clamp_max, true);
	if (how->outside) {
		fg_current = fg_outsider(how->group);
	} else {
		/* A child is a copy of its parent, its habits as a waker included. */
		task->wakee_flips = current->wakee_flips;
		task->wakee_flip_decay_ts = current->wakee_flip_decay_ts;
		task->last_wakee = current->last_wakee;
	}
	wrong = fg_dress(task, how->nice, how->policy, how->priority, how->group);
	fg_current = fg_running[fg_cpu];
	if (!wrong && task->policy != how->policy)
		wrong = sched_setattr_nocheck(task, &attr);
	return wrong ? wrong : task->pid;
}

fg_s64 fg_fork(u32 cpu, u64 now, const struct fg_fork *how);
fg_s64 fg_fork(u32 cpu, u64 now, const struct fg_fork *how) { return FG_CALL(cpu, now, fg_fork_body(how)); }

static fg_s64 fg_start_body(u32 number)
{
	struct task_struct *task = fg_task(number);

	if (!task)
		return -ESRCH;
	wake_up_new_task(task);
	return task_cpu(task);
}

fg_s64 fg_start(u32 cpu, u64 now, u32 number);
fg_s64 fg_start(u32 cpu, u64 now, u32 number) { return FG_CALL(cpu, now, fg_start_body(number)); }

/* set_task_cpu(): the tree's tracepoint says where a task goes (trace/events/sched.h). */
void fg_moves(const struct task_struct *task, unsigned int cpu)
{
	fg_request(FG_MOVE, cpu, task->pid, 0);
}

/* A timer wakes in an interrupt, a task by a call, one that ends its parent; the answer is the CPU on which the task will run. */
static fg_s64 fg_wake_body(u32 number, u32 how)
{
	struct task_struct *task = fg_task(number);
	wait_queue_entry_t entry = { .private = task };

	if (!task)
		return -ESRCH;
	if (how == FG_WAKE_TIMER) {
		fg_interrupt_begin();
		wake_up_process(task);
		fg_interrupt_end();
	} else {
		if (how == FG_WAKE_EXITS)
			current->flags |= PF_EXITING;
		default_wake_function(&entry, TASK_NORMAL, how == FG_WAKE_TASK ? 0 : WF_SYNC, NULL);
	}
	return task_cpu(task) | (fg_state(task) == TASK_WAKING ? FG_LISTED : 0);
}

fg_s64 fg_wake(u32 cpu, u64 now, u32 number, u32 how);
fg_s64 fg_wake(u32 cpu, u64 now, u32 number, u32 how) { return FG_CALL(cpu, now, fg_wake_body(number, how)); }

/*
 * The running task does the works on its list. Between two of them a kernel without preemption may schedule(): here the
 * engine calls that when the entry is over, so it must not happen in it.
 */
static void fg_do_works(void (*works)(struct task_struct *task))
{
	__preempt_count_add(PREEMPT_OFFSET);
	works(current);
	__preempt_count_sub(PREEMPT_OFFSET);
}

/* It is about to return to user mode. */
static void fg_resume(struct task_struct *task) { resume_user_mode_work(NULL); }

/*
 * schedule() of the running task. It says by its state whether it sleeps; the idle task has a door of its own. A task
 * that ends gives its last state here: the tail of do_task_dead() must not run as somebody else.
 */
static fg_s64 fg_schedule_body(u32 why)
{
	bool is_idle = is_idle_task(current);

	if (is_idle && why != FG_PREEMPTED)
		return -EINVAL;
	if (why == FG_SLEEPS)
		set_current_state(TASK_INTERRUPTIBLE);
	if (why == FG_SLEEPS_UNINTERRUPTIBLE)
		set_current_state(TASK_UNINTERRUPTIBLE);
	if (why == FG_EXITS) {
		current->flags |= PF_EXITING;
		fg_do_works(exit_task_work);
		set_special_state(TASK_DEAD);
	}
	if (is_idle)
		schedule_idle();
	else if (why == FG_YIELDS)
		yield();
	else
		schedule();
	fg_die_if_empty();
	return fg_name_of(current);
}

fg_s64 fg_schedule(u32 cpu, u64 now, u32 why);
fg_s64 fg_schedule(u32 cpu, u64 now, u32 why) { return FG_CALL(cpu, now, fg_schedule_body(why)); }
fg_s64 fg_exit(u32 cpu, u64 now);
fg_s64 fg_exit(u32 cpu, u64 now) { return FG_CALL(cpu, now, fg_schedule_body(FG_EXITS)); }

static fg_s64 fg_user_return_body(void)
{
	fg_do_works(fg_resume);
	return 0;
}

fg_s64 fg_user_return(u32 cpu, u64 now);
fg_s64 fg_user_return(u32 cpu, u64 now) { return FG_CALL(cpu, now, fg_user_return_body()); }

static fg_s64 fg_nice_body(u32 number, int nice)
{
	struct task_struct *task = fg_task(number);

	if (!task)
		return -ESRCH;
	if (nice < MIN_NICE || nice > MAX_NICE)
		return -EINVAL;
	set_user_nice(task, nice);
	return 0;
}

fg_s64 fg_nice(u32 cpu, u64 now, u32 number, s32 nice);
fg_s64 fg_nice(u32 cpu, u64 now, u32 number, s32 nice) { return FG_CALL(cpu, now, fg_nice_body(number, nice)); }

static fg_s64 fg_affinity_body(u32 number, const u32 *cpus, u32 count)
{
	static struct cpumask mask;
	struct task_struct *task = fg_task(number);
	u32 row;

	if (!task)
		return -ESRCH;
	cpumask_clear(&mask);
	for (row = 0; row < count; row++) {
		if (cpus[row] >= fg_cpus)
			return -EINVAL;
		cpumask_set_cpu(cpus[row], &mask);
	}
	if (fg_state(task) == TASK_NEW) {
		/* It has them from its parent, and nobody asks for a change. */
		cpumask_copy(&task->cpus_mask, &mask);
		task->nr_cpus_allowed = count;
#ifdef FG_HAS_MAX_CAPACITY
		/* And with them the capacity of the biggest. */
		task->sched_class->set_cpus_allowed(task, &(struct affinity_context) { .new_mask = &mask });
#endif
		return 0;
	}
	return set_cpus_allowed_ptr(task, &mask);
}

fg_s64 fg_affinity(u32 cpu, u64 now, u32 number, const u32 *cpus, u32 count);
fg_s64 fg_affinity(u32 cpu, u64 now, u32 number, const u32 *cpus, u32 count)
{
	return FG_CALL(cpu, now, fg_affinity_body(number, cpus, count));
}

static fg_s64 fg_policy_body(u32 number, const struct fg_policy *how)
{
	struct task_struct *task = fg_task(number);
	struct sched_attr attr = {
		.size = sizeof(attr), .sched_policy = how->policy, .sched_flags = how->flags,
		.sched_nice = how->nice, .sched_priority = how->priority,
		.sched_runtime = how->runtime, .sched_deadline = how->deadline, .sched_period = how->period,
		.sched_util_min = how->clamp_min, .sched_util_max = how->clamp_max,
	};

	if (!task)
		return -ESRCH;
	/* What the system call does with these flags, before it calls the scheduler. */
	if (how->flags & SCHED_FLAG_KEEP_POLICY)
		attr.sched_policy = -1;
	if (how->flags & SCHED_FLAG_KEEP_PARAMS) {
		attr.sched_nice = task_nice(task);
		attr.sched_priority = task->rt_priority;
		attr.sched_runtime = task->dl.dl_runtime;
		attr.sched_deadline = task->dl.dl_deadline;
		attr.sched_period = task->dl.dl_period;
	}
	return sched_setattr_nocheck(task, &attr);
}

fg_s64 fg_set_policy(u32 cpu, u64 now, u32 number, const struct fg_policy *how);
fg_s64 fg_set_policy(u32 cpu, u64 now, u32 number, const struct fg_policy *how)
{
	return FG_CALL(cpu, now, fg_policy_body(number, how));
}

/* The running task becomes another program. Where it goes elsewhere, its CPU's stopper takes it there. */
static fg_s64 fg_exec_body(void)
{
	if (is_idle_task(current))
		return -EINVAL;
	sched_exec();
	return 0;
}

fg_s64 fg_exec(u32 cpu, u64 now);
fg_s64 fg_exec(u32 cpu, u64 now) { return FG_CALL(cpu, now, fg_exec_body()); }
