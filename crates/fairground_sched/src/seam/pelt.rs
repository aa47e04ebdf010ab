//! The seams of load tracking. Their formulas are in `pelt/`, beside what they compute.

use super::seams;

seams! {
    $ pelt;

    /// Which rules load tracking follows.
    PeltFamily = pelt {
        A "a" "Contributions scaled by frequency and capacity; run queues track runnable load; sums divided by the full maximum.",
        B "b" "As family a, with runnable load of entities too, unweighted sums of entities, and a divider that moves within the period.",
        C "c" "As family b, but time is scaled, not contributions.",
        DSynced "d-synced" "As family d, but most sums are made anew from their averages where something leaves or is propagated.",
        D "d" "As family c, with runnable_avg, which counts runnable tasks, in place of runnable load; what is left of a queue's sums \
               is cut to 32 bits where something leaves or is propagated, so that a queue with much load loses it.",
        DWhole "d-whole" "As family d, but nothing is cut, and a queue's sum of load is floored where something joins, too.",
    }
    history { v(4, 12) => A, v(4, 20) => B, v(5, 1) => C, v(5, 7) => DSynced, v(5, 17) => D, v(7, 0) => DWhole, }

    /// What becomes of the load of a task that takes the policy SCHED_IDLE.
    IdlePolicyLoad = idle_policy_load {
        Stays "stays"
            "Its weight changes, and its average when it is aged next. Its queue keeps the difference until that has decayed.",
        Rescaled "rescaled" "It goes by the new weight at once, on its queue too, as with a nice value.",
    }
    // v6.11, and before in the stable kernels 6.1 (read in 6.1.187) and 6.6; 5.10.223 has the first.
    history { v(4, 12) => Stays, v(6, 1) => Rescaled, }

    /// Which time load tracking reads, and what becomes of idle time that a slow CPU did not have.
    PeltClockRule = pelt_clock {
        ScaledContribution "scaled-contribution" "Load tracking reads clock_task; contributions are scaled instead of time.",
        ClockPeltAsMailed "clock-pelt-as-mailed"
            "Time is scaled by frequency, then capacity; lost idle time is tested at every idle clock update (the patch as mailed).",
        RqClockPelt "rq-clock-pelt" "Time is scaled by capacity, then frequency; lost idle time is tested once, when the CPU goes idle.",
        RqClockPeltIdle "rq-clock-pelt-idle"
            "As rq-clock-pelt; a CPU that goes idle also syncs and remembers its clocks, so that sleepers who leave it decay.",
    }
    history { v(4, 12) => ScaledContribution, v(5, 1) => RqClockPelt, v(6, 0) => RqClockPeltIdle, }

    /// Up to when a sleeper is aged that leaves an idle CPU, whose clocks stand still.
    SleeperClock = sleeper_clock {
        AsRead "as-read" "Up to the last reading of the clock (any kernel built without NO_HZ).",
        Estimated "estimated" "Up to now, by an estimate of what the clock would show.",
    }
    history { v(4, 12) => AsRead, v(6, 0) => Estimated, }

    /// How much utilisation a new task is given.
    PostInit = post_init {
        FullScale "full-scale" "A new task gets up to half of what is left of 1024.",
        CpuCapacity "cpu-capacity" "A new task gets up to half of what is left of its CPU's capacity.",
        FairOnly "fair-only" "As cpu-capacity, but a new task of another class gets no estimate.",
        ScaledDownWeight "scaled-down-weight" "As fair-only, with the share of the queue computed from the scaled-down weight.",
    }
    history { v(4, 12) => FullScale, v(4, 20) => CpuCapacity, v(6, 1) => FairOnly, v(6, 12) => ScaledDownWeight, }

    /// How estimated utilisation is kept.
    UtilEstRule = util_est {
        None "none" "Utilisation is not estimated.",
        FlagInSample "flag-in-sample" "Last sample and moving average; the flag in bit 0 takes part in the arithmetic.",
        TwoValues "two-values" "Last sample and moving average; with UTIL_EST_FASTUP the average follows a rise at once.",
        SingleValue "single-value"
            "One value that follows a rise at once and averages only downwards, unless the task was held up, or used more than its CPU has.",
        SingleValueDecays "single-value-decays" "The same, also if the task used more than its CPU has.",
    }
    history {
        v(4, 12) => None, v(4, 17) => FlagInSample, v(5, 5) => TwoValues, v(6, 8) => SingleValue, v(6, 16) => SingleValueDecays,
    }

    /// When the utilisation of a task that goes to sleep is sampled.
    UtilEstSample = util_est_sample {
        AfterDequeue "after-dequeue" "After its dequeue has brought its utilisation up to date.",
        BeforeDequeue "before-dequeue" "Before its dequeue: since its last update by then.",
        WithinDequeue "within-dequeue" "Within its dequeue, be that delayed, as soon as its utilisation is up to date.",
    }
    // The last was read in 7.2.13.
    history { v(4, 12) => AfterDequeue, v(6, 12) => BeforeDequeue, v(7, 2) => WithinDequeue, }

    /// When what a task is expected to use leaves its CPU with it: schedutil looks within the dequeue.
    UtilEstDequeue = util_est_dequeue {
        After "after" "After its dequeue: a look within it counts the task still.",
        Before "before" "Before its dequeue.",
    }
    // The stable kernel 5.10.223 has what v5.11 has.
    history { v(4, 12) => After, v(5, 10) => Before, }

    /// What becomes of the estimate of a sleeper whose dequeue is put off, if it leaves the fair class meanwhile.
    DelayedUtilEst = delayed_util_est {
        LeftAlone "left-alone" "It was sampled as the task fell asleep, and is not again.",
        SampledAndTakenOff "sampled-and-taken-off"
            "It is sampled again, and taken off what its CPU expects a second time, which others lose then.",
        Sampled "sampled" "It is sampled again.",
    }
    // Read in 6.12.107, 6.18.15 and 7.2.13.
    history { v(4, 12) => LeftAlone, v(6, 12) => SampledAndTakenOff, v(6, 18) => Sampled, v(7, 2) => LeftAlone, }

    /// How a stored weight becomes the small one of the formulas.
    ScaleLoadDown = scale_load_down {
        Shift "shift" "A stored weight is shifted down by 10 places; less than 1024 becomes 0.",
        FloorTwo "floor-two" "A stored weight is shifted down by 10 places, but no weight falls below 2.",
    }
    history { v(4, 12) => Shift, v(5, 7) => FloorTwo, }
}
