/* SPDX-License-Identifier: GPL-2.0 */
/* A lock is a word. One host thread never waits for it: a lock that is held is a dead lock, and is reported. */
#ifndef _ASM_FG_SPINLOCK_TYPES_H
#define _ASM_FG_SPINLOCK_TYPES_H
typedef struct { unsigned int held; } arch_spinlock_t;
typedef struct { int readers; } arch_rwlock_t;
#define __ARCH_SPIN_LOCK_UNLOCKED { 0 }
#define __ARCH_RW_LOCK_UNLOCKED { 0 }
#endif
