//! The worst wait of a run at a glance: where its time went, without trying what would have helped.

use super::Names;
use super::cause::Cause;
use super::find::{Delay, Kind};
use super::one::{self, Explained};
use super::parts::{Part, Who};
use super::past::Past;
use super::show::who;
use fairground::run::{RunOutcome, WorstWait};
use fairground_report::units::format_ns;
use fairground_scenario::{Error, Scenario, guard};
use fairground_sim::Simulation;
use fairground_stdx::Ns;

/// At most one part of so many of a long run is looked at again, so that it costs next to nothing,
const PARTS: u64 = 100;
/// and at least so much of a short one.
const LEAST: Ns = Ns::from_ms(100);

/// Finds the cause of a run's worst wait by the account of its time, from a copy of the run from before it. Of a long wait only the
/// beginning is looked at, and the sentence says so.
pub fn worst_wait(scenario: &Scenario, outcome: &mut RunOutcome, before: Option<Simulation>) -> Result<(), Error> {
    let at_most = Ns(outcome.simulated.0 / PARTS).max(LEAST);
    if let (Some(worst), Some(before)) = (&mut outcome.worst, before) {
        worst.cause = Some(glance(scenario, before, worst, at_most)?);
    }
    Ok(())
}

fn glance(scenario: &Scenario, before: Simulation, wait: &WorstWait, at_most: Ns) -> Result<String, Error> {
    let WorstWait { task, from, length, .. } = *wait;
    let looked = || {
        let set = scenario.tasks();
        let delay = Delay {
            task,
            wakes: None,
            kind: Kind::WakeUp,
            from,
            until: from + length.min(at_most),
            ran: length <= at_most,
            back: from,
            request: None,
        };
        let mut past = Past::new(set.tasks.len(), set.groups.len(), scenario.machine.cpus.len());
        let mut run = before;
        run.run_until(from, &mut past).map_err(|stopped| scenario.stopped(&stopped))?;
        let one = one::explain_one(scenario, &run, &past, delay)?;
        let seen = if length > at_most { format!("in its first {}: ", format_ns(at_most)) } else { String::new() };
        Ok(seen + &sentence(&one, &run, &Names::of(&set)))
    };
    guard::catch(looked).map_err(|broken| Error::Broken(Box::new(broken)))?
}

fn sentence(one: &Explained, run: &Simulation, names: &Names) -> String {
    let by_cause = one.parts.rows().iter().filter(|part| part.cause == one.cause).max_by_key(|part| part.time);
    let longest = || one.parts.rows().iter().max_by_key(|part| part.time);
    let named = by_cause.or_else(longest).map(|part| format!(" ({})", in_place(part, run, names))).unwrap_or_default();
    format!("{}: {}{named}", one.cause.slug(), one.cause.sentence())
}

/// Who had the CPU for one part, and for how long.
fn in_place(part: &Part, run: &Simulation, names: &Names) -> String {
    let time = format_ns(part.time);
    match part.who {
        Who::Quota(group) => {
            let limit = group.and_then(|group| run.sched().cfs_bandwidth(group)).map(|pool| pool.limit);
            let quota = limit.and_then(|limit| Some(format!(", {} per {}", limit.quota?, limit.period))).unwrap_or_default();
            format!("quota of {}{quota}: {time}", names.group(group))
        }
        // A cause that is nobody's says all there is to say.
        Who::Nobody if part.cause != Cause::OnTheWay => time,
        whose => format!("{} on CPU {}: {time}", who(whose, names), part.cpu),
    }
}
