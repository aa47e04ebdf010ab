// SPDX-License-Identifier: GPL-2.0
/*
 * A core without a kernel: one FIFO per CPU, to test the interface where no tree is had.
 *
 * A tick rotates, a wake-up queues at the tail of the task's CPU and asks for a reschedule, a sleeper leaves. The
 * arguments of some calls provoke the faults that a kernel can have: see fake_fault().
 */
#include <stdio.h>
#include <string.h>
#include "fg_abi.h"

#define CPUS 64
#define TASKS 256
#define RING 1024
#define EINVAL 22
#define ESRCH 3
#define ENOENT 2

static struct {
	unsigned cpu, queued, nice;
	unsigned long long ran, since;
} tasks[TASKS];
static unsigned queue[CPUS][TASKS], length[CPUS], cpus, forked = 1, rotate[CPUS], resched[CPUS];
/* Whether who runs there has a work: a task of nice 19 does from when it is picked until it returns to user mode. */
static unsigned works[CPUS];
/* Of all CPUs: periods of the one quota. */
static unsigned ticks;
static struct fg_request ring[RING];
static unsigned asked;
/* Of a tick: a look at each other CPU, then the own lock. */
static fg_u32 seen[CPUS + 1], nr_seen;
static struct fg_fault fault;
static char words[256];
static void *way_out[5];
static int inside;
static unsigned long long last;
extern const char __ehdr_start[] __attribute__((visibility("hidden")));

static void stop(unsigned kind, const char *what, unsigned long long caller)
{
	fault.kind = kind;
	fault.what = what;
	fault.caller = caller;
	inside = 0;
	__builtin_longjmp(way_out, 1);
}

static void signalled(fg_u32 kind, fg_u64 address, fg_u64 caller)
{
	if (!inside)
		return;
	fault.address = address;
	stop(kind, kind == FG_LOOP ? "an endless loop" : "an invalid access", caller - (unsigned long)__ehdr_start);
}

#define CALL(cpu, now, body)								\
	if (fault.kind || __builtin_setjmp(way_out))					\
		return FG_BROKEN;							\
	if ((cpu) >= cpus || (now) < last)						\
		return -EINVAL;								\
	inside = 1;									\
	last = (now);									\
	asked = nr_seen = 0;								\
	fg_s64 answer = (body);								\
	inside = 0;									\
	return answer

static void ask(unsigned kind, unsigned cpu, fg_u64 a, fg_u64 b)
{
	ring[asked++] = (struct fg_request) { .kind = kind, .cpu = cpu, .time = last, .a = a, .b = b };
}

static fg_u64 head(unsigned cpu) { return length[cpu] ? queue[cpu][0] : FG_IDLE; }

static void enqueue(unsigned task)
{
	queue[tasks[task].cpu][length[tasks[task].cpu]++] = task;
	tasks[task].queued = 1;
}

static void dequeue(unsigned cpu)
{
	tasks[queue[cpu][0]].queued = 0;
	memmove(queue[cpu], queue[cpu] + 1, --length[cpu] * sizeof(unsigned));
}

/* What a patch may do wrong. */
__attribute__((noinline)) static fg_s64 fake_fault(const char *name)
{
	static volatile int forever = 1;
	static int *volatile nowhere = (int *)16;

	if (!strcmp(name, "OOPS"))
		*nowhere = 1;
	if (!strcmp(name, "LOOP"))
		while (forever)
			;
	if (!strcmp(name, "BUG")) {
		fault.file = "kernel/sched/fair.c";
		fault.line = 4711;
		stop(FG_BUG, "pick_next_entity", 0);
	}
	if (!strcmp(name, "TRAP"))
		stop(FG_TRAP, "new_thing", (unsigned long)__builtin_return_address(0) - (unsigned long)__ehdr_start);
	if (!strcmp(name, "WARN")) {
		strcpy(words, "WARNING: kernel/sched/core.c:12 \033[31m\n");
		ask(FG_WARN, 0, 0, 0);
		return 0;
	}
	return -ENOENT;
}

static fg_s64 feature(const char *name, fg_u32 on) { CALL(0, last, fake_fault(name)); }
static fg_s64 tunable(const char *name, fg_u64 value) { return -ENOENT; }

static fg_s64 boot(const struct fg_machine *machine)
{
	if (cpus || !machine->cpus || machine->cpus > CPUS || !machine->now)
		return -EINVAL;
	cpus = machine->cpus;
	last = machine->now;
	return 0;
}

static fg_s64 do_fork(const struct fg_fork *how)
{
	if (forked == TASKS)
		stop(FG_FULL, "tasks", 0);
	tasks[forked].nice = how->nice;
	return forked++;
}
static fg_s64 fork_(fg_u32 cpu, fg_u64 now, const struct fg_fork *how) { CALL(cpu, now, do_fork(how)); }

static fg_s64 do_wake(unsigned task)
{
	if (!task || task >= forked)
		return -ESRCH;
	if (!tasks[task].queued) {
		enqueue(task);
		resched[tasks[task].cpu] = 1;
		ask(FG_RESCHED, tasks[task].cpu, 0, 0);
	}
	return tasks[task].cpu;
}

