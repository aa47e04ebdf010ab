/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Added to the linker's own script for shared libraries. The order of the scheduling classes and the layout of per-CPU
 * data are those of the tree, by its own macros.
 */
#include <asm-generic/vmlinux.lds.h>
#include <asm/cache.h>
#undef PAGE_SIZE
#define PAGE_SIZE 4096

SECTIONS
{
	.fg_sched : { SCHED_DATA }
	.fg_percpu : { PERCPU_INPUT(L1_CACHE_BYTES) }
	.fg_data : {
		*(.init.data .exit.data .ref.data .data..read_mostly .data..ro_after_init .data..cacheline_aligned)
		*(.data..init_task .data.rel.ro.init .init.rodata)
		. = ALIGN(8);
		fg_core_initcalls = .;
		*(.initcall1.init)
		fg_core_initcalls_end = .;
	}
	/DISCARD/ : { *(.export_symbol) *(.discard .discard.*) *(.modinfo) *(.initcall*.init) *(___ksymtab*) }
}
INSERT AFTER .data;

SECTIONS
{
	.fg_text : { *(.init.text .exit.text .sched.text .spinlock.text .cpuidle.text .ref.text .meminit.text .noinstr.text) }
}
INSERT AFTER .text;

jiffies = jiffies_64;
