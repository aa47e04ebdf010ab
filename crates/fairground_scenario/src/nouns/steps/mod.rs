//! Steps of a program as text: one instruction each, read and written in one spelling.
//!
//! ```text
//! run 3ms     run 1ms..3ms     runtime 2ms     kernel 1ms     kernel 1ms..2ms     kernel-runtime 1ms
//! sleep 2ms   sleep 2ms..4ms   now r0          timer r0 10ms absolute             slack 50us
//! write PIPE  write PIPE r1    read PIPE       read PIPE r1   fork TASK           wait       yield    exit
//! nice 5      affinity 0-3     policy batch    slice 5ms      jump 0              repeat 5 to 0 c1
//! cgroup /web/api              until r0        thread-clock   thread-clock r2             exec
//! top: run 3ms                 jump top        end:
//! ```
//!
//! A step may have a name, to which others jump; a name alone is that of the next step. Written back, jumps have numbers.
//!
//! [`memory_steps`], [`lock_steps`], [`page_steps`] and [`part_steps`] have more.

use super::step_args::{Names, between, length, named, numbered, register, run_between};
use super::step_labels::{Labels, labels, target, unlabelled};
use super::{cgroup, clamps, lock_steps, memory_steps, page_steps, part_steps};
use crate::nouns::words;
use crate::text::Wrong;
use crate::text::fields::Spanned;
use fairground_model::program::{COUNTERS, REGS, Reg};
use fairground_model::{Instr, Mistakes, Mode, TimerMode};
use fairground_stdx::nearest;
use fairground_stdx::{Id, Ns, PipeId, TaskId};

const VERBS: [&str; 27] = [
    clamps::MIN,
    clamps::MAX,
    "run",
    "runtime",
    "kernel",
    "kernel-runtime",
    "sleep",
    "io",
    "now",
    "timer",
    "slack",
    "write",
    "read",
    "fork",
    "wait",
    "yield",
    "exec",
    "exit",
    "nice",
    "affinity",
    "policy",
    "slice",
    "cgroup",
    "jump",
    "repeat",
    "thread-clock",
    "until",
];

/// Reads a list of steps. Each wrong one is a mistake; a jump behind the end is one too.
///
/// A step is one instruction, but for a `fork` of a row with `count`: that is one for each of its tasks.
pub(crate) fn read(list: Vec<Spanned<&str>>, names: &Names, m: &mut Mistakes) -> Vec<Instr> {
    let length = list.len() as u32;
    let labels = labels(&list, m);
    let mut code = Vec::new();
    let mut begins = Vec::new(); // of each step: its first instruction
    for text in list {
        begins.push(code.len() as u32);
        let found = step(unlabelled(text.value.trim()).1, names, &labels).and_then(|step| {
            match step.last().and_then(Instr::target).filter(|to| *to > length) {
                Some(to) => {
                    let hint = format!("Steps are counted from 0; {length} is the end of the list.");
                    Err((format!("step {to} does not exist"), hint))
                }
                None => Ok(step),
            }
        });
        code.extend(m.keep(found, &text.span).into_iter().flatten());
    }
    begins.push(code.len() as u32);
    for to in code.iter_mut().filter_map(Instr::target_mut) {
        *to = begins[*to as usize];
    }
    code
}

/// The instructions of one step: `fork NAME` of a row with `count` starts `NAME-0`, `NAME-1` and so on.
fn step(text: &str, names: &Names, labels: &Labels<'_>) -> Result<Vec<Instr>, Wrong> {
    if text.is_empty() {
        return Ok(Vec::new());
    }
    let several = text.strip_prefix("fork ").map(str::trim).filter(|name| !names.tasks.iter().any(|task| task == name));
    if let Some(name) = several
        && let Some(first) = names.tasks.iter().position(|task| *task == format!("{name}-0"))
    {
        let of_row = |(index, task): &(usize, &String)| **task == format!("{name}-{index}");
        let children = names.tasks[first..].iter().enumerate().take_while(of_row);
        return Ok(children.map(|(index, _)| Instr::Fork { task: TaskId::from_index(first + index) }).collect());
    }
    instr(text, names, labels).map(|instr| vec![instr])
}

