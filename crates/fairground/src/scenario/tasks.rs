//! `[[workload]] tasks = […]`: tasks written out in the scenario itself.
//!
//! A row is one task, or `count` equal ones. What it does is said in one of four ways: `hog = true`
//! (computes without end), `run` with `period` (on a fixed grid), `run` with `sleep`, or `do = ["run 3ms",
//! "sleep 2ms..4ms", "yield"]`, which is repeated for ever or `loop` times.

use super::fields::{Fields, Spanned};
use super::words;
use crate::nearest;
use fairground_model::{Instr, Mistakes, Mode, Policy, Program, Start, TaskSet, TaskSpec, TimerMode};
use fairground_stdx::{CpuId, Instant, Ns, units};
use std::ops::Range;

/// A hog's program repeats a stretch of this length; only the clock of the run ends it.
const HOG_STRETCH: Ns = Ns::from_secs(3600);
/// Most tasks of one list.
const MAX_COUNT: u64 = 100_000;
const BEHAVIOURS: &str = "Say one of: `hog = true`; `run = \"1ms\"` with `period = \"10ms\"`; `run` with `sleep`; `do = [\"run 1ms\", \"sleep 9ms\"]`.";

/// Reads the rows into a task set.
pub(super) fn read(rows: Vec<Fields<'_>>, m: &mut Mistakes) -> TaskSet {
    let mut set = TaskSet::default();
    for row in rows {
        read_row(row, &mut set, m);
    }
    set
}

fn read_row(mut row: Fields<'_>, set: &mut TaskSet, m: &mut Mistakes) {
    let span = row.span();
    let name = row.text("name", m).map(|name| name.value.to_string());
    if name.as_deref().map_or(row.span_of("name") == span, str::is_empty) {
        m.at(row.span_of("name"), "a task without `name`", "Give it a name: `name = \"worker\"`.");
    }
    let count = row.natural("count", m).map_or(1, |count| {
        if !(1..=MAX_COUNT).contains(&count.value) {
            m.at(count.span, format!("`count = {}`", count.value), format!("A list holds 1 to {MAX_COUNT} tasks."));
        }
        count.value.clamp(1, MAX_COUNT)
    });
    let spec = read_spec(&mut row, m);
    let program = read_program(&mut row, m);
    row.end(m);
    let (Some(name), Some(program)) = (name, program) else { return };
    if set.tasks.len() as u64 + count > MAX_COUNT {
        m.at(span, format!("more than {MAX_COUNT} tasks"), "Write fewer tasks.");
        return;
    }
    let program = set.programs.push(program);
    for index in 0..count {
        let name = if count == 1 { name.clone() } else { format!("{name}-{index}") };
        set.tasks.push(TaskSpec { name, program, ..spec.clone() });
    }
}

/// Everything of a task but its name and program.
fn read_spec(row: &mut Fields<'_>, m: &mut Mistakes) -> TaskSpec {
    let mut spec = TaskSpec::new("", fairground_stdx::ProgramId::new(0));
    let mut keep = |found: Result<(), (String, String)>, span: Range<usize>| {
        if let Err((message, hint)) = found {
            m.at(span, message, hint);
        }
    };
    let mut inner = Mistakes::default();
    if let Some(nice) = row.integer("nice", &mut inner) {
        keep(words::nice(nice.value).map(|nice| spec.nice = nice), nice.span);
    }
    if let Some(policy) = row.text("policy", &mut inner) {
        keep(words::policy(policy.value).map(|policy: Policy| spec.policy = policy), policy.span);
    }
    if let Some(slice) = row.text("slice", &mut inner) {
        keep(words::slice(slice.value).map(|own| spec.slice = own), slice.span);
    }
    if let Some(cpus) = row.text("cpus", &mut inner) {
        keep(words::cpus(cpus.value).map(|cpus| spec.affinity = Some(cpus)), cpus.span);
    }
    if let Some(cpu) = row.natural("first_cpu", &mut inner) {
        let number = u32::try_from(cpu.value).ok().filter(|&cpu| (cpu as usize) < fairground_stdx::CpuMask::CAPACITY);
        let wrong = || (format!("there is no CPU {}", cpu.value), "CPUs are numbered from 0.".to_string());
        keep(number.ok_or_else(wrong).map(|cpu| spec.first_cpu = Some(CpuId::new(cpu))), cpu.span);
    }
    if let Some(start) = row.time("start", &mut inner) {
        spec.start = Start::At(Instant::from_ns(start.value.0));
    }
    if let Some(slack) = row.time("timer_slack", &mut inner) {
        spec.timer_slack = slack.value;
    }
    m.0.append(&mut inner.0);
    spec
}

