//! The seams of scheduling domains: which levels there are, and what a domain of a level starts with.

use super::seams;
use crate::topology::SdFlags;

seams! {
    $ topology;

    /// Which levels of domains a kernel knows.
    DomainLevels = domain_levels {
        ToDie "to-die" "SMT, MC, DIE, and one NUMA level for each distance above the local one.",
        WithNode "with-node" "The node is a level of its own below the NUMA levels.",
        WithCluster "with-cluster" "The cluster (CLS) is a level between SMT and MC.",
        ClusterFlag "cluster-flag" "Domains of the cluster level are marked as such (SD_CLUSTER).",
        SmtIfThreads "smt-if-threads"
            "There is no SMT level where no core has two threads; NUMA domains overlap without a flag that says so.",
    }
    history {
        v(4, 12) => ToDie, v(4, 15) => WithNode, v(5, 16) => WithCluster, v(6, 7) => ClusterFlag, v(6, 17) => SmtIfThreads,
    }

    /// When a CPU that goes off line leaves the masks of nodes by their distance.
    NumaMasks = numa_masks {
        Later "later" "When the domains without it are built.",
        WithNode "with-node" "The same, but if it was the last one of its node: then the masks are made anew before.",
    }
    history { v(4, 12) => Later, v(5, 18) => WithNode, }

    /// By which CPUs the interval of a new domain goes, 1 ms for each.
    IntervalWeight = interval_weight {
        Mask "mask" "Those of the hardware's mask: one that is just going off line counts still.",
        Span "span" "Those of the domain.",
    }
    // Read in 6.18.15 and 7.2.13.
    history { v(4, 12) => Mask, v(7, 2) => Span, }

    /// How many CPUs a search in a new cache domain may look at (SIS_UTIL) until its first balance of all of it tells.
    FreshScan = fresh_scan {
        None "none" "One: the search begins with none allowed.",
        FlagBits "flag-bits" "All of up to 512: the field holds a flag of the domain by which it was claimed as that was built.",
    }
    // Read in 6.18.15 and 7.2.13; a comment of the latter tells of it.
    history { v(4, 12) => None, v(7, 2) => FlagBits, }

    /// What a domain starts with.
    DomainInit = domain_init {
        SiblingByLevel "sibling-by-level"
            "busy_factor 32, imbalance_pct 125, older loads by level; SMT, DIE and NODE domains spread tasks over their parent's groups.",
        SiblingAlways "sibling-always" "busy_factor 32, imbalance_pct 125, older loads by level; all domains but NUMA spread tasks.",
        ShortIntervals "short-intervals"
            "busy_factor 16, imbalance_pct 117, no older loads, no SD_LOAD_BALANCE; all domains but NUMA spread tasks.",
    }
    history { v(4, 12) => SiblingByLevel, v(4, 20) => SiblingAlways, v(5, 10) => ShortIntervals, }

    /// Which domains count as asymmetric in capacity.
    AsymCapacity = asym_capacity {
        LowestLevel "lowest-level" "Those of the lowest level at which every CPU sees one of the biggest capacity.",
        FromLevel "from-level" "Those of that level and all above.",
        Classified "classified" "All that span two capacities or more, marked apart if they span all of the machine (ASYM_CPUCAPACITY_FULL).",
    }
    history { v(4, 12) => LowestLevel, v(5, 10) => FromLevel, v(5, 15) => Classified, }

    /// What an asymmetric capacity does to the domains below.
    AsymSpread = asym_spread {
        WakeBalance "wake-balance" "These domains and all below balance on wake-up.",
        WakeBalanceNoSpread "wake-balance-no-spread" "The same, and tasks are not spread over the groups of such a domain.",
        NoSpread "no-spread" "Tasks are not spread over the groups of such a domain.",
    }
    history { v(4, 12) => WakeBalance, v(4, 20) => WakeBalanceNoSpread, v(5, 10) => NoSpread, }

    /// Which domains have no use and are removed.
    Degenerate = degenerate {
        Listed "listed" "Flags that need two groups are listed in the code; that NUMA nodes differ is none of them.",
        MetaFlags "meta-flags" "Each flag says itself whether it needs two groups; all but SD_WAKE_AFFINE do.",
    }
    history { v(4, 12) => Listed, v(5, 10) => MetaFlags, }

    /// What a group says of the domain below.
    GroupFlags = group_flags {
        None "none" "Nothing.",
        Child "child" "It has the flags of the domain that it is, even if that was removed for another of the same span.",
        KeptChild "kept-child" "It has the flags of the domain that it is; if that was removed, of the one that stayed.",
    }
    history { v(4, 12) => None, v(5, 15) => Child, v(6, 6) => KeptChild, }

    /// What the groups of nodes three hops apart span.
    OverlapGroups = overlap_groups {
        Child "child" "What the domain below spans, though it reach out of the domain that it is a group of.",
        WithinDomain "within-domain" "What the highest domain below spans that does not reach out of the domain.",
    }
    history { v(4, 12) => Child, v(5, 12) => WithinDomain, }

    /// How many tasks a node may have more than another without that being an imbalance.
    NumaAllowance = numa_allowance {
        None "none" "Domains do not say.",
        Quarter "quarter" "One for each cache of a node; a quarter of its CPUs if there is one cache.",
        Eighth "eighth" "One for each cache of a node; an eighth of its CPUs if there is one cache.",
    }
    history { v(4, 12) => None, v(5, 18) => Quarter, v(6, 0) => Eighth, }

    /// How domains are called in debugfs.
    DomainNames = domain_names {
        DieSharePkg "die-share-pkg" "DIE and SD_SHARE_PKG_RESOURCES.",
        PkgSharePkg "pkg-share-pkg" "PKG and SD_SHARE_PKG_RESOURCES.",
        PkgShareLlc "pkg-share-llc" "PKG and SD_SHARE_LLC.",
    }
    history { v(4, 12) => DieSharePkg, v(6, 7) => PkgSharePkg, v(6, 9) => PkgShareLlc, }
}

