//! A wake-up: its CPU is selected, then it is queued there or sent to it; each leg is a phase of kernel work.

use crate::cpu::{AfterWake, Then};
use crate::kernel::Next;
use crate::other_core::Entry;
use crate::queue::{EventQueue, Queue};
use crate::simulation::Simulation;
use fairground_model::{Recorder, Section};
use fairground_sched::fair::select_task_rq::LooksInVain;
use fairground_sched::{Ctx, Sched, WakeFlags, Waking};
use fairground_stdx::{CpuId, Instant, Ns, TaskId};

impl Simulation {
    /// First phase of waking `wakee` from `cpu`; the second follows when the search is paid.
    pub(crate) fn wake(&mut self, rec: &mut Recorder<'_>, cpu: CpuId, wakee: TaskId, flags: WakeFlags, after: AfterWake) -> Next {
        if self.beside.leads() {
            return self.led_wake(rec, cpu, wakee, flags, after);
        }
        if let Some(rq) = self.sched.ttwu_delayed_on(wakee).filter(|_| self.locks.exist()) {
            if let Some(wait) = self.lock(cpu, rq, Section::TryToWakeUp, Then::Wake { wakee, flags, after }) {
                return wait;
            }
            let waking = self.core_locked(rec, cpu, rq, |sched, cx| sched.ttwu_select(cx, wakee, flags));
            return self.select(cpu, wakee, flags, after, waking);
        }
        let waking = self.search(rec, cpu, |sched, cx| sched.ttwu_select(cx, wakee, flags));
        self.select(cpu, wakee, flags, after, waking)
    }

    /// Pays what a search for a CPU has cost so far; what follows depends on what it came to.
    pub(crate) fn select(&mut self, cpu: CpuId, wakee: TaskId, flags: WakeFlags, after: AfterWake, waking: Waking) -> Next {
        let then = match waking {
            Waking::Searching => Then::Search { wakee, flags, after },
            Waking::Selected(target) => Then::Activate { wakee, flags, target, after },
            Waking::OnCpu => Then::SpinOnCpu { wakee, flags, after },
            Waking::OnWakeList | Waking::StillQueued | Waking::Nothing => {
                self.tell(cpu, Entry::Wake { wakee, flags });
                after.then()
            }
        };
        self.pay(cpu, Section::TryToWakeUp, then)
    }

    /// Goes on with the search of `cpu`, and with those of other CPUs for as long as nothing else happens. Returns whether a
    /// phase of the kernel follows, on the CPU that `cpu` is then: its search is over and paid.
    ///
    /// A search stops at every event of another CPU. On a large machine that is after each look, and many CPUs search at a
    /// time: the looks of all of them follow one another here, and not by way of the loop over events.
    #[inline(never)]
    pub(crate) fn searches_go_on(&mut self, rec: &mut Recorder<'_>, cpu: &mut CpuId) -> bool {
        let scripted = self.horizon_before(Instant::MAX);
        let horizon = if self.is_watched() { Instant::ZERO } else { self.horizon };
        let mut others = self.queue.first_of_others(*cpu);
        let in_vain = self.sched.looks_in_vain().filter(|_| !rec.wants_samples());
        loop {
            if let Some(how) = in_vain
                && !self.look_in_vain(how, cpu, &mut others, scripted, horizon)
            {
                return false;
            }
            let Then::Search { wakee, flags, after } = self.cpus[*cpu].then else { return true };
            let waking = self.search_until(rec, *cpu, others.min(scripted), |sched, cx| sched.ttwu_search(cx, wakee));
            if waking != Waking::Searching {
                self.select(*cpu, wakee, flags, after, waking);
                let Some(until) = self.spend(rec, *cpu, Section::TryToWakeUp) else { break };
                self.queue.busy(*cpu, until);
                if self.over || !self.queue.advance_if_next(*cpu, until, self.horizon) {
                    return false;
                }
                self.now = until;
                break;
            }
            let Some(until) = self.spend(rec, *cpu, Section::TryToWakeUp) else { continue };
            self.queue.busy_for_a_step(*cpu, until);
            let Some(step) = self.queue.advance_to_step(horizon) else { return false };
            (self.now, *cpu, others) = step;
        }
        true
    }

