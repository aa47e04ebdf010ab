/* SPDX-License-Identifier: GPL-2.0 */
/* An address of a CPU's own data is the template's address plus an offset; the entered CPU's offset is a global. */
#ifndef _ASM_FG_PERCPU_H
#define _ASM_FG_PERCPU_H
#ifndef __ASSEMBLY__
extern unsigned long fg_cpu_offset;
#define __my_cpu_offset fg_cpu_offset
#endif
#include <asm-generic/percpu.h>
#endif
