//! What a balance found, or why it did not look: verdicts. They are no records: only a sink that asks for them gets them.

use fairground_stdx::{CpuId, SdId, TaskId};

/// Who balances, and when.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum BalancePass {
    /// A CPU that has just run out of tasks.
    Newidle,
    /// The tick of a busy CPU.
    BusyTick,
    /// The tick of an idle CPU, or another one on its behalf.
    Idle,
}

impl BalancePass {
    /// The name in tables.
    pub const fn name(self) -> &'static str {
        match self {
            BalancePass::Newidle => "newidle",
            BalancePass::BusyTick => "busy tick",
            BalancePass::Idle => "idle",
        }
    }
}

macro_rules! findings {
    ($($name:ident $slug:literal $text:literal;)*) => {
        /// What a balance of one domain came to. `{found}` and `{needed}` are the two numbers that were compared.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
        pub enum BalanceFinding {
            $(#[doc = $text] $name,)*
        }
        impl BalanceFinding {
            /// All of them in order.
            pub const ALL: &'static [BalanceFinding] = &[$(BalanceFinding::$name),*];
            /// Short name for files and scripts.
            pub const fn slug(self) -> &'static str {
                match self { $(BalanceFinding::$name => $slug),* }
            }
            /// It as a sentence.
            pub const fn sentence(self) -> &'static str {
                match self { $(BalanceFinding::$name => $text),* }
            }
        }
    };
}

findings! {
    NobodyWaits "nobody-waits" "no CPU of the machine was known to have more than one task";
    ShortIdle "short-idle" "the CPU expects to be idle for {found} ns, less than the {needed} ns that a balance costs";
    NoNewidle "no-newidle" "the domain is not balanced by CPUs that run out of tasks";
    Dice "dice" "NI_RANDOM: tries of this domain seldom succeed, and the die said no";
    NotDue "not-due" "jiffy {found}: the balance is not due before jiffy {needed}";
    Serialized "serialized" "another CPU is at a balance of this kind, of which only one at a time may go on";
    OtherBalances "other-balances" "another CPU of the group balances for it";
    NoBusiestGroup "no-busiest-group" "no group was busier than the rest";
    Balanced "balanced" "the busiest group ({found}) was not enough above the local one ({needed})";
    NoBusiestQueue "no-busiest-queue" "the busiest group had no queue from which something could be taken";
    OneTask "one-task" "the busiest queue had no task that waits";
    NothingMoved "nothing-moved" "none of the tasks of the busiest queue could be moved";
    Moved "moved" "{found} tasks were moved";
    EnergyFirst "energy-first" "wakees go by energy, and no CPU has more to do than it can";
}

macro_rules! refusals {
    ($($name:ident $slug:literal $text:literal;)*) => {
        /// Why a balance that looked at a queued task left it there.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
        pub enum Refusal {
            $(#[doc = $text] $name,)*
        }
        impl Refusal {
            /// Short name for files and scripts.
            pub const fn slug(self) -> &'static str {
                match self { $(Refusal::$name => $slug),* }
            }
            /// It as a sentence.
            pub const fn sentence(self) -> &'static str {
                match self { $(Refusal::$name => $text),* }
            }
        }
    };
}

refusals! {
    NotAllowed "not-allowed" "it may not run there";
    Runs "runs" "it runs";
    Hot "hot" "it counts as cache hot";
    Sleeps "sleeps" "it sleeps, in delayed dequeue";
    NotEligible "not-eligible" "it has had more than its share";
    TooMuch "too-much" "its load is more than what is to be moved";
    TooLittle "too-little" "its load is too small to be worth a move";
    Fits "fits" "it fits the CPU where it is";
    Throttled "throttled" "its group is throttled here or there";
}

/// What a balance of one domain came to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BalanceVerdict {
    /// The CPU on whose behalf it was made.
    pub dst_cpu: CpuId,
    /// The domain; `None` if it did not come so far.
    pub domain: Option<SdId>,
    /// The busiest queue, if one was chosen.
    pub source: Option<CpuId>,
    /// Who balanced.
    pub pass: BalancePass,
    /// What it came to.
    pub finding: BalanceFinding,
    /// The first of the two numbers that decided, where the finding has them.
    pub found: u64,
    /// The second.
    pub needed: u64,
}

/// A balance that looked at a queued task left it there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TaskRefusal {
    /// The task.
    pub task: TaskId,
    /// Where it would have gone.
    pub dst_cpu: CpuId,
    /// Why not.
    pub refusal: Refusal,
}

/// One or the other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// Of a domain.
    Balance(BalanceVerdict),
    /// Of a task.
    Task(TaskRefusal),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slugs_of_findings_are_unique() {
        let mut slugs: Vec<_> = BalanceFinding::ALL.iter().map(|finding| finding.slug()).collect();
        slugs.sort_unstable();
        slugs.dedup();
        assert_eq!(slugs.len(), BalanceFinding::ALL.len());
    }
}
