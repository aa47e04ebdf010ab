/* SPDX-License-Identifier: GPL-2.0 */
/* BUG() and WARN() give their file and line to the shim: the first ends the call, the second is kept for the engine. */
#ifndef _ASM_FG_BUG_H
#define _ASM_FG_BUG_H
#ifndef __ASSEMBLY__
void fg_bug(const char *file, int line, const char *function) __attribute__((noreturn, cold));
#define HAVE_ARCH_BUG
#define BUG() fg_bug(__FILE__, __LINE__, __func__)
#endif
#include <asm-generic/bug.h>
#endif
