/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _ASM_FG_ELF_H
#define _ASM_FG_ELF_H
#define ELF_CLASS ELFCLASS64
#define ELF_DATA ELFDATA2LSB
#define ELF_ARCH EM_NONE
typedef unsigned long elf_greg_t;
typedef elf_greg_t elf_gregset_t[1];
typedef unsigned long elf_fpregset_t;
#define elf_check_arch(x) 0
#define ELF_EXEC_PAGESIZE 4096
#define ELF_ET_DYN_BASE 0UL
#define ELF_HWCAP 0
#define ELF_PLATFORM ((char *)0)
#define ELF_PLAT_INIT(regs, load_addr) do { } while (0)
#endif
