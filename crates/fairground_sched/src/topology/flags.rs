//! What a domain is for.

macro_rules! sd_flags {
    ($($name:ident $bit:literal $debugfs:literal $text:literal;)*) => {
        /// Flags of a domain or group.
        ///
        /// Kernel: sd_flags.h SD_FLAG(), v4.12–
        #[derive(Clone, Copy, PartialEq, Eq, Default)]
        pub struct SdFlags(u32);

        impl SdFlags {
            $(#[doc = $text] pub const $name: SdFlags = SdFlags(1 << $bit);)*
            /// All flags with their names in debugfs, in its order.
            pub const ALL: &'static [(&'static str, SdFlags)] = &[$(($debugfs, SdFlags::$name)),*];
        }
    };
}

sd_flags! {
    BALANCE_NEWIDLE 0 "SD_BALANCE_NEWIDLE" "Balance when a CPU runs out of tasks.";
    BALANCE_EXEC 1 "SD_BALANCE_EXEC" "Balance on exec.";
    BALANCE_FORK 2 "SD_BALANCE_FORK" "Balance on fork.";
    BALANCE_WAKE 3 "SD_BALANCE_WAKE" "Balance on wake-up.";
    WAKE_AFFINE 4 "SD_WAKE_AFFINE" "A wakee may be moved to the waker's CPU.";
    ASYM_CPUCAPACITY 5 "SD_ASYM_CPUCAPACITY" "CPUs differ in capacity.";
    ASYM_CPUCAPACITY_FULL 6 "SD_ASYM_CPUCAPACITY_FULL" "All capacities of the machine are there.";
    SHARE_CPUCAPACITY 7 "SD_SHARE_CPUCAPACITY" "The CPUs are threads of one core.";
    CLUSTER 8 "SD_CLUSTER" "The CPUs form a cluster.";
    SHARE_LLC 9 "SD_SHARE_LLC" "The CPUs share a cache (SD_SHARE_PKG_RESOURCES before v6.8).";
    SERIALIZE 10 "SD_SERIALIZE" "One balance at a time in the whole machine.";
    ASYM_PACKING 11 "SD_ASYM_PACKING" "Tasks go to CPUs of high priority first.";
    PREFER_SIBLING 12 "SD_PREFER_SIBLING" "Tasks are spread over the groups of the parent.";
    OVERLAP 13 "SD_OVERLAP" "Groups overlap.";
    NUMA 14 "SD_NUMA" "The domain spans nodes.";
    LOAD_BALANCE 15 "SD_LOAD_BALANCE" "Balance at all (up to v5.6).";
}

impl SdFlags {
    /// No flag.
    pub const EMPTY: SdFlags = SdFlags(0);

    /// Whether all of `flags` are set.
    #[inline]
    pub const fn has(self, flags: SdFlags) -> bool {
        self.0 & flags.0 == flags.0
    }
    /// Whether any of `flags` is set.
    #[inline]
    pub const fn intersects(self, flags: SdFlags) -> bool {
        self.0 & flags.0 != 0
    }
    /// These and those of `flags`.
    pub const fn with(self, flags: SdFlags) -> SdFlags {
        SdFlags(self.0 | flags.0)
    }
    /// Those that are in both.
    pub const fn and(self, flags: SdFlags) -> SdFlags {
        SdFlags(self.0 & flags.0)
    }
    /// These without those of `flags`.
    pub const fn without(self, flags: SdFlags) -> SdFlags {
        SdFlags(self.0 & !flags.0)
    }
}

impl std::fmt::Debug for SdFlags {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names = SdFlags::ALL.iter().filter(|row| self.has(row.1)).map(|row| row.0);
        f.debug_set().entries(names).finish()
    }
}
