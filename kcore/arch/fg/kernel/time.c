// SPDX-License-Identifier: GPL-2.0
/*
 * Time is the engine's: sched_clock() and all clocks of timers are the time of the call.
 *
 * A timer of the tree is a slot here from its first start on, and a request with its time. The engine calls back by the
 * slot's number. Numbers are given in the order of first starts, so they are equal in equal runs; addresses would not
 * be. A timer keeps its number: of those that are due at one instant the engine takes the lowest first.
 */
#include "fg.h"
#include <linux/hrtimer.h>

#define FG_TIMERS 65536

static struct hrtimer *fg_timers[FG_TIMERS];
static int fg_timer_cpu[FG_TIMERS];
static u32 fg_timer_count;
static struct hrtimer_clock_base fg_clock_base;

#ifdef FG_HAS_HIGHRES_KEY
struct static_key_false hrtimer_highres_enabled_key = { .key = { .enabled = ATOMIC_INIT(1) } };
#endif

unsigned long long notrace sched_clock(void) { return fg_now; }
ktime_t ktime_get(void) { return fg_now; }
ktime_t ktime_get_with_offset(enum tk_offsets offset) { return fg_now; }
ktime_t ktime_get_raw(void) { return fg_now; }
u64 ktime_get_mono_fast_ns(void) { return fg_now; }
void ktime_get_real_ts64(struct timespec64 *time) { *time = ns_to_timespec64(fg_now); }

/* A time past the end of time is its end. */
ktime_t ktime_add_safe(const ktime_t a, const ktime_t b)
{
	ktime_t sum = ktime_add_unsafe(a, b);

	return sum < 0 || sum < a || sum < b ? KTIME_MAX : sum;
}

static u32 fg_slot(const struct hrtimer *timer)
{
	u32 slot = 0;

	while (slot < fg_timer_count && fg_timers[slot] != timer)
		slot++;
	return slot;
}

/* Whether it waits for its time is a field of the timer, which inline functions of the tree read. */
static void fg_set_queued(struct hrtimer *timer, bool queued)
{
#ifdef FG_HAS_TIMER_IS_QUEUED
	timer->is_queued = queued;
#else
	timer->state = queued ? HRTIMER_STATE_ENQUEUED : HRTIMER_STATE_INACTIVE;
#endif
}

static void fg_timer_init(struct hrtimer *timer)
{
	memset(timer, 0, sizeof(*timer));
#ifdef FG_HAS_GET_TIME
	fg_clock_base.get_time = ktime_get;
#endif
	timer->base = &fg_clock_base;
}

#ifdef FG_HAS_HRTIMER_SETUP
void hrtimer_setup(struct hrtimer *timer, enum hrtimer_restart (*function)(struct hrtimer *), clockid_t clock,
		   enum hrtimer_mode mode)
{
	fg_timer_init(timer);
	ACCESS_PRIVATE(timer, function) = function;
}
#else
void hrtimer_init(struct hrtimer *timer, clockid_t clock, enum hrtimer_mode mode) { fg_timer_init(timer); }
#endif

#ifndef FG_HAS_GET_TIME
ktime_t hrtimer_cb_get_time(const struct hrtimer *timer) { return fg_now; }
#endif

/* Time of the interrupt = start + slack: the soft expiry is earlier by the range. */
void hrtimer_start_range_ns(struct hrtimer *timer, ktime_t at, u64 range, const enum hrtimer_mode mode)
{
	u32 slot = fg_slot(timer);

	if (mode & HRTIMER_MODE_REL)
		at = ktime_add_safe(at, fg_now);
	hrtimer_set_expires_range_ns(timer, at, range);
	if (slot == FG_TIMERS)
		fg_stop(FG_FULL, "timers", (unsigned long)__builtin_return_address(0));
	if (slot == fg_timer_count)
		fg_timers[fg_timer_count++] = timer;
	fg_timer_cpu[slot] = fg_cpu;
	fg_set_queued(timer, true);
	fg_request(FG_TIMER, fg_cpu, slot, ktime_to_ns(hrtimer_get_expires(timer)));
}

int hrtimer_try_to_cancel(struct hrtimer *timer)
{
	u32 slot = fg_slot(timer);

	if (!hrtimer_is_queued(timer))
		return 0;
	fg_request(FG_UNTIMER, fg_timer_cpu[slot], slot, 0);
	fg_set_queued(timer, false);
	return 1;
}

int hrtimer_cancel(struct hrtimer *timer) { return hrtimer_try_to_cancel(timer); }
bool hrtimer_active(const struct hrtimer *timer) { return hrtimer_is_queued((struct hrtimer *)timer) || fg_clock_base.running == timer; }

/* Overruns = whole intervals between the expiry and now; the expiry ends after now. No interval is shorter than 1 ns. */
u64 hrtimer_forward(struct hrtimer *timer, ktime_t now, ktime_t interval)
{
	s64 late = ktime_to_ns(now) - ktime_to_ns(hrtimer_get_expires(timer));
	u64 overruns;

	if (late < 0)
		return 0;
	if (interval < 1)
		interval = 1;
	overruns = div64_u64(late, interval) + 1;
	hrtimer_add_expires_ns(timer, overruns * interval);
	return overruns;
}

/* The engine says that a timer is due. It rearms itself by RESTART, or has been started anew by its own function. */
int fg_fire(u32 slot)
{
	struct hrtimer *timer = slot < fg_timer_count ? fg_timers[slot] : NULL;
	enum hrtimer_restart again;

	if (!timer || !hrtimer_is_queued(timer))
		return -ENOENT;
	fg_set_queued(timer, false);
	fg_clock_base.running = timer;
	again = ACCESS_PRIVATE(timer, function)(timer);
	fg_clock_base.running = NULL;
	if (hrtimer_is_queued(timer))
		return 0;
	if (again == HRTIMER_RESTART) {
		fg_set_queued(timer, true);
		fg_request(FG_TIMER, fg_cpu, slot, ktime_to_ns(hrtimer_get_expires(timer)));
	}
	return 0;
}

/* A CPU goes off line: its timers go on elsewhere. */
void fg_timers_leave(int cpu, int to)
{
	u32 slot;

	for (slot = 0; slot < FG_TIMERS; slot++) {
		struct hrtimer *timer = fg_timers[slot];

		if (!timer || fg_timer_cpu[slot] != cpu || !hrtimer_is_queued(timer))
			continue;
		fg_timer_cpu[slot] = to;
		fg_request(FG_TIMER, to, slot, ktime_to_ns(hrtimer_get_expires(timer)));
	}
}
