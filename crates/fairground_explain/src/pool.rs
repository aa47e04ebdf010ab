//! A throttled group: since when, its limit, and who used the pool up.

use super::one::Explained;
use super::parts::{Keeps, Who};
use super::replay::Replay;
use fairground_model::{CpuMax, Decision, Reason, Sink, TraceEvent, event};
use fairground_scenario::{Error, Scenario};
use fairground_sched::Sched;
use fairground_sim::Flow;
use fairground_stdx::{CpuId, Id, Instant, Ns, TaskId, TgId};

/// The quota that kept a task, or the holder of its lock, from running.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PoolStory {
    /// Whose pool it is.
    pub group: TgId,
    /// Its limit at that time.
    pub limit: CpuMax,
    /// When the period began in which it was used up.
    pub period: Instant,
    /// Whether that period began with a debt: less than half of the quota was used in it, so that who used it in the period before
    /// counts too.
    pub debt: bool,
    /// When the queue was throttled on which the task stands, in the last two periods before.
    pub throttled: Option<Instant>,
    /// When the pool was refilled next.
    pub refill: Option<Instant>,
    /// Who used it from the period's beginning up to then, or from that of the period before, and how much, the most first.
    pub used: Vec<(TaskId, Ns)>,
}

/// The story of the quota that kept the task longest; `None` if none did.
pub(super) fn story(scenario: &Scenario, replay: &mut Replay<'_>, one: &Explained) -> Result<Option<PoolStory>, Error> {
    let group_of = |who| match who {
        Who::Quota(group) | Who::Holder(_, Keeps::Quota(group)) => group,
        _ => None,
    };
    let longest = one.parts.rows().iter().filter_map(|part| Some((group_of(part.who)?, part))).max_by_key(|row| row.1.time);
    let Some((group, part)) = longest else { return Ok(None) };
    let (sim, _) = replay.to(part.first)?;
    let Some(pool) = sim.sched().cfs_bandwidth(group) else { return Ok(None) };
    let (limit, refill) = (pool.limit, pool.next_refill(part.first));
    let begins = refill.map_or(part.first, |refill| Instant::from_ns(refill.ns().saturating_sub(limit.period.0)));
    let early = Instant::from_ns(begins.ns().saturating_sub(limit.period.0));
    // From one period earlier on: the debt that a period begins with was made there.
    let (sim, _) = replay.to(early)?;
    let mut run = sim.clone();
    let mut users = Users::new(run.sched(), group, part.cpu, early);
    let stopped = |why| scenario.stopped(&why);
    run.run_until(begins, &mut users).map_err(stopped)?;
    let before = users.forget(begins);
    while run.now() <= part.first && users.throttled.is_none_or(|at| at < begins) {
        if run.step(&mut users).map_err(stopped)? == Flow::Done {
            break;
        }
    }
    let until = users.throttled.filter(|&at| at >= begins).unwrap_or(part.first.min(run.now()));
    let throttled = users.throttled;
    let mut used = users.used(until);
    let debt = limit.quota.is_some_and(|quota| used.iter().map(|row| row.1.0).sum::<u64>() * 2 < quota.0);
    if debt {
        for (task, time) in before {
            match used.iter_mut().find(|row| row.0 == task) {
                Some(row) => row.1 += time,
                None => used.push((task, time)),
            }
        }
        used.sort_by_key(|row| std::cmp::Reverse(row.1));
    }
    Ok(Some(PoolStory { group, limit, period: begins, debt, throttled, refill, used }))
}

/// How long each task of a group, or of one below it, runs.
struct Users {
    inside: Vec<bool>,
    curr: Vec<Option<(TaskId, Instant)>>,
    used: Vec<Ns>,
    group: TgId,
    cpu: CpuId,
    throttled: Option<Instant>,
}

impl Users {
    fn new(sched: &Sched, group: TgId, cpu: CpuId, now: Instant) -> Users {
        let is_inside = |task: TaskId| {
            let own = sched.task(task).group;
            std::iter::successors(own, |&level| sched.group_parent(level)).any(|level| level == group)
        };
        let inside: Vec<bool> = sched.task_ids().map(is_inside).collect();
        let curr = sched.cpu_ids().map(|cpu| sched.rq(cpu).curr.map(|task| (task, now))).collect();
        Users { used: vec![Ns::ZERO; inside.len()], inside, curr, group, cpu, throttled: None }
    }
    /// What was used so far, which counts no more.
    fn forget(&mut self, now: Instant) -> Vec<(TaskId, Ns)> {
        let running = self.curr.clone();
        let used = self.used(now);
        self.used.fill(Ns::ZERO);
        self.curr = running;
        self.curr.iter_mut().flatten().for_each(|row| row.1 = now);
        used
    }
    fn used(&mut self, until: Instant) -> Vec<(TaskId, Ns)> {
        for cpu in 0..self.curr.len() {
            self.leaves(cpu, until);
        }
        let rows = self.used.iter().enumerate().filter(|row| *row.1 > Ns::ZERO);
        let mut rows: Vec<(TaskId, Ns)> = rows.map(|(row, time)| (TaskId::from_index(row), *time)).collect();
        rows.sort_by_key(|row| std::cmp::Reverse(row.1));
        rows
    }
    fn leaves(&mut self, cpu: usize, at: Instant) {
        if let Some((task, since)) = self.curr[cpu].take()
            && self.inside[task.index()]
        {
            self.used[task.index()] += at.saturating_since(since);
        }
    }
}

impl Sink for Users {
    fn record(&mut self, at: Instant, cpu: CpuId, event: &TraceEvent) {
        match *event {
            TraceEvent::SchedSwitch { next, .. } => {
                self.leaves(cpu.index(), at);
                self.curr[cpu.index()] = next.map(|next| (next, at));
            }
            TraceEvent::Decision(Decision { reason: Reason::Throttle, a, .. })
                if cpu == self.cpu && Decision::who(a) == event::Who::Group(self.group) =>
            {
                self.throttled = Some(at);
            }
            _ => {}
        }
    }
}
