//! A log of requests as a service: when each came, how long it took, what CPU time it needed.

use super::csv::{self, Csv};
use fairground_model::{CpuMax, Mistakes};
use fairground_scenario::{Error, Overrides, Scenario};
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
}

/// A log that was read.
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

/// The scenario of a log: a machine of as many CPUs as the service may use and one for the clients.
pub(super) fn scenario(name: &str, text: &str, options: &LogOptions, overrides: &Overrides) -> Result<Scenario, Error> {
    let log = read(text).map_err(|wrong| Error::input(name, text, wrong))?;
    let last = log.arrivals.last().copied().unwrap_or_default();
    // A second for what is still under way.
    let length = Ns(last.0.saturating_add(1_000_000_000));
    let cpus = options.cpus.max(1);
    let clients = if overrides.machine.is_none() {
        format!(", cpus = \"0-{}\", client-cpus = \"{cpus}\"", cpus - 1)
    } else {
        String::new()
    };
    let toml = format!(
        "title = \"requests of {}\"\nduration = \"{}ns\"\n[machine]\npreset = \"smp-{}\"\n[profile]\nkernel = \"6.12\"\n\
         [[group]]\npath = \"/service\"\n\"cpu.max\" = \"{}\"\n\
         [[workload]]\nname = \"service\"\ngroup = \"/service\"\nargs = {{ workers = {}{clients} }}\n",
        name.rsplit('/').next().unwrap_or_default().replace(|c: char| c.is_control() || c == '"' || c == '\\', "?"),
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

/// A request as it stands in the log.
struct Request {
    arrival: u64,
    latency: u64,
    cpu: u64,
}

fn read(text: &str) -> Result<Log, Mistakes> {
    let csv = csv::split(text);
    let mut m = Mistakes::default();
    let (requests, mut notes) = requests(&csv, &mut m);
    m.or(())?;
    let (mut kept, steps) = longest_without_step(requests);
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
        return Err(Mistakes::one(
            format!("{} requests are too few to say anything about a percentile", kept.len()),
            format!("Give at least {LEAST}."),
        ));
    }
    Ok(Log {
        arrivals: kept.iter().map(|request| Ns(request.arrival - first)).collect(),
        demands: kept.iter().map(|request| Ns(request.cpu)).collect(),
        notes,
    })
}

/// Fewest requests of a log.
const LEAST: usize = 100;
/// Longest step back that is only the order in which requests were written.
const STEP: u64 = 1_000_000_000;

fn requests(csv: &Csv<'_>, m: &mut Mistakes) -> (Vec<Request>, Vec<String>) {
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
    let [Some(arrival), Some(latency)] = columns else { return (Vec::new(), Vec::new()) };
    let cpu = csv.time(&["cpu", "cpu_time"]);
    let mut notes = Vec::new();
    let (mut found, mut empty) = (Vec::new(), 0);
    for row in 0..csv.rows.len() {
        let [arrived, took] = [arrival, latency].map(|column| csv.number(row, column, m));
        let used = cpu.and_then(|cpu| csv.number(row, cpu, m));
        match (arrived, took, cpu.is_some(), used) {
            (Some(arrival), Some(latency), true, Some(cpu)) => found.push(Request { arrival, latency, cpu }),
            (Some(arrival), Some(latency), false, _) => found.push(Request { arrival, latency, cpu: latency }),
            _ => empty += 1,
        }
    }
    if cpu.is_none() {
        notes.push(
            "the log has no column `cpu`: latencies are taken for CPU time, which is right only if they were measured without a limit \
             and without waiting"
                .to_string(),
        );
    }
    if empty > 0 {
        notes.push(format!("{empty} lines with an empty cell were left out"));
    }
    (found, notes)
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

    fn log(rows: impl Iterator<Item = (u64, u64)>) -> String {
        let lines: Vec<String> = rows.map(|(at, took)| format!("{at},{took},1")).collect();
        format!("arrival_ms,latency_ms,cpu_ms\n{}\n", lines.join("\n"))
    }

    #[test]
    fn a_log_becomes_a_service() {
        let text = log((0..200).map(|row| (5000 + row * 5, 3)));
        let options = LogOptions { workers: 3, cpus: 4, limit: crate::limit::of_flag("0.5").unwrap() };
        let made = scenario("requests.csv", &text, &options, &Overrides::default()).unwrap();
        let (_, service) = made.service().unwrap();
        assert_eq!((service.workers, made.machine.cpus.len(), made.duration), (3, 5, Ns::from_ms(1995)));
        assert_eq!(service.demand, Demand::Listed(vec![Ns::from_ms(1); 200]));
        let Arrivals::Listed(times) = &service.arrivals else { panic!("listed") };
        assert_eq!((times[0], times[199]), (Ns(0), Ns::from_ms(995)));
        assert_eq!(made.group_limit("/service").unwrap().quota, Some(Ns::from_ms(50)));
    }

    #[test]
    fn what_is_written_late_is_put_in_order_and_steps_of_the_clock_part_the_log() {
        let late = read(&log((0..150).map(|row| (1000 + row * 10 - (row % 3) * 15, 40)))).unwrap();
        assert!(late.arrivals.is_sorted() && late.notes.is_empty());
        let step = read(&log((0..300).map(|row| if row < 120 { (90_000 + row, 1) } else { (row * 2, 1) }))).unwrap();
        assert_eq!(step.arrivals.len(), 180);
        assert!(step.notes[0].contains("goes back 1 times"), "{:?}", step.notes);
    }

    #[test]
    fn logs_that_say_too_little_are_refused_or_noted() {
        let wrong = |text: &str| read(text).unwrap_err().to_string();
        let both = wrong("time,code\n1,200\n");
        assert!(both.contains("no column `arrival` with") && both.contains("no column `latency` with"), "{both}");
        assert!(wrong("arrival_s,latency_s\n1,2\n").contains("1 requests are too few"));
        let bad =
            wrong(&log((0..150).map(|row| (row, 1))).replace("\n7,1,1\n", "\nseven,1,1\n").replace("\n9,1,1\n", "\n9,-1,1\n"));
        assert!(bad.contains("`seven`") && bad.contains("`-1`"), "{bad}");
        let lines: Vec<String> = (0..150).map(|row| format!("{row},{}", if row == 3 { "" } else { "2" })).collect();
        let notes = read(&format!("arrival_ms,duration_ms\n{}", lines.join("\n"))).unwrap().notes;
        assert!(notes[0].contains("no column `cpu`") && notes[1].contains("1 lines"), "{notes:?}");
    }
}
