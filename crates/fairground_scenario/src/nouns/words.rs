//! Values that are written as words: policies, CPU lists, shares of a frequency.

use crate::nouns::deadline;
use crate::text::Wrong;
use crate::text::fields::Fields;
use fairground_model::{DlParams, Governor, GovernorKind, Mistakes, Policy, RtPriority, Tunable};
use fairground_stdx::{CpuMask, Ns, units};
use std::ops::Range;

/// The policies of the fair class by name.
const POLICIES: [(&str, Policy); 3] = [("other", Policy::Normal), ("batch", Policy::Batch), ("idle", Policy::Idle)];

/// A policy without its priority.
type OfPriority = fn(RtPriority) -> Policy;

/// Those of the real-time class: a name is followed by `:` and the priority.
const RT_POLICIES: [(&str, OfPriority); 2] = [("fifo", Policy::Fifo), ("rr", Policy::RoundRobin)];

/// A scheduling policy: `other`, `batch`, `idle`, `fifo:50`, `rr:10`, `deadline:10ms/100ms`, or the kernel's `SCHED_OTHER`, `SCHED_FIFO:50` and so on.
pub(crate) fn policy(word: &str) -> Result<Policy, Wrong> {
    let short = word.to_lowercase();
    let short = short.strip_prefix("sched_").unwrap_or(&short);
    let short = if short == "normal" { "other" } else { short };
    if let Some(row) = POLICIES.iter().find(|row| row.0 == short) {
        return Ok(row.1);
    }
    let (class, priority) = short.split_once(':').map_or((short, None), |(class, priority)| (class, Some(priority)));
    if let Some((name, policy)) = RT_POLICIES.iter().find(|row| row.0 == class) {
        return rt_priority(word, name, priority).map(policy);
    }
    let (class, times) = short.split_once(':').map_or((short, None), |(class, times)| (class, Some(times)));
    if class == deadline::NAME {
        return deadline::params(word, times);
    }
    if short == "ext" {
        let hint = "Policies: `other`, `batch`, `idle`, `fifo:50`, `rr:50`, `deadline:10ms/100ms`.";
        return Err((format!("policy `{word}` is not modelled yet"), hint.to_string()));
    }
    let names = POLICIES.iter().map(|row| row.0).chain(RT_POLICIES.iter().map(|row| row.0)).chain([deadline::NAME]);
    Err((format!("unknown policy `{word}`"), fairground_stdx::nearest::hint(class, "Policies", names)))
}

fn rt_priority(word: &str, name: &str, priority: Option<&str>) -> Result<RtPriority, Wrong> {
    let hint =
        || format!("Write `{name}:50`; priorities go from {} to {} (most urgent).", RtPriority::MIN.get(), RtPriority::MAX.get());
    let Some(priority) = priority else { return Err((format!("policy `{word}` needs a priority"), hint())) };
    let number = priority.parse().ok().and_then(RtPriority::new);
    number.ok_or_else(|| (format!("`{priority}` in policy `{word}` is no real-time priority"), hint()))
}

/// Reads `policy` of a table, with the keys of a deadline task beside it.
pub(crate) fn read_policy(row: &mut Fields<'_>, m: &mut Mistakes) -> Option<(Result<Policy, Wrong>, Range<usize>)> {
    let word = row.text("policy", m);
    let runtime = row.time("dl_runtime", m);
    let deadline = row.time("dl_deadline", m);
    let period = row.time("dl_period", m);
    let reclaim = row.boolean("dl_reclaim", m);
    let times = [&runtime, &deadline, &period].into_iter().flatten().map(|time| time.span.clone());
    let first = times.chain(reclaim.as_ref().map(|flag| flag.span.clone())).next();
    let is_name = |word: &str| word == deadline::NAME || word == "SCHED_DEADLINE";
    let Some(word) = word else {
        let wrong = || {
            ("times of a deadline task without its policy".to_string(), "Write `policy = \"deadline\"` beside them.".to_string())
        };
        return first.map(|span| (Err(wrong()), span));
    };
    if !is_name(word.value) {
        if let Some(span) = first {
            m.at(
                span,
                format!("times of a deadline task beside policy `{}`", word.value),
                "Write them beside `policy = \"deadline\"`.",
            );
        }
        return Some((policy(word.value), word.span));
    }
    let (deadline, period) = (deadline.map(|time| time.value), period.map(|time| time.value));
    let read = match (runtime, deadline.or(period), period.or(deadline)) {
        (Some(runtime), Some(deadline), Some(period)) => {
            let reclaim = reclaim.is_some_and(|flag| flag.value);
            Ok(Policy::Deadline(DlParams { runtime: runtime.value, deadline, period, reclaim }))
        }
        _ => Err((
            "policy `deadline` needs `dl_runtime`, and `dl_deadline` or `dl_period`".to_string(),
            "As in `policy = \"deadline\", dl_runtime = \"10ms\", dl_period = \"100ms\"`.".to_string(),
        )),
    };
    Some((read, word.span))
}