static fg_s64 do_start(unsigned task)
{
	if (task && task < forked)
		tasks[task].cpu = (task - 1) % cpus;
	return do_wake(task);
}
static fg_s64 start(fg_u32 cpu, fg_u64 now, fg_u32 task) { CALL(cpu, now, do_start(task)); }
/* Whom a task wakes that is about to sleep, lies on a wake list first. */
static fg_s64 do_listed(unsigned task, unsigned how)
{
	fg_s64 on = do_wake(task);

	return on < 0 || how != FG_WAKE_SYNC ? on : on | FG_LISTED;
}
static fg_s64 wake(fg_u32 cpu, fg_u64 now, fg_u32 task, fg_u32 how) { CALL(cpu, now, do_listed(task, how)); }

static fg_s64 do_schedule(unsigned cpu, unsigned why)
{
	static fg_u64 running[CPUS];
	fg_u64 before = running[cpu] ? running[cpu] : FG_IDLE, next;

	if (why != FG_PREEMPTED && before == FG_IDLE)
		return -EINVAL;
	if (before != FG_IDLE) {
		tasks[before].ran += last - tasks[before].since;
		tasks[before].since = last;
	}
	if (why == FG_SLEEPS || why == FG_SLEEPS_UNINTERRUPTIBLE || why == FG_EXITS)
		dequeue(cpu);
	else if (before != FG_IDLE && (rotate[cpu] || why == FG_YIELDS)) {
		dequeue(cpu);
		enqueue(before);
	}
	rotate[cpu] = resched[cpu] = 0;
	next = head(cpu);
	if (next != before)
		ask(FG_SWITCH, cpu, before, next);
	if (next != FG_IDLE)
		tasks[next].since = last;
	works[cpu] = next != FG_IDLE && tasks[next].nice == 19;
	running[cpu] = next;
	return next;
}
static fg_s64 schedule(fg_u32 cpu, fg_u64 now, fg_u32 why) { CALL(cpu, now, do_schedule(cpu, why)); }
static fg_s64 exit_(fg_u32 cpu, fg_u64 now) { CALL(cpu, now, do_schedule(cpu, FG_EXITS)); }

static fg_s64 do_user_return(unsigned cpu)
{
	resched[cpu] |= works[cpu];
	works[cpu] = 0;
	return 0;
}
static fg_s64 user_return(fg_u32 cpu, fg_u64 now) { CALL(cpu, now, do_user_return(cpu)); }

static fg_s64 do_tick(unsigned cpu)
{
	ticks++;
	for (unsigned other = 0; other < cpus; other++)
		if (other != cpu)
			seen[nr_seen++] = other;
	seen[nr_seen++] = cpu | FG_LOCKED;
	rotate[cpu] = length[cpu] > 1;
	if (rotate[cpu]) {
		resched[cpu] = 1;
		ask(FG_RESCHED, cpu, 0, 0);
	}
	return 0;
}
static fg_s64 tick(fg_u32 cpu, fg_u64 now) { CALL(cpu, now, do_tick(cpu)); }

static fg_s64 jiffies(fg_u64 now, fg_u64 count) { return 0; }
static fg_s64 number(fg_u32 cpu, fg_u64 now, fg_u32 which) { CALL(cpu, now, 0); }
static fg_s64 numbers(fg_u32 cpu, fg_u64 now, fg_u32 a, fg_u32 b) { CALL(cpu, now, -EINVAL); }
static fg_s64 nothing(fg_u32 cpu, fg_u64 now) { CALL(cpu, now, -EINVAL); }
static fg_s64 set_nice(fg_u32 cpu, fg_u64 now, fg_u32 task, fg_s32 nice) { CALL(cpu, now, nice > 19 ? -EINVAL : 0); }
static fg_s64 do_affinity(unsigned task, const fg_u32 *list, unsigned count)
{
	if (!count)
		return -EINVAL;
	ask(FG_MOVE, list[count - 1], task, 0);
	return 0;
}
static fg_s64 affinity(fg_u32 cpu, fg_u64 now, fg_u32 task, const fg_u32 *list, fg_u32 count) { CALL(cpu, now, do_affinity(task, list, count)); }
static fg_s64 policy(fg_u32 cpu, fg_u64 now, fg_u32 task, const struct fg_policy *how) { CALL(cpu, now, how->priority > 99 ? -EINVAL : 0); }
static fg_s64 group_file(fg_u32 cpu, fg_u64 now, fg_u32 group, const char *file, fg_s64 value) { CALL(cpu, now, strncmp(file, "cfs_", 4) ? -ENOENT : 0); }