fn read_program(row: &mut Fields<'_>, m: &mut Mistakes) -> Option<Program> {
    let before = m.0.len();
    let hog = row.boolean("hog", m).is_some_and(|hog| hog.value);
    let run = row.time("run", m);
    let period = row.time("period", m);
    let sleep = row.time("sleep", m);
    let list = row.texts("do", m);
    let rounds = row.natural("loop", m);
    if m.0.len() > before {
        return None;
    }
    let program = match (hog, run, period, sleep, list.is_empty()) {
        (true, None, None, None, true) => looped(vec![Instr::Run { work: HOG_STRETCH, mode: Mode::User }], rounds),
        (false, Some(run), Some(period), None, true) => periodic(run.value, period, rounds, m)?,
        (false, Some(run), None, Some(sleep), true) => {
            let body = vec![Instr::Run { work: run.value, mode: Mode::User }, Instr::Sleep { time: sleep.value }];
            looped(body, rounds)
        }
        (false, None, None, None, false) => {
            let body: Vec<Instr> = list.into_iter().filter_map(|text| instr(text, m)).collect();
            looped(body, rounds)
        }
        _ => {
            m.at(row.span(), "a task must do exactly one thing", BEHAVIOURS);
            return None;
        }
    };
    Some(program)
}

fn periodic(run: Ns, period: Spanned<Ns>, rounds: Option<Spanned<u64>>, m: &mut Mistakes) -> Option<Program> {
    if period.value == Ns::ZERO {
        m.at(period.span, "a period of 0", "A period is longer than 0.");
        return None;
    }
    let body = vec![
        Instr::Run { work: run, mode: Mode::User },
        Instr::TimerWait { reg: 0, period: period.value, mode: TimerMode::Absolute },
    ];
    // The grid begins when the task does, not when its first run ends.
    let mut program = Program::default();
    program.push(Instr::Now { reg: 0 });
    Some(append_loop(program, body, rounds))
}

fn looped(body: Vec<Instr>, rounds: Option<Spanned<u64>>) -> Program {
    append_loop(Program::default(), body, rounds)
}
fn append_loop(mut program: Program, body: Vec<Instr>, rounds: Option<Spanned<u64>>) -> Program {
    let top = program.here();
    program.code.extend(body);
    match rounds {
        Some(rounds) => program.push(Instr::Repeat { counter: 0, times: rounds.value, to: top }),
        None => program.push(Instr::Jump { to: top }),
    };
    program
}

const VERBS: [&str; 8] = ["run", "runtime", "sleep", "yield", "nice", "affinity", "policy", "slice"];

/// One instruction: `run 3ms`, `run 1ms..3ms` (drawn anew each time), `sleep 2ms`, `yield` and so on.
fn instr(text: Spanned<&str>, m: &mut Mistakes) -> Option<Instr> {
    let (verb, value) = text.value.trim().split_once(char::is_whitespace).unwrap_or((text.value.trim(), ""));
    let value = value.trim();
    let found = match verb {
        "run" => between(value).map(|(low, high)| match low == high {
            true => Instr::Run { work: low, mode: Mode::User },
            false => Instr::RunBetween { low, high, mode: Mode::User },
        }),
        "runtime" => length(value).map(|time| Instr::RunTime { time, mode: Mode::User }),
        "sleep" => between(value).map(|(low, high)| match low == high {
            true => Instr::Sleep { time: low },
            false => Instr::SleepBetween { low, high },
        }),
        "yield" if value.is_empty() => Ok(Instr::Yield),
        "yield" => Err(("`yield` takes no value".to_string(), "Write `yield` alone.".to_string())),
        "nice" => value
            .parse()
            .map_err(|_| (format!("`{value}` is no nice value"), "A number from -20 to 19.".to_string()))
            .and_then(words::nice)
            .map(|nice| Instr::SetNice { nice }),
        "affinity" => words::cpus(value).map(|cpus| Instr::SetAffinity { cpus }),
        "policy" => words::policy(value).map(|policy| Instr::SetPolicy { policy }),
        "slice" => words::slice(value).map(|slice| Instr::SetSlice { slice }),
        _ => Err((format!("unknown step `{verb}`"), nearest::hint(verb, "Steps", VERBS))),
    };
    found.map_err(|(message, hint)| m.at(text.span, message, hint)).ok()
}

