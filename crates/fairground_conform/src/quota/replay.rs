//! The replay: each step makes the call that the kernel made, then what the core has is compared and the record followed.

use super::QuotaSetup;
use super::outcome::{Quota, QuotaMiss, QuotaOutcome, Seen};
use super::steps::{Step, What};
use crate::world::World;
use fairground_model::TaskGroupSpec;
use fairground_sched::{Account, Ctx, Distribution, PeriodTick, Request, Sched};
use fairground_stdx::{CpuId, IndexVec, Instant, Ns, TgId};

/// An interrupt of the emulated machine may be seen so much later on another CPU, or recorded so much later than it was asked for.
const INTERRUPT_LATENESS: Ns = Ns::from_us(300);
/// The distribution of a period timer follows within so much of its interrupt.
const TIMER_LENGTH: Ns = Ns::from_ms(1);
/// The run time of a task is recorded so much later than its upper queues were charged at most.
const LEVELS_APART: Ns = Ns::from_us(100);
/// A probe marks requests, not throttles, if one in so many follows another on its queue without a release between them.
const REQUESTS_ONE_IN: u64 = 10;

pub(super) struct Replay<'s> {
    setup: &'s QuotaSetup,
    pub(super) steps: &'s [Step],
    /// Steps that were made before their turn.
    pub(super) done: Vec<bool>,
    pub(super) world: World,
    pub(super) group: TgId,
    /// What an account had when it last asked, before it got anything.
    asked: IndexVec<CpuId, Option<i64>>,
    marks_requests: bool,
    /// The last interrupt of the period timer, with what it has to hand out.
    timer: Option<(Instant, Option<PeriodTick>)>,
    /// When the slack timer fires.
    slack_armed: Option<Instant>,
    /// It has fired and hands out.
    slack_due: Option<(Instant, Distribution)>,
    pub(super) outcome: QuotaOutcome,
}

