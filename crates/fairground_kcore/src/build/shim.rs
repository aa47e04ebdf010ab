//! The files of `kcore/`, as they are in the program: a build writes them anew beside the tree.

/// One file of the shim: its path below the overlay, and its text.
pub(super) type File = (&'static str, &'static str);

/// The architecture. The paths are those of the overlay; a test compares the list with the folder.
pub(super) const ARCH: &[File] = &[
    ("arch/fg/Kconfig", include_str!("../../../../kcore/arch/fg/Kconfig")),
    ("arch/fg/Kconfig.debug", include_str!("../../../../kcore/arch/fg/Kconfig.debug")),
    ("arch/fg/Makefile", include_str!("../../../../kcore/arch/fg/Makefile")),
    ("arch/fg/has.mk", include_str!("../../../../kcore/arch/fg/has.mk")),
    ("arch/fg/include/asm/Kbuild", include_str!("../../../../kcore/arch/fg/include/asm/Kbuild")),
    ("arch/fg/include/asm/atomic.h", include_str!("../../../../kcore/arch/fg/include/asm/atomic.h")),
    ("arch/fg/include/asm/barrier.h", include_str!("../../../../kcore/arch/fg/include/asm/barrier.h")),
    ("arch/fg/include/asm/bitops.h", include_str!("../../../../kcore/arch/fg/include/asm/bitops.h")),
    ("arch/fg/include/asm/bug.h", include_str!("../../../../kcore/arch/fg/include/asm/bug.h")),
    ("arch/fg/include/asm/cache.h", include_str!("../../../../kcore/arch/fg/include/asm/cache.h")),
    ("arch/fg/include/asm/cmpxchg.h", include_str!("../../../../kcore/arch/fg/include/asm/cmpxchg.h")),
    ("arch/fg/include/asm/current.h", include_str!("../../../../kcore/arch/fg/include/asm/current.h")),
    ("arch/fg/include/asm/elf.h", include_str!("../../../../kcore/arch/fg/include/asm/elf.h")),
    ("arch/fg/include/asm/fg_abi.h", include_str!("../../../../kcore/arch/fg/include/asm/fg_abi.h")),
    ("arch/fg/include/asm/irqflags.h", include_str!("../../../../kcore/arch/fg/include/asm/irqflags.h")),
    ("arch/fg/include/asm/mmu_context.h", include_str!("../../../../kcore/arch/fg/include/asm/mmu_context.h")),
    ("arch/fg/include/asm/mmzone.h", include_str!("../../../../kcore/arch/fg/include/asm/mmzone.h")),
    ("arch/fg/include/asm/page.h", include_str!("../../../../kcore/arch/fg/include/asm/page.h")),
    ("arch/fg/include/asm/percpu.h", include_str!("../../../../kcore/arch/fg/include/asm/percpu.h")),
    ("arch/fg/include/asm/pgtable.h", include_str!("../../../../kcore/arch/fg/include/asm/pgtable.h")),
    ("arch/fg/include/asm/processor.h", include_str!("../../../../kcore/arch/fg/include/asm/processor.h")),
    ("arch/fg/include/asm/ptrace.h", include_str!("../../../../kcore/arch/fg/include/asm/ptrace.h")),
    ("arch/fg/include/asm/smp.h", include_str!("../../../../kcore/arch/fg/include/asm/smp.h")),
    ("arch/fg/include/asm/sparsemem.h", include_str!("../../../../kcore/arch/fg/include/asm/sparsemem.h")),
    ("arch/fg/include/asm/spinlock.h", include_str!("../../../../kcore/arch/fg/include/asm/spinlock.h")),
    ("arch/fg/include/asm/spinlock_types.h", include_str!("../../../../kcore/arch/fg/include/asm/spinlock_types.h")),
    ("arch/fg/include/asm/stacktrace.h", include_str!("../../../../kcore/arch/fg/include/asm/stacktrace.h")),
    ("arch/fg/include/asm/string.h", include_str!("../../../../kcore/arch/fg/include/asm/string.h")),
    ("arch/fg/include/asm/switch_to.h", include_str!("../../../../kcore/arch/fg/include/asm/switch_to.h")),
    ("arch/fg/include/asm/thread_info.h", include_str!("../../../../kcore/arch/fg/include/asm/thread_info.h")),
    ("arch/fg/include/asm/tlb.h", include_str!("../../../../kcore/arch/fg/include/asm/tlb.h")),
    ("arch/fg/include/asm/topology.h", include_str!("../../../../kcore/arch/fg/include/asm/topology.h")),
    ("arch/fg/include/asm/vdso/processor.h", include_str!("../../../../kcore/arch/fg/include/asm/vdso/processor.h")),
    ("arch/fg/include/asm/vermagic.h", include_str!("../../../../kcore/arch/fg/include/asm/vermagic.h")),
    ("arch/fg/include/asm/vmalloc.h", include_str!("../../../../kcore/arch/fg/include/asm/vmalloc.h")),
    ("arch/fg/include/trace/events/sched.h", include_str!("../../../../kcore/arch/fg/include/trace/events/sched.h")),
    ("arch/fg/include/uapi/asm/bitsperlong.h", include_str!("../../../../kcore/arch/fg/include/uapi/asm/bitsperlong.h")),
    ("arch/fg/include/uapi/asm/byteorder.h", include_str!("../../../../kcore/arch/fg/include/uapi/asm/byteorder.h")),
    ("arch/fg/include/uapi/asm/ptrace.h", include_str!("../../../../kcore/arch/fg/include/uapi/asm/ptrace.h")),
    ("arch/fg/include/uapi/asm/sigcontext.h", include_str!("../../../../kcore/arch/fg/include/uapi/asm/sigcontext.h")),
    ("arch/fg/kernel/Makefile", include_str!("../../../../kcore/arch/fg/kernel/Makefile")),
    ("arch/fg/kernel/asm-offsets.c", include_str!("../../../../kcore/arch/fg/kernel/asm-offsets.c")),
    ("arch/fg/kernel/boot.c", include_str!("../../../../kcore/arch/fg/kernel/boot.c")),
    ("arch/fg/kernel/context.c", include_str!("../../../../kcore/arch/fg/kernel/context.c")),
    ("arch/fg/kernel/cpufreq.c", include_str!("../../../../kcore/arch/fg/kernel/cpufreq.c")),
    ("arch/fg/kernel/energy.c", include_str!("../../../../kcore/arch/fg/kernel/energy.c")),
    ("arch/fg/kernel/entry.c", include_str!("../../../../kcore/arch/fg/kernel/entry.c")),
    ("arch/fg/kernel/fault.c", include_str!("../../../../kcore/arch/fg/kernel/fault.c")),
    ("arch/fg/kernel/fg.h", include_str!("../../../../kcore/arch/fg/kernel/fg.h")),
    ("arch/fg/kernel/groups.c", include_str!("../../../../kcore/arch/fg/kernel/groups.c")),
    ("arch/fg/kernel/hotplug.c", include_str!("../../../../kcore/arch/fg/kernel/hotplug.c")),
    ("arch/fg/kernel/interrupt.c", include_str!("../../../../kcore/arch/fg/kernel/interrupt.c")),
    ("arch/fg/kernel/machine.c", include_str!("../../../../kcore/arch/fg/kernel/machine.c")),
    ("arch/fg/kernel/memory.c", include_str!("../../../../kcore/arch/fg/kernel/memory.c")),
    ("arch/fg/kernel/rcu.c", include_str!("../../../../kcore/arch/fg/kernel/rcu.c")),
    ("arch/fg/kernel/seen.c", include_str!("../../../../kcore/arch/fg/kernel/seen.c")),
    ("arch/fg/kernel/stopper.c", include_str!("../../../../kcore/arch/fg/kernel/stopper.c")),
    ("arch/fg/kernel/table.c", include_str!("../../../../kcore/arch/fg/kernel/table.c")),
    ("arch/fg/kernel/tasks.c", include_str!("../../../../kcore/arch/fg/kernel/tasks.c")),
    ("arch/fg/kernel/time.c", include_str!("../../../../kcore/arch/fg/kernel/time.c")),
    ("arch/fg/kernel/views.c", include_str!("../../../../kcore/arch/fg/kernel/views.c")),
];

