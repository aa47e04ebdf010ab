/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What passes between the engine and a core: one table of functions, one ring of requests, plain structs.
 *
 * The rule: the engine calls, the core answers by a number and leaves requests; it never calls back. So a call is a
 * step of a machine without time, and a fault in it ends the call and nothing else.
 *
 * An answer below 0 is an error number of Linux; FG_BROKEN says that the core stopped in this or an earlier call, and
 * fault() why. Times are ns, CPUs and tasks are numbers from 0. The Rust side is crates/fairground_kcore/src/abi.rs.
 */
#ifndef FG_ABI_H
#define FG_ABI_H

#define FG_ABI_VERSION 11
#define FG_BROKEN (-10000)

typedef unsigned long long fg_u64;
typedef long long fg_s64;
typedef unsigned int fg_u32;
typedef int fg_s32;

/* What the core asks of the engine. */
enum fg_kind {
	FG_RESCHED = 1,	/* reschedule interrupt to `cpu` */
	FG_CALL,	/* function call interrupt to `cpu` */
	FG_SOFTIRQ,	/* softirq number `a` was raised on `cpu` */
	FG_TIMER,	/* timer `a` of `cpu` is due at `b` ns */
	FG_UNTIMER,	/* timer `a` is no longer wanted */
	FG_SWITCH,	/* `cpu` goes from task `a` to task `b` */
	FG_STOP,	/* the stopper of `cpu` has work and is runnable */
	FG_WARN,	/* a WARN was met; its text is the last line of log() */
	FG_FREQ,	/* the CPUs of policy `a` run at `b` kHz from now on */
	FG_FREQ_THREAD,	/* the thread that changes the frequency of policy `a` is to run */
	FG_FREQ_TIMER,	/* the driver of policy `a` is done at `b` ns */
	FG_MOVE,	/* task `a` goes to `cpu` */
};

/* 32 bytes. A task of `FG_SWITCH`: its number, FG_IDLE or FG_STOPPER. */
struct fg_request {
	fg_u32 kind;
	fg_u32 cpu;
	fg_u64 time;
	fg_u64 a;
	fg_u64 b;
};
#define FG_IDLE 0xffffffffull
#define FG_STOPPER 0xfffffffeull

/*
 * What a call has seen of other CPUs, in its order: a CPU whose run queue it looked at, or with this bit one whose lock
 * it took, its own among them.
 */
#define FG_LOCKED 0x80000000u

/* The machine. All tables have `cpus` rows; `distance` has nodes * nodes. */
struct fg_machine {
	fg_u32 cpus;
	fg_u32 nodes;
	fg_u64 seed;			/* of the random numbers that the core draws */
	fg_u64 now;			/* ns at boot: a multiple of 2^20 and of the tick, not 0 */
	const fg_u32 *core;		/* CPUs of one core are SMT siblings */
	const fg_u32 *cluster;
	const fg_u32 *package;		/* CPUs that share the last level of cache */
	const fg_u32 *node;
	const fg_u32 *capacity;		/* 1024 = the largest CPU */
	const fg_u32 *distance;
	fg_u32 invariant;		/* 1: the kernel knows at which frequency a CPU runs */
	fg_u32 nodes_in_package;	/* 1: a socket holds several nodes: no domain of a whole socket or node is below those of nodes */
};

/* CPUs that change their frequency together. */
struct fg_freq_policy {
	const fg_u32 *cpu;
	const fg_u32 *khz;		/* the points, the lowest first */
	const fg_u32 *milliwatt;	/* what one CPU takes at each; NULL: not known */
	fg_u64 latency;			/* of a change, ns */
	fg_u32 cpus, points;		/* rows of the tables */
	fg_u32 fast_switch;		/* the scheduler changes it itself */
	fg_u32 pad;
};

/* Who chooses the frequency of a policy. */
struct fg_governor {
	fg_u32 schedutil;		/* 1: the tree's; 0: a rule of the engine */
	fg_u32 min_khz, max_khz;	/* limits, points both */
	fg_u32 cur_khz;			/* at which it runs now */
	fg_u32 rate_limit_us;		/* between two changes */
	fg_u32 begin_khz;		/* without schedutil: what is asked for as it begins; 0: nothing */
};

/* A new task. */
struct fg_fork {
	fg_s32 nice;
	fg_u32 policy;			/* SCHED_NORMAL, SCHED_FIFO … as in Linux */
	fg_u32 priority;		/* of real-time tasks, 1..99 */
	fg_u32 group;			/* 0 = the root group */
	fg_u32 outside;			/* 1: not by the running task */
	fg_s32 clamp_min, clamp_max;	/* utilization clamps that it asks for, of 1024; -1: none */
	const char *name;
};

/* Policy and what goes with it, as sched_setattr() takes them. */
struct fg_policy {
	fg_u32 policy;
	fg_s32 nice;
	fg_u32 priority;
	fg_u32 flags;
	fg_u64 runtime, deadline, period;
	fg_u32 clamp_min, clamp_max;
};

