/* SPDX-License-Identifier: GPL-2.0 */
/* Without pages there is nothing to switch; the header that says so got its name after v5.10. */
#if __has_include(<asm-generic/nommu_context.h>)
#include <asm-generic/nommu_context.h>
#else
#include <asm-generic/mmu_context.h>
#endif
