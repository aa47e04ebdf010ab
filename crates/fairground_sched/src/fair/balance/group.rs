//! How busy a group of CPUs is, as a type (v5.5–): what balance and the placement of new tasks compare first.

/// How busy a group is, idlest first.
///
/// Kernel: fair.c enum group_type, v5.5–
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum GroupType {
    /// It can take more tasks.
    HasSpare,
    /// Its CPUs are in use, but no task waits for long.
    FullyBusy,
    /// It has a task that needs a bigger CPU.
    MisfitTask,
    /// It is a core whose threads are busy, and another core is idle (v6.6–).
    SmtBalance,
    /// Its tasks belong on a CPU of higher priority.
    AsymPacking,
    /// A lower level could not balance it.
    Imbalanced,
    /// Its tasks wait for each other.
    Overloaded,
}

/// Sums over the CPUs of a group that say how busy it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct GroupSums {
    /// Number of its CPUs.
    pub(crate) group_weight: u64,
    /// Their capacities.
    pub(crate) group_capacity: u64,
    /// Their utilisations.
    pub(crate) group_util: u64,
    /// Their runnable averages.
    pub(crate) group_runnable: u64,
    /// Their tasks of all classes.
    pub(crate) sum_nr_running: u64,
}

/// Whether there is something left that tasks could use.
///
/// Kernel: fair.c group_has_capacity(), v5.7– (without runnable before)
pub(crate) const fn group_has_capacity(imbalance_pct: u32, group: &GroupSums) -> bool {
    let pct = imbalance_pct as u64;
    if group.sum_nr_running < group.group_weight {
        return true;
    }
    if group.group_capacity * pct < group.group_runnable * 100 {
        return false;
    }
    group.group_capacity * 100 > group.group_util * pct
}

/// Whether tasks want more than there is.
///
/// Kernel: fair.c group_is_overloaded(), v5.7– (without runnable before)
pub(crate) const fn group_is_overloaded(imbalance_pct: u32, group: &GroupSums) -> bool {
    let pct = imbalance_pct as u64;
    if group.sum_nr_running <= group.group_weight {
        return false;
    }
    group.group_capacity * 100 < group.group_util * pct || group.group_capacity * pct < group.group_runnable * 100
}
