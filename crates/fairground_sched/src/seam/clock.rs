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
}
