//! The seams of wake-ups beyond the choice of a CPU.

use super::seams;

seams! {
    $ wakeup;

    /// Which wake-ups are left to the target CPU while TTWU_QUEUE is on.
    RemoteWakeup = remote_wakeup {
        OtherCache "other-cache" "Those onto a CPU of another last-level cache; a waker waits for a wakee that is still on its CPU.",
        OnCpu "on-cpu"
            "Those onto another cache, and those of a task that is still on its CPU if no more than one is runnable there.",
        IdleTarget "idle-target" "Those onto another cache, and those onto a CPU where nothing is runnable.",
    }
    history { v(4, 12) => OtherCache, v(5, 8) => OnCpu, v(6, 0) => IdleTarget, }

    /// The order of what an interrupt from another CPU is for, if it is for several things.
    CallOrder = call_order {
        WakeListFirst "wake-list-first" "Tasks of the wake list are queued first: that is the interrupt of the higher priority.",
        WakeListLast "wake-list-last" "Tasks of the wake list are queued last, behind all other calls on the list that they share: so real-time tasks are pushed before.",
    }
    history { v(4, 12) => WakeListFirst, v(5, 8) => WakeListLast, }

    /// Who queues the stopper of a CPU that shares no cache with the CPU that asks for it.
    StopperWakeup = stopper_wakeup {
        WakeList "wake-list" "Its own CPU, at an interrupt, as any task that is woken there.",
        AtOnce "at-once" "The CPU that asks for it.",
    }
    // The first was read in 5.10.223 and 6.1.187, the second in 6.12.107, 6.18.15 and 7.2.13.
    history { v(4, 12) => WakeList, v(6, 12) => AtOnce, }

    /// What ends an idle time of a CPU, whose length goes into the average.
    IdleTimeEnd = idle_time_end {
        WakeUp "wake-up" "A wake-up that queues a task there.",
        PutIdle "put-idle" "The idle task is put down, whoever comes next.",
    }
    history { v(4, 12) => WakeUp, v(7, 0) => PutIdle, }

    /// What schedule() does on an idle CPU on which nothing is to run: who was woken is throttled, or gone already.
    IdleReentry = idle_reentry {
        Picks "picks" "It picks as ever, which is a newidle balance and the beginning of an idle time.",
        Stays "stays" "It goes on idling at once.",
    }
    history { v(4, 12) => Picks, v(6, 12) => Stays, }

    /// How tasks leave a CPU that goes off line.
    HotplugPush = hotplug_push {
        AtOnce "at-once" "The stopper gets the CPU with its next schedule(), and takes away all tasks at once as it takes the CPU down.",
        BalancePush "balance-push" "Each schedule() there gives the CPU to the stopper, which takes away the task that was to run.",
    }
    history { v(4, 12) => AtOnce, v(5, 11) => BalancePush, }

    /// Whether soft interrupts wait for their thread once it has been asked.
    SoftirqHandover = softirq_handover {
        Thread "thread" "While ksoftirqd of a CPU wants to run, soft interrupts raised there are left to it.",
        Inline "inline" "A soft interrupt is served where it was raised, whether ksoftirqd wants to run or not.",
    }
    history { v(4, 12) => Thread, v(6, 5) => Inline, }
}

impl SoftirqHandover {
    /// Whether a soft interrupt is left to the thread; `thread_runnable`: that one is runnable or runs.
    ///
    /// Kernel: softirq.c ksoftirqd_running(), v4.9–v6.4
    pub(crate) const fn leaves_to_thread(self, thread_runnable: bool) -> bool {
        matches!(self, SoftirqHandover::Thread) && thread_runnable
    }
}

impl RemoteWakeup {
    /// Whether a wakee that is still on its CPU may be left to that CPU.
    pub(crate) const fn queues_on_cpu(self) -> bool {
        !matches!(self, RemoteWakeup::OtherCache)
    }

    /// Whether a wake-up onto another CPU than the waker's is left to the target. `allowed`: the wakee may run there;
    /// `nr_running`: the target's runnable tasks.
    ///
    /// Kernel: core.c ttwu_queue_cond(), v5.8– (inside ttwu_queue() before)
    pub(crate) const fn leaves_to_target(self, share_cache: bool, on_cpu: bool, allowed: bool, nr_running: u32) -> bool {
        match self {
            RemoteWakeup::OtherCache => !share_cache,
            RemoteWakeup::OnCpu => !share_cache || (on_cpu && nr_running <= 1),
            RemoteWakeup::IdleTarget => allowed && (!share_cache || nr_running == 0),
        }
    }

    /// Whether the target queues its wake list from the newest to the oldest, as a list without locks is by itself.
    ///
    /// Kernel: core.c sched_ttwu_pending(), v4.12–v5.7
    pub(crate) const fn takes_newest_first(self) -> bool {
        matches!(self, RemoteWakeup::OtherCache)
    }
}
