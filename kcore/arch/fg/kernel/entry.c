// SPDX-License-Identifier: GPL-2.0
/*
 * The way in and out of a call.
 *
 * The problem: the engine wants to know what a call asked for, without being called back in the middle of it. The
 * answer: a ring that begins empty at each call and is read after it. 32 bytes per request; a call on 512 CPUs makes
 * at most a few per CPU and per task that it moves, so 65,536 are never reached by a sound core, and reaching them is a fault.
 */
#include "fg.h"

#define FG_RING 65536

u64 fg_now;
struct fg_request fg_ring[FG_RING];
static u32 fg_count;

void fg_request(u32 kind, int cpu, u64 a, u64 b)
{
	if (fg_count == FG_RING)
		fg_stop(FG_FULL, "ring of requests", 0);
	fg_ring[fg_count++] = (struct fg_request) { .kind = kind, .cpu = cpu, .time = fg_now, .a = a, .b = b };
}

const struct fg_request *fg_requests(u32 *count);
const struct fg_request *fg_requests(u32 *count)
{
	*count = fg_count;
	return fg_ring;
}

bool fg_begin(int cpu, u64 now)
{
	fg_count = 0;
	if (cpu < 0 || cpu >= fg_cpus || now < fg_now)
		return false;
	fg_now = now;
	fg_cpu = cpu;
	fg_cpu_offset = __per_cpu_offset[cpu];
	fg_current = fg_running[cpu];
	fg_irqs_on = 1;
	fg_seen_begin();
	return true;
}

/* What interrupts were to do comes first. What waits for a grace period is done when a call ends: nobody can be inside a read-side section then. */
fg_s64 fg_finish(fg_s64 answer)
{
	fg_irq_works();
	fg_grace_period();
	fg_inside = 0;
	return answer;
}

/* Interrupt context: in_task() is false and interrupts are off, as the handlers of the tree expect. */
void fg_interrupt_begin(void)
{
	fg_irqs_on = 0;
	__preempt_count_add(HARDIRQ_OFFSET);
}

void fg_interrupt_end(void)
{
	__preempt_count_sub(HARDIRQ_OFFSET);
	fg_irqs_on = 1;
}
