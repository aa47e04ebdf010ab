/* SPDX-License-Identifier: GPL-2.0 */
/*
 * asm-generic, with the compiler's own instructions where that has both. Its searches in C take some 20 steps for a bit,
 * and walks over masks of CPUs ask for one after the other.
 */
#ifndef _ASM_FG_BITOPS_H
#define _ASM_FG_BITOPS_H
#ifndef _LINUX_BITOPS_H
#error only <linux/bitops.h> can be included directly
#endif
#include <linux/irqflags.h>
#include <linux/compiler.h>
#include <asm/barrier.h>
#include <asm-generic/bitops/builtin-__ffs.h>
#include <asm-generic/bitops/builtin-ffs.h>
#include <asm-generic/bitops/builtin-__fls.h>
#include <asm-generic/bitops/builtin-fls.h>
#include <asm-generic/bitops/ffz.h>
#include <asm-generic/bitops/fls64.h>
/* Up to v5.12 searches of masks are declared there. */
#if __has_include(<asm-generic/bitops/find.h>)
#include <asm-generic/bitops/find.h>
#endif
#include <asm-generic/bitops/sched.h>
#include <asm-generic/bitops/hweight.h>
#include <asm-generic/bitops/lock.h>
#include <asm-generic/bitops/atomic.h>
#include <asm-generic/bitops/non-atomic.h>
#include <asm-generic/bitops/le.h>
#include <asm-generic/bitops/ext2-atomic.h>
#endif
