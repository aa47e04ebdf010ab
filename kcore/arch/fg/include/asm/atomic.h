/* SPDX-License-Identifier: GPL-2.0 */
/*
 * 32 bits from asm-generic, 64 bits in the same form: its generic ones take a lock, and its real ones are assembly.
 * Up to v5.12 an architecture without instrumentation gives the names without arch_.
 */
#ifndef _ASM_FG_ATOMIC_H
#define _ASM_FG_ATOMIC_H
#include <linux/types.h>

#include <asm/cmpxchg.h>
#include <asm-generic/atomic.h>

#ifndef FG_HAS_ARCH_ATOMIC
#define FG_NAME(name) name
#else
#define FG_NAME(name) arch_##name
#endif

#define ATOMIC64_INIT(i) { (i) }

static __always_inline s64 FG_NAME(atomic64_read)(const atomic64_t *v) { return READ_ONCE(v->counter); }
static __always_inline void FG_NAME(atomic64_set)(atomic64_t *v, s64 i) { WRITE_ONCE(v->counter, i); }

#define FG_OP(name, formula)								\
static __always_inline void FG_NAME(atomic64_##name)(s64 i, atomic64_t *v)		\
{ v->counter = (formula); }								\
static __always_inline s64 FG_NAME(atomic64_fetch_##name)(s64 i, atomic64_t *v)		\
{ s64 was = v->counter; v->counter = (formula); return was; }
#define FG_OP_RETURN(name, formula)							\
FG_OP(name, formula)									\
static __always_inline s64 FG_NAME(atomic64_##name##_return)(s64 i, atomic64_t *v)	\
{ return v->counter = (formula); }

FG_OP_RETURN(add, v->counter + i)
FG_OP_RETURN(sub, v->counter - i)
FG_OP(and, v->counter & i)
FG_OP(or, v->counter | i)
FG_OP(xor, v->counter ^ i)
#undef FG_OP
#undef FG_OP_RETURN

#ifndef FG_HAS_ARCH_ATOMIC
#define atomic64_fetch_add atomic64_fetch_add
#define atomic64_fetch_sub atomic64_fetch_sub
#define atomic64_fetch_and atomic64_fetch_and
#define atomic64_fetch_or atomic64_fetch_or
#define atomic64_fetch_xor atomic64_fetch_xor
#define atomic64_add_return atomic64_add_return
#define atomic64_sub_return atomic64_sub_return
#define atomic64_cmpxchg(v, old, new) arch_cmpxchg(&(v)->counter, old, new)
#define atomic64_xchg(v, new) arch_xchg(&(v)->counter, new)
#else
#define arch_atomic64_fetch_add arch_atomic64_fetch_add
#define arch_atomic64_fetch_sub arch_atomic64_fetch_sub
#define arch_atomic64_fetch_and arch_atomic64_fetch_and
#define arch_atomic64_fetch_or arch_atomic64_fetch_or
#define arch_atomic64_fetch_xor arch_atomic64_fetch_xor
#define arch_atomic64_add_return arch_atomic64_add_return
#define arch_atomic64_sub_return arch_atomic64_sub_return
static __always_inline s64 arch_atomic64_cmpxchg(atomic64_t *v, s64 old, s64 new)
{ return arch_cmpxchg(&v->counter, old, new); }
#define arch_atomic64_cmpxchg arch_atomic64_cmpxchg
static __always_inline s64 arch_atomic64_xchg(atomic64_t *v, s64 new) { return arch_xchg(&v->counter, new); }
#define arch_atomic64_xchg arch_atomic64_xchg
#endif
#undef FG_NAME
#endif