impl<'s> Replay<'s> {
    pub(super) fn new(setup: &'s QuotaSetup, steps: &'s [Step]) -> Replay<'s> {
        let mut world = World::new(setup.profile.clone(), setup.machine.clone());
        let group = world.sched.add_group(&TaskGroupSpec::new("/limited".to_string(), None));
        world.sched.begin_with_limit(group, setup.limit);
        Replay {
            setup,
            steps,
            done: vec![false; steps.len()],
            world,
            group,
            asked: IndexVec::filled(None, setup.machine.cpus.len()),
            marks_requests: marks_requests(steps),
            timer: None,
            slack_armed: None,
            slack_due: None,
            outcome: QuotaOutcome::default(),
        }
    }

    pub(super) fn run(&mut self) {
        for index in 0..self.steps.len() {
            let at = self.steps[index].at;
            if at >= self.setup.joined && !self.done[index] {
                self.slack_timer(at);
                self.step(index);
            }
        }
    }

    pub(super) fn finish(self) -> QuotaOutcome {
        self.outcome
    }

    fn step(&mut self, index: usize) {
        let Step { at, cpu, what } = self.steps[index];
        match what {
            What::Ran(_) => {
                self.let_others_first(index);
                self.charge(index);
            }
            What::First => self.first(at, cpu),
            What::Last => {
                self.call(at, cpu, Sched::follow_last_dequeue);
                let armed = self.world.requests.iter().find_map(|request| match *request {
                    Request::SlackTimer { at, .. } => Some(at),
                    _ => None,
                });
                self.slack_armed = armed.or(self.slack_armed);
            }
            What::Picked => {
                let account = self.account(cpu);
                self.outcome.overdue += u64::from(self.judges(at) && account.remaining <= 0 && !account.throttled);
            }
            What::Throttle { remaining, empty } => {
                self.charge_ahead(index, remaining);
                self.throttle(at, cpu, remaining, empty);
            }
            What::Unthrottle { remaining } => self.unthrottle(at, cpu, remaining),
            What::PeriodTimer => self.period_timer(index),
            What::DistributeBegins => self.distribute(at, cpu),
        }
    }

    /// Charges what a step ran.
    pub(super) fn charge(&mut self, index: usize) {
        let Step { at, cpu, what: What::Ran(ran) } = self.steps[index] else { return };
        self.done[index] = true;
        let asks = self.world.sched.would_ask_for(self.group, cpu, ran).is_some();
        self.asked[cpu] = asks.then(|| self.account(cpu).remaining - ran.0 as i64);
        self.call(at, cpu, |sched, cx, group| sched.follow_update_curr(cx, group, ran));
    }

    /// An upper queue is brought up to date before the lower one, in whose name run time is recorded: what is recorded next is in its
    /// account already, if just that makes the amount.
    fn charge_ahead(&mut self, index: usize, remaining: i64) {
        let Step { at, cpu, .. } = self.steps[index];
        let left = self.account(cpu).remaining;
        if self.setup.below.is_empty() || left == remaining {
            return;
        }
        let near = self.steps[index..].iter().take_while(|step| step.at.saturating_since(at) <= LEVELS_APART);
        let next =
            near.enumerate().find(|row| row.1.cpu == cpu && matches!(row.1.what, What::Ran(_)) && !self.done[index + row.0]);
        if let Some((offset, Step { what: What::Ran(ran), .. })) = next
            && left - ran.0 as i64 == remaining
        {
            self.charge(index + offset);
        }
    }

    /// The first member comes onto a queue: if that throttled it, the record would have had that just before.
    fn first(&mut self, at: Instant, cpu: CpuId) {
        let was_throttled = self.account(cpu).throttled;
        self.call(at, cpu, Sched::follow_first_enqueue);
        let account = self.account(cpu);
        if account.throttled && !was_throttled {
            self.outcome.overdue += u64::from(self.judges(at));
            self.call(at, cpu, |sched, cx, group| sched.follow_account(cx, group, account.remaining, false));
        }
    }

    fn throttle(&mut self, at: Instant, cpu: CpuId, remaining: i64, empty: bool) {
        let before = self.account(cpu);
        // Where the charge itself asks (v7.2) it has got something, or has throttled the queue.
        let is_answered = before.remaining > 0 || before.throttled;
        if self.marks_requests && self.asked[cpu].take() == Some(remaining) && is_answered {
            self.count(at, cpu, Quota::Throttle, Seen::Left(remaining), Seen::Left(remaining));
            self.outcome.found_runtime += u64::from(self.judges(at) && !before.throttled);
            return;
        }
        if empty && !before.throttled {
            self.call(at, cpu, Sched::follow_first_enqueue);
        }
        let after = self.account(cpu);
        let core = if before.throttled { Seen::LeftThrottled } else { Seen::Left };
        self.count(at, cpu, Quota::Throttle, Seen::Left(remaining), core(after.remaining));
        if before.throttled || after.remaining != remaining {
            self.call(at, cpu, |sched, cx, group| sched.follow_account(cx, group, remaining, false));
        }
        let throttled = self.account(cpu).throttled || self.call(at, cpu, Sched::follow_check_throttle);
        self.outcome.found_runtime += u64::from(self.judges(at) && !throttled);
    }

    fn unthrottle(&mut self, at: Instant, cpu: CpuId, remaining: i64) {
        if self.world.sched.release_is_on_its_way(self.group, cpu) {
            self.call(at, cpu, |sched, cx, _| sched.cfsb_csd_unthrottle(cx));
        }
        let account = self.account(cpu);
        let core = if account.throttled { Seen::LeftThrottled } else { Seen::Left };
        self.count(at, cpu, Quota::Unthrottle, Seen::Left(remaining), core(account.remaining));
        if account.throttled || account.remaining != remaining {
            self.call(at, cpu, |sched, cx, group| sched.follow_account(cx, group, remaining, false));
        }
    }

    fn period_timer(&mut self, index: usize) {
        let Step { at, cpu, .. } = self.steps[index];
        let later = self.steps[index + 1..].iter().take_while(|step| step.at.saturating_since(at) < TIMER_LENGTH);
        let next = later.map(|step| step.what).find(|what| !what.is_of_account());
        let hands_out = next == Some(What::DistributeBegins);
        let mut tick = PeriodTick::new(self.group);
        self.call(at, cpu, |sched, cx, group| {
            sched.follow_period_expiry(cx, group);
            sched.sched_cfs_period_timer(cx, &mut tick)
        });
        let core_hands_out = tick.distribution().is_some();
        self.count(at, cpu, Quota::PeriodTimer, Seen::HandsOut(hands_out), Seen::HandsOut(core_hands_out));
        self.timer = Some((at, core_hands_out.then_some(tick)));
    }

    /// All that is to be handed out is, in the order of the line, when the record begins to: nobody runs on its own CPU before its
    /// release is recorded.
    fn distribute(&mut self, at: Instant, cpu: CpuId) {
        let of_timer = self.timer.take_if(|timer| at.saturating_since(timer.0) < TIMER_LENGTH);
        if let Some((_, Some(mut tick))) = of_timer {
            while self.call(at, cpu, |sched, cx, _| sched.sched_cfs_period_timer(cx, &mut tick)) {}
            return;
        }
        let followed = self.world.sched.follow_distribution(self.group);
        let mut distribution = followed;
        if of_timer.is_none() {
            if self.slack_armed.is_some_and(|armed| armed.saturating_since(at) <= INTERRUPT_LATENESS) {
                self.fire_slack_timer(at);
            }
            let due = self.slack_due.take();
            self.count(at, cpu, Quota::SlackTimer, Seen::HandsOut(true), Seen::HandsOut(due.is_some()));
            distribution = due.map_or(followed, |due| due.1);
        }
        while self.call(at, cpu, |sched, cx, _| sched.distribute_cfs_runtime(cx, &mut distribution)) {}
    }

    /// The slack timer may have fired by now, and the record may show that it did nothing.
    fn slack_timer(&mut self, now: Instant) {
        if let Some(armed) = self.slack_armed.filter(|&armed| armed <= now) {
            self.fire_slack_timer(armed);
        }
        if let Some((at, _)) = self.slack_due.take_if(|due| now.saturating_since(due.0) > INTERRUPT_LATENESS) {
            self.count(at, CpuId::new(0), Quota::SlackTimer, Seen::HandsOut(false), Seen::HandsOut(true));
        }
    }

    fn fire_slack_timer(&mut self, at: Instant) {
        self.slack_armed = None;
        let due = self.call(at, CpuId::new(0), |sched, cx, group| sched.sched_cfs_slack_timer(cx, group));
        self.slack_due = due.map(|distribution| (at, distribution));
    }

    fn count(&mut self, at: Instant, cpu: CpuId, what: Quota, recorded: Seen, core: Seen) {
        if !self.judges(at) {
            return;
        }
        self.outcome.tallies.entry(what).or_default().count(recorded == core);
        if recorded != core && self.outcome.misses.len() < self.setup.keep {
            let pool = self.pool();
            self.outcome.misses.push(QuotaMiss { at, cpu, what, recorded, core, pool });
        }
    }

    fn judges(&self, at: Instant) -> bool {
        at >= self.setup.judged
    }

    pub(super) fn account(&self, cpu: CpuId) -> Account {
        self.world.sched.cfs_bandwidth(self.group).map_or_else(Account::default, |pool| pool.accounts()[cpu])
    }

    pub(super) fn pool(&self) -> u64 {
        self.world.sched.cfs_bandwidth(self.group).map_or(0, |pool| pool.runtime)
    }

    fn call<R>(&mut self, at: Instant, cpu: CpuId, entry: impl FnOnce(&mut Sched, &mut Ctx<'_, '_>, TgId) -> R) -> R {
        let group = self.group;
        self.world.idle_until(cpu, at);
        self.world.call(cpu, cpu, |sched, cx| entry(sched, cx, group))
    }
}

fn marks_requests(steps: &[Step]) -> bool {
    let (mut throttles, mut again) = (0, 0);
    let mut throttled: Vec<CpuId> = Vec::new();
    for step in steps {
        match step.what {
            What::Throttle { .. } if throttled.contains(&step.cpu) => (throttles, again) = (throttles + 1, again + 1),
            What::Throttle { .. } => {
                throttles += 1;
                throttled.push(step.cpu);
            }
            What::Unthrottle { .. } => throttled.retain(|&cpu| cpu != step.cpu),
            _ => {}
        }
    }
    again * REQUESTS_ONE_IN > throttles
}