impl DomainLevels {
    /// Whether the node stands below the NUMA levels.
    pub(crate) const fn has_node(self) -> bool {
        !matches!(self, DomainLevels::ToDie)
    }
    /// Whether there is a cluster level.
    pub(crate) const fn has_cluster(self) -> bool {
        !matches!(self, DomainLevels::ToDie | DomainLevels::WithNode)
    }
    /// What marks a cluster domain beside the shared cache.
    pub(crate) const fn cluster_flag(self) -> SdFlags {
        match self {
            DomainLevels::ToDie | DomainLevels::WithNode | DomainLevels::WithCluster => SdFlags::EMPTY,
            DomainLevels::ClusterFlag | DomainLevels::SmtIfThreads => SdFlags::CLUSTER,
        }
    }
    /// Whether the SMT level is left out of a machine without SMT.
    pub(crate) const fn drops_unused_smt(self) -> bool {
        matches!(self, DomainLevels::SmtIfThreads)
    }
    /// What marks a NUMA domain beside `NUMA`.
    pub(crate) const fn overlap_flag(self) -> SdFlags {
        if self.drops_unused_smt() { SdFlags::EMPTY } else { SdFlags::OVERLAP }
    }
}

impl DomainInit {
    /// Whether busy CPUs balance twice as often as they did, and from smaller imbalances on.
    ///
    /// Kernel: topology.c sd_init(), v5.10–
    pub(crate) const fn is_short(self) -> bool {
        matches!(self, DomainInit::ShortIntervals)
    }
}

impl NumaAllowance {
    /// The allowance of a node with one cache, as a shift of its CPUs; none where domains have no allowance.
    pub(crate) const fn one_cache_shift(self) -> Option<u32> {
        match self {
            NumaAllowance::None => None,
            NumaAllowance::Quarter => Some(2),
            NumaAllowance::Eighth => Some(3),
        }
    }
}

impl DomainNames {
    /// The name of the level of all CPUs of a node.
    pub const fn die(self) -> &'static str {
        match self {
            DomainNames::DieSharePkg => "DIE",
            DomainNames::PkgSharePkg | DomainNames::PkgShareLlc => "PKG",
        }
    }
    /// The name of the flag of a shared cache.
    pub const fn share_llc(self) -> &'static str {
        match self {
            DomainNames::DieSharePkg | DomainNames::PkgSharePkg => "SD_SHARE_PKG_RESOURCES",
            DomainNames::PkgShareLlc => "SD_SHARE_LLC",
        }
    }
}