fn instr(text: &str, names: &Names, labels: &Labels<'_>) -> Result<Instr, Wrong> {
    let (verb, value) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    let value = value.trim();
    match verb {
        "run" => run_between(value, Mode::User),
        "kernel" => run_between(value, Mode::Kernel),
        "sleep" if value.starts_with('~') => length(&value[1..]).map(|mean| Instr::SleepExponential { mean }),
        "runtime" => length(value).map(|time| Instr::RunTime { time, mode: Mode::User }),
        "kernel-runtime" => length(value).map(|time| Instr::RunTime { time, mode: Mode::Kernel }),
        "sleep" => between(value).map(|(low, high)| match low == high {
            true => Instr::Sleep { time: low },
            false => Instr::SleepBetween { low, high },
        }),
        "io" => length(value).map(|time| Instr::Io { time }),
        "now" => register(value).map(|reg| Instr::Now { reg }),
        "thread-clock" if value.is_empty() => Ok(Instr::ThreadClock { into: None }),
        "thread-clock" => register(value).map(|reg| Instr::ThreadClock { into: Some(reg) }),
        "until" => register(value).map(|reg| Instr::RunUntil { reg }),
        "timer" => timer(value),
        "slack" => length(value).map(|slack| Instr::SetTimerSlack { slack }),
        "write" => {
            let (pipe, reg) = pipe_and_register(value, names)?;
            Ok(Instr::Write { pipe, value: reg })
        }
        "read" => {
            let (pipe, reg) = pipe_and_register(value, names)?;
            Ok(Instr::Read { pipe, into: reg.unwrap_or(0) })
        }
        "fork" => named(value, &names.tasks, "task").map(|row| Instr::Fork { task: TaskId::from_index(row) }),
        "nice" => {
            let number =
                value.parse().map_err(|_| (format!("`{value}` is no nice value"), "A number from -20 to 19.".to_string()));
            number.and_then(words::nice).map(|nice| Instr::SetNice { nice })
        }
        "affinity" => words::cpus(value).map(|cpus| Instr::SetAffinity { cpus: Box::new(cpus) }),
        "policy" => words::policy(value).map(|policy| Instr::SetPolicy { policy }),
        "cgroup" => cgroup::find(value, &names.groups).map(|group| Instr::SetGroup { group }),
        "slice" => words::slice(value).map(|slice| Instr::SetSlice { slice }),
        clamps::MIN | clamps::MAX => clamps::request(verb, value).map(|clamp| Instr::SetClamp { clamp }),
        "jump" => target(value, labels).map(|to| Instr::Jump { to }),
        "repeat" => repeat(value, labels),
        _ => memory_steps::read(verb, value, names, labels)
            .or_else(|| lock_steps::read(verb, value, names))
            .or_else(|| page_steps::read(verb, value, names))
            .or_else(|| part_steps::read(verb, value, names))
            .unwrap_or_else(|| plain(verb, value)),
    }
}

/// The steps that take no value.
fn plain(verb: &str, value: &str) -> Result<Instr, Wrong> {
    let instr = match verb {
        "yield" => Instr::Yield,
        "exec" => Instr::Exec,
        "wait" => Instr::WaitChildren,
        "exit" => Instr::Exit,
        "setsid" => {
            let hint = "Say which session the task is of from its start on: `session = \"NAME\"` beside its name.";
            return Err(("`setsid` is not modelled yet as a step".to_string(), hint.to_string()));
        }
        _ if lock_steps::VERBS.contains(&verb) => {
            return Err((format!("`{verb}` takes no value"), format!("Write `{verb}` alone.")));
        }
        _ => {
            let verbs = VERBS.into_iter().chain(memory_steps::VERBS).chain(lock_steps::VERBS);
            let verbs = verbs.chain(page_steps::VERBS).chain(part_steps::VERBS);
            return Err((format!("unknown step `{verb}`"), nearest::hint(verb, "Steps", verbs)));
        }
    };
    match value.is_empty() {
        true => Ok(instr),
        false => Err((format!("`{verb}` takes no value"), format!("Write `{verb}` alone."))),
    }
}

fn timer(value: &str) -> Result<Instr, Wrong> {
    let form = || (format!("`timer {value}` is incomplete"), "Write `timer r0 10ms absolute` or `… relative`.".to_string());
    let [reg, period, mode] = value.split_whitespace().collect::<Vec<_>>()[..] else { return Err(form()) };
    let mode = match mode {
        "absolute" => TimerMode::Absolute,
        "relative" => TimerMode::Relative,
        _ => return Err(form()),
    };
    match length(period)? {
        Ns::ZERO => Err(("a period of 0".to_string(), "A period is longer than 0.".to_string())),
        period => Ok(Instr::TimerWait { reg: register(reg)?, period, mode }),
    }
}

/// `NAME` or `NAME r1`; a name may hold blanks.
fn pipe_and_register(value: &str, names: &Names) -> Result<(PipeId, Option<Reg>), Wrong> {
    let pipe = |name: &str| named(name, &names.pipes, "pipe").map(PipeId::from_index);
    match value.rsplit_once(char::is_whitespace) {
        Some((name, reg)) if numbered(reg, 'r', REGS).is_some() => Ok((pipe(name.trim())?, Some(register(reg)?))),
        _ => Ok((pipe(value)?, None)),
    }
}

fn repeat(value: &str, labels: &Labels<'_>) -> Result<Instr, Wrong> {
    let form = || {
        (
            format!("`repeat {value}` is not understood"),
            format!("Write `repeat 5 to 0`, with c0 to c{} if loops nest.", COUNTERS - 1),
        )
    };
    let words: Vec<&str> = value.split_whitespace().collect();
    let (times, to, counter) = match words[..] {
        [times, "to", to] => (times, to, 0),
        [times, "to", to, counter] => (times, to, numbered(counter, 'c', COUNTERS).ok_or_else(form)?),
        _ => return Err(form()),
    };
    Ok(Instr::Repeat { counter, times: times.parse().map_err(|_| form())?, to: target(to, labels)? })
}

