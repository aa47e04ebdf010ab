//! The answer as a short story, to be pasted into a mail.

use super::cause::{Cause, Place};
use super::parts::Who;
use super::verdicts::Miss;
use super::{Explained, Explanation, Meeting, Names, Outcome};
use fairground_model::{IdKind, Reason};
use fairground_report::units::format_ns;
use fairground_stdx::{Ns, TaskId};

/// Parts shorter than this share of the delay are left to the table.
const WORTH_A_WORD: u64 = 20;

/// The story: what happened, by which rules, what stood idle, what would have helped.
pub fn story(explanation: &Explanation) -> String {
    let (one, names) = (&explanation.one, &explanation.names);
    let wake = &one.wake;
    let task = names.task(wake.task);
    let mut text = format!(
        "{} waited {} for CPU {}, from {} on, when it woke.\nCause: {}: {}.\n",
        names.task_in(wake.task, one.group),
        format_ns(wake.latency()),
        one.cpu,
        format_ns(Ns(wake.waking.ns())),
        one.cause.slug(),
        one.cause.sentence(),
    );
    if let Some(percentile) = explanation.percentile {
        text += &format!("It is the p{percentile} of {} wake-ups.\n", explanation.wakeups);
    }
    text += &here(one, names);
    text += &elsewhere(one, task);
    text += &misled(one, names);
    text += &helped(wake.latency(), &explanation.outcomes);
    text
}

/// Who had the CPU, the longest first.
fn here(one: &Explained, names: &Names) -> String {
    let mut parts = one.parts.rows().to_vec();
    parts.sort_by_key(|part| std::cmp::Reverse(part.time));
    let worth = |time: Ns| time.0 * WORTH_A_WORD >= one.wake.latency().0;
    let line = |part: &super::Part| {
        let who = who(part.who, names);
        let time = format_ns(part.time);
        let text = format!("  {time:>10}  {who} on CPU {}: {}\n", part.cpu, part.cause.sentence());
        text + &part.meeting.map(|meeting| format!("{:14}{}\n", "", met(&meeting, names))).unwrap_or_default()
    };
    let lines: String = parts.iter().filter(|part| worth(part.time)).map(line).collect();
    format!("While it waited:\n{lines}")
}

/// Between whom that was decided.
pub(super) fn met(meeting: &Meeting, names: &Names) -> String {
    let Meeting { level, waited, ran } = *meeting;
    format!("{} ran instead of {}, as level {level} of the tree decided", names.entity(ran), names.entity(waited))
}

/// Who had a CPU, in a word.
pub(super) fn who(who: Who, names: &Names) -> String {
    match who {
        Who::Task(task, group) => names.task_in(task, group),
        Who::Kernel(section) => format!("({})", section.name()),
        Who::Idle => "(idle)".to_string(),
        Who::Nobody => "(nobody)".to_string(),
    }
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
                "CPU {} was idle for {} of the time, first {} after the wake-up.\n",
                row.cpu,
                format_ns(row.total),
                format_ns(row.first.saturating_since(one.wake.waking)),
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
        "{} after the wake-up, {} balance for CPU {}: {}",
        format_ns(miss.at.saturating_since(one.wake.waking)),
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

fn helped(delay: Ns, outcomes: &[Outcome]) -> String {
    let best = outcomes.iter().filter_map(|row| Some((row.delay?, row))).min_by_key(|row| row.0);
    match best {
        Some((with, row)) if with < delay => {
            format!("From the same state with `{}` it would have waited {}.\n", row.change, format_ns(with))
        }
        Some(_) => "None of the changes that were tried would have made it shorter.\n".to_string(),
        None => String::new(),
    }
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

impl Cause {
    /// Where it lies, in words.
    pub const fn place_name(self) -> &'static str {
        match self.place() {
            Place::Here => "here",
            Place::Elsewhere => "elsewhere",
        }
    }
}

/// What a balance came to, in words.
pub(super) fn finding(miss: &Miss) -> String {
    let verdict = &miss.verdict;
    let (found, needed) = (verdict.found.to_string(), verdict.needed.to_string());
    let mut text = verdict.finding.sentence().replace("{found}", &found).replace("{needed}", &needed);
    if let Some(source) = verdict.source {
        text += &format!("; busiest queue: CPU {source}");
    }
    if let Some(refusal) = miss.refusal {
        text += &format!("; the waiting task stayed: {}", refusal.sentence());
    }
    text
}
