//! Another core decides: its entries, and what the engine does with what it decided.

use super::{Beside, Entry, Led, LedFrequency, Site};
use crate::cpu::{AfterWake, Then};
use crate::ending::Stopped;
use crate::kernel::Next;
use crate::simulation::{Setup, Simulation};
use crate::timers::Timer;
use fairground_model::{CpuMax, Mistakes, Op, Recorder, Section};
use fairground_sched::{BandwidthStats, Ctx, Sched, WakeFlags};
use fairground_stdx::{CpuId, Ns, TaskId, TgId};

impl Simulation {
    /// A run at its beginning in which `leader` decides. All CPUs tick, idle ones too, and run-queue locks are never waited for.
    pub fn led_by(mut setup: Setup, leader: Box<dyn super::LeadingCore>) -> Result<Simulation, Mistakes> {
        setup.machine.nohz_idle = false;
        Simulation::build(crate::QueueKind::Fast, setup, Beside::Leads(leader, Led::default()))
    }

    /// The limit of a group by the core that leads, if one does, and what it has counted of that.
    pub fn led_quota(&self, group: TgId) -> Option<(CpuMax, BandwidthStats)> {
        self.beside.quota(group)
    }

    /// Makes an entry into the core that leads, and counts what it looked at. False: the run ends with that.
    pub(super) fn ask(&mut self, rec: &mut Recorder<'_>, cpu: CpuId, entry: Entry<'_>) -> bool {
        let Beside::Leads(leader, led) = &mut self.beside else { return false };
        led.clear();
        let site = Site { now: self.now, cpu, jiffies: self.jiffies.count() };
        if let Err(why) = leader.enter(&self.sched, site, entry, led) {
            self.go_astray(why);
            return false;
        }
        // Looks in these are those of a balance, in all others those of a search.
        let balances = matches!(entry, Entry::Schedule { .. } | Entry::Softirq);
        // Their prices hold the own lock.
        let holds_own = matches!(entry, Entry::Schedule { .. } | Entry::Tick);
        led.locked.retain(|&of| !(holds_own && of == cpu));
        if led.looked.is_empty() && led.locked.is_empty() {
            return true;
        }
        let (looked, locked) = (std::mem::take(&mut led.looked), std::mem::take(&mut led.locked));
        self.core(rec, cpu, |sched, cx| sched.led_seen(cx, &looked, &locked, balances));
        if let Beside::Leads(_, led) = &mut self.beside {
            (led.looked, led.locked) = (looked, locked);
        }
        true
    }

    /// The other core cannot go on, or our tables cannot follow it.
    fn go_astray(&mut self, why: String) -> Next {
        match self.stopped {
            Some(_) => Next::Left,
            None => self.stop(Stopped::OtherCore { why, at: self.now }),
        }
    }

    /// Carries out what the last entry of `cpu` has brought, but for what it answered.
    pub(super) fn obey(&mut self, rec: &mut Recorder<'_>, cpu: CpuId) {
        let Beside::Leads(_, led) = &mut self.beside else { return };
        if led.is_flags_alone() {
            // As nearly all entries are: nothing has to leave its place for it.
            for flags in &led.flags {
                self.sched.led_flags(flags.cpu, (flags.resched, flags.resched_lazy), flags.user_works);
            }
            return;
        }
        let led = std::mem::take(led);
        if !led.moved.is_empty() {
            self.core(rec, cpu, |sched, cx| sched.led_moves(cx, &led.moved));
        }
        for flags in &led.flags {
            self.sched.led_flags(flags.cpu, (flags.resched, flags.resched_lazy), flags.user_works);
        }
        if led.softirq {
            self.sched.led_softirq(cpu, true);
        }
        for &target in &led.ipis {
            self.led_ipi(cpu, target);
        }
        for &(number, due) in &led.timers {
            self.queue.cancel_timer(self.timer_id(Timer::Leader(number)));
            if let Some(at) = due {
                self.arm_timer_at(cpu, Timer::Leader(number), at);
            }
        }
        for &frequency in &led.frequencies {
            self.led_frequency(rec, cpu, frequency);
        }
        if let Beside::Leads(_, room) = &mut self.beside {
            *room = led;
        }
    }

