/* SPDX-License-Identifier: GPL-2.0 */
/*
 * An address of a CPU's own data is the template's address plus an offset; the entered CPU's offset is a global.
 * Who reaches for the run queue of another CPU looks at it, and that is noted (seen.c).
 */
#ifndef _ASM_FG_PERCPU_H
#define _ASM_FG_PERCPU_H
#ifndef __ASSEMBLY__
extern unsigned long fg_cpu_offset;
#define __my_cpu_offset fg_cpu_offset
#endif
#include <asm-generic/percpu.h>
#ifndef __ASSEMBLY__
struct rq;
void fg_looked(unsigned int cpu);
/* Whose run queue was reached for last, and how often in a row. */
extern unsigned int fg_reached, fg_reached_so_often;

static inline void fg_look(unsigned int cpu)
{
	if (cpu == fg_reached)
		fg_reached_so_often++;
	else
		fg_looked(cpu);
}

#undef per_cpu_ptr
#define per_cpu_ptr(ptr, cpu)						\
({									\
	unsigned int __fg_of = (cpu);					\
	__verify_pcpu_ptr(ptr);						\
	if (__builtin_types_compatible_p(typeof(*(ptr)), struct rq))	\
		fg_look(__fg_of);					\
	SHIFT_PERCPU_PTR((ptr), per_cpu_offset(__fg_of));		\
})
#endif
#endif