/// The step as [`read`] reads it; none for what has no spelling here: measurements, and registers that are
/// computed with.
pub(crate) fn text(instr: &Instr, names: &Names) -> Option<String> {
    let span = |low: Ns, high: Ns| if low == high { low.to_string() } else { format!("{low}..{high}") };
    let by_clock = |mode: Mode| match mode {
        Mode::User => Some("runtime"),
        Mode::Kernel => Some("kernel-runtime"),
        Mode::NoPreempt | Mode::IrqOff => None,
    };
    let pipe = |pipe: PipeId| names.pipes.get(pipe.index());
    Some(match *instr {
        Instr::Run { work, mode } => format!("{} {work}", lock_steps::verb(mode)),
        Instr::RunBetween { low, high, mode } if low < high => format!("{} {}", lock_steps::verb(mode), span(low, high)),
        Instr::RunExponential { mean, mode } => format!("{} ~{mean}", lock_steps::verb(mode)),
        Instr::SleepExponential { mean } => format!("sleep ~{mean}"),
        Instr::RunTime { time, mode } => format!("{} {time}", by_clock(mode)?),
        Instr::RunUntil { reg } => format!("until r{reg}"),
        Instr::Sleep { time } => format!("sleep {time}"),
        Instr::Io { time } => format!("io {time}"),
        Instr::SleepBetween { low, high } if low < high => format!("sleep {}", span(low, high)),
        Instr::Now { reg } => format!("now r{reg}"),
        Instr::TimerWait { reg, period, mode } if period > Ns::ZERO => {
            format!("timer r{reg} {period} {}", if mode == TimerMode::Absolute { "absolute" } else { "relative" })
        }
        Instr::Write { pipe: id, value: None } => format!("write {}", pipe(id)?),
        Instr::Write { pipe: id, value: Some(reg) } => format!("write {} r{reg}", pipe(id)?),
        Instr::Read { pipe: id, into } => format!("read {} r{into}", pipe(id)?),
        Instr::Fork { task } => format!("fork {}", names.tasks.get(task.index())?),
        Instr::WaitChildren => "wait".to_string(),
        Instr::Yield => "yield".to_string(),
        Instr::Exec => "exec".to_string(),
        Instr::ThreadClock { into: None } => "thread-clock".to_string(),
        Instr::ThreadClock { into: Some(reg) } => format!("thread-clock r{reg}"),
        Instr::SetNice { nice } => format!("nice {nice}"),
        Instr::SetPolicy { policy } => format!("policy {}", words::policy_name(policy)),
        Instr::SetSlice { slice } => format!("slice {}", words::slice_name(slice)),
        Instr::SetClamp { clamp } => clamps::text(clamp)?,
        Instr::SetAffinity { ref cpus } => format!("affinity {cpus}"),
        Instr::SetGroup { group: None } => format!("cgroup {}", fairground_model::cgroup::ROOT),
        Instr::SetGroup { group: Some(group) } => format!("cgroup {}", names.groups.get(group.index())?),
        Instr::SetTimerSlack { slack } => format!("slack {slack}"),
        Instr::Jump { to } => format!("jump {to}"),
        Instr::Repeat { counter, times, to } => format!("repeat {times} to {to} c{counter}"),
        Instr::Exit => "exit".to_string(),
        Instr::RunReg { .. }
        | Instr::Draw { .. }
        | Instr::TimeOfDay { .. }
        | Instr::GetCpu { .. }
        | Instr::Index { .. }
        | Instr::Let { .. }
        | Instr::Calculate { .. }
        | Instr::Load { .. }
        | Instr::Store { .. }
        | Instr::Spin { .. }
        | Instr::FutexWait { .. }
        | Instr::FutexWake { .. }
        | Instr::JumpByChance { .. }
        | Instr::JumpIf { .. } => return memory_steps::text(instr, names),
        Instr::MarkValue { .. } | Instr::Part { .. } | Instr::SliceExt { .. } => return part_steps::text(instr, names),
        Instr::PageFault { .. } | Instr::Touch { .. } => return page_steps::text(instr, names),
        Instr::Enter
        | Instr::Leave
        | Instr::CondResched
        | Instr::MightSleep
        | Instr::Lock { .. }
        | Instr::Unlock { .. }
        | Instr::Downgrade { .. } => {
            return lock_steps::text(instr, names);
        }
        Instr::Send { .. }
        | Instr::Recv { .. }
        | Instr::Poll { .. }
        | Instr::ServeSoftirqs
        | Instr::RunBetween { .. }
        | Instr::SleepBetween { .. }
        | Instr::TimerWait { .. }
        | Instr::SleepUntil { .. }
        | Instr::Set { .. }
        | Instr::Add { .. }
        | Instr::MarkSince { .. }
        | Instr::MarkBetween { .. }
        | Instr::JumpIfBefore { .. } => return None,
    })
}

#[cfg(test)]
mod tests;