/*
 * How a task is woken. The answer is its CPU, and this bit where it is on the way there, on a wake list.
 */
enum fg_wake { FG_WAKE_TIMER, FG_WAKE_TASK, FG_WAKE_SYNC, FG_WAKE_EXITS };
#define FG_LISTED (1ll << 32)

/* What a CPU is to do before its task goes on in user mode. */
enum fg_flag { FG_MUST_SCHEDULE = 1, FG_MAY_SCHEDULE = 2, FG_USER_WORKS = 4 };

/* Why schedule() is called. */
enum fg_schedule { FG_PREEMPTED, FG_SLEEPS, FG_SLEEPS_UNINTERRUPTIBLE, FG_YIELDS, FG_EXITS };

struct fg_task_view {
	fg_u64 vruntime, deadline, slice, sum_exec, weight;
	fg_s64 vlag;
	fg_u64 load_avg, runnable_avg, util_avg, last_update;
	fg_u64 load_sum, runnable_sum, util_sum;
	fg_u32 cpu, state, on_rq, on_cpu, prio, delayed, group, util_est;
	fg_u32 rr_slice;		/* ticks that are left to a SCHED_RR task */
	fg_u32 dl_throttled, dl_non_contending, dl_yielded;
	fg_s64 dl_runtime;		/* what is left, ns */
	fg_u64 dl_deadline;		/* absolute, by the clock of the run queue */
	fg_u32 clamp_min, clamp_max;	/* in effect, that of the group among them */
};

struct fg_queue_view {
	fg_u64 weight, min_vruntime, load_avg, runnable_avg, util_avg;
	fg_u64 load_sum, runnable_sum, util_sum, last_update;
	fg_s64 runtime_remaining;
	fg_u64 pool;			/* what no CPU of the group has yet, ns */
	fg_u64 group_load_avg;		/* of the group on all CPUs */
	fg_u32 nr_queued, h_nr_queued, throttled, util_est;
	struct fg_task_view entity;	/* what stands for the queue above it; all 0 for the root's */
};

struct fg_cpu_view {
	fg_u64 clock, clock_task, clock_pelt, next_balance, nr_switches, capacity, avg_idle;
	fg_u32 nr_running, running, nr_idle_scan, need_resched;
	/* The real-time class; rt_time and rt_runtime are 0 in trees whose fair class has a server instead, which is next. */
	fg_u64 rt_time, rt_runtime, rt_util_avg, dl_util_avg;
	fg_u32 rt_nr_running, rt_highest, rt_next, rt_overloaded, rt_throttled, rt_first_pushable;
	fg_s64 server_runtime;
	fg_u64 server_deadline;
	fg_u32 server_active, server_throttled;
	/* The deadline class. */
	fg_u64 dl_running_bw, dl_this_bw, dl_total_bw;
	fg_u64 dl_earliest;		/* 0: no entity is queued */
	fg_u32 dl_nr_running, dl_overloaded, dl_first_pushable;
	fg_u32 clamp_min, clamp_max;
	fg_u32 online;
	fg_u32 user_works;		/* the running task has works to do before it returns to user mode */
	fg_u32 by_energy;		/* wake-ups go by energy, while nobody has too much to do */
	fg_u64 misfit_load;		/* of the running task, if it does not fit; 0: it does */
	fg_u32 overloaded, overutilized; /* of all CPUs of the root domain: somebody waits; some CPU has more to do than it can */
};

struct fg_policy_view {
	fg_u64 changes;
	fg_u32 cur_khz;
	fg_u32 coming_khz;		/* the driver is at work on this; 0: it is not */
	fg_u32 waits;			/* something was asked for that the driver has not begun with */
	fg_u32 pad;
};

/* What cpu.max of a group says and cpu.stat counts; times in ns, no limit is FG_UNLIMITED. All 0 in a build without quotas. */
#define FG_UNLIMITED 0xffffffffffffffffull
struct fg_quota_view {
	fg_u64 quota, period, burst;
	fg_u64 nr_periods, nr_throttled, throttled_time, nr_burst, burst_time;
};

struct fg_domain_view {
	char name[16];
	fg_u64 last_balance, max_newidle_cost;
	fg_u32 weight, flags, balance_interval, first_cpu, nr_balance_failed, pad;
	fg_u32 span[16];		/* the first 512 CPUs */
};

/* Why the core stopped. */
enum fg_fault_kind { FG_FINE, FG_BUG, FG_OOPS, FG_LOOP, FG_DEAD_LOCK, FG_TRAP, FG_FULL, FG_UNABLE };

struct fg_fault {
	fg_u32 kind;
	fg_u32 line;			/* of `file`, for a BUG */
	const char *file;
	const char *what;		/* function of a BUG, symbol of a trap, memory that ran out */
	fg_u64 address;			/* of an oops */
	fg_u64 caller;			/* offset of the instruction in the library */
};

