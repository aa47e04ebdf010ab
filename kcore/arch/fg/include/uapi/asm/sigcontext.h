/* SPDX-License-Identifier: GPL-2.0 */
struct sigcontext { unsigned long pc; };