static fg_s64 flags(fg_u32 cpu) { return cpu < cpus ? (fg_s64)(resched[cpu] | works[cpu] * FG_USER_WORKS) : -EINVAL; }
static fg_s64 view_task(fg_u32 task, struct fg_task_view *view)
{
	if (!task || task >= forked)
		return -ESRCH;
	*view = (struct fg_task_view) { .sum_exec = tasks[task].ran, .cpu = tasks[task].cpu, .on_rq = tasks[task].queued, .util_est = 7 };
	return 0;
}
static fg_s64 view_queue(fg_u32 group, fg_u32 cpu, struct fg_queue_view *view)
{
	*view = (struct fg_queue_view) { .h_nr_queued = length[cpu % CPUS], .runtime_remaining = -5 };
	return 0;
}
static fg_s64 view_cpu(fg_u32 cpu, struct fg_cpu_view *view)
{
	*view = (struct fg_cpu_view) { .nr_running = length[cpu % CPUS], .clock = last, .nr_idle_scan = 9, .need_resched = resched[cpu % CPUS], .user_works = works[cpu % CPUS] };
	return 0;
}
static fg_s64 view_quota(fg_u32 group, struct fg_quota_view *view)
{
	if (group)
		return -ENOENT;
	*view = (struct fg_quota_view) { FG_UNLIMITED, 100, 3, ticks, ticks / 2, 1000 * ticks, 4, 5 };
	return 0;
}
static fg_s64 view_domain(fg_u32 cpu, fg_u32 level, struct fg_domain_view *view)
{
	if (level)
		return -ENOENT;
	*view = (struct fg_domain_view) { .name = "MC", .weight = cpus, .span = { 3 } };
	return 0;
}
static fg_s64 set_domain(fg_u32 cpu, fg_u32 level, fg_u64 at, fg_s64 scan) { return level ? -ENOENT : 0; }

static fg_s64 set_idle_since(fg_u32 cpu, fg_u64 ns) { return 0; }

static const struct fg_fault *get_fault(void) { return &fault; }
static const struct fg_request *requests(fg_u32 *count) { *count = asked; return ring; }
static const fg_u32 *get_seen(fg_u32 *count) { *count = nr_seen; return seen; }
static const char *get_log(void) { return words; }

#ifndef FAKE_IDENTITY
#define FAKE_IDENTITY "fake-1"
#endif
/* A policy whose governor is schedutil has its driver go to the highest point, and its CPUs run there when the work is over. */
static struct fg_policy_view freq;
static fg_u32 top;

static fg_s64 policy_new_body(const struct fg_freq_policy *how)
{
	if (!how->cpus || !how->points)
		return -EINVAL;
	top = how->khz[how->points - 1];
	return 0;
}
static fg_s64 policy_new(fg_u32 cpu, fg_u64 now, const struct fg_freq_policy *how) { CALL(cpu, now, policy_new_body(how)); }

static fg_s64 govern_body(fg_u32 cpu, fg_u64 now, fg_u32 policy, const struct fg_governor *how)
{
	if (policy || how->max_khz > top)
		return -EINVAL;
	freq = (struct fg_policy_view) { .cur_khz = how->cur_khz, .coming_khz = how->schedutil ? how->max_khz : how->begin_khz };
	ask(FG_FREQ_TIMER, cpu, 0, now + how->rate_limit_us);
	return 0;
}
static fg_s64 govern(fg_u32 cpu, fg_u64 now, fg_u32 policy, const struct fg_governor *how) { CALL(cpu, now, govern_body(cpu, now, policy, how)); }

static fg_s64 frequency_work_body(fg_u32 cpu, fg_u32 policy)
{
	freq = (struct fg_policy_view) { .cur_khz = freq.coming_khz, .changes = freq.changes + 1 };
	ask(FG_FREQ, cpu, policy, freq.cur_khz);
	return 0;
}
static fg_s64 frequency_work(fg_u32 cpu, fg_u64 now, fg_u32 policy) { CALL(cpu, now, frequency_work_body(cpu, policy)); }

static fg_s64 view_policy(fg_u32 policy, struct fg_policy_view *view)
{
	*view = freq;
	return policy ? -EINVAL : 0;
}

#ifndef FAKE_ABI
#define FAKE_ABI FG_ABI_VERSION
#endif

static struct fg_part unused(void) { return (struct fg_part) { 0, 0 }; }

static const struct fg_table table = {
	.abi = FAKE_ABI, .size = sizeof(table), .release = "fake", .identity = FAKE_IDENTITY, .hz = 250,
	.boot = boot, .fault = get_fault, .requests = requests, .seen = get_seen, .log = get_log, .signalled = signalled, .unused = unused,
	.feature = feature, .tunable = tunable, .jiffies = jiffies, .fork = fork_, .start = start, .wake = wake,
	.schedule = schedule, .tick = tick, .softirq = number, .ipi = number, .timer = number, .stopper = nothing, .exit = exit_, .user_return = user_return,
	.nice = set_nice, .affinity = affinity, .policy = policy, .group_new = number, .group_file = group_file,
	.group_move = numbers, .group_remove = number, .exec = nothing, .hotplug = number, .frequency = number,
	.policy_new = policy_new, .govern = govern, .frequency_work = frequency_work, .view_policy = view_policy,
	.flags = flags, .view_task = view_task, .view_queue = view_queue, .view_cpu = view_cpu, .view_quota = view_quota, .view_domain = view_domain,
	.set_domain = set_domain, .set_idle_since = set_idle_since,
};

const struct fg_table *fairground_kcore(void) { return &table; }
