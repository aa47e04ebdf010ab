//! The seams of the deadline class.

use super::seams;

seams! {
    $ deadline;

    /// What a deadline task consumes of its runtime while it runs, and when its share of the CPU is free again.
    DlBandwidth = dl_bandwidth {
        WallTime "wall-time" "Runtime is consumed in wall time; the share of a task that leaves or ends is free at once.",
        Grub "grub" "Runtime is consumed by frequency and capacity, or shared with those that reclaim (GRUB); a share is free at the 0-lag time.",
        GrubOfLimit "grub-of-limit" "As grub, but those that reclaim share what admission allows, not the whole CPU.",
    }
    history { v(4, 12) => WallTime, v(4, 13) => Grub, v(6, 5) => GrubOfLimit, }

    /// What admission of deadline tasks goes by.
    DlAdmission = dl_admission {
        Cpus "cpus" "95 % of the number of CPUs.",
        Capacity "capacity" "95 % of the capacities of the CPUs, and placement looks for a CPU that is fast enough.",
    }
    history { v(4, 12) => Cpus, v(5, 9) => Capacity, }

    /// Which periods a deadline task may ask for.
    DlPeriods = dl_periods {
        Any "any" "Any period.",
        Limited "limited" "Periods from 100 us to 4194304 us.",
    }
    history { v(4, 12) => Any, v(5, 4) => Limited, }

    /// Which switch lets a timer end the runtime of a deadline task.
    DlHrtick = dl_hrtick {
        WithFair "with-fair" "HRTICK, which is for fair tasks too.",
        OwnSwitch "own-switch" "HRTICK_DL.",
    }
    history { v(4, 12) => WithFair, v(5, 12) => OwnSwitch, }

    /// When a queued deadline task that gets other parameters has its CPU choose again.
    DlPrioChanged = dl_prio_changed {
        Behind "behind" "If the first deadline there is before its own.",
        RunsOrWaits "runs-or-waits" "One that runs: so. One that waits: if no deadline task runs there, or one of a later deadline.",
        OtherDeadline "other-deadline" "As runs-or-waits, but only if its deadline is another one than before: parameters alone change nothing.",
    }
    // The last was read in 7.2.13, and is not in 6.18.15.
    history { v(4, 12) => Behind, v(6, 3) => RunsOrWaits, v(6, 19) => OtherDeadline, }
}
