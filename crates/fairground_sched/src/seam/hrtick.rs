//! The seam of HRTICK: when its timer is armed, and for how long. The switch itself is a row of the features.

use super::seams;

seams! {
    $ hrtick;

    /// When the hrtick timer, which ends a slice, is armed, and what it goes by.
    Hrtick = hrtick {
        AtPick "at-pick"
            "Each schedule() cancels the timer and each pick arms it for the rest of the slice; so do enqueues and dequeues, in CFS where few are queued.",
        AtSwitch "at-switch"
            "As at-pick, but the pick of the task that runs already does not arm it: only a task that is put on the CPU does.",
        AtDeadline "at-deadline"
            "A task that is put on the CPU arms it for its virtual deadline, at the end of schedule(); so does an enqueue while none is armed.",
    }
    history { v(4, 12) => AtPick, v(6, 12) => AtSwitch, v(7, 2) => AtDeadline, }

    /// Whether that timer looks, as the tick does, whether the task is too big for its CPU, and how much the CPU is used.
    HrtickMisfit = hrtick_misfit {
        Looks "looks" "It does.",
        AsNothing "as-nothing" "It accounts the task, and no more.",
    }
    // Read in 6.18.15 and 7.2.13.
    history { v(4, 12) => Looks, v(7, 2) => AsNothing, }
}
