/* SPDX-License-Identifier: GPL-2.0 */
/* What the files of the shim share. The scheduler's own header comes from the tree that is built. */
#ifndef FG_H
#define FG_H
#include <linux/sched/cputime.h>
#include "sched.h"
#include <asm/fg_abi.h>

/* entry.c: the way in and out of a call. */
extern u64 fg_now;
extern struct fg_request fg_ring[];
void fg_request(u32 kind, int cpu, u64 a, u64 b);
bool fg_begin(int cpu, u64 now);
fg_s64 fg_finish(fg_s64 answer);
void fg_interrupt_begin(void);
void fg_interrupt_end(void);

/* interrupt.c */
void fg_irq_works(void);

/* seen.c: whose run queues a call looked at. */
void fg_seen_boot(void);
void fg_seen_begin(void);

/* fault.c: what ends a call, and what is remembered of it. */
extern struct fg_fault fg_fault;
extern void *fg_way_out[5];
extern int fg_inside;
void fg_stop(u32 kind, const char *what, unsigned long caller) __attribute__((noreturn, cold));
const char *fg_log(void);

/* memory.c */
void *fg_allocate(size_t bytes);
void fg_place_cpus(int count);

/* time.c */
int fg_fire(u32 timer);
void fg_timers_leave(int cpu, int to);

/* context.c */
extern struct task_struct *fg_running[NR_CPUS];
u64 fg_name_of(struct task_struct *task);

/* tasks.c */
struct task_struct *fg_task(u32 number);
struct task_struct *fg_new_task(const char *name);
int fg_dress(struct task_struct *task, int nice, u32 policy, u32 priority, u32 group);

/* A name is cut to its place, and ends with a zero. */
static inline void fg_copy_name(char *place, const char *name, size_t bytes)
{
	while (--bytes && *name)
		*place++ = *name++;
	*place = 0;
}

/* A task that has never run lies as one that sleeps. */
static inline void fg_set_state(struct task_struct *task, unsigned int state)
{
#ifdef FG_HAS_UNDERSCORED_STATE
	task->__state = state;
#else
	task->state = state;
#endif
}

static inline unsigned int fg_state(const struct task_struct *task)
{
#ifdef FG_HAS_UNDERSCORED_STATE
	return task->__state;
#else
	return task->state;
#endif
}

/* groups.c */
struct task_group *fg_group(u32 number);
void fg_set_css(struct task_struct *task, u32 group);
void fg_group_boot(void);

/* energy.c */
struct cpufreq_governor;
struct cpufreq_policy;
void fg_energy_model(struct cpufreq_policy *policy, const u32 *milliwatt, u32 points);
void fg_governor_changed(struct cpufreq_policy *policy, struct cpufreq_governor *before);

/* rcu.c */
void fg_grace_period(void);

/* stopper.c */
void fg_stopper_boot(int cpu);
void fg_stopper_works(void);

/* hotplug.c. Trees have the mask of dying CPUs from v5.13 on. */
extern struct cpumask __cpu_dying_mask;
void fg_online(int cpu);
void fg_die_if_empty(void);

/* machine.c */
extern const char fg_identity[];
int fg_machine_boot(const struct fg_machine *machine);
void fg_masks_leave(int cpu);
void fg_masks_come(int cpu);
extern int fg_cpus, fg_nodes;
#ifdef FG_HAS_CPUFREQ_PRESSURE
DECLARE_PER_CPU(unsigned long, cpufreq_pressure);
#endif

/*
 * A call of the engine: the setjmp of fg_guarded is where a fault comes back to. The body runs as `current` of `cpu`.
 * Formula of the answer: the body's, or FG_BROKEN once anything has stopped the core.
 */
#define FG_CALL(cpu, now, body)						\
({									\
	fg_s64 __answer = FG_BROKEN;					\
	if (!fg_fault.kind && !__builtin_setjmp(fg_way_out)) {		\
		fg_inside = 1;						\
		__answer = -EINVAL;					\
		if (fg_begin(cpu, now))					\
			__answer = (body);				\
		__answer = fg_finish(__answer);				\
	} else {							\
		__answer = FG_BROKEN;					\
	}								\
	__answer;							\
})
#endif