/// The script of the linker, before the preprocessor.
pub(super) const LINK: &str = include_str!("../../../../kcore/link/core.lds.S");
/// What stands for the rest of a kernel.
pub(super) const STUBS: &str = include_str!("../../../../kcore/link/stubs.list");
/// The configuration of a build without a fragment.
pub(super) const BASE: &str = include_str!("../../../../kcore/config/base.config");

/// All texts, for the key of the cache.
pub(super) fn all() -> impl Iterator<Item = File> {
    ARCH.iter().copied().chain([("core.lds.S", LINK), ("stubs.list", STUBS), ("base.config", BASE)])
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test stops where it fails")]
mod tests {
    use std::path::Path;

    fn below(folder: &Path, found: &mut Vec<String>, root: &Path) {
        for entry in folder.read_dir().unwrap().flatten() {
            if entry.path().is_dir() {
                below(&entry.path(), found, root);
            } else {
                found.push(entry.path().strip_prefix(root).unwrap().to_string_lossy().into_owned());
            }
        }
    }

    #[test]
    fn the_list_names_every_file_of_the_architecture() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../kcore");
        let mut found = Vec::new();
        below(&root.join("arch"), &mut found, &root);
        found.sort();
        assert_eq!(found, super::ARCH.iter().map(|file| file.0.to_string()).collect::<Vec<_>>());
    }
}
