//! `fairground advise`.

use super::Example;
use crate::flags::{ScenarioFlags, whole};
use crate::interrupt;
use crate::progress::{Bar, Unit};
use crate::show;
use fairground::output::{ResultFiles, ResultKind};
use fairground_advise::counters::Counters;
use fairground_advise::{
    self as advise, Advice, AdviseInput, AdviseOptions, Aim, Ask, Confidence, CounterAdvice, FitOptions, Goal, InputOptions,
    Loop, Select,
};
use fairground_scenario::{Control, Error, Scenario};
use std::path::PathBuf;

/// The heading of flags that say what an input does not.
const INPUT: &str = "What the input does not say";

/// Find the smallest CPU limit that meets a goal, and say what the present one does.
///
/// Inputs are told by their content: a scenario with a workload `service`; a log of requests (a table, or an access log of nginx or Envoy with
/// --log-format); counters (JSON of Prometheus, /metrics of cAdvisor, cpu.stat, a table); a trace with --comm. A pod as kubectl prints it may
/// stand beside any of them and says the limit. docs/advise.md has all of them, the queries, and how to read the answer.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Scenario (- is one on stdin), logs, counters, trace, pod: files, or a folder of them
    #[arg(required_unless_present = "prometheus")]
    inputs: Vec<PathBuf>,
    /// Ask this server for the counters of --pod, such as http://localhost:9090; HTTP from this machine
    #[arg(long, value_name = "URL", requires = "pod", help_heading = INPUT)]
    prometheus: Option<String>,
    /// With --prometheus: how far back
    #[arg(long, value_name = "TIME", default_value = "6h", help_heading = INPUT)]
    last: String,
    /// The pod, where an input has several; * and ? stand for letters
    #[arg(long, value_name = "NAME", help_heading = INPUT)]
    pod: Option<String>,
    /// The container, where a pod has several
    #[arg(long, value_name = "NAME", help_heading = INPUT)]
    container: Option<String>,
    /// The namespace, where an input has several
    #[arg(long, value_name = "NAME", help_heading = INPUT)]
    namespace: Option<String>,
    /// Of an access log: nginx' `log_format` or Envoy's `text_format`, such as '$msec $request_time'; `envoy` is its default
    #[arg(long, value_name = "FORMAT", help_heading = INPUT)]
    log_format: Option<String>,
    /// Of a log without CPU times: the CPU time of a request in the mean, such as 3ms
    #[arg(long, value_name = "TIME", help_heading = INPUT)]
    cpu_per_request: Option<String>,
    /// The group whose limit is looked for; may be left out if there is one only. Of a trace: how it is called
    #[arg(long, value_name = "PATH")]
    cgroup: Option<String>,
    /// What the service must reach, such as p99=50ms; several must all hold
    #[arg(long = "goal", value_name = "GOAL")]
    goals: Vec<String>,
    /// Runs, one per seed, that the answer rests on; if left out, as many as make it narrow, 49 to 799
    #[arg(long, value_name = "N", value_parser = whole(10_u64..=10_000))]
    seeds: Option<u64>,
    /// Proves with so many percent that at most 5 of 100 runs miss the goal: a larger limit, and more runs. If left out, the next
    /// run meets it with 95 of 100
    #[arg(long, value_name = "PERCENT", value_parser = whole(50_u64..=99))]
    confidence: Option<u64>,
    /// Runs the answer, and the largest limit that is not enough, once more with so many fresh seeds
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = whole(0_u64..=100_000))]
    check: u64,
    /// Of counters: most runs of services that are fitted to them
    #[arg(long, value_name = "N", default_value_t = 20_000, value_parser = whole(100_u64..=10_000_000))]
    fit_runs: u64,
    /// Of a log: threads that serve the requests; of counters, if they are known
    #[arg(long, value_name = "N", value_parser = whole(1_u32..=1024), help_heading = INPUT)]
    workers: Option<u32>,
    /// Of a log or of counters: CPUs that the service may use; 8 if left out
    #[arg(long, value_name = "N", value_parser = whole(1_u32..=1000), help_heading = INPUT)]
    cpus: Option<u32>,
    /// The present limit: CPUs (2), millicores (2000m), percent of a CPU (200%), max, or as in cpu.max ("200000 100000"); that of a scenario is replaced
    #[arg(long, value_name = "LIMIT")]
    cpu_max: Option<String>,
    /// Of a trace: names of the threads in the group, such as 'java*'; * and ? stand for letters
    #[arg(long = "comm", value_name = "PATTERN", help_heading = INPUT)]
    comms: Vec<String>,
    /// Of a trace: what comes from outside comes as long after a thread slept as recorded, and not at its recorded time
    #[arg(long, help_heading = INPUT)]
    closed_loop: bool,
    /// Also write the advice; its ending chooses the format: .html (a page with the curve, a heat map, the slowest request
    /// and all tables), .json, .parquet (a row per run)
    #[arg(short, long = "output", value_name = "FILE")]
    output: Vec<PathBuf>,
    #[command(flatten)]
    change: ScenarioFlags,
}

