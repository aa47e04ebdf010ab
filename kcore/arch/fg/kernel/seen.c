// SPDX-License-Identifier: GPL-2.0
/*
 * What a call has seen of other CPUs: whose run queues it looked at, and whose locks it took.
 *
 * The problem: what a search or a balance costs is above all how many run queues it looks at. The tree's code is as it
 * is, but both go through headers that are ours: a run queue is found by per_cpu_ptr(), a lock by arch_spin_lock(). Of all
 * data per CPU only run queues are a struct rq, so what else is reached for costs nothing here.
 *
 * The rule: a look is the first reach for the run queue of another CPU after one for some other run queue. A single
 * reach that is followed by taking the lock counts as a lock only. Both are noted in their order, four bytes each.
 */
#include "fg.h"

#ifdef FG_HAS_UNDERSCORED_LOCK
#define FG_RQ_LOCK __lock
#else
#define FG_RQ_LOCK lock
#endif

/* A balance of 512 idle CPUs by one of them, over four levels of domains. */
#define FG_SEEN (1 << 20)

unsigned long fg_first_lock, fg_locks_span;
static unsigned long fg_apart;
static u32 fg_seen[FG_SEEN], fg_seen_count;
unsigned int fg_reached, fg_reached_so_often;

void fg_seen_boot(void)
{
	fg_first_lock = (unsigned long)&cpu_rq(0)->FG_RQ_LOCK;
	fg_apart = fg_cpus > 1 ? __per_cpu_offset[1] - __per_cpu_offset[0] : sizeof(struct rq);
	fg_locks_span = fg_cpus * fg_apart;
}

void fg_seen_begin(void)
{
	fg_seen_count = 0;
	fg_reached = fg_cpu;
}

static void fg_note(u32 what)
{
	if (fg_seen_count == FG_SEEN)
		fg_stop(FG_FULL, "list of run queues looked at", 0);
	fg_seen[fg_seen_count++] = what;
}

void fg_looked(unsigned int cpu)
{
	fg_reached = cpu;
	fg_reached_so_often = 1;
	if (cpu != fg_cpu)
		fg_note(cpu);
}

void fg_lock_taken(unsigned long from_first)
{
	u32 cpu = from_first / fg_apart;

	if (cpu * fg_apart != from_first)
		return;
	if (fg_reached == cpu && fg_reached_so_often == 1 && fg_seen_count && fg_seen[fg_seen_count - 1] == cpu)
		fg_seen_count--;
	fg_note(cpu | FG_LOCKED);
	fg_reached = cpu;
}

const u32 *fg_seen_rows(u32 *count);
const u32 *fg_seen_rows(u32 *count)
{
	*count = fg_seen_count;
	return fg_seen;
}