    fn led_frequency(&mut self, rec: &mut Recorder<'_>, cpu: CpuId, frequency: LedFrequency) {
        let (policy, at) = match frequency {
            LedFrequency::Changed { policy, khz } => {
                // Work done so far goes by the old one.
                self.core(rec, cpu, |sched, cx| sched.led_frequency(cx, policy, khz));
                return self.set_policy_frequency(policy, khz);
            }
            LedFrequency::Thread { policy } => (policy, self.now + self.thread_wakes_after(cpu)),
            LedFrequency::Coming { policy, at } => (policy, at),
        };
        self.arm_timer_at(cpu, Timer::Frequency(policy), at);
    }

    fn led_ipi(&mut self, from: CpuId, to: CpuId) {
        let polls = self.polls(to);
        let meter = &mut self.cpus[from].meter;
        let mut at = self.now + Ns(meter.so_far_ns());
        if !polls {
            meter.count(Op::IpiSend);
            meter.note(Op::IpiFlight);
            at += Ns(meter.price_ps(Op::IpiFlight) / 1000);
        }
        self.send_ipi(to, at);
    }

    /// schedule(), newidle balance and the stopper included.
    pub(crate) fn led_schedule(&mut self, rec: &mut Recorder<'_>, cpu: CpuId) -> Next {
        let prev_state = self.sched.announced_state(cpu);
        if !self.ask(rec, cpu, Entry::Schedule { prev_state }) {
            return Next::Left;
        }
        let Beside::Leads(_, led) = &mut self.beside else { return Next::Left };
        let (next, stopped, moved) = (led.next, led.stopped, std::mem::take(&mut led.moved));
        if stopped {
            let switch = self.core(rec, cpu, |sched, cx| sched.led_schedule_stopper(cx, &moved));
            self.left(cpu, switch);
        }
        let switch = self.core(rec, cpu, |sched, cx| sched.led_schedule(cx, &moved, next));
        let switch = match switch {
            Ok(switch) => switch,
            Err(astray) => {
                let name = &self.tasks[astray.task].info.name;
                return self
                    .go_astray(format!("our tables lost track: CPU {cpu} runs `{name}`, which is {:?} there", astray.state));
            }
        };
        self.left(cpu, switch);
        self.obey(rec, cpu);
        // The leaving task is off its CPU already.
        self.pay(cpu, Section::Schedule, Then::Switched(None))
    }

    /// try_to_wake_up().
    pub(crate) fn led_wake(
        &mut self,
        rec: &mut Recorder<'_>,
        cpu: CpuId,
        wakee: TaskId,
        flags: WakeFlags,
        after: AfterWake,
    ) -> Next {
        if self.sched.led_is_asleep(wakee) {
            if !self.ask(rec, cpu, Entry::Wake { wakee, flags }) {
                return Next::Left;
            }
            let Beside::Leads(_, Led { target: Some(target), listed, .. }) = self.beside else {
                return self.go_astray("a wake-up came to no CPU".to_owned());
            };
            self.core(rec, cpu, |sched, cx| sched.led_wake(cx, wakee, flags, target, listed));
            self.obey(rec, cpu);
        }
        self.pay(cpu, Section::TryToWakeUp, after.then())
    }

    /// wake_up_new_task(). False: the run ends with that.
    pub(crate) fn led_wake_new(&mut self, rec: &mut Recorder<'_>, cpu: CpuId, child: TaskId) -> bool {
        let wanted = self.tasks[child].first_cpu;
        if !self.ask(rec, cpu, Entry::WakeNew { child, wanted }) {
            return false;
        }
        let Beside::Leads(_, Led { target: Some(target), .. }) = self.beside else {
            self.go_astray("a new task came to no CPU".to_owned());
            return false;
        };
        self.core(rec, cpu, |sched: &mut Sched, cx: &mut Ctx<'_, '_>| sched.led_wake_new(cx, child, target));
        self.obey(rec, cpu);
        true
    }
}
