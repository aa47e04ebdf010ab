//! The answer as a short story: what happened, by which rules, what stood idle, what would have helped.

use super::{finding, met, seconds, short, who};
use crate::verdicts::Miss;
use crate::{Cause, Confidence, Explained, Explanation, Kind, Names, Outcome, Pairs, Part, PoolStory};
use fairground_model::{IdKind, Reason};
use fairground_report::units::format_ns;
use fairground_stdx::{Instant, Ns, TaskId};

/// Parts shorter than this share of the delay are left to the table.
const WORTH_A_WORD: u64 = 20;
/// So many parts are told.
const PARTS_AT_MOST: usize = 5;
/// A cause with less than this share of the delay, in percent, has others beside it in the headline.
const ALONE_PCT: u64 = 80;
/// So many causes stand in the headline.
const MIXED_AT_MOST: usize = 3;

/// The story: what happened, by which rules, what stood idle, what would have helped.
pub fn story(explanation: &Explanation) -> String {
    let (one, names) = (&explanation.one, &explanation.names);
    let task = names.shown(one.delay.task);
    let mut text = headline(one, names);
    text += &cause(explanation);
    if let Some(percentile) = explanation.percentile {
        text += &format!("It is the p{percentile} of {} delays after wake-ups.\n", explanation.delays);
    }
    text += &explanation.pool.as_ref().map_or_else(String::new, |pool| quota(pool, names));
    text += &here(one, names);
    text += &elsewhere(one, task);
    text += &misled(one, names);
    text += &helped(explanation);
    text
}

/// Who was late, from when to when, and by how much.
fn headline(one: &Explained, names: &Names) -> String {
    let delay = &one.delay;
    let began = match delay.kind {
        Kind::WakeUp if one.parts.rows().first().is_some_and(|part| part.cause == Cause::TimerLate) => "when its timer was due",
        Kind::WakeUp => "when it woke",
        Kind::Start => "when it was started",
        Kind::Preempted => "when it was taken off its CPU",
        Kind::Lock => "when it asked for a lock",
        Kind::Interrupted => "when it was interrupted",
        Kind::Request => "when it came",
    };
    let end = match delay.ran {
        true => format!("to {}, when it went on on CPU {}", format_at(delay.until), one.cpu),
        false => format!("to the end of the run at {}, and had not gone on then", format_at(delay.until)),
    };
    let (who, length) = (names.task_in(delay.task, one.group), format_ns(delay.length()));
    if let Some(request) = &delay.request {
        let done = format_at(delay.until);
        let Some(read) = request.read.map(format_at) else {
            let came = format_at(delay.from);
            return format!(
                "A request had waited for {length}: it came at {came}, and nobody had read it at the end of the run, {done}. Who reads there is {who}.\n"
            );
        };
        let end = if delay.ran {
            format!("it was dealt with at {done}")
        } else {
            format!("it was not dealt with at the end of the run, {done}")
        };
        let text = format!(
            "A request was late by {length}: it came at {}, {who} read it at {read}, and {end}.\n",
            format_at(delay.from)
        );
        return text + &format!("The work for it, {}, is no delay.\n", format_ns(request.own));
    }
    if let Some(woken) = delay.wakes {
        let text =
            format!("{} was late because of {who}, which should have woken it: that was late by {length},", names.shown(woken));
        return text + &format!(" from {}, {began}, {end}.\n", format_at(delay.from));
    }
    format!("{who} was late by {length}: from {}, {began}, {end}.\n", format_at(delay.from))
}

/// An instant of the run.
fn format_at(at: Instant) -> String {
    seconds(at) + " s"
}

/// The cause, how sure it is, and the shares if there are several.
fn cause(explanation: &Explanation) -> String {
    let one = &explanation.one;
    let sure = match explanation.proof.confidence {
        _ if explanation.proof.suspects.is_empty() => "",
        Confidence::Proved => " Without it the delay is at most half as long.",
        Confidence::InPart => " Without it the delay is shorter.",
        Confidence::Accounted => " No change was found that takes it away; the account of the time shows it.",
        Confidence::Unproved => " Nothing that was tried made the delay shorter.",
    };
    let mut text = format!("Cause: {}: {}.{sure}\n", one.cause.slug(), one.cause.sentence());
    if let Some((cause, delay)) = &explanation.proof.also {
        let (from, length) = (format_at(delay.from), format_ns(delay.length()));
        text += &format!(
            "Without it another delay, of {length} from {from} on, has another cause, which must go too: {}: {}.\n",
            cause.slug(),
            cause.sentence()
        );
    }
    let shares = explanation.shares();
    if shares.first().is_some_and(|first| first.1 < ALONE_PCT * 10) {
        let shares: Vec<String> =
            shares.iter().take(MIXED_AT_MOST).map(|(cause, share)| format!("{} {} %", cause.slug(), share / 10)).collect();
        text += &format!("Its time is mixed: {}.\n", shares.join(", "));
    }
    text
}

