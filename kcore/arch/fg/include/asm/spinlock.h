/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _ASM_FG_SPINLOCK_H
#define _ASM_FG_SPINLOCK_H
#include <asm/spinlock_types.h>

void fg_dead_lock(const void *lock);

/* seen.c: the locks of run queues lie so far apart, from the first one on. */
extern unsigned long fg_first_lock, fg_locks_span;
void fg_lock_taken(unsigned long from_first);

static inline void fg_taken(const arch_spinlock_t *lock)
{
	unsigned long from_first = (unsigned long)lock - fg_first_lock;

	if (from_first < fg_locks_span)
		fg_lock_taken(from_first);
}

static inline void arch_spin_lock(arch_spinlock_t *lock)
{
	if (lock->held)
		fg_dead_lock(lock);
	lock->held = 1;
	fg_taken(lock);
}

static inline int arch_spin_trylock(arch_spinlock_t *lock)
{
	if (lock->held)
		return 0;
	lock->held = 1;
	fg_taken(lock);
	return 1;
}

static inline void arch_spin_unlock(arch_spinlock_t *lock) { lock->held = 0; }
#define arch_spin_is_locked(lock) ((lock)->held != 0)
#define arch_spin_value_unlocked(lock) ((lock).held == 0)
#define arch_spin_is_contended(lock) ((void)(lock), 0)

/* readers = -1: a writer has it. */
static inline int arch_read_trylock(arch_rwlock_t *lock)
{
	if (lock->readers < 0)
		return 0;
	lock->readers++;
	return 1;
}

static inline int arch_write_trylock(arch_rwlock_t *lock)
{
	if (lock->readers)
		return 0;
	lock->readers = -1;
	return 1;
}

static inline void arch_read_lock(arch_rwlock_t *lock)
{
	if (!arch_read_trylock(lock))
		fg_dead_lock(lock);
}

static inline void arch_write_lock(arch_rwlock_t *lock)
{
	if (!arch_write_trylock(lock))
		fg_dead_lock(lock);
}

static inline void arch_read_unlock(arch_rwlock_t *lock) { lock->readers--; }
static inline void arch_write_unlock(arch_rwlock_t *lock) { lock->readers = 0; }
#define arch_rwlock_is_contended(lock) ((void)(lock), 0)
#endif
