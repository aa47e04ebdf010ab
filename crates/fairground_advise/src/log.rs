//! A log of requests as a service: when each came, how long it took, what CPU time it needed.

use super::csv::{self, Csv};
use super::text::printable;
use fairground_model::{CpuMax, Mistakes, Wrong};
use fairground_report::units::format_ns;
use fairground_scenario::{Error, Overrides, Scenario, quoted};
use fairground_stdx::Ns;
use fairground_workload::service::{Arrivals, Demand, Service};
use std::path::Path;

/// What a log does not say.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct LogOptions {
    /// Worker threads.
    pub(super) workers: u32,
    /// CPUs that the service may use.
    pub(super) cpus: u32,
    /// The limit under which it runs now.
    pub(super) limit: CpuMax,
    /// Its weight beside other groups.
    pub(super) weight: Option<u64>,
    /// CPU time of a request in the mean, if the log does not have it.
    pub(super) cpu_per_request: Option<Ns>,
}

/// Requests that were read.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Requests {
    pub(super) rows: Vec<Request>,
    /// Whether CPU times were logged; else they are the latencies.
    pub(super) has_cpu: bool,
    pub(super) notes: Vec<String>,
}

/// A log that can be run.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Log {
    /// When each request came, since the first, in order.
    arrivals: Vec<Ns>,
    /// What each took.
    demands: Vec<Ns>,
    notes: Vec<String>,
}

/// Whether a table is a log of requests.
pub(super) fn is_log(text: &str) -> bool {
    csv::split(text).time(&["arrival"]).is_some()
}

/// Reads a table of requests.
pub(super) fn read(name: &str, text: &str) -> Result<Requests, Error> {
    let mut m = Mistakes::default();
    let found = requests(&csv::split(text), &mut m);
    m.or(found).map_err(|wrong| Error::input(name, text, wrong))
}

/// The scenario of a log: a machine of as many CPUs as the service may use and one for the clients.
pub(super) fn scenario(name: &str, requests: Requests, options: &LogOptions, overrides: &Overrides) -> Result<Scenario, Error> {
    let log = log(requests, options.cpu_per_request).map_err(|(message, hint)| Error::one(name, message, hint))?;
    let last = log.arrivals.last().copied().unwrap_or_default();
    // A second for what is still under way.
    let length = Ns(last.0.saturating_add(1_000_000_000));
    let cpus = options.cpus.max(1);
    let clients = if overrides.machine.is_none() {
        format!(", cpus = \"0-{}\", client-cpus = \"{cpus}\"", cpus - 1)
    } else {
        String::new()
    };
    let weight = options.weight.map_or(String::new(), |weight| format!("\"cpu.weight\" = {weight}\n"));
    let toml = format!(
        "title = {}\nduration = \"{}ns\"\n[machine]\npreset = \"smp-{}\"\n[profile]\nkernel = \"6.12\"\n\
         [[group]]\npath = \"/service\"\n\"cpu.max\" = \"{}\"\n{weight}\
         [[workload]]\nname = \"service\"\ngroup = \"/service\"\nargs = {{ workers = {}{clients} }}\n",
        quoted(&format!("requests of {}", printable(name.rsplit('/').next().unwrap_or_default()))),
        length.0,
        cpus + 1,
        options.limit,
        options.workers.max(1),
    );
    let mut scenario = Scenario::parse(name, &toml, Path::new(""), overrides)?;
    let Some((row, service)) = scenario.service() else { return Ok(scenario) };
    let service = Service { arrivals: Arrivals::Listed(log.arrivals), demand: Demand::Listed(log.demands), ..service.clone() };
    scenario = scenario.with_service(row, service);
    scenario.notes.extend(log.notes);
    Ok(scenario)
}

/// A request as it stands in the log, ns.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Request {
    pub(super) arrival: u64,
    pub(super) latency: u64,
    pub(super) cpu: u64,
}

impl Requests {
    /// What another log has; the older one first, as servers begin new files.
    pub(super) fn join(self, other: Requests) -> Requests {
        let (mut first, second) = match (self.rows.first(), other.rows.first()) {
            (Some(one), Some(two)) if two.arrival < one.arrival => (other, self),
            _ => (self, other),
        };
        first.has_cpu = first.has_cpu && second.has_cpu;
        first.rows.extend(second.rows);
        first.notes.extend(second.notes);
        first
    }
    /// How many come per 1000 s.
    pub(super) fn per_ks(&self) -> u64 {
        let (first, last) = (self.rows.iter().map(|row| row.arrival).min(), self.rows.iter().map(|row| row.arrival).max());
        let span = last.unwrap_or(0).saturating_sub(first.unwrap_or(0)).max(1);
        u64::try_from(self.rows.len() as u128 * 1_000_000_000_000 / u128::from(span)).unwrap_or(u64::MAX)
    }
}

