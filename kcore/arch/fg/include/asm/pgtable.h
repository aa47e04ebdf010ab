/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _ASM_FG_PGTABLE_H
#define _ASM_FG_PGTABLE_H
#include <asm-generic/pgtable-nopmd.h>
#define PAGE_KERNEL __pgprot(0)
#define PAGE_NONE __pgprot(0)
#define PAGE_SHARED __pgprot(0)
#define PAGE_COPY __pgprot(0)
#define PAGE_READONLY __pgprot(0)
#define VMALLOC_START 0UL
#define VMALLOC_END ~0UL
#define pgprot_noncached(prot) (prot)
#define pgprot_writecombine pgprot_noncached
#define swapper_pg_dir ((pgd_t *)0)
#ifndef FG_HAS_ZERO_PAGE
#define ZERO_PAGE(vaddr) ((struct page *)0)
#endif
#define __swp_type(x) 0
#define __swp_offset(x) 0
#define __swp_entry(type, offset) ((swp_entry_t) { 0 })
#define __pte_to_swp_entry(pte) ((swp_entry_t) { pte_val(pte) })
#define __swp_entry_to_pte(x) __pte((x).val)
#endif
