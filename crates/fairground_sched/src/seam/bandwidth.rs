//! Seams of CPU quota.

use crate::seam::seam;

seam! {
    /// Who releases a throttled queue that has quota again.
    Unthrottle = "unthrottle" {
        Inline "inline" "The period timer releases every queue itself, those of other CPUs too, with interrupts off.",
        OnItsCpu "on-its-cpu" "Each CPU releases its own queues: the period timer pays their debts and interrupts the others.",
    }
    history { v(4, 12) => Inline, v(6, 3) => OnItsCpu, }
}

seam! {
    /// Where the periods of a group begin.
    PeriodPhase = "period_phase" {
        Boot "boot" "At whole multiples of the period since boot: all groups of one period together.",
        Random "random" "Each group has a phase of its own, drawn when it is made.",
    }
    history { v(4, 12) => Boot, v(6, 3) => Random, }
}
