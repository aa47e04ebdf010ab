/* SPDX-License-Identifier: GPL-2.0 */
/* The build of the tree asks for this file; nothing in it is needed. */
#ifndef _ASM_FG_VMALLOC_H
#define _ASM_FG_VMALLOC_H
#endif
