//! The parameters of a service, and what is wrong with them.

use super::plan::{Arrivals, Background, Batch, Demand, Service, State};
use crate::args::Args;
use crate::param::{Param, Values};
use crate::table::{Aggregate, Column, Figure};
use crate::workload::Workload;
use fairground_model::{Mistakes, TaskSet};
use fairground_stdx::distribution::{Lognormal, Pareto};
use fairground_stdx::{Distribution, Ns};

const fn latency(title: &'static str, aggregate: Aggregate) -> Column {
    Column { title, unit: "ms", figure: Figure::Of("request_latency", aggregate), scale: (1, 1_000_000), decimals: 3 }
}

pub(crate) const WORKLOAD: Workload = Workload {
    name: "service",
    sentence: "Requests that come whether or not earlier ones are done, one queue, and worker threads.",
    params: &[
        Param::choice("arrivals", &["poisson", "fixed", "mmpp", "closed"], "poisson", "How requests come."),
        Param::time("every", "10ms", "Mean time from one request, or batch, to the next."),
        Param::count("batch", (1, 10_000), "1", "Requests that come at once."),
        Param::choice("batch-sizes", &["fixed", "geometric"], "fixed", "Whether `batch` is the size of each, or the mean."),
        Param::time("burst-every", "1ms", "With mmpp: as `every`, but in bursts."),
        Param::time("calm-length", "900ms", "With mmpp: mean length of the calm time between bursts."),
        Param::time("burst-length", "100ms", "With mmpp: mean length of a burst."),
        Param::count("clients", (1, 1024), "8", "With closed: clients, each with one request at a time."),
        Param::time("think", "10ms", "With closed: mean time from an answer to the client's next request, exponential."),
        Param::time("service", "10ms", "CPU time of a request: the mean; with pareto the smallest."),
        Param::choice(
            "spread",
            &["exponential", "const", "lognormal", "pareto"],
            "exponential",
            "How the CPU time differs between requests.",
        ),
        Param::count("cv-percent", (0, 10_000), "100", "With lognormal: standard deviation in percent of the mean."),
        Param::time("service-max", "1s", "With pareto: the largest CPU time."),
        Param::count("alpha-percent", (1, 10_000), "150", "With pareto: the exponent times 100."),
        Param::count("workers", (1, 1024), "8", "Worker threads."),
        Param::count(
            "queue",
            (1, 1_000_000),
            "10000",
            "Requests that fit into the queue; more wait outside, and their time counts.",
        ),
        Param::count("waits", (0, 1000), "0", "How often a request waits for something else between equal parts of its work."),
        Param::time("wait", "1ms", "Mean length of such a wait, exponential; all waits of a request are equally long."),
        Param::time("timeout", "0ms", "Answers that take longer count as time-outs; 0 = none."),
        Param::count("gc-threads", (0, 1024), "0", "Threads of a garbage collector that runs beside the workers."),
        Param::time("gc-every", "1s", "From one collection to the next."),
        Param::time("gc-work", "100ms", "CPU time of a collection, all threads together."),
        Param::count("timer-threads", (0, 1024), "0", "Threads that wake regularly for a little work."),
        Param::time("timer-every", "10ms", "From one wake-up of such a thread to the next."),
        Param::time("timer-work", "20us", "CPU time of each."),
        Param::cpus("cpus", "", "CPUs of workers and background threads."),
        Param::cpus("client-cpus", "", "CPUs of the clients."),
    ],
    table: &[
        latency("p50", Aggregate::PerMille(500)),
        latency("p90", Aggregate::PerMille(900)),
        latency("p95", Aggregate::PerMille(950)),
        latency("p99", Aggregate::PerMille(990)),
        latency("p99.9", Aggregate::PerMille(999)),
        latency("max", Aggregate::Max),
        Column { title: "good", unit: "1/s", figure: Figure::PerSecond("good"), scale: (1, 1), decimals: 1 },
        Column { title: "timeouts", unit: "1/s", figure: Figure::PerSecond("timeouts"), scale: (1, 1), decimals: 1 },
    ],
    percentiles: &[],
    threads: None,
    duration: None,
    build,
};

/// Longest mean CPU time of a request, and longest work of a background thread: draws stay far below the longest run.
const WORK_MAX: Ns = Ns::from_secs(100);

/// The service that settings describe.
pub fn of_args(args: &Args) -> Result<Service, Mistakes> {
    let values = Values::read(WORKLOAD.params, args)?;
    let mut mistakes = Mistakes::default();
    check(&values, &mut mistakes);
    mistakes.or(()).map(|()| read(&values))
}

fn build(values: &Values, mistakes: &mut Mistakes) -> TaskSet {
    check(values, mistakes);
    let service = read(values);
    // What is wrong is reported: nothing is made of it, as a list of a million rows may be.
    if mistakes.0.is_empty() { service.tasks() } else { TaskSet::default() }
}