/// Which quota was used up, by whom, and when there was more.
fn quota(pool: &PoolStory, names: &Names) -> String {
    let group = names.group(Some(pool.group));
    let Some(limit) = pool.limit.quota else { return String::new() };
    let burst =
        if pool.limit.burst > Ns::ZERO { format!(" and {} of burst", format_ns(pool.limit.burst)) } else { String::new() };
    let mut text = format!("The quota: {group} may use {}{burst} in each {}. ", format_ns(limit), format_ns(pool.limit.period));
    let users: Vec<String> = pool.used.iter().take(3).map(|row| format!("{} {}", names.shown(row.0), format_ns(row.1))).collect();
    let users = if users.is_empty() { "nobody".to_string() } else { users.join(", ") };
    let users = if pool.debt { format!("{users}, with a debt from the period before") } else { users };
    let two_periods = Instant::from_ns(pool.period.ns().saturating_sub(pool.limit.period.0));
    let since = format_at(if pool.debt { two_periods } else { pool.period });
    match pool.throttled {
        Some(at) => text += &format!("From {since} to {} it was used by {users}; then it was throttled", format_at(at)),
        None => text += &format!("Since {since} it was used by {users}"),
    }
    text += &pool.refill.map_or_else(|| ".\n".to_string(), |at| format!(". The next refill was at {}.\n", format_at(at)));
    text
}

/// Some of the time that a task waited, in words.
struct Told {
    time: Ns,
    parts: usize,
    text: String,
}

/// Who had the CPU, the longest first. Parts that are short each, and long together by one cause, are told as one.
fn here(one: &Explained, names: &Names) -> String {
    let worth = |time: Ns| time.0 * WORTH_A_WORD >= one.delay.length().0;
    let rows = one.parts.rows();
    let mut told: Vec<Told> = rows.iter().filter(|part| worth(part.time)).map(|part| alone(part, names)).collect();
    for &cause in Cause::ALL {
        let short: Vec<&Part> = rows.iter().filter(|part| part.cause == cause && !worth(part.time)).collect();
        let together = together(&short, names);
        told.extend(together.filter(|told| worth(told.time)));
    }
    if told.is_empty() {
        told.extend(rows.iter().rev().max_by_key(|part| part.time).map(|part| alone(part, names)));
    }
    told.sort_by_key(|row| std::cmp::Reverse(row.time));
    told.truncate(PARTS_AT_MOST);
    let (time, parts) = told.iter().fold((Ns::ZERO, 0), |sum, row| (sum.0 + row.time, sum.1 + row.parts));
    let mut lines: String = told.into_iter().map(|row| row.text).collect();
    let rest = one.parts.total().saturating_sub(time);
    if rest > Ns::ZERO {
        let shorter = match rows.len() - parts {
            1 => "one shorter part".to_string(),
            more => format!("{more} shorter parts"),
        };
        lines += &format!("  {:>10}  in {shorter}\n", format_ns(rest));
    }
    format!("While it waited:\n{lines}")
}

/// One part.
fn alone(part: &Part, names: &Names) -> Told {
    let (who, time) = (who(part.who, names), format_ns(part.time));
    let text = format!("  {time:>10}  {who} on CPU {}: {}\n", part.cpu, part.cause.sentence());
    let text = text + &part.meeting.map(|meeting| format!("{:14}{}\n", "", met(&meeting, names))).unwrap_or_default();
    Told { time: part.time, parts: 1, text }
}

/// Parts of one cause, with the longest of them; `None` if there are none.
fn together(parts: &[&Part], names: &Names) -> Option<Told> {
    let longest = parts.iter().rev().max_by_key(|part| part.time)?;
    if parts.len() == 1 {
        return Some(alone(longest, names));
    }
    let time = Ns(parts.iter().map(|part| part.time.0).sum());
    let text = format!(
        "  {:>10}  in {} parts: {}; the longest {}: {} on CPU {}\n",
        format_ns(time),
        parts.len(),
        longest.cause.sentence(),
        format_ns(longest.time),
        who(longest.who, names),
        longest.cpu
    );
    Some(Told { time, parts: parts.len(), text })
}

