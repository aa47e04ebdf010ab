/* SPDX-License-Identifier: GPL-2.0 */
/* A loop that waits for another CPU can never end on one host thread: fg_relax() counts, and reports such a loop. */
#ifndef _ASM_FG_VDSO_PROCESSOR_H
#define _ASM_FG_VDSO_PROCESSOR_H
#ifndef __ASSEMBLY__
void fg_relax(void);
#define cpu_relax() fg_relax()
#endif
#endif
