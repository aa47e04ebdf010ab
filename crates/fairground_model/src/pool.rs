//! Memory that programs touch: entries in pages, which each process faults in once.

/// The size of a page. An architecture has some of them.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum PageSize {
    /// 4 KiB.
    K4,
    /// 64 KiB: the base page of some arm64 kernels, and sixteen pages of 4 KiB that others map at once.
    K64,
    /// 2 MiB.
    M2,
    /// 1 GiB.
    G1,
}

impl PageSize {
    /// All sizes, the smallest first.
    pub const ALL: [PageSize; 4] = [PageSize::K4, PageSize::K64, PageSize::M2, PageSize::G1];

    /// Bytes.
    pub const fn bytes(self) -> u64 {
        match self {
            PageSize::K4 => 4 << 10,
            PageSize::K64 => 64 << 10,
            PageSize::M2 => 2 << 20,
            PageSize::G1 => 1 << 30,
        }
    }
    /// Its name in files: `4KiB`.
    pub const fn name(self) -> &'static str {
        match self {
            PageSize::K4 => "4KiB",
            PageSize::K64 => "64KiB",
            PageSize::M2 => "2MiB",
            PageSize::G1 => "1GiB",
        }
    }
    /// Whether it is mapped by one entry of a higher level of the page table.
    pub const fn is_huge(self) -> bool {
        matches!(self, PageSize::M2 | PageSize::G1)
    }
    /// The size of that name.
    pub fn by_name(name: &str) -> Option<PageSize> {
        PageSize::ALL.into_iter().find(|size| size.name() == name)
    }
    /// The names of some sizes, as a sentence lists them.
    pub fn list(sizes: &[PageSize]) -> String {
        sizes.iter().map(|size| size.name()).collect::<Vec<_>>().join(", ")
    }
}

/// Bits of page tables that the pools of a run may have in all: 256 MiB of ours.
pub const MAX_MAPPED_PAGES: u64 = 1 << 31;

/// Memory that processes share and touch: so many entries of a size, one behind the other. All of it is there when the run begins, but no
/// process has mapped a page of it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PoolSpec {
    /// Its name.
    pub name: String,
    /// How many entries; not 0.
    pub entries: u64,
    /// Bytes of an entry; not 0. No entry counts for two pages: one that crosses a border is on the page on which it begins.
    pub entry_bytes: u64,
    /// The size of its pages.
    pub page: PageSize,
}

impl PoolSpec {
    /// How many pages it has.
    pub const fn pages(&self) -> u64 {
        self.entries.saturating_mul(self.entry_bytes).div_ceil(self.page.bytes())
    }
    /// The page of an entry. Entries are counted round: behind the last comes the first.
    pub const fn page_of(&self, entry: u64) -> u64 {
        (entry % self.entries).saturating_mul(self.entry_bytes) / self.page.bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_lie_one_behind_the_other_and_are_counted_round() {
        let pool = |page| PoolSpec { name: "p".into(), entries: 130, entry_bytes: 64, page };
        let small = pool(PageSize::K4);
        assert_eq!(small.pages(), 3);
        assert_eq!([0, 63, 64, 128, 129, 130, 131].map(|entry| small.page_of(entry)), [0, 0, 1, 2, 2, 0, 0]);
        assert_eq!(PageSize::ALL.map(|page| pool(page).pages()), [3, 1, 1, 1]);
        // The descriptors of 120 GB of shared buffers.
        let buffers = PoolSpec { entries: 15_728_640, ..pool(PageSize::K4) };
        assert_eq!((buffers.pages(), PoolSpec { page: PageSize::M2, ..buffers }.pages()), (245_760, 480));
    }

    #[test]
    fn sizes_have_names() {
        assert!(PageSize::ALL.iter().all(|size| PageSize::by_name(size.name()) == Some(*size)));
        assert_eq!(PageSize::by_name("8KiB"), None);
        assert_eq!(PageSize::list(&PageSize::ALL), "4KiB, 64KiB, 2MiB, 1GiB");
    }
}