/// Examples of the help.
pub(crate) const EXAMPLES: &[Example] = &[
    ("advise scenarios/examples/service.toml --goal p99=50ms", "the smallest cpu.max with which the p99 is 50 ms"),
    ("advise requests.csv --workers 8 --cpu-max 2000m --goal p99=100ms", "the same from a log of requests"),
    ("advise trace.dat --comm 'nginx*' --cpu-max 2 --goal p99=5ms", "the same from a recording"),
];

pub(crate) fn run(args: &Args, json: bool) -> Result<u8, Error> {
    let goals = args.goals.iter().map(|goal| Goal::parse(goal)).collect::<Result<Vec<Goal>, Error>>()?;
    let more = InputOptions {
        workers: args.workers,
        cpus: args.cpus,
        cpu_max: args.cpu_max.clone(),
        comms: args.comms.clone(),
        cgroup: args.cgroup.clone(),
        arrivals: if args.closed_loop { Loop::Closed } else { Loop::Open },
        select: Select { pod: args.pod.clone(), namespace: args.namespace.clone(), container: args.container.clone() },
        log_format: args.log_format.clone(),
        cpu_per_request: args.cpu_per_request.clone(),
        prometheus: args.prometheus.clone().map(|url| Ask { url, last: args.last.clone() }),
    };
    match AdviseInput::open(&args.inputs, &more, &args.change.overrides())? {
        AdviseInput::Scenario(scenario) => {
            of_runs(args, goals, json, &scenario, |options, control| advise::advise(&scenario, options, control))
        }
        AdviseInput::Trace(case) => {
            of_runs(args, goals, json, &case.scenario, |options, control| advise::advise_trace(&case, options, control))
        }
        AdviseInput::Counters(counters) => of_counters(args, *counters, goals, json),
    }
}

/// Runs what requests do under limits.
fn of_runs(
    args: &Args,
    goals: Vec<Goal>,
    json: bool,
    scenario: &Scenario,
    advise: impl FnOnce(&AdviseOptions, Control<'_>) -> Result<Advice, Error>,
) -> Result<u8, Error> {
    show::notes(&scenario.notes);
    let files = ResultFiles::open(&args.output, "advise", &[ResultKind::Html, ResultKind::Json, ResultKind::Parquet])?;
    let bar = Bar::new("trying limits", Unit::Runs);
    let aim = args.confidence.and_then(Confidence::percent).map_or(Aim::Next, Aim::Proof);
    let options = AdviseOptions { cgroup: args.cgroup.clone(), goals, seeds: args.seeds, aim, check: args.check };
    let advice = advise(&options, Control::new(interrupt::flag(), &bar));
    bar.finish();
    let advice = advice?;
    for path in files.finish(!advice.interrupted, |kind| advice.file(scenario, kind))? {
        show::written(&path);
    }
    if json {
        show::document(&advice.document(scenario))?;
    } else {
        show::tables(&advice.tables())?;
    }
    if advice.interrupted {
        return Ok(interrupt::told("the tables hold what was simulated until then, which says nothing"));
    }
    Ok(advice.exit_code())
}

/// Fits services to counters, which are not run.
fn of_counters(args: &Args, counters: Counters, goals: Vec<Goal>, json: bool) -> Result<u8, Error> {
    let inputs = args.inputs.iter().map(|path| path.display().to_string());
    let name = inputs.chain(args.prometheus.clone()).collect::<Vec<_>>().join(" ");
    let seed = args.change.overrides().seed.unwrap_or(FitOptions::default().seed);
    let files = ResultFiles::open(&args.output, "advise", &[ResultKind::Html, ResultKind::Json])?;
    let options = FitOptions { goals, workers: args.workers, seed, runs: args.fit_runs, ..FitOptions::default() };
    let bar = Bar::new("fitting services", Unit::Runs);
    let advice = CounterAdvice::new(counters, &options, Control::new(interrupt::flag(), &bar));
    bar.finish();
    for path in files.finish(!advice.is_interrupted(), |kind| advice.file(&name, kind))? {
        show::written(&path);
    }
    if json {
        show::document(&advice.document(&name))?;
    } else {
        show::tables(&advice.tables())?;
    }
    if advice.is_interrupted() {
        return Ok(interrupt::told("the tables hold what was fitted until then, which says nothing"));
    }
    Ok(advice.exit_code())
}
