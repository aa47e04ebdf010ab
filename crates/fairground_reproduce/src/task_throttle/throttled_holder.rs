//! A reader of a semaphore whose group is throttled, and the tasks that wait for it.
//!
//! ```text
//! holder   20 ms of CPU time in each 100 ms     for ever: 0.9 ms in user mode, 2.2 ms as a reader of the semaphore
//! writer   without limit, on another CPU        each 50 ms: 0.1 ms as a writer
//! reader   without limit, on a third            each ms, or when the last time is over: 0.05 ms as a reader
//! ```
//!
//! Nothing else takes time: the text says that tasks hung for want of such a semaphore, and gives no set-up.

use crate::runs::{refused, stopped};
use fairground_machine::{CostModel, Machine};
use fairground_metrics::Decimal;
use fairground_model::{
    CpuMax, Instr, LockKind, LockMode, LockSpec, Mode, NullSink, Program, TaskGroupSpec, TaskSet, TaskSpec, TimerMode,
};
use fairground_report::{Band, Kind, Quantity, ReproductionRow, Simulated};
use fairground_scenario::Error;
use fairground_sched::Profile;
use fairground_sim::{LockReport, Setup, Simulation};
use fairground_stdx::{CpuId, CpuMask, Instant, LockId, Ns, TgId};

/// How kernels throttle, by the names of the rows.
const MODELS: [(&str, &str); 3] = [("queue", "v6.14"), ("task_as_mailed", "v6.14+task-throttle"), ("task_as_merged", "v6.18")];
const PREEMPTION: [&str; 4] = ["none", "voluntary", "full", "lazy"];
/// Twenty periods.
const DURATION: Ns = Ns::from_secs(2);
const SECTION: Ns = Ns::from_us(2200);

fn kernel(time: Ns) -> Instr {
    Instr::Run { work: time, mode: Mode::Kernel }
}

/// A system call that holds the semaphore for so long.
fn holds(lock: LockId, mode: LockMode, time: Ns) -> Vec<Instr> {
    vec![Instr::Enter, Instr::Lock { lock, mode }, kernel(time), Instr::Unlock { lock }, Instr::Leave]
}

/// `body` at `first`, and again `period` after that.
fn every(first: Ns, period: Ns, mode: TimerMode, body: Vec<Instr>) -> Vec<Instr> {
    let begin = vec![Instr::Set { reg: 0, at: Instant::ZERO + first }, Instr::SleepUntil { reg: 0 }];
    let again = vec![Instr::TimerWait { reg: 0, period, mode }, Instr::Jump { to: 2 }];
    [begin, body, again].concat()
}

fn tasks() -> TaskSet {
    let mut set = TaskSet::default();
    let lock = set.locks.push(LockSpec::new("semaphore", LockKind::Rwsem).fifo());
    let limit = CpuMax { quota: Some(Ns::from_ms(20)), period: Ns::from_ms(100), burst: Ns::ZERO };
    let limited: TgId = set.groups.push(TaskGroupSpec { limit, ..TaskGroupSpec::new("/limited", None) });
    let mut add = |name: &str, cpu: u32, group: Option<TgId>, code: Vec<Instr>| {
        let program = set.programs.push(Program::from(code));
        let mut task = TaskSpec::new(name, program);
        (task.group, task.affinity, task.timer_slack) = (group, Some(CpuMask::only(CpuId::new(cpu))), Ns::ZERO);
        set.tasks.push(task);
    };
    let user = vec![Instr::Run { work: Ns::from_us(900), mode: Mode::User }];
    let again = vec![Instr::Jump { to: 0 }];
    add("holder", 0, Some(limited), [user, holds(lock, LockMode::Read, SECTION), again].concat());
    // Arrivals do not wait for each other: two take turns.
    let [half, whole] = [50, 100].map(Ns::from_ms);
    for first in [half, whole] {
        add("writer", 1, None, every(first, whole, TimerMode::Absolute, holds(lock, LockMode::Write, Ns::from_us(100))));
    }
    add("reader", 2, None, every(Ns::ZERO, Ns::from_ms(1), TimerMode::Relative, holds(lock, LockMode::Read, Ns::from_us(50))));
    set
}

fn run(kernel: &str, preemption: &str) -> Result<(u128, LockReport), Error> {
    let profile = Profile::parse(kernel)
        .and_then(|profile| profile.with_seam("period_phase", "boot"))
        .and_then(|profile| profile.with_seam("preemption", preemption));
    let profile = profile.map_err(|error| Error::one(kernel, error.message, error.hint))?;
    let mut simulation = Simulation::new(setup(profile)?).map_err(refused)?;
    simulation.run(&mut NullSink).map_err(stopped)?;
    Ok((simulation.digest(), report_of(&simulation)))
}

pub(super) fn report_of(simulation: &Simulation) -> LockReport {
    simulation.lock_reports().into_iter().next().expect("invariant: there is one lock")
}

pub(super) fn setup(profile: Profile) -> Result<Setup, Error> {
    let mut machine = Machine::preset("smp-3").map_err(refused)?;
    (machine.hz, machine.tick) = (1000, Ns::from_ms(1));
    machine.costs = CostModel::preset("zero").map_err(refused)?;
    Ok(Setup { machine, profile, tasks: tasks(), seed: 1, duration: DURATION, paranoid: false })
}

/// A seventh to both sides, in thousandths.
fn about(thousandths: i64) -> Band {
    Band::Between(Decimal::thousandths(thousandths * 85 / 100), Decimal::thousandths(thousandths * 115 / 100))
}

/// The rows of all ways to throttle under all preemption models, with the digests of their runs.
pub(super) fn rows() -> Result<(Vec<u128>, Vec<ReproductionRow>), Error> {
    let (mut digests, mut rows) = (Vec::new(), Vec::new());
    for (model, kernel) in MODELS {
        for preemption in PREEMPTION {
            let (digest, report) = run(kernel, preemption)?;
            digests.push(digest);
            // Only where the queue leaves its CPU whatever its task is doing, and tasks in the kernel can lose theirs.
            let caught = model == "queue" && matches!(preemption, "full" | "lazy");
            let (longest, holds) = if caught { (about(82_200), about(14_000)) } else { (about(2_200), about(0)) };
            let mut row = |what: &str, unit: &str, value: Decimal, band: Band| {
                let id = format!("rwsem_throttled_holder.{model}.{preemption}.{what}");
                let simulated = Simulated::same(Quantity::Number(value), 1);
                let published = Quantity::Unknown;
                rows.push(ReproductionRow { id, unit: unit.into(), published, simulated, kind: Kind::Predicted, band });
            };
            row("longest_hold", "ms", Decimal::ratio(report.holds.max() / 1000, 1000), longest);
            row("throttled_holds", "holds", Decimal::from(report.throttled_holds), holds);
            row("hung_tasks", "tasks", Decimal::from(report.hung_tasks), Band::NotJudged);
        }
    }
    Ok((digests, rows))
}
