//! Seams of the run queues' clocks.

use super::seams;

seams! {
    $ clock;

    /// What becomes of stolen time that is longer than the time that the clock moves on.
    ExcessSteal = excess_steal {
        CaughtUp "caught-up" "It is taken out of the task clock at later readings.",
        Forgotten "forgotten" "It is not taken out of the task clock any more.",
    }
    history { v(4, 12) => CaughtUp, v(6, 14) => Forgotten, }

    /// How long schedule() remembers that it need not read the clock.
    ClockSkip = clock_skip {
        WholeCall "whole-call" "To its end: what is asked meanwhile, by a balance that finds tasks, is forgotten with it.",
        FirstReading "first-reading"
            "Up to its first reading: what a balance asks after that holds for the next schedule() on that CPU, however late that is.",
    }
    history { v(4, 12) => WholeCall, v(6, 7) => FirstReading, }

    /// By which clock a newidle balance ages what is left of load.
    NewidleClock = newidle_clock {
        Read "read" "It is read anew under the lock, which is taken again for that.",
        OfSchedule "of-schedule" "It is that of the schedule() around it, under the same lock; if that did not read the clock, an older one.",
    }
    // Read in 7.2.13.
    history { v(4, 12) => Read, v(7, 2) => OfSchedule, }

    /// Whether a new nice value of a real-time or deadline task, which changes nothing yet, reads the clock of its CPU.
    NiceClock = nice_clock {
        Read "read" "It does, as any other change.",
        NotRead "not-read" "It does not.",
    }
    // Read in 6.18.15 and 7.2.13.
    history { v(4, 12) => Read, v(6, 19) => NotRead, }
}
