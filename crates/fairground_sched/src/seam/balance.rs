//! The seams of load balance.

use super::seams;

seams! {
    $ balance;

    /// What balance compares, and what it moves.
    Balance = balance {
        LoadBased "load-based" "Loads of groups against their mean; load is moved (up to v5.4).",
        GroupType "group-type" "How busy groups are, as types; load, utilisation or a number of tasks is moved (v5.5 on).",
    }
    history { v(4, 12) => LoadBased, v(5, 5) => GroupType, }

    /// Whether the threads of a process are drawn to one cache.
    CacheAware = cache_aware {
        Absent "absent" "Balance knows no processes.",
        PreferredLlc "preferred-llc"
            "A process of several threads has a preferred cache, where a node has more than one: not modelled yet, and refused where it would act.",
    }
    history { v(4, 12) => Absent, v(7, 2) => PreferredLlc, }
}

impl Balance {
    /// Whether loads of groups are compared with their mean.
    pub(crate) const fn is_load_based(self) -> bool {
        matches!(self, Balance::LoadBased)
    }
}
