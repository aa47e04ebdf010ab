/* SPDX-License-Identifier: GPL-2.0 */
#ifndef __ASSEMBLY__
struct user_regs_struct { unsigned long pc; };
#endif
