//! The core's choices beside those of the rules.

use super::search::Search;
use super::{Rules, State};
use crate::case::Case;
use crate::dice::Dice;
use fairground_model::{Decision, Digest, MachineView, Meter, NullSink, Op, Reason, Recorder, Sink, TraceEvent, WakeContext};
use fairground_sched::{Ctx, Profile, Sched, TaskState, WakeFlags, Waking};
use fairground_sim::{Flow, Simulation};
use fairground_stdx::{CpuId, CpuMask, Id, Instant, TaskId};
use std::collections::BTreeMap;

/// How many wake-ups were compared, by the rule that made the choice.
pub type Tally = BTreeMap<&'static str, usize>;

/// The most wake-ups of one case.
const WAKES: usize = 64;
/// What looks cost, in ns.
const LOOK_NS: [u64; 3] = [0, 59, 1_500];

/// Runs the system of a seed and wakes sleepers between its events, each time on a copy. Counts the choices by their
/// rule, or tells the first in which the core does not do as the rules say.
pub fn compare(seed: u64) -> Result<Tally, String> {
    compare_case(seed, Rules::of)
}

/// As [`compare`], but the rules are those of another kernel.
pub fn compare_with_rules_of(seed: u64, other: &Profile) -> Result<Tally, String> {
    compare_case(seed, |_| Rules::of(other))
}

fn compare_case(seed: u64, rules: impl Fn(&Profile) -> Rules) -> Result<Tally, String> {
    let (case, mut dice) = (case(seed), Dice::new(seed, 20));
    let mut tally = Tally::new();
    let Ok(mut simulation) = Simulation::new(case.setup()) else { return Ok(tally) };
    let often = dice.between(1, 40);
    while tally.values().sum::<usize>() < WAKES && matches!(simulation.step(&mut NullSink), Ok(Flow::More)) {
        if !dice.once_in(often) {
            continue;
        }
        let Some(wake) = Wake::random(&simulation, &mut dice) else { continue };
        let rule = wake.compare(&case, rules(simulation.sched().profile()));
        *tally.entry(rule.map_err(|differs| format!("seed {seed}, {}: {differs}", case.profile.name))?).or_default() += 1;
    }
    Ok(tally)
}

/// The system of a seed, in which some tasks are kernel threads, and some of those are bound to a CPU.
fn case(seed: u64) -> Case {
    let (mut case, mut dice) = (Case::random(seed), Dice::new(seed, 21));
    for task in case.tasks.tasks.iter_mut().filter(|_| dice.once_in(2)) {
        task.kthread = true;
        if let Some(first) = task.first_cpu {
            task.affinity = Some(CpuMask::only(first));
        }
    }
    case
}

/// A wake-up that is tried out.
struct Wake {
    sched: Sched,
    task: TaskId,
    this: CpuId,
    flags: WakeFlags,
    jiffies: u64,
    look_ns: u64,
    now: Instant,
}

/// What the core recorded of a choice.
#[derive(Default)]
struct Choices(Vec<Decision>);

impl Sink for Choices {
    fn record(&mut self, _at: Instant, _cpu: CpuId, event: &TraceEvent) {
        if let TraceEvent::Decision(decision) = event {
            self.0.push(*decision);
        }
    }
}

impl Wake {
    /// A fair task that sleeps, a CPU on line that wakes it, and how; none if there is no such task.
    fn random(simulation: &Simulation, dice: &mut Dice) -> Option<Wake> {
        let mut sched = simulation.sched().clone();
        let sleeps = |&task: &TaskId| {
            let row = sched.task(task);
            // The other classes choose by rules of their own.
            row.state == TaskState::Asleep && !row.on_cpu && row.policy.is_fair()
        };
        let sleepers: Vec<TaskId> = sched.task_ids().filter(sleeps).collect();
        let online: Vec<CpuId> = sched.cpu_ids().filter(|&cpu| sched.rq(cpu).online).collect();
        let task = *sleepers.get(dice.index(sleepers.len().max(1)))?;
        // A waker that sits where the wakee was is what the rule for kernel threads is about.
        let prev = sched.task(task).cpu;
        let this = if dice.once_in(2) && online.contains(&prev) { prev } else { dice.pick(&online) };
        let context = match sched.rq(this).curr {
            Some(_) => dice.pick(&[WakeContext::Task, WakeContext::Task, WakeContext::Softirq, WakeContext::Hardirq]),
            None => WakeContext::Hardirq,
        };
        if dice.once_in(2) {
            let all: Vec<CpuId> = sched.cpu_ids().collect();
            sched.follow_recent_used_cpu(task, dice.pick(&all));
        }
        let jiffies = simulation.jiffies() + dice.pick(&[0, 0, 1, 3, 12]);
        let flags = WakeFlags { sync: dice.once_in(2), context };
        Some(Wake { sched, task, this, flags, jiffies, look_ns: dice.pick(&LOOK_NS), now: simulation.now() })
    }