    /// The same for steps whose looks find nothing, from one CPU to the next. False: no step is the next event. True: `cpu` is
    /// at one that may find something.
    ///
    /// Here stands what such a step needs and nothing else; a queue that does not know steps goes look by look.
    #[inline(always)]
    fn look_in_vain(
        &mut self,
        how: LooksInVain,
        cpu: &mut CpuId,
        others: &mut Instant,
        scripted: Instant,
        horizon: Instant,
    ) -> bool {
        let Queue::Fast(queue) = &mut self.queue else { return true };
        loop {
            let row = &mut self.cpus[*cpu];
            let until = scripted.min(*others);
            let searches = matches!(row.then, Then::Search { .. });
            if !searches || !self.sched.ttwu_looks_in_vain(how, &mut row.meter, *cpu, self.now, until) {
                return true;
            }
            let took = row.price();
            if took == Ns::ZERO {
                continue;
            }
            row.book(Section::TryToWakeUp, self.now, took);
            queue.busy_for_a_step(*cpu, self.now + took);
            let Some(step) = queue.advance_to_step(horizon) else { return false };
            (self.now, *cpu, *others) = step;
        }
    }

    /// Second phase of a wake-up: the wakee is queued under the lock of its CPU, or left to that CPU without it. Who has
    /// begun to spin for the lock queues it itself.
    pub(crate) fn activate(
        &mut self,
        rec: &mut Recorder<'_>,
        cpu: CpuId,
        (wakee, flags): (TaskId, WakeFlags),
        target: CpuId,
        after: AfterWake,
    ) -> Next {
        let locks =
            self.locks.is_granted(cpu, target) || (self.locks.exist() && !self.sched.ttwu_is_left_to_target(cpu, wakee, target));
        if locks {
            if let Some(wait) = self.lock(cpu, target, Section::TryToWakeUp, Then::Activate { wakee, flags, target, after }) {
                return wait;
            }
            self.core_locked(rec, cpu, target, |sched, cx| sched.ttwu_activate(cx, wakee, target));
        } else {
            self.core(rec, cpu, |sched, cx| sched.ttwu_queue(cx, wakee, target));
        }
        self.tell(cpu, Entry::Wake { wakee, flags });
        self.pay(cpu, Section::TryToWakeUp, after.then())
    }

    /// Calls the core for a search that reads each run queue at its own moment: it must stop where something else happens
    /// on the machine, and goes on when that has happened.
    pub(crate) fn search<R>(
        &mut self,
        rec: &mut Recorder<'_>,
        cpu: CpuId,
        call: impl FnOnce(&mut Sched, &mut Ctx<'_, '_>) -> R,
    ) -> R {
        if self.machine.scan_atomic || self.machine.round_of_turns > Ns::ZERO {
            return self.core(rec, cpu, call);
        }
        // Not where the caller wants a pause: that must change nothing.
        let until = self.queue.first_of_others(cpu).min(self.horizon_before(Instant::MAX));
        self.search_until(rec, cpu, until, call)
    }

    /// The same, up to where something else happens.
    #[inline]
    fn search_until<R>(
        &mut self,
        rec: &mut Recorder<'_>,
        cpu: CpuId,
        until: Instant,
        call: impl FnOnce(&mut Sched, &mut Ctx<'_, '_>) -> R,
    ) -> R {
        self.call_core(rec, cpu, |sched, cx| {
            cx.until = until;
            call(sched, cx)
        })
    }

    /// The waker looks whether the wakee's old CPU has switched away from it.
    ///
    /// Kernel: core.c try_to_wake_up(), smp_cond_load_acquire() on p->on_cpu, v4.12–
    #[inline(never)]
    pub(crate) fn spin_on_cpu(
        &mut self,
        rec: &mut Recorder<'_>,
        cpu: CpuId,
        wakee: TaskId,
        flags: WakeFlags,
        after: AfterWake,
    ) -> Next {
        let row = self.sched.task(wakee);
        if row.on_cpu {
            return self.park(cpu, row.cpu, Then::SpinOnCpu { wakee, flags, after });
        }
        let waking = self.search(rec, cpu, |sched, cx| sched.ttwu_off_cpu(cx, wakee, flags));
        self.select(cpu, wakee, flags, after, waking)
    }
}
