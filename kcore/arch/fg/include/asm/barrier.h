/* SPDX-License-Identifier: GPL-2.0 */
/* One host thread sees its own writes in order. */
#ifndef _ASM_FG_BARRIER_H
#define _ASM_FG_BARRIER_H
#define mb() barrier()
#include <asm/vdso/processor.h>
#include <asm-generic/barrier.h>
#endif
