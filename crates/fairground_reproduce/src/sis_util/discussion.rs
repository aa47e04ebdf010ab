//! What was said about the patch when it was discussed: small cache domains, a machine that is full but for one CPU, sockets
//! with larger messages, and a clamped frequency.

use super::case::{COSTS, Change, MAIN, Measure, PATCHED, Point, Reading, VANILLA};
use super::measured::{Measured, run_setup};
use super::rows::{HIGHEST, change};
use crate::runs::{Runs, refused};
use fairground_machine::{CostModel, Machine, synthetic};
use fairground_metrics::Decimal;
use fairground_model::{Instr, Mode, Program, TaskSet, TaskSpec};
use fairground_report::{Band, Claim, Kind, Quantity, ReproductionRow, Simulated};
use fairground_scenario::{Control, Error};
use fairground_sched::Profile;
use fairground_sim::Setup;
use fairground_stdx::{CpuId, CpuMask, Ns};
use fairground_workload::{Args, build};
use rayon::prelude::*;

/// The patch with more looks in small cache domains.
const SMALL_LLC: &str = "v5.19+sis-util+small-llc";
/// Highest frequency, the usual one with all CPUs busy, half of it; in 1024ths.
const FREQUENCIES: [(&str, u32); 3] = [("1.0", 1024), ("0.85", 870), ("0.5", 512)];
/// Bytes of requests and answers of the load that is like `stress-ng --sock`.
const SOCK_BYTES: &str = "4096,4096";