fn log(requests: Requests, cpu_per_request: Option<Ns>) -> Result<Log, Wrong> {
    let Requests { rows, has_cpu, mut notes } = requests;
    let (mut kept, steps) = longest_without_step(rows);
    if steps > 0 {
        notes.push(format!(
            "the clock of the log goes back {steps} times by more than a second: only the longest part between is used, {} requests",
            kept.len()
        ));
    }
    // Servers write a request when it is done.
    kept.sort_by_key(|request| request.arrival);
    let first = kept.first().map_or(0, |request| request.arrival);
    if kept.len() < LEAST {
        return Err((
            format!("{} requests are too few to say anything about a percentile", kept.len()),
            format!("Give at least {LEAST}."),
        ));
    }
    match cpu_per_request {
        Some(mean) if !has_cpu => notes.push(scaled_to(&mut kept, mean)),
        _ if has_cpu => {}
        _ => notes.push(
            "Warning: the log has no CPU times: latencies are taken for them, which is right only if they were measured without a limit \
             and without waiting. Give the mean CPU time (--cpu-per-request 3ms), or counters of the same time"
                .to_string(),
        ),
    }
    Ok(Log {
        arrivals: kept.iter().map(|request| Ns(request.arrival - first)).collect(),
        demands: kept.iter().map(|request| Ns(request.cpu)).collect(),
        notes,
    })
}

/// Gives each request its share of the CPU time by its latency. Says how much of the latency that leaves out.
fn scaled_to(rows: &mut [Request], mean: Ns) -> String {
    let count = rows.len() as u128;
    let latencies: u128 = rows.iter().map(|row| u128::from(row.latency)).sum();
    let whole = u128::from(mean.0) * count;
    for row in rows {
        row.cpu = u64::try_from(u128::from(row.latency) * whole / latencies.max(1)).unwrap_or(u64::MAX);
    }
    let latency = Ns(u64::try_from(latencies / count.max(1)).unwrap_or(u64::MAX));
    format!(
        "requests take {} of CPU time in the mean, spread as their latencies are. The log has {} of latency: what else is in that (other \
         services, disks, waiting) is in no run, so take it off the goal",
        format_ns(mean),
        format_ns(latency)
    )
}

/// Fewest requests of a log.
const LEAST: usize = 100;
/// Longest step back that is only the order in which requests were written.
const STEP: u64 = 1_000_000_000;

fn requests(csv: &Csv<'_>, m: &mut Mistakes) -> Requests {
    let columns = [&["arrival"][..], &["latency", "duration"]].map(|names| {
        let found = csv.time(names);
        if found.is_none() {
            let message = format!("the log has no column `{}` with a unit", names[0]);
            m.whole(
                message,
                "Its first line names the columns: `arrival_s,latency_ms,cpu_ms`, each with its unit (s, ms, us, ns).",
            );
        }
        found
    });
    let [Some(arrival), Some(latency)] = columns else { return Requests::default() };
    let cpu = csv.time(&["cpu", "cpu_time"]);
    let (mut rows, mut empty) = (Vec::new(), 0);
    for row in 0..csv.rows.len() {
        let [arrived, took] = [arrival, latency].map(|column| csv.number(row, column, m));
        let used = cpu.and_then(|cpu| csv.number(row, cpu, m));
        match (arrived, took, cpu.is_some(), used) {
            (Some(arrival), Some(latency), true, Some(cpu)) => rows.push(Request { arrival, latency, cpu }),
            (Some(arrival), Some(latency), false, _) => rows.push(Request { arrival, latency, cpu: latency }),
            _ => empty += 1,
        }
    }
    let left_out = (empty > 0).then(|| format!("{empty} lines with an empty cell were left out"));
    Requests { rows, has_cpu: cpu.is_some(), notes: left_out.into_iter().collect() }
}

/// The longest part in which the times at which requests were done do not step back; and how many steps there are.
fn longest_without_step(requests: Vec<Request>) -> (Vec<Request>, u64) {
    let (mut best, mut part, mut newest, mut steps) = (Vec::new(), Vec::new(), 0, 0);
    for request in requests {
        let done = request.arrival.saturating_add(request.latency);
        if done.saturating_add(STEP) < newest {
            steps += 1;
            newest = 0;
            let ended = std::mem::take(&mut part);
            best = longer(best, ended);
        }
        newest = newest.max(done);
        part.push(request);
    }
    (longer(best, part), steps)
}