/// The name of a policy.
pub(crate) fn policy_name(policy: Policy) -> String {
    match policy {
        Policy::Normal => "other".to_string(),
        Policy::Batch => "batch".to_string(),
        Policy::Idle => "idle".to_string(),
        Policy::Fifo(priority) => format!("fifo:{}", priority.get()),
        Policy::RoundRobin(priority) => format!("rr:{}", priority.get()),
        Policy::Deadline(params) => deadline::name(params),
    }
}

/// A list of CPUs as taskset writes it.
pub(crate) fn cpus(word: &str) -> Result<CpuMask, Wrong> {
    let hint = || format!("Write a list such as \"0-3,8\"; CPU numbers end at {}.", CpuMask::CAPACITY - 1);
    match CpuMask::parse_list(word) {
        Some(mask) if mask.is_empty() => Err(("the list of CPUs is empty".to_string(), hint())),
        Some(mask) => Ok(mask),
        None => Err((format!("`{word}` is no list of CPUs"), hint())),
    }
}

/// A nice value.
pub(crate) fn nice(value: i64) -> Result<i8, Wrong> {
    match i8::try_from(value) {
        Ok(nice) if (-20..=19).contains(&nice) => Ok(nice),
        _ => Err((format!("nice {value} does not exist"), "Nice values go from -20 (most CPU time) to 19.".to_string())),
    }
}

/// The word for the base slice.
const BASE_SLICE: &str = "base";

/// A slice of one's own, longer than 0, or `base` for the base slice (0 of sched_setattr's sched_runtime).
pub(crate) fn slice(word: &str) -> Result<Option<Ns>, Wrong> {
    if word == BASE_SLICE {
        return Ok(None);
    }
    match units::parse_ns(word) {
        Ok(slice @ Ns(1..)) => Ok(Some(slice)),
        _ => Err((
            format!("`{word}` is no slice"),
            format!("Write a length of time with its unit, 100us to 100ms, or `{BASE_SLICE}` for the base slice."),
        )),
    }
}

/// As [`slice`] reads it.
pub(crate) fn slice_name(slice: Option<Ns>) -> String {
    slice.map_or(BASE_SLICE.to_string(), |slice| slice.to_string())
}

/// A share of the highest frequency as 1024ths: `50%` is 512, `768/1024` is 768.
pub(crate) fn frequency(word: &str) -> Result<u32, Wrong> {
    let hint = "Write a share of the highest frequency, above 0% and up to 100%: `50%` or `512/1024`.";
    let wrong = |what: &str| (format!("`{word}` is no {what}"), hint.to_string());
    let value = share(word).ok_or_else(|| wrong("share of a frequency"))?;
    u32::try_from(value).ok().filter(|share| (1..=1024).contains(share)).ok_or_else(|| wrong("possible frequency"))
}

/// A share of a capacity that is lost, in 1024ths.
pub(crate) fn lost(word: &str) -> Result<u32, Wrong> {
    let hint = "Write the share of its capacity that a CPU loses, from 0% to below 100%: `20%` or `205/1024`.";
    let wrong = |what: &str| (format!("`{word}` is no {what}"), hint.to_string());
    let value = share(word).ok_or_else(|| wrong("share of a capacity"))?;
    u32::try_from(value).ok().filter(|share| *share < 1024).ok_or_else(|| wrong("possible loss"))
}

