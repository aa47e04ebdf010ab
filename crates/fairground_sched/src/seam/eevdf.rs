//! Seams within EEVDF: how its averages, lags and wake-ups changed after v6.18.

use super::ScaleLoadDown;
use super::seams;

seams! {
    $ eevdf;

    /// What the averages of virtual time are relative to, and by which weights they go.
    AvgVruntime = avg_vruntime {
        MinVruntime "min-vruntime" "Relative to min_vruntime, which never goes back, by weights that are shifted down by 10 places.",
        ZeroShifted "zero-shifted" "Relative to a point that is moved to the average whenever that is asked for, by weights that are shifted down.",
        ZeroQueued "zero-queued"
            "Relative to a point that is moved to the average whenever one joins those that wait, or leaves them, by shifted weights.",
        Zero "zero" "As zero-shifted, by full weights.",
    }
    // The recorded stable kernels 6.12.107 and 6.18.15 have forms of their own of what v6.19 brought.
    history { v(4, 12) => MinVruntime, v(6, 12) => ZeroShifted, v(6, 14) => MinVruntime, v(6, 18) => ZeroQueued, v(7, 2) => Zero, }

    /// How a run time is divided by a weight.
    CalcDelta = calc_delta {
        Inverse "inverse" "By multiplication with an inverse of 32 bits, which loses a few ns.",
        Exact "exact" "By division.",
    }
    history { v(4, 12) => Inverse, v(7, 2) => Exact, }

    /// How much lag an entity can have.
    LagLimit = lag_limit {
        OwnSlice "own-slice" "Twice its slice, or a tick if that is longer.",
        LargestSlice "largest-slice" "The largest slice on its queue, and a tick.",
    }
    history { v(4, 12) => OwnSlice, v(7, 2) => LargestSlice, }

    /// What lag an entity has that sleeps and is queued still.
    DelayedLag = delayed_lag {
        AsItIs "as-it-is" "The average less its virtual time.",
        Bounded "bounded" "The same, but no less than when it went to sleep, nor, with DELAY_ZERO, more than 0.",
    }
    history { v(4, 12) => AsItIs, v(7, 2) => Bounded, }

    /// From when the lag of a delayed sleeper is that is wanted again, as it stands on its queue.
    DelayedRequeue = delayed_requeue {
        LastAccount "last-account" "From the last account of the running entity.",
        Now "now" "From now: the running entity is accounted first.",
    }
    // Read in 7.2.13.
    history { v(4, 12) => LastAccount, v(7, 2) => Now, }

    /// Which wakees may preempt by their deadlines (EEVDF).
    ForkPreempts = fork_preempts {
        AsOthers "as-others" "New tasks and those whose dequeue was delayed preempt as any other.",
        OnlyIfShort "only-if-short" "Those only with a shorter slice (PREEMPT_SHORT); a next buddy counts in the question.",
    }
    history { v(4, 12) => AsOthers, v(7, 2) => OnlyIfShort, }
}

impl AvgVruntime {
    /// Whether the point that the sums are relative to goes to the average whenever that is asked for.
    #[inline]
    pub(crate) const fn settles_when_asked(self) -> bool {
        matches!(self, AvgVruntime::ZeroShifted | AvgVruntime::Zero)
    }

    /// The weight with which an entity stands in the sums.
    ///
    /// Kernel: fair.c avg_vruntime_weight(), v7.2– (scale_load_down() before)
    #[inline]
    pub const fn weight(self, down: ScaleLoadDown, weight: u64) -> u64 {
        match self {
            AvgVruntime::MinVruntime | AvgVruntime::ZeroShifted | AvgVruntime::ZeroQueued => down.apply(weight),
            AvgVruntime::Zero => weight,
        }
    }
}