/// What stood idle, and how it came that the task was not there.
fn elsewhere(one: &Explained, task: &str) -> String {
    let mut text = String::new();
    if let Some(placement) = &one.placement {
        let chosen = sentence(placement.reason, task, placement.chosen.get());
        let then = match (placement.was_idle, placement.idle_in_all) {
            (true, _) => "it was idle".to_string(),
            (false, 0) => "no allowed CPU was idle".to_string(),
            (false, all) => format!("of the others {all} were idle, {} of them under the same cache", placement.idle_near),
        };
        text += &format!("The wake-up: {chosen}; {then}.\n");
        if let Some(missed) = placement.missed {
            text += &format!("  {}: {}.\n", missed.slug(), missed.sentence());
        }
    }
    let longest = |allowed| one.idle.iter().filter(move |row| row.allowed == allowed).max_by_key(|row| row.total);
    match (longest(true), longest(false)) {
        (Some(row), _) => {
            text += &format!(
                "CPU {} was idle for {} of the time, first {} after its beginning.\n",
                row.cpu,
                format_ns(row.total),
                format_ns(row.first.saturating_since(one.delay.from)),
            );
        }
        (None, Some(row)) => {
            text += &format!("CPU {} was idle for {}, but {task} may not run there.\n", row.cpu, format_ns(row.total));
        }
        (None, None) => text += "No other CPU was idle.\n",
    }
    if let Some(miss) = one.misses.iter().find(|miss| miss.cause == one.cause && miss.cause != Cause::MisledStatistic) {
        text += &format!("{}.\n", balance(one, miss));
    }
    text
}

fn balance(one: &Explained, miss: &Miss) -> String {
    format!(
        "{} after its beginning, {} balance for CPU {}: {}",
        format_ns(miss.at.saturating_since(one.delay.from)),
        miss.verdict.pass.name(),
        miss.verdict.dst_cpu,
        finding(miss)
    )
}

/// Which statistic misled a balance.
fn misled(one: &Explained, names: &Names) -> String {
    let mut text = String::new();
    if let Some(miss) = one.misses.iter().find(|miss| miss.cause == Cause::MisledStatistic) {
        text += &format!("What misled the balance, {}:\n", balance(one, miss));
        for row in &miss.misread {
            let load = &row.load;
            text += &format!(
                "  {} of CPU {} read {} with {} queued tasks, whose loads add up to {}\n",
                load.statistic, load.cpu, load.read, load.tasks, load.queued
            );
            for group in &row.groups {
                text += &format!(
                    "    in it the {} of group {} stood at {} with {} queued tasks, whose loads make {}\n",
                    group.statistic,
                    names.group(Some(group.group)),
                    group.read,
                    group.tasks,
                    group.queued
                );
            }
        }
        text += "  The same balance, made with the loads that are queued, comes to the queue of the waiting task.\n";
    }
    text
}

/// The change that helps most. One that shortens this delay and leaves the whole run as late is none.
fn helped(explanation: &Explanation) -> String {
    let outcomes = &explanation.proof.outcomes;
    let to_try: Vec<String> = explanation.proof.untried.iter().map(|text| format!("`--what-if {text}`")).collect();
    let untried = match to_try.is_empty() {
        true => String::new(),
        false => format!("Left out, since the run is too long to be made again for them: {}.\n", to_try.join(", ")),
    };
    let Some(remedy) = explanation.remedy() else {
        let only_this =
            |row: &&Outcome| row.whole.is_some() && row.delay.is_some_and(|with| with < explanation.one.delay.length());
        let text = match outcomes.iter().find(only_this) {
            Some(row) => {
                format!("`{}` shortens this delay only: in the whole run another one is as long.\n", short(&row.change))
            }
            None if outcomes.is_empty() => String::new(),
            None => "None of the changes that were tried would have made it shorter.\n".to_string(),
        };
        return text + &untried;
    };
    let change = short(&remedy.change);
    let here = remedy.delay.map(|with| {
        format!("From the state before its last sleep with `{change}` it would have been late by {}.\n", format_ns(with))
    });
    let whole = remedy
        .whole
        .map(|with| format!("In a run that begins with `{change}` the delay of the same rank is {}.\n", format_ns(with)));
    let pairs = match remedy.pairs {
        Some(Pairs { hold, of }) => format!("With {hold} of {of} other seeds it is shorter with it, too.\n"),
        None if remedy.delay.is_none() => "That was tried with this seed only.\n".to_string(),
        None => String::new(),
    };
    here.unwrap_or_default() + &whole.unwrap_or_default() + &pairs + &untried
}

/// A decision about the waiting task in words.
fn sentence(reason: Reason, task: &str, b: u32) -> String {
    let shown = |kind: IdKind, own: &str| match kind {
        IdKind::Task => own.to_string(),
        IdKind::Cpu | IdKind::Ns => b.to_string(),
        IdKind::None => String::new(),
    };
    let (kind_a, kind_b) = reason.ids();
    let other = format!("task {}", TaskId::new(b));
    reason.sentence().replace("{a}", &shown(kind_a, task)).replace("{b}", &shown(kind_b, &other))
}