fn longer(one: Vec<Request>, other: Vec<Request>) -> Vec<Request> {
    if other.len() > one.len() { other } else { one }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(rows: impl Iterator<Item = (u64, u64)>) -> String {
        let lines: Vec<String> = rows.map(|(at, took)| format!("{at},{took},1")).collect();
        format!("arrival_ms,latency_ms,cpu_ms\n{}\n", lines.join("\n"))
    }
    fn of(text: &str) -> Log {
        log(read("log.csv", text).unwrap(), None).unwrap()
    }

    #[test]
    fn a_log_becomes_a_service() {
        let text = table((0..200).map(|row| (5000 + row * 5, 3)));
        let limit = crate::limit::of_flag("0.5").unwrap();
        let options = LogOptions { workers: 3, cpus: 4, limit, weight: Some(20), cpu_per_request: None };
        let made = scenario("requests.csv", read("requests.csv", &text).unwrap(), &options, &Overrides::default()).unwrap();
        let (_, service) = made.service().unwrap();
        assert_eq!((service.workers, made.machine.cpus.len(), made.duration), (3, 5, Ns::from_ms(1995)));
        assert_eq!(service.demand, Demand::Listed(vec![Ns::from_ms(1); 200]));
        let Arrivals::Listed(times) = &service.arrivals else { panic!("listed") };
        assert_eq!((times[0], times[199]), (Ns(0), Ns::from_ms(995)));
        assert_eq!(made.group_limit("/service").unwrap().quota, Some(Ns::from_ms(50)));
    }

    #[test]
    fn what_is_written_late_is_put_in_order_and_steps_of_the_clock_part_the_log() {
        let late = of(&table((0..150).map(|row| (1000 + row * 10 - (row % 3) * 15, 40))));
        assert!(late.arrivals.is_sorted() && late.notes.is_empty());
        let step = of(&table((0..300).map(|row| if row < 120 { (90_000 + row, 1) } else { (row * 2, 1) })));
        assert_eq!(step.arrivals.len(), 180);
        assert!(step.notes[0].contains("goes back 1 times"), "{:?}", step.notes);
    }

    #[test]
    fn logs_that_say_too_little_are_refused_or_noted() {
        let wrong = |text: &str| read("log.csv", text).unwrap_err().to_string();
        let both = wrong("time,code\n1,200\n");
        assert!(both.contains("no column `arrival` with") && both.contains("no column `latency` with"), "{both}");
        assert!(
            log(read("log.csv", "arrival_s,latency_s\n1,2\n").unwrap(), None).unwrap_err().0.contains("1 requests are too few")
        );
        let bad =
            wrong(&table((0..150).map(|row| (row, 1))).replace("\n7,1,1\n", "\nseven,1,1\n").replace("\n9,1,1\n", "\n9,-1,1\n"));
        assert!(bad.contains("`seven`") && bad.contains("`-1`"), "{bad}");
        let lines: Vec<String> = (0..150).map(|row| format!("{row},{}", if row == 3 { "" } else { "2" })).collect();
        let notes = of(&format!("arrival_ms,duration_ms\n{}", lines.join("\n"))).notes;
        assert!(notes[0].contains("1 lines") && notes[1].contains("no CPU times"), "{notes:?}");
    }

    #[test]
    fn a_mean_cpu_time_is_spread_as_latencies_are_and_logs_are_joined_by_time() {
        let part = |from: u64| {
            let lines: Vec<String> = (from..from + 100).map(|row| format!("{row},{}", row % 2 * 2 + 1)).collect();
            read("log.csv", &format!("arrival_ms,latency_ms\n{}", lines.join("\n"))).unwrap()
        };
        let whole = part(100).join(part(0));
        assert!(whole.rows.is_sorted_by_key(|row| row.arrival) && whole.per_ks().abs_diff(1_005_025) < 10, "{}", whole.per_ks());
        let made = log(whole, Some(Ns::from_us(500))).unwrap();
        assert_eq!(made.demands[..2], [Ns::from_us(250), Ns::from_us(750)]);
        assert!(made.notes[0].contains("of CPU time") && made.notes[0].contains("2.00 ms of latency"), "{:?}", made.notes);
    }
}