/* A part of the core's memory. */
struct fg_part {
	const void *start;
	fg_u64 bytes;
};

struct fg_table {
	fg_u32 abi;
	fg_u32 size;			/* of this struct */
	const char *release;		/* of the tree: "6.12.117" */
	const char *identity;		/* what the library was built from */
	fg_u32 hz;
	fg_u32 preemption;		/* 0 none, 1 voluntary, 2 full, 3 lazy */

	fg_s64 (*boot)(const struct fg_machine *machine);
	const struct fg_fault *(*fault)(void);
	const struct fg_request *(*requests)(fg_u32 *count);
	const fg_u32 *(*seen)(fg_u32 *count);
	const char *(*log)(void);
	void (*signalled)(fg_u32 kind, fg_u64 address, fg_u64 caller);
	/* What was never used, and need not be saved: what a core is lies in the library's own variables. */
	struct fg_part (*unused)(void);

	fg_s64 (*feature)(const char *name, fg_u32 on);
	fg_s64 (*tunable)(const char *name, fg_u64 value);

	fg_s64 (*jiffies)(fg_u64 now, fg_u64 count);
	fg_s64 (*fork)(fg_u32 cpu, fg_u64 now, const struct fg_fork *how);
	fg_s64 (*start)(fg_u32 cpu, fg_u64 now, fg_u32 task);
	fg_s64 (*wake)(fg_u32 cpu, fg_u64 now, fg_u32 task, fg_u32 how);
	fg_s64 (*schedule)(fg_u32 cpu, fg_u64 now, fg_u32 why);
	fg_s64 (*tick)(fg_u32 cpu, fg_u64 now);
	fg_s64 (*softirq)(fg_u32 cpu, fg_u64 now, fg_u32 number);
	fg_s64 (*ipi)(fg_u32 cpu, fg_u64 now, fg_u32 kind);
	fg_s64 (*timer)(fg_u32 cpu, fg_u64 now, fg_u32 timer);
	fg_s64 (*stopper)(fg_u32 cpu, fg_u64 now);
	fg_s64 (*exit)(fg_u32 cpu, fg_u64 now);
	fg_s64 (*user_return)(fg_u32 cpu, fg_u64 now);
	fg_s64 (*nice)(fg_u32 cpu, fg_u64 now, fg_u32 task, fg_s32 nice);
	fg_s64 (*affinity)(fg_u32 cpu, fg_u64 now, fg_u32 task, const fg_u32 *cpus, fg_u32 count);
	fg_s64 (*policy)(fg_u32 cpu, fg_u64 now, fg_u32 task, const struct fg_policy *policy);
	fg_s64 (*group_new)(fg_u32 cpu, fg_u64 now, fg_u32 parent);
	fg_s64 (*group_file)(fg_u32 cpu, fg_u64 now, fg_u32 group, const char *file, fg_s64 value);
	fg_s64 (*group_move)(fg_u32 cpu, fg_u64 now, fg_u32 task, fg_u32 group);
	fg_s64 (*group_remove)(fg_u32 cpu, fg_u64 now, fg_u32 group);
	fg_s64 (*exec)(fg_u32 cpu, fg_u64 now);
	fg_s64 (*hotplug)(fg_u32 cpu, fg_u64 now, fg_u32 on);
	fg_s64 (*frequency)(fg_u32 cpu, fg_u64 now, fg_u32 scale);
	fg_s64 (*policy_new)(fg_u32 cpu, fg_u64 now, const struct fg_freq_policy *how);
	fg_s64 (*govern)(fg_u32 cpu, fg_u64 now, fg_u32 policy, const struct fg_governor *how);
	fg_s64 (*frequency_work)(fg_u32 cpu, fg_u64 now, fg_u32 policy);

	fg_s64 (*flags)(fg_u32 cpu);
	fg_s64 (*view_task)(fg_u32 task, struct fg_task_view *view);
	fg_s64 (*view_queue)(fg_u32 group, fg_u32 cpu, struct fg_queue_view *view);
	fg_s64 (*view_cpu)(fg_u32 cpu, struct fg_cpu_view *view);
	fg_s64 (*view_quota)(fg_u32 group, struct fg_quota_view *view);
	fg_s64 (*view_domain)(fg_u32 cpu, fg_u32 level, struct fg_domain_view *view);
	fg_s64 (*view_policy)(fg_u32 policy, struct fg_policy_view *view);
	fg_s64 (*set_domain)(fg_u32 cpu, fg_u32 level, fg_u64 last_balance, fg_s64 nr_idle_scan);
	fg_s64 (*set_idle_since)(fg_u32 cpu, fg_u64 ns);
};

/* The one symbol that a library exports. */
const struct fg_table *fairground_kcore(void);
#endif
