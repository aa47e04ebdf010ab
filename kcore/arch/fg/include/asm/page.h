/* SPDX-License-Identifier: GPL-2.0 */
/* There is no memory to map. What is here is what headers of the tree need to be read. */
#ifndef _ASM_FG_PAGE_H
#define _ASM_FG_PAGE_H
#ifdef FG_HAS_VDSO_PAGE
#include <vdso/page.h>
#else
#define PAGE_SHIFT 12
#define PAGE_SIZE (1UL << PAGE_SHIFT)
#define PAGE_MASK (~(PAGE_SIZE - 1))
#endif
#define PAGE_OFFSET 0UL
#ifndef __ASSEMBLY__
typedef struct { unsigned long pte; } pte_t;
typedef struct { unsigned long pgd; } pgd_t;
typedef struct { unsigned long pgprot; } pgprot_t;
struct page;
typedef struct page *pgtable_t;
#define pte_val(x) ((x).pte)
#define pgd_val(x) ((x).pgd)
#define pgprot_val(x) ((x).pgprot)
#define __pte(x) ((pte_t) { (x) })
#define __pgd(x) ((pgd_t) { (x) })
#define __pgprot(x) ((pgprot_t) { (x) })
#define clear_page(page) memset((page), 0, PAGE_SIZE)
#define copy_page(to, from) memcpy((to), (from), PAGE_SIZE)
#define clear_user_page(page, vaddr, pg) clear_page(page)
#define copy_user_page(to, from, vaddr, pg) copy_page(to, from)
#define __pa(x) ((unsigned long)(x))
#define __va(x) ((void *)(unsigned long)(x))
#define ARCH_PFN_OFFSET 0UL
#define virt_to_pfn(kaddr) (__pa(kaddr) >> PAGE_SHIFT)
#define pfn_to_virt(pfn) __va((pfn) << PAGE_SHIFT)
#define virt_to_page(addr) pfn_to_page(virt_to_pfn(addr))
#define page_to_virt(page) pfn_to_virt(page_to_pfn(page))
#define virt_addr_valid(kaddr) 0
extern unsigned long memory_start, memory_end;
#include <asm-generic/memory_model.h>
#include <asm-generic/getorder.h>
#ifndef page_to_phys
#define page_to_phys(page) (page_to_pfn(page) << PAGE_SHIFT)
#endif
#endif
#endif