/// A share in 1024ths, to the nearest: `50%`, `12.5%` or `512/1024`.
fn share(word: &str) -> Option<u64> {
    let Some(percent) = word.strip_suffix('%') else { return word.strip_suffix("/1024")?.parse().ok() };
    let (whole, places) = percent.split_once('.').unwrap_or((percent, ""));
    let digits: u64 = format!("{whole}{places}").parse().ok()?;
    let tens = 10u64.checked_pow(u32::try_from(places.len()).ok()?)?;
    Some((digits.checked_mul(1024)? / tens + 50) / 100)
}

/// A frequency governor.
pub(crate) fn governor(word: &str) -> Result<GovernorKind, Wrong> {
    GovernorKind::by_name(word).ok_or_else(|| {
        let names: Vec<&str> = GovernorKind::ALL.iter().map(|kind| kind.name()).collect();
        (format!("`{word}` is no governor"), format!("There are: {}.", names.join(", ")))
    })
}

/// A frequency in kHz that the user sets, as governor userspace has it.
pub(crate) fn setspeed(word: &str) -> Result<Governor, Wrong> {
    let khz: Option<u32> = word.parse().ok().filter(|&khz| khz > 0);
    let wrong =
        || (format!("`{word}` is no frequency"), "Write it in kHz, as one of the operating points: `729000`.".to_string());
    Ok(Governor::of(GovernorKind::Userspace).with(Tunable::SetspeedKhz, khz.ok_or_else(wrong)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_read_or_refused_with_a_hint() {
        assert_eq!(policy("SCHED_BATCH").unwrap(), Policy::Batch);
        let rt = |number| RtPriority::new(number).unwrap();
        assert_eq!((policy("fifo:50"), policy("SCHED_RR:1")), (Ok(Policy::Fifo(rt(50))), Ok(Policy::RoundRobin(rt(1)))));
        assert_eq!(policy("fifo").unwrap_err().0, "policy `fifo` needs a priority");
        for wrong in ["fifo:0", "rr:100", "fifo:-1", "fifo:", "rr:x"] {
            assert!(policy(wrong).unwrap_err().1.contains("from 1 to 99"), "{wrong}");
        }
        for policy_of in [Policy::Idle, Policy::Fifo(rt(7)), Policy::RoundRobin(rt(99))] {
            assert_eq!(policy(&policy_name(policy_of)), Ok(policy_of));
        }
        assert_eq!(policy("deadline").unwrap_err().0, "policy `deadline` needs its times");
        assert!(policy("ext").unwrap_err().0.contains("not modelled yet"));
        for word in ["deadline:10ms/100ms", "deadline:1500us/20ms/50ms", "deadline:2ms/4ms:reclaim"] {
            assert_eq!(policy(word).map(policy_name), Ok(word.to_string()));
        }
        for wrong in ["deadline:10ms", "deadline:10/100", "deadline:", "deadline:1ms/2ms/3ms/4ms", "deadline:1ms/2ms:greedy"] {
            assert!(policy(wrong).unwrap_err().1.contains("runtime, deadline and period"), "{wrong}");
        }
        assert!(policy("batch:5").is_err());
        assert_eq!(policy("batsh").unwrap_err().1, "Did you mean `batch`?");
        assert!(cpus("").is_err() && cpus("4-1").is_err() && cpus("0-3,8").is_ok());
        assert_eq!((slice("1.5ms"), slice("base")), (Ok(Some(Ns::from_us(1500))), Ok(None)));
        assert!(slice("0us").is_err() && slice("5").is_err() && slice("-1ms").is_err() && slice("").is_err());
        assert!(nice(20).is_err() && nice(-21).is_err() && nice(-20) == Ok(-20));
        assert_eq!((frequency("50%"), frequency("100%"), frequency("12.5%")), (Ok(512), Ok(1024), Ok(128)));
        assert_eq!(frequency("768/1024"), Ok(768));
        assert!(
            frequency("0%").is_err() && frequency("101%").is_err() && frequency("2GHz").is_err() && frequency("1.1.1%").is_err()
        );
    }
}
