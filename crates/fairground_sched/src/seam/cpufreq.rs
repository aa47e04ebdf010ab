//! The seams of frequency: when schedutil looks, what it asks for, and how fast that may change again.

use super::seams;
use fairground_stdx::Ns;

seams! {
    $ cpufreq;

    /// The least time between two changes where nobody has set it.
    RateLimit = cpufreq_rate_limit {
        Thousandfold "thousandfold" "1000 times the transition latency, however long that is.",
        TenMs "at-most-10ms" "1000 times the transition latency, at most 10 ms.",
        TwoMs "at-most-2ms" "1000 times the transition latency, at most 2 ms.",
        HalfMore "half-more" "One and a half times the transition latency.",
    }
    history { v(4, 12) => Thousandfold, v(4, 14) => TenMs, v(6, 9) => TwoMs, v(6, 12) => HalfMore, }

    /// Whose utilisation is looked at when it changes.
    FreqHook = cpufreq_hook {
        ThisCpu "this-cpu" "That of the CPU that changes it, and only if it is its own.",
        AnyCpu "any-cpu" "That of the CPU whose queue changes, also from another CPU of its policy.",
    }
    history { v(4, 12) => ThisCpu, v(4, 14) => AnyCpu, }

    /// What makes schedutil look when a CPU's averages are aged from outside.
    FreqBlocked = cpufreq_blocked {
        Fair "fair" "The root queue of the fair class, if a period of it is over.",
        AnyClass "any-class" "That, or a period of what real-time and deadline tasks or interrupts use, be it nothing.",
    }
    history { v(4, 12) => Fair, v(5, 4) => AnyClass, }

    /// Whether schedutil looks again while its thread has a request.
    FreqWork = cpufreq_work {
        UntilDone "until-done" "Not before the frequency has changed.",
        UntilBegun "until-begun" "A later request replaces one that the thread has not begun with, and follows one that it has.",
    }
    history { v(4, 12) => UntilDone, v(4, 18) => UntilBegun, }

    /// What schedutil takes for the utilisation of a CPU.
    FreqUtil = cpufreq_util {
        Cfs "cfs" "That of fair tasks; a real-time task asks for the highest frequency.",
        Sum "sum" "Fair and real-time tasks, interrupts, and the bandwidth of deadline tasks; a runnable real-time task asks for the highest.",
        Boosted "boosted" "As sum; tasks that wait count as if they ran.",
        Bounded "bounded" "As boosted, with a quarter of room, between what deadline tasks and interrupts need and the whole capacity.",
    }
    history { v(4, 12) => Cfs, v(4, 19) => Sum, v(6, 5) => Boosted, v(6, 8) => Bounded, }

    /// Where the quarter of room is put, unless the utilisation has it already.
    FreqMargin = cpufreq_margin {
        OnFrequency "on-frequency" "A quarter more of the frequency, times utilisation.",
        OnUtil "on-utilisation" "A quarter more of the utilisation, times frequency: another rounding.",
    }
    history { v(4, 12) => OnFrequency, v(5, 11) => OnUtil, }

    /// Whether schedutil goes down while a CPU that changes alone was never idle since its last look.
    FreqHold = cpufreq_hold {
        UntilIdle "until-idle" "It does not.",
        Never "never" "It does (any kernel built without NO_HZ, which counts no idle times).",
    }
    history { v(4, 12) => UntilIdle, }

    /// What a task that wakes up from waiting for a device asks for.
    IowaitBoost = cpufreq_iowait_boost {
        Highest "highest" "The highest frequency at once, halved with each look.",
        DoubledFrequency "doubled-frequency" "The lowest frequency, doubled each time; halved when there was none.",
        DoubledCapacity "doubled-capacity" "As doubled-frequency, in units of capacity.",
        FromEighth "from-eighth" "An eighth of the capacity, doubled each time; halved when there was none.",
    }
    history { v(4, 12) => Highest, v(4, 14) => DoubledFrequency, v(5, 1) => DoubledCapacity, v(5, 2) => FromEighth, }
}

/// Transition latency times this is the rate limit up to v6.11.
///
/// Kernel: cpufreq.h LATENCY_MULTIPLIER, v4.12–v6.11
const LATENCY_MULTIPLIER: u64 = 1000;
/// The rate limit of a driver that does not tell its latency.
const WITHOUT_LATENCY: Ns = Ns::from_ms(1);

impl RateLimit {
    /// The least time between two changes for a transition of that length, which counts in whole microseconds.
    ///
    /// Kernel: cpufreq.c cpufreq_policy_transition_delay_us(), v4.14– (schedutil.c sugov_init() before)
    pub(crate) fn of(self, latency: Ns) -> Ns {
        let us = latency.0 / 1000;
        let multiple = Ns::from_us(us.saturating_mul(LATENCY_MULTIPLIER));
        match self {
            _ if us == 0 => WITHOUT_LATENCY,
            RateLimit::Thousandfold => multiple,
            RateLimit::TenMs => multiple.min(Ns::from_ms(10)),
            RateLimit::TwoMs => multiple.min(Ns::from_ms(2)),
            RateLimit::HalfMore => Ns::from_us(us + us / 2),
        }
    }
}

impl FreqUtil {
    /// Whether schedutil looks at real-time and deadline tasks too.
    pub(crate) const fn sees_all_classes(self) -> bool {
        !matches!(self, FreqUtil::Cfs)
    }
}