/// One run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Discussed {
    /// hackbench with 16 groups on a cache domain of 16 CPUs.
    Hackbench(&'static str),
    /// Seven bound hogs on eight CPUs, and a task that sleeps most of the time and was on the CPU of one of them.
    SevenHogs(&'static str),
    /// Pairs that exchange larger messages, as many as CPUs.
    Sock(&'static str),
    /// netperf with 224 pairs at this share of the highest frequency.
    Clamped(u32),
}

use Discussed::{Clamped, Hackbench, SevenHogs, Sock};

/// All runs, and how long each warms up and measures. The quick form has those on small machines.
pub(super) fn cases(quick: bool) -> Vec<(Discussed, Ns)> {
    let mut all: Vec<Discussed> = [VANILLA, PATCHED, SMALL_LLC].map(Hackbench).into();
    all.extend([VANILLA, PATCHED].map(SevenHogs));
    if !quick {
        all.extend([VANILLA, PATCHED].map(Sock));
        all.extend(FREQUENCIES.map(|(_, share)| Clamped(share)));
    }
    let length = Ns::from_ms(if quick { 500 } else { 2_000 });
    all.into_iter().map(|case| (case, length)).collect()
}

impl Discussed {
    fn profile(self) -> &'static str {
        match self {
            Hackbench(profile) | SevenHogs(profile) | Sock(profile) => profile,
            Clamped(_) => PATCHED,
        }
    }
    fn machine(self) -> Result<Machine, Error> {
        let small = |text: &str| {
            let mut machine = synthetic::parse(text).map_err(refused)?.machine;
            machine.costs = CostModel::preset(COSTS).map_err(refused)?;
            Ok(machine)
        };
        match self {
            Hackbench(_) => small("pack:1 l3:1 core:8 pu:2"),
            SevenHogs(_) => small("pack:1 l3:1 core:8 pu:1"),
            Sock(_) => MAIN.machine(),
            Clamped(share) => Reading { change: Change::Frequency(share), ..MAIN }.machine(),
        }
    }
    fn tasks(self) -> Result<TaskSet, Error> {
        match self {
            Hackbench(_) => Point::new("hackbench", "process-pipe", 16, "group").tasks(),
            SevenHogs(_) => Ok(seven_hogs()),
            Sock(_) => {
                let args = [("instances", "112"), ("testlen", "100"), ("request", SOCK_BYTES)];
                build("netperf", &Args::of(&args)).map_err(refused)
            }
            Clamped(_) => Point::new("netperf", "TCP_RR", HIGHEST, "thread").tasks(),
        }
    }
    fn measure(self) -> Measure {
        match self {
            Hackbench(_) => Measure::Rate("hackbench_messages"),
            SevenHogs(_) | Sock(_) | Clamped(_) => Measure::Rate("netperf_transactions"),
        }
    }
    fn run(self, length: Ns) -> Result<Measured, Error> {
        let name = self.profile();
        let profile = Profile::parse(name).map_err(|error| Error::one(name, error.message, error.hint))?;
        let (machine, tasks) = (self.machine()?, self.tasks()?);
        run_setup(Setup { machine, profile, tasks, seed: 1, duration: length + length, paranoid: false }, self.measure(), length)
    }
}

/// Seven hogs on all CPUs but CPU 2, and a task that computes for 100 us of each millisecond: by turns bound to CPU 0, and
/// free to go anywhere from there. The idle CPU is the second that a search looks at.
fn seven_hogs() -> TaskSet {
    let mut set = TaskSet::default();
    let forever = set.programs.push(Program::from(vec![Instr::Run { work: Ns(u64::MAX), mode: Mode::User }]));
    let one = |cpu: u32| [CpuId::new(cpu)].into_iter().collect::<CpuMask>();
    for cpu in (0..8).filter(|&cpu| cpu != 2) {
        set.tasks.push(TaskSpec { affinity: Some(one(cpu)), ..TaskSpec::new(format!("hog{cpu}"), forever) });
    }
    let code = vec![
        Instr::SetAffinity { cpus: Box::new(one(0)) },
        Instr::Sleep { time: Ns::from_ms(1) },
        Instr::Run { work: Ns::from_us(100), mode: Mode::User },
        Instr::SetAffinity { cpus: Box::new(CpuMask::first_n(8)) },
        Instr::Sleep { time: Ns::from_ms(1) },
        Instr::Run { work: Ns::from_us(100), mode: Mode::User },
        Instr::Jump { to: 0 },
    ];
    let program = set.programs.push(Program::from(code));
    set.tasks.push(TaskSpec::new("sleeper", program));
    set
}

/// Runs all of it.
pub(super) fn run(
    cases: &[(Discussed, Ns)],
    runs: &mut Runs,
    control: Control<'_>,
) -> Result<(Vec<ReproductionRow>, Vec<Claim>), Error> {
    if control.stopped() {
        return Ok((Vec::new(), Vec::new()));
    }
    let measured: Result<Vec<Measured>, Error> =
        cases.par_iter().with_max_len(1).map(|(case, length)| case.run(*length)).collect();
    let measured = measured?;
    measured.iter().for_each(|run| runs.add(run.digest));
    let of = |wanted: Discussed| cases.iter().position(|(case, _)| *case == wanted).map(|index| &measured[index]);
    let mut rows = Vec::new();
    let mut claims = Vec::new();
    if let [Some(vanilla), Some(patched), Some(small)] = [VANILLA, PATCHED, SMALL_LLC].map(|profile| of(Hackbench(profile))) {
        let gain =
            |run: &Measured| Quantity::Number(Decimal::thousandths(change(Hackbench("").measure(), vanilla.value, run.value)));
        rows.push(row("hackbench.16groups.llc16.sis-util".into(), "%", gain(patched)));
        rows.push(row("hackbench.16groups.llc16.small-llc".into(), "%", gain(small)));
        let looks = [patched, small].map(|run| run.sis.looks_per_domain_search());
        claims.push(Claim {
            id: "hackbench with 16 groups on 16 CPUs: with small-llc a search looks at no fewer CPUs than without".into(),
            holds: looks[1] >= looks[0],
            value: Some(Decimal::thousandths(looks[1] as i64 - looks[0] as i64)),
        });
    }
    if let [Some(vanilla), Some(patched)] = [VANILLA, PATCHED].map(|profile| of(SevenHogs(profile))) {
        let success = |run: &Measured| run.sis.success_rate();
        rows.push(row(
            "seven_hogs.success_rate.vanilla".into(),
            "%",
            Quantity::Number(Decimal::thousandths(success(vanilla) as i64)),
        ));
        rows.push(row(
            "seven_hogs.success_rate.patched".into(),
            "%",
            Quantity::Number(Decimal::thousandths(success(patched) as i64)),
        ));
        claims.push(Claim {
            id: "seven bound hogs on eight CPUs: the patched kernel does not find the idle CPU that the other finds".into(),
            holds: success(patched) < success(vanilla),
            value: Some(Decimal::thousandths(success(patched) as i64 - success(vanilla) as i64)),
        });
    }
    if let [Some(vanilla), Some(patched)] = [VANILLA, PATCHED].map(|profile| of(Sock(profile))) {
        let gain = change(Sock("").measure(), vanilla.value, patched.value);
        rows.push(row("sock.112pairs.change".into(), "%", Quantity::Number(Decimal::thousandths(gain))));
        for (side, run) in [("vanilla", vanilla), ("patched", patched)] {
            rows.push(row(
                format!("sock.112pairs.involuntary_switches.{side}"),
                "in all",
                Quantity::Number(run.involuntary.into()),
            ));
        }
    }
    let mut clamped = Vec::new();
    for (name, share) in FREQUENCIES {
        let Some(run) = of(Clamped(share)) else { continue };
        rows.push(row(format!("clamped.{name}.nr_idle_scan"), "CPUs", Quantity::Number(u64::from(run.nr_idle_scan).into())));
        clamped.push(run.nr_idle_scan);
    }
    if clamped.len() == FREQUENCIES.len() {
        claims.push(Claim {
            id: "a machine that is never idle is fully used at any frequency: searches end at 1.0, 0.85 and 0.5 of it".into(),
            holds: clamped.iter().all(|&nr| nr == 0),
            value: clamped.iter().max().map(|&nr| u64::from(nr).into()),
        });
    }
    Ok((rows, claims))
}

/// A row that nobody published.
fn row(id: String, unit: &str, simulated: Quantity) -> ReproductionRow {
    ReproductionRow {
        id: format!("discussion.{id}"),
        unit: unit.into(),
        published: Quantity::Unknown,
        simulated: Simulated::same(simulated, 1),
        kind: Kind::Predicted,
        band: Band::NotJudged,
    }
}
