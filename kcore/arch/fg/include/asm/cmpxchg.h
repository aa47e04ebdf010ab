/* SPDX-License-Identifier: GPL-2.0 */
/* One host thread: an atomic operation is the plain one. */
#ifndef _ASM_FG_CMPXCHG_H
#define _ASM_FG_CMPXCHG_H
#define arch_cmpxchg(ptr, old, new)				\
({								\
	__typeof__(ptr) __p = (ptr);				\
	__typeof__(*__p) __was = *__p;				\
	if (__was == (__typeof__(*__p))(old))			\
		*__p = (__typeof__(*__p))(new);			\
	__was;							\
})
#define arch_xchg(ptr, new)					\
({								\
	__typeof__(ptr) __p = (ptr);				\
	__typeof__(*__p) __was = *__p;				\
	*__p = (__typeof__(*__p))(new);				\
	__was;							\
})
#define arch_cmpxchg_local arch_cmpxchg
#define arch_cmpxchg64 arch_cmpxchg
#define arch_cmpxchg64_local arch_cmpxchg

#ifndef FG_HAS_ARCH_ATOMIC
#define cmpxchg arch_cmpxchg
#define xchg arch_xchg
#define cmpxchg_local arch_cmpxchg
#define cmpxchg64 arch_cmpxchg
#define cmpxchg64_local arch_cmpxchg
#endif
#endif