fn length(text: &str) -> Result<Ns, (String, String)> {
    let hint = || "A length of time has a unit: `3ms`.".to_string();
    units::parse_ns(text).map_err(|error| (format!("`{text}`: {error}"), hint()))
}

fn between(text: &str) -> Result<(Ns, Ns), (String, String)> {
    let (low, high) = text.split_once("..").unwrap_or((text, text));
    let (low, high) = (length(low)?, length(high)?);
    match low <= high {
        true => Ok((low, high)),
        false => Err((format!("`{text}` ends before it begins"), "The smaller value stands first: `1ms..3ms`.".to_string())),
    }
}

#[cfg(test)]
mod tests {
    use super::super::fields::parse_toml;
    use super::*;

    fn read_text(text: &str) -> (TaskSet, Mistakes) {
        let mut m = Mistakes::default();
        let table = parse_toml(text, &mut m);
        let rows = Fields::new(&table, 0..0, "workload").tables("tasks", &mut m);
        (read(rows, &mut m), m)
    }

    #[test]
    fn the_four_ways_to_say_what_a_task_does() {
        let (set, wrong) = read_text(
            "tasks = [{ name = \"h\", hog = true, count = 2, nice = -5, cpus = \"0-1\" },\n\
             { name = \"p\", run = \"1ms\", period = \"10ms\", start = \"3ms\" },\n\
             { name = \"s\", run = \"1ms\", sleep = \"10ms\", policy = \"batch\" },\n\
             { name = \"d\", do = [\"run 1ms..2ms\", \"yield\", \"sleep 3ms\"], loop = 7 }]",
        );
        assert!(wrong.0.is_empty(), "{wrong}");
        let names: Vec<&str> = set.tasks.iter().map(|task| task.name.as_str()).collect();
        assert_eq!(names, ["h-0", "h-1", "p", "s", "d"]);
        let code = |index: usize| &set.programs.as_slice()[index].code;
        assert_eq!(code(1)[0], Instr::Now { reg: 0 });
        assert_eq!(code(3)[0], Instr::RunBetween { low: Ns::from_ms(1), high: Ns::from_ms(2), mode: Mode::User });
        assert_eq!(code(3)[3], Instr::Repeat { counter: 0, times: 7, to: 0 });
    }

    #[test]
    fn mistakes_are_named() {
        for (row, part) in [
            ("hog = true", "without `name`"),
            ("name = \"a\"", "exactly one thing"),
            ("name = \"a\", hog = true, run = \"1ms\"", "exactly one thing"),
            ("name = \"a\", run = \"1ms\", sleep = \"-5ms\"", "cannot be negative"),
            ("name = \"a\", run = 5, sleep = \"1ms\"", "has no unit"),
            ("name = \"a\", run = \"1ms\", period = \"0ms\"", "a period of 0"),
            ("name = \"a\", hog = true, nice = 99", "nice 99 does not exist"),
            ("name = \"a\", hog = true, slice = \"3\"", "`3` is no slice"),
            ("name = \"a\", hog = true, slice = \"0ms\"", "`0ms` is no slice"),
            ("name = \"a\", hog = true, slice = 3", "slice"),
            ("name = \"a\", hog = true, count = 0", "`count = 0`"),
            ("name = \"a\", hog = true, cpus = \"x\"", "no list of CPUs"),
            ("name = \"a\", hog = true, first_cpu = 99999999999", "there is no CPU"),
            ("name = \"a\", do = [\"dance 3ms\"]", "unknown step `dance`"),
            ("name = \"a\", do = [\"run 3ms..1ms\"]", "ends before it begins"),
            ("name = \"a\", hog = true, nise = 3", "unknown key `nise`"),
        ] {
            let (_, wrong) = read_text(&format!("tasks = [{{ {row} }}]"));
            assert_eq!(wrong.0.len(), 1, "{row}: {wrong}");
            assert!(wrong.0[0].message.contains(part), "{row}: {wrong}");
        }
    }
}