    /// The name of the rule by which both choose the same.
    fn compare(mut self, case: &Case, rules: Rules) -> Result<&'static str, String> {
        let from_task = self.flags.context == WakeContext::Task;
        let mut state = State::of(&self.sched, &case.machine, rules, (self.task, self.this, from_task));
        (state.jiffies, state.look_ns) = (self.jiffies, self.look_ns);
        let (decisions, looks) = self.ask(case);
        let Some((last, before)) = decisions.split_last() else { return Ok("none") };
        let capacity = rules.searches_capacity() && self.sched.topology().asym_cpucap_active;
        let other_rule = matches!(last.reason, Reason::SelectOnlyAllowed | Reason::SelectIdlest | Reason::SelectLocal);
        let by_energy = matches!(last.reason, Reason::SelectEnergy | Reason::SelectEnergyPrev);
        if other_rule || by_energy || capacity {
            return Ok("not compared");
        }
        let affine = before.iter().find(|decision| is_affine(decision.reason));
        let target = affine.map_or(state.prev, |affine| affine.b as usize);
        let search = Search::new(&state, target, looks_at_nodes(&state, affine));
        self.judge(search, last, looks).map_err(|differs| {
            let (at, task, this) = (self.now.ns(), self.task, self.this);
            format!("at {at}, {task:?} from CPU {this} ({:?}), target {target}: {differs}: {state:#?}", self.flags)
        })
    }

    /// Whether the rules say the same, and leave the same behind.
    fn judge(&self, mut search: Search<'_>, found: &Decision, looks: u64) -> Result<&'static str, String> {
        let (state, target) = (search.state, search.target);
        let (cpu, reason) = search.choose();
        if !state.may_go(cpu) && found.reason == Reason::SelectFallback {
            return Ok("fallback");
        }
        if (found.reason, found.b as usize) != (reason, cpu) {
            let (core, why) = (found.b, found.reason);
            return Err(format!("the core chose CPU {core} ({why:?}), the rules CPU {cpu} ({reason:?})"));
        }
        let flag = state.has_idle_cores[target] && !search.cleared;
        let expected = (search.looks, search.recent, flag, search.wake_avg_idle, search.wake_stamp, search.avg_scan_cost);
        let left = self.left_behind(target, looks);
        if left != expected {
            let what = "looks, recent_used_cpu, has_idle_cores, wake_avg_idle, wake_stamp, avg_scan_cost";
            return Err(format!("{reason:?}, {what}: the core has {left:?}, the rules say {expected:?}"));
        }
        Ok(if search.cut_off { "cut-off" } else { reason.slug() })
    }

    /// What the core remembers of its search, behind the looks that it took.
    fn left_behind(&self, target: usize, looks: u64) -> (u64, usize, bool, u64, u64, u64) {
        let (estimate, topology) = (self.sched.idle_estimate(self.this), self.sched.topology());
        let cached = &topology.cpus[CpuId::from_index(target)];
        let flag = cached.sd_llc_shared.is_some_and(|id| topology.shared[id].has_idle_cores);
        let cost = topology.cpus[self.this].sd_llc.map_or(0, |sd| topology.domains[sd].avg_scan_cost);
        let recent = self.sched.task(self.task).recent_used_cpu.index();
        (looks, recent, flag, estimate.wake_avg_idle, estimate.wake_stamp, cost)
    }

    /// Lets the core choose; what it recorded, and at how many run queues it looked.
    fn ask(&mut self, case: &Case) -> (Vec<Decision>, u64) {
        let mut prices_ps = [0; Op::COUNT];
        prices_ps[Op::ScanCpu as usize] = self.look_ns * 1_000;
        let (mut meter, mut digest, mut choices) = (Meter::new(prices_ps), Digest::default(), Choices::default());
        let (mut requests, machine) = (Vec::new(), self.view(case));
        let mut cx = Ctx {
            now: self.now,
            cpu: self.this,
            jiffies: self.jiffies,
            until: Instant::MAX,
            switched: None,
            machine: &machine,
            meter: &mut meter,
            requests: &mut requests,
            trace: &mut Recorder::new(&mut digest, &mut choices),
        };
        match self.sched.ttwu_select(&mut cx, self.task, self.flags) {
            Waking::Selected(_) => (choices.0, meter.total(Op::ScanCpu)),
            _ => (Vec::new(), 0),
        }
    }

    fn view(&self, case: &Case) -> MachineView {
        let mut machine = case.machine.view();
        machine.online = self.sched.cpu_ids().filter(|&cpu| self.sched.rq(cpu).online).collect();
        machine
    }
}

/// Whether that is a reason of wake_affine() for the target.
fn is_affine(reason: Reason) -> bool {
    use Reason::{AffineCache, AffineIdle, AffineLessLoad, AffinePrev, AffinePrevIdle, AffineSync};
    matches!(reason, AffineCache | AffineIdle | AffinePrevIdle | AffineSync | AffineLessLoad | AffinePrev)
}

/// Looks at run queues before the search: the loads of both nodes are added up.
fn looks_at_nodes(state: &State, affine: Option<&Decision>) -> u64 {
    let between_caches = affine.is_some_and(|affine| affine.reason != Reason::AffineCache);
    match state.rules.compares_nodes() && between_caches {
        true => state.node_len(state.this) + state.node_len(state.prev),
        false => 0,
    }
}