fn check(values: &Values, mistakes: &mut Mistakes) {
    let kind = values.choice("arrivals");
    let positive = |name: &str, mistakes: &mut Mistakes| {
        if values.time(name) == Ns::ZERO {
            let message = format!("`{name}` is 0: that never ends");
            values.mistake(mistakes, name, &message, "Give a length such as 10ms.");
        }
    };
    match kind {
        "mmpp" => ["every", "burst-every", "calm-length", "burst-length"].iter().for_each(|name| positive(name, mistakes)),
        "closed" => {}
        _ => positive("every", mistakes),
    }
    positive("service", mistakes);
    for (name, of) in [("gc-every", "gc-threads"), ("timer-every", "timer-threads")] {
        if values.count(of) > 0 {
            positive(name, mistakes);
        }
    }
    for name in ["service", "service-max", "gc-work", "timer-work"] {
        if values.time(name) > WORK_MAX {
            let message = format!("`{name}` is more than {WORK_MAX} of CPU time");
            values.mistake(mistakes, name, &message, "A request that long is a batch job: use the workload `hog`.");
        }
    }
    let belongs = |name: &str, to: &str, of: &[&str], mistakes: &mut Mistakes| {
        if values.given(name) && !of.contains(&values.choice(to)) {
            let message = format!("`{name}` means nothing with `{to}` = {}", values.choice(to));
            values.mistake(mistakes, name, &message, &format!("Leave it out, or set `{to}` to {}.", of.join(" or ")));
        }
    };
    for name in ["burst-every", "calm-length", "burst-length"] {
        belongs(name, "arrivals", &["mmpp"], mistakes);
    }
    for name in ["batch", "batch-sizes"] {
        belongs(name, "arrivals", &["poisson", "fixed"], mistakes);
    }
    for name in ["clients", "think"] {
        belongs(name, "arrivals", &["closed"], mistakes);
    }
    belongs("every", "arrivals", &["poisson", "fixed", "mmpp"], mistakes);
    belongs("cv-percent", "spread", &["lognormal"], mistakes);
    for name in ["service-max", "alpha-percent"] {
        belongs(name, "spread", &["pareto"], mistakes);
    }
}

fn read(values: &Values) -> Service {
    let (time, count) = (|name| values.time(name), |name| values.count(name) as u32);
    Service {
        arrivals: arrivals(values),
        demand: Demand::Drawn(demand(values)),
        workers: count("workers"),
        queue: count("queue"),
        waits: values.count("waits"),
        wait: Distribution::Exponential(time("wait").0),
        timeout: Some(time("timeout")).filter(|timeout| *timeout > Ns::ZERO),
        background: background(values),
        cpus: values.cpus("cpus"),
        client_cpus: values.cpus("client-cpus"),
    }
}

fn arrivals(values: &Values) -> Arrivals {
    let every = values.time("every");
    let batch = match values.choice("batch-sizes") {
        "geometric" => Batch::Geometric(values.count("batch")),
        _ => Batch::Fixed(values.count("batch")),
    };
    match values.choice("arrivals") {
        "fixed" => Arrivals::Open { gap: Distribution::Fixed(every.0), batch },
        "mmpp" => {
            let calm = State { every, length: values.time("calm-length") };
            let burst = State { every: values.time("burst-every"), length: values.time("burst-length") };
            Arrivals::TwoStates { states: [calm, burst] }
        }
        "closed" => {
            let think = Distribution::Exponential(values.time("think").0);
            Arrivals::Closed { clients: values.count("clients") as u32, think }
        }
        _ => Arrivals::Open { gap: Distribution::Exponential(every.0), batch },
    }
}

fn demand(values: &Values) -> Distribution {
    let service = values.time("service").0;
    match values.choice("spread") {
        "const" => Distribution::Fixed(service),
        "lognormal" => Distribution::Lognormal(Lognormal::new(service, values.count("cv-percent"))),
        "pareto" => {
            let (high, alpha) = (values.time("service-max").0, values.count("alpha-percent"));
            Distribution::Pareto(Pareto::new(service, high, alpha))
        }
        _ => Distribution::Exponential(service),
    }
}

fn background(values: &Values) -> Vec<Background> {
    let (gc, timers) = (values.count("gc-threads"), values.count("timer-threads"));
    let collector = Background {
        name: "gc",
        threads: gc as u32,
        every: values.time("gc-every"),
        // Shared evenly; less than a ns is lost.
        work: Ns(values.time("gc-work").0 / gc.max(1)),
    };
    let timer =
        Background { name: "timer", threads: timers as u32, every: values.time("timer-every"), work: values.time("timer-work") };
    [collector, timer].into_iter().filter(|group| group.threads > 0).collect()
}
