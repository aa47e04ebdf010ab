//! Policy `deadline`: how its parameters are written, and whether the kernel and the machine grant them.
//!
//! ```text
//! policy = "deadline:10ms/100ms"             runtime / period; the deadline is the period
//! policy = "deadline:10ms/50ms/100ms"        runtime / deadline / period
//! policy = "deadline:10ms/100ms:reclaim"     it may use what others leave
//! policy = "deadline", dl_runtime = "10ms", dl_deadline = "50ms", dl_period = "100ms", dl_reclaim = true
//! ```

use crate::text::Wrong;
use fairground_model::{DlParams, Policy};
use fairground_stdx::{Ns, units};

/// The policy's name.
pub(crate) const NAME: &str = "deadline";

/// The flag behind its times.
const RECLAIM: &str = "reclaim";

const HINT: &str = "Write runtime, deadline and period: `deadline:10ms/50ms/100ms`, or `deadline:10ms/100ms` if deadline and period are the same; `:reclaim` may follow.";

/// Reads what stands behind `deadline:`.
pub(crate) fn params(word: &str, rest: Option<&str>) -> Result<Policy, Wrong> {
    let Some(rest) = rest else { return Err((format!("policy `{word}` needs its times"), HINT.to_string())) };
    let (times, flag) = rest.split_once(':').map_or((rest, None), |(times, flag)| (times, Some(flag)));
    if let Some(flag) = flag.filter(|&flag| flag != RECLAIM) {
        return Err((format!("`{flag}` in policy `{word}` is no flag of deadline tasks"), HINT.to_string()));
    }
    let times: Result<Vec<Ns>, _> = times.split('/').map(units::parse_ns).collect();
    let times = times.map_err(|wrong| (format!("policy `{word}`: {wrong}"), HINT.to_string()))?;
    let (runtime, deadline, period) = match times[..] {
        [runtime, period] => (runtime, period, period),
        [runtime, deadline, period] => (runtime, deadline, period),
        _ => return Err((format!("policy `{word}` has {} times", times.len()), HINT.to_string())),
    };
    Ok(Policy::Deadline(DlParams { runtime, deadline, period, reclaim: flag.is_some() }))
}

/// As [`params`] reads it.
pub(crate) fn name(params: DlParams) -> String {
    let DlParams { runtime, deadline, period, reclaim } = params;
    let flag = if reclaim { ":reclaim" } else { "" };
    match deadline == period {
        true => format!("{NAME}:{runtime}/{period}{flag}"),
        false => format!("{NAME}:{runtime}/{deadline}/{period}{flag}"),
    }
}
