/* SPDX-License-Identifier: GPL-2.0 */
/* The functions of the host's C library: the tree declares them. */
#ifndef _ASM_FG_STRING_H
#define _ASM_FG_STRING_H
#endif
