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
        "affinity" => words::cpus(value).map(|cpus| Instr::SetAffinity { cpus }),
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
        Instr::SetAffinity { cpus } => format!("affinity {cpus}"),
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
        Instr::MarkValue { .. } | Instr::Part { .. } => return part_steps::text(instr, names),
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
mod tests {
    use super::*;
    use fairground_model::LockKind;

    fn names() -> Names {
        Names {
            tasks: vec!["a task".to_string(), "child".to_string()],
            pipes: vec!["p".to_string(), "r1 r2".to_string()],
            words: vec!["w".to_string(), "a word".to_string()],
            marks: vec!["done".to_string()],
            parts: vec!["parse".to_string()],
            pools: vec!["p".to_string(), "a read".to_string()],
            locks: vec![("sem".to_string(), LockKind::Rwsem), ("a mutex".to_string(), LockKind::Mutex)],
            groups: vec!["/web".to_string(), "/web/api".to_string()],
        }
    }

    fn read_one(step: &str) -> (Vec<Instr>, Mistakes) {
        let mut m = Mistakes::default();
        (read(vec![Spanned { value: step, span: 0..step.len() }], &names(), &mut m), m)
    }

    #[test]
    fn what_is_written_reads_back() {
        for step in [
            "run 3ms",
            "run 1ms..3ms",
            "kernel 7ns",
            "kernel 7ns..8ns",
            "runtime 2us",
            "kernel-runtime 2us",
            "until r7",
            "sleep 0ns",
            "io 5ms",
            "sleep 1us..2us",
            "now r3",
            "run ~3ms",
            "kernel ~3ms",
            "sleep ~20us",
            "let r0 5",
            "let r0 r7",
            "plus r1 2",
            "minus r1 r2",
            "times r1 2",
            "over r1 2",
            "getcpu r3",
            "index r7",
            "if 1/16 to 0",
            "mark done",
            "part parse",
            "part other",
            "fault 2us",
            "fault 1us..2us",
            "touch p r3",
            "touch p 17 read",
            "touch a read r0",
            "touch a read r0 read",
            "time-of-day r3",
            "load w r0",
            "load a word[r1] r0",
            "store w 18446744073709551615",
            "store a word r2",
            "spin w 1",
            "futex-wait w[r2] 0",
            "futex-wait w r3",
            "futex-wake a word 7",
            "if r0 = 5 to 1",
            "if r0 <= r1 to 0",
            "timer r0 10ms absolute",
            "timer r1 10ms relative",
            "slack 0ns",
            "write p",
            "write p r2",
            "read r1 r2 r3",
            "fork a task",
            "wait",
            "yield",
            "exec",
            "exit",
            "thread-clock",
            "thread-clock r2",
            "nice -5",
            "policy batch",
            "slice base",
            "slice 5ms",
            "affinity 0-3,8",
            "cgroup /",
            "cgroup /web/api",
            "enter",
            "leave",
            "cond-resched",
            "might-sleep",
            "nopreempt 1ms",
            "irqoff 1us..2us",
            "irqoff ~2us",
            "lock sem read",
            "lock sem write",
            "unlock sem",
            "lock a mutex",
            "unlock a mutex",
            "jump 1",
            "repeat 5 to 0 c3",
        ] {
            let (code, wrong) = read_one(step);
            assert!(wrong.0.is_empty(), "{step}: {wrong}");
            assert_eq!(text(&code[0], &names()).as_deref(), Some(step));
        }
        assert_eq!(read_one("repeat 5 to 0").0, [Instr::Repeat { counter: 0, times: 5, to: 0 }]);
        assert_eq!(read_one("read p").0, [Instr::Read { pipe: PipeId::new(0), into: 0 }]);
        assert_eq!(read_one("run 2ms..2ms").0, [Instr::Run { work: Ns::from_ms(2), mode: Mode::User }]);
    }

    #[test]
    fn a_fork_of_a_row_starts_all_of_it_and_jumps_still_count_steps() {
        let names = Names { tasks: ["p", "w-0", "w-1", "w-2", "x"].map(str::to_string).to_vec(), ..names() };
        let list = ["fork w", "run 1ms", "repeat 5 to 1", "jump 0", "jump 5", "fork w-1"];
        let mut m = Mistakes::default();
        let code = read(list.map(|step| Spanned { value: step, span: 0..1 }).to_vec(), &names, &mut m);
        assert!(m.0.is_empty(), "{m}");
        let fork = |row| Instr::Fork { task: TaskId::from_index(row) };
        assert_eq!(code[..3], [fork(1), fork(2), fork(3)]);
        assert_eq!(
            code[4..],
            [Instr::Repeat { counter: 0, times: 5, to: 3 }, Instr::Jump { to: 0 }, Instr::Jump { to: 7 }, fork(2)]
        );
    }

