/* SPDX-License-Identifier: GPL-2.0 */
#define MODULE_ARCH_VERMAGIC "fg"