    #[test]
    fn steps_have_names_and_jumps_go_to_them() {
        let read_list = |list: &[&'static str]| {
            let mut m = Mistakes::default();
            let names = Names { tasks: ["w-0", "w-1"].map(str::to_string).to_vec(), ..names() };
            (read(list.iter().map(|step| Spanned { value: *step, span: 0..1 }).collect(), &names, &mut m), m)
        };
        let (named, m) = read_list(&["fork w", "top: run 1ms", "if 1/2 to end", "repeat 5 to top c1", "jump top", "end:"]);
        assert!(m.0.is_empty(), "{m}");
        let (numbered, _) = read_list(&["fork w", "run 1ms", "if 1/2 to 5", "repeat 5 to 1 c1", "jump 1"]);
        assert_eq!(named, numbered);
        for (list, part) in [
            (&["top: run 1ms", "top: run 2ms"][..], "two steps are called `top`"),
            (&["2nd: run 1ms"], "`2nd` is no name of a step"),
            (&[": run 1ms"], "`` is no name of a step"),
            (&["top: dance"], "unknown step `dance`"),
            (&["top: run 1ms", "jump tip"], "`tip` is no step"),
        ] {
            let (_, wrong) = read_list(list);
            assert_eq!(wrong.0.len(), 1, "{list:?}: {wrong}");
            assert!(wrong.0[0].message.contains(part), "{list:?}: {wrong}");
        }
        assert!(read_list(&["top: run 1ms", "jump tip"]).1.0[0].hint.contains("Did you mean `top`?"));
    }

    #[test]
    fn what_has_no_spelling_is_not_written() {
        assert_eq!(text(&Instr::Add { reg: 0, time: Ns(1) }, &names()), None);
        assert_eq!(text(&Instr::Fork { task: TaskId::new(7) }, &names()), None);
        assert_eq!(text(&Instr::Write { pipe: PipeId::new(7), value: None }, &names()), None);
    }

    #[test]
    fn mistakes_are_named() {
        for (step, part) in [
            ("dance 3ms", "unknown step `dance`"),
            ("run 3ms..1ms", "ends before it begins"),
            ("run 3", "`3`"),
            ("now r8", "`r8` is no register"),
            ("timer r0 10ms", "incomplete"),
            ("timer r0 0ms absolute", "a period of 0"),
            ("timer r0 1ms often", "incomplete"),
            ("write q", "no pipe of this workload is called `q`"),
            ("write", "no pipe of this workload is called ``"),
            ("fork nobody", "no task of this workload is called `nobody`"),
            ("wait 3ms", "`wait` takes no value"),
            ("jump 2", "step 2 does not exist"),
            ("jump up", "`up` is no step"),
            ("repeat 5", "not understood"),
            ("repeat 5 to 0 c16", "not understood"),
            ("load w", "incomplete"),
            ("load v r0", "no word of this workload is called `v`"),
            ("store w[5] 1", "`5` is no register"),
            ("spin w -1", "no whole number"),
            ("if r0 < 5 to 0", "not understood"),
            ("if r0 = 5 to 2", "step 2 does not exist"),
            ("if 1/16 to 2", "step 2 does not exist"),
            ("if 3/2 to 0", "`3/2` is no chance"),
            ("if 1/0 to 0", "`1/0` is no chance"),
            ("if 1/x to 0", "`1/x` is no chance"),
            ("index 7", "`7` is no register"),
            ("mark", "`` is no name of a mark or part"),
            ("part a b", "`a b` is no name of a mark or part"),
            ("fault", "``"),
            ("fault 2us..1us", "ends before it begins"),
            ("touch p", "`touch p` is incomplete"),
            ("touch q r0", "no pool of this workload is called `q`"),
            ("touch p r8", "`r8` is no register"),
            ("nice 99", "nice 99 does not exist"),
            ("lock sim read", "no lock of this workload is called `sim`"),
            ("lock sem", "`lock sem` without a mode"),
            ("lock a mutex read", "`a mutex` has no readers"),
            ("enter now", "`enter` takes no value"),
            ("cgroup /web/apo", "no group `/web/apo`"),
            ("cgroup web", "`web` is no path"),
            ("cgroup", "`` is no path"),
        ] {
            let (code, wrong) = read_one(step);
            assert!(code.is_empty(), "{step}");
            assert_eq!(wrong.0.len(), 1, "{step}: {wrong}");
            assert!(wrong.0[0].message.contains(part), "{step}: {wrong}");
        }
    }
}
