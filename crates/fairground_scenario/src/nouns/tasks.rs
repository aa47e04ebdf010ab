//! `[[workload]] tasks = […]`: tasks written out in the scenario itself.
//!
//! A row is one task, or `count` equal ones. What it does is said in one of five ways: `hog = true`
//! (computes without end), `run` with `period` (on a fixed grid), `run` with `sleep`, `do = ["run 3ms",
//! "sleep 2ms..4ms", "yield"]`, which is repeated for ever or `loop` times, or `program`: such a list that is
//! gone through once, with jumps of its own. [`steps`] says what steps there are.

use crate::check::size::TASKS_MAX;
use crate::nouns::autogroup;
use crate::nouns::cgroup;
use crate::nouns::clamps;
use crate::nouns::groups::Groups;
use crate::nouns::lock_steps;
use crate::nouns::step_args::Names;
use crate::nouns::steps;
use crate::nouns::words;
use crate::nouns::{page_steps, part_steps};
use crate::text::Wrong;
use crate::text::fields::{Fields, Spanned};
use fairground_model::{
    Instr, LockKind, LockSpec, Mistakes, Mode, PipeSpec, Policy, Program, Start, TaskSet, TaskSpec, TimerMode,
};
use fairground_stdx::outside::shown;
use fairground_stdx::{CpuId, Instant, Ns, TgId};
use std::ops::Range;

/// A hog's program repeats a stretch of this length; only the clock of the run ends it.
const HOG_STRETCH: Ns = Ns::from_secs(3600);
/// Most tasks of one list.
const MAX_COUNT: u64 = TASKS_MAX;
const BEHAVIOURS: &str = "Say one of: `hog = true`; `run = \"1ms\"` with `period = \"10ms\"`; `run` with `sleep`; `do = [\"run 1ms\", \"sleep 9ms\"]`; `program = [\"run 1ms\", \"exit\"]`.";

/// What the steps of written-out tasks may name, as declared beside them.
pub(crate) struct Declared<'t> {
    /// Pipes, each with the messages that fit.
    pub(crate) pipes: Option<Fields<'t>>,
    /// Words of shared memory, each with what it holds at first.
    pub(crate) words: Option<Fields<'t>>,
    /// Memory that is touched, each with its entries.
    pub(crate) pools: Option<Fields<'t>>,
    /// Locks, each with its kind.
    pub(crate) locks: Option<Fields<'t>>,
    /// How long an uninterruptible wait may last.
    pub(crate) hung_task_timeout: Option<Spanned<Ns>>,
}

/// Tasks that were written out.
pub(crate) struct Listed {
    /// The tasks, in a set that has the groups of the scenario.
    pub(crate) set: TaskSet,
    /// The session that each names.
    pub(crate) sessions: Vec<Option<String>>,
    /// Where each stands.
    pub(crate) spans: Vec<Range<usize>>,
    /// Where each pool stands.
    pub(crate) pool_spans: Vec<Range<usize>>,
}

/// Reads the rows, and the pipes and words that their steps name, into a task set that has the `groups` of the scenario. A
/// task that says nothing of groups starts in `default`.
pub(crate) fn read(
    rows: Vec<Fields<'_>>,
    declared: Declared<'_>,
    groups: &Groups,
    default: Option<TgId>,
    m: &mut Mistakes,
) -> Listed {
    let mut set = groups.set();
    let (mut sessions, mut spans) = (Vec::new(), Vec::new());
    let asked: u64 = rows.iter().map(count_of).sum();
    if asked > MAX_COUNT {
        // Their names alone would take hundreds of bytes each.
        let span = rows.first().map(Fields::span).unwrap_or_default();
        let hint = format!("A list holds 1 to {MAX_COUNT} tasks: write fewer rows, or a smaller `count`.");
        m.at(span, format!("a list of {asked} tasks"), hint);
        return Listed { set, sessions, spans, pool_spans: Vec::new() };
    }
    let mut names = Names { tasks: task_names(&rows), groups: groups.paths(), ..Names::default() };
    for (name, item) in declared.pipes.map(|mut table| table.free()).unwrap_or_default() {
        let capacity = item.as_integer().and_then(|n| u32::try_from(n).ok()).filter(|n| *n > 0);
        if capacity.is_none() {
            m.at(name.span, format!("pipe `{}` without a size", name.value), "Say how many messages fit: `pipes = { p = 16 }`.");
        }
        set.pipes.push(PipeSpec::new(capacity.unwrap_or(1)));
        names.pipes.push(name.value.to_string());
    }
    for (name, item) in declared.words.map(|mut table| table.free()).unwrap_or_default() {
        let value = item.as_integer().and_then(|n| u64::try_from(n).ok());
        if value.is_none() {
            m.at(
                name.span,
                format!("word `{}` without a number", name.value),
                "Say what it holds at first: `words = { w = 0 }`.",
            );
        }
        set.words.push(value.unwrap_or(0));
        names.words.push(name.value.to_string());
    }
    let mut pool_spans = Vec::new();
    for (name, item) in declared.pools.map(|mut table| table.free()).unwrap_or_default() {
        let found = page_steps::declared(name.value, item.as_str().unwrap_or_default());
        let Some(pool) = m.keep(found.map_err(|(message, hint)| (format!("pool `{}`: {message}", name.value), hint)), &name.span)
        else {
            // Steps may name it all the same.
            names.pools.push(name.value.to_string());
            continue;
        };
        pool_spans.push(name.span);
        names.pools.push(pool.name.clone());
        set.pools.push(pool);
    }
    for (name, item) in declared.locks.map(|mut table| table.free()).unwrap_or_default() {
        let text = item.as_str().unwrap_or_default();
        let spec = lock_steps::declared(name.value, text).unwrap_or_else(|(message, hint)| {
            m.at(name.span, format!("lock `{}`: {message}", name.value), hint);
            LockSpec::new(name.value, LockKind::Mutex)
        });
        names.locks.push((spec.name.clone(), spec.kind));
        set.locks.push(spec);
    }
    if let Some(time) = declared.hung_task_timeout {
        set.hung_task_timeout = m.keep(lock_steps::hung_task_timeout(time.value), &time.span);
    }
    part_steps::collect(&rows, &mut names, &mut set);
    let mut alone = Vec::new();
    for row in rows {
        let span = row.span();
        let processes = row.raw().get("processes").and_then(toml_edit::Item::as_bool) == Some(true);
        let session = read_row(row, &names, default, &mut set, m);
        sessions.resize(set.tasks.len(), session);
        spans.resize(set.tasks.len(), span);
        alone.resize(set.tasks.len(), processes);
    }
    // Behind the numbers that rows name, each has one of its own.
    let first = set.tasks.iter().map(|task| task.mm + 1).max().unwrap_or(0);
    let processes = set.tasks.iter_mut().zip(&alone).filter(|row| *row.1);
    processes.zip(first..).for_each(|((task, _), mm)| task.mm = mm);
    Listed { set, sessions, spans, pool_spans }
}

/// How many tasks a row makes; what it may not say is refused where the row is read.
fn count_of(row: &Fields<'_>) -> u64 {
    let count = row.raw().get("count").and_then(toml_edit::Item::as_integer).unwrap_or(1);
    u64::try_from(count).unwrap_or(0).min(MAX_COUNT)
}

/// The names of all tasks that the rows will make, as `count` says: a step may fork a task of a later row.
fn task_names(rows: &[Fields<'_>]) -> Vec<String> {
    let mut names = Vec::new();
    for row in rows {
        let name = shown(row.raw().get("name").and_then(toml_edit::Item::as_str).unwrap_or_default());
        match count_of(row) {
            1 => names.push(name.to_string()),
            count => names.extend((0..count).map(|index| format!("{name}-{index}"))),
        }
    }
    names
}

/// Adds the tasks of a row; returns the session that it names.
fn read_row(mut row: Fields<'_>, names: &Names, default: Option<TgId>, set: &mut TaskSet, m: &mut Mistakes) -> Option<String> {
    let span = row.span();
    let name = row.text("name", m).map(|name| shown(name.value).into_owned());
    if name.as_deref().map_or(row.span_of("name") == span, str::is_empty) {
        m.at(row.span_of("name"), "a task without `name`", "Give it a name: `name = \"worker\"`.");
    }
    let count = row.natural("count", m).map_or(1, |count| {
        if !(1..=MAX_COUNT).contains(&count.value) {
            m.at(count.span, format!("`count = {}`", count.value), format!("A list holds 1 to {MAX_COUNT} tasks."));
        }
        count.value.clamp(1, MAX_COUNT)
    });
    let mut spec = read_spec(&mut row, m);
    spec.group = read_group(&mut row, names, default.filter(|_| spec.start != Start::Forked), m);
    let session = autogroup::name(&mut row, m);
    if let Some(session) = session.as_ref().filter(|_| spec.kthread) {
        m.at(session.span.clone(), "a kernel thread with a session", "Kernel threads are of no session: leave one of both out.");
    }
    let session = session.map(|session| session.value);
    let program = read_program(&mut row, names, m);
    row.end(m);
    let (Some(name), Some(program)) = (name, program) else { return session };
    let asks_index = program.code.iter().any(|instr| matches!(instr, Instr::Index { .. }));
    let program = set.programs.push(program);
    for index in 0..count {
        let name = if count == 1 { name.clone() } else { format!("{name}-{index}") };
        set.tasks.push(TaskSpec { name, program, index: spec.index + if asks_index { index as u32 } else { 0 }, ..spec.clone() });
    }
    session
}

/// Everything of a task but its name and program.
fn read_spec(row: &mut Fields<'_>, m: &mut Mistakes) -> TaskSpec {
    let mut spec = TaskSpec::new("", fairground_stdx::ProgramId::new(0));
    let mut keep = |found: Result<(), Wrong>, span: Range<usize>| m.keep(found, &span);
    let mut inner = Mistakes::default();
    if let Some(nice) = row.integer("nice", &mut inner) {
        keep(words::nice(nice.value).map(|nice| spec.nice = nice), nice.span);
    }
    if let Some((policy, span)) = words::read_policy(row, &mut inner) {
        keep(policy.map(|policy: Policy| spec.policy = policy), span);
    }
    if let Some(slice) = row.text("slice", &mut inner) {
        keep(words::slice(slice.value).map(|own| spec.slice = own), slice.span);
    }
    spec.clamp = clamps::of_task(row, &mut inner);
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
    if let Some(forked) = row.boolean("forked", &mut inner).filter(|forked| forked.value) {
        if spec.start != Start::At(Instant::ZERO) {
            keep(Err(("`forked` beside `start`".to_string(), "It starts when another task forks it.".to_string())), forked.span);
        }
        spec.start = Start::Forked;
    }
    let alone = row.boolean("processes", &mut inner).filter(|alone| alone.value);
    if let Some(mm) = row.natural("mm", &mut inner) {
        if let Some(alone) = alone {
            keep(
                Err((
                    "`processes` beside `mm`".to_string(),
                    "Each has an address space of its own: leave one of both out.".to_string(),
                )),
                alone.span,
            );
        }
        let wrong = || (format!("`mm = {}`", mm.value), format!("Address spaces are numbered from 0 to {}.", MAX_COUNT - 1));
        let number = u32::try_from(mm.value).ok().filter(|&number| u64::from(number) < MAX_COUNT);
        keep(number.ok_or_else(wrong).map(|number| spec.mm = number), mm.span);
    }
    if let Some(index) = row.natural("index", &mut inner) {
        let wrong = || (format!("`index = {}`", index.value), format!("Tasks are numbered from 0 to {}.", MAX_COUNT - 1));
        let number = u32::try_from(index.value).ok().filter(|&number| u64::from(number) < MAX_COUNT);
        keep(number.ok_or_else(wrong).map(|number| spec.index = number), index.span);
    }
    if let Some(slack) = row.time("timer_slack", &mut inner) {
        spec.timer_slack = slack.value;
    }
    if let Some(size) = row.kib("working_set", &mut inner) {
        spec.working_set_kib = size.value;
    }
    if let Some(kthread) = row.boolean("kthread", &mut inner) {
        spec.kthread = kthread.value;
    }
    m.0.append(&mut inner.0);
    spec
}

/// The group in which a task starts. That of a forked one is its parent's if nothing is said of it.
fn read_group(row: &mut Fields<'_>, names: &Names, default: Option<TgId>, m: &mut Mistakes) -> Option<TgId> {
    let Some(path) = row.text("group", m) else { return default };
    let found = cgroup::find(path.value, &names.groups);
    m.keep(found, &path.span).flatten()
}

fn read_program(row: &mut Fields<'_>, names: &Names, m: &mut Mistakes) -> Option<Program> {
    let before = m.0.len();
    let hog = row.boolean("hog", m).is_some_and(|hog| hog.value);
    let run = row.time("run", m);
    let period = row.time("period", m);
    let sleep = row.time("sleep", m);
    let list = row.texts("do", m);
    let once = row.item("program").is_some();
    let code = row.texts("program", m);
    let rounds = row.natural("loop", m);
    if m.0.len() > before {
        return None;
    }
    if once && !hog && run.is_none() && period.is_none() && sleep.is_none() && list.is_empty() && rounds.is_none() {
        return Some(Program::from(steps::read(code, names, m)));
    }
    let program = match (hog || once, run, period, sleep, list.is_empty()) {
        (true, None, None, None, true) if !once => looped(vec![Instr::Run { work: HOG_STRETCH, mode: Mode::User }], rounds),
        (false, Some(run), Some(period), None, true) => periodic(run.value, period, rounds, m)?,
        (false, Some(run), None, Some(sleep), true) => {
            let body = vec![Instr::Run { work: run.value, mode: Mode::User }, Instr::Sleep { time: sleep.value }];
            looped(body, rounds)
        }
        (false, None, None, None, false) => looped(steps::read(list, names, m), rounds),
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nouns::groups;
    use crate::text::fields::parse_toml;

    fn read_text(text: &str) -> (TaskSet, Mistakes) {
        let mut m = Mistakes::default();
        let table = parse_toml(text, &mut m);
        let rows = Fields::new(&table, 0..0, "workload").tables("tasks", &mut m);
        let pipes = Fields::new(&table, 0..0, "workload").table("pipes", &mut m);
        let groups = groups::read(Fields::new(&table, 0..0, "scenario").tables("group", &mut m), &mut m);
        let default = groups.set().groups.ids().next();
        let words = Fields::new(&table, 0..0, "workload").table("words", &mut m);
        let locks = Fields::new(&table, 0..0, "workload").table("locks", &mut m);
        let pools = Fields::new(&table, 0..0, "workload").table("pools", &mut m);
        let hung_task_timeout = Fields::new(&table, 0..0, "workload").time("hung_task_timeout", &mut m);
        (read(rows, Declared { pipes, words, pools, locks, hung_task_timeout }, &groups, default, &mut m).set, m)
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
    fn tasks_start_in_the_group_that_they_or_their_workload_name() {
        let (set, wrong) = read_text(
            "group = [{ path = \"/w/api\" }]\n\
             tasks = [{ name = \"a\", hog = true }, { name = \"b\", hog = true, group = \"/w/api\" },\n\
             { name = \"c\", hog = true, group = \"/\" }, { name = \"d\", program = [\"cgroup /w/api\", \"cgroup /\"], forked = true }]",
        );
        assert!(wrong.0.is_empty(), "{wrong}");
        let (w, api) = (TgId::new(0), TgId::new(1));
        assert_eq!(set.tasks.iter().map(|task| task.group).collect::<Vec<_>>(), [Some(w), Some(api), None, None]);
        let code = &set.programs[set.tasks.as_slice()[3].program].code;
        assert_eq!(**code, [Instr::SetGroup { group: Some(api) }, Instr::SetGroup { group: None }]);
    }

    #[test]
    fn tasks_that_ask_for_it_are_numbered() {
        let (set, wrong) = read_text(
            "tasks = [{ name = \"h\", hog = true, count = 2 }, { name = \"a\", do = [\"index r0\", \"run 1ms\"], count = 2 },\n\
             { name = \"b\", do = [\"index r0\", \"run 1ms\"], count = 2, index = 5 }, { name = \"c\", hog = true, index = 9 }]",
        );
        assert!(wrong.0.is_empty(), "{wrong}");
        assert_eq!(set.tasks.iter().map(|task| task.index).collect::<Vec<_>>(), [0, 0, 0, 1, 5, 6, 9]);
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
            ("name = \"a\", program = [\"exit\"], loop = 2", "exactly one thing"),
            ("name = \"a\", program = [\"exit\"], hog = true", "exactly one thing"),
            ("name = \"a\", program = [\"fork b\"]", "no task of this workload is called `b`"),
            ("name = \"a\", hog = true, start = \"1ms\", forked = true", "`forked` beside `start`"),
            ("name = \"a\", hog = true, mm = 100000", "`mm = 100000`"),
            ("name = \"a\", hog = true, index = 100000", "`index = 100000`"),
            ("name = \"a\", hog = true, group = \"/web\"", "no group `/web`"),
            ("name = \"a\", hog = true, group = 3", "`group` is the number 3"),
            ("name = \"a\", program = [\"cgroup /web\"]", "no group `/web`"),
            ("name = \"a\", hog = true, session = \"\"", "a session without a name"),
            ("name = \"a\", hog = true, session = 3", "`session` is the number 3"),
            ("name = \"a\", hog = true, session = \"s\", kthread = true", "a kernel thread with a session"),
            ("name = \"a\", program = [\"setsid\"]", "`setsid` is not modelled yet as a step"),
            ("name = \"a\", hog = true, nise = 3", "unknown key `nise`"),
        ] {
            let (_, wrong) = read_text(&format!("tasks = [{{ {row} }}]"));
            assert_eq!(wrong.0.len(), 1, "{row}: {wrong}");
            assert!(wrong.0[0].message.contains(part), "{row}: {wrong}");
        }
    }

    #[test]
    fn tasks_may_name_pipes_and_tasks_of_later_rows() {
        let (set, wrong) = read_text(
            "pipes = { there = 2, back = 1 }\n\
             tasks = [{ name = \"a\", program = [\"fork b-1\", \"write there\", \"read back\", \"jump 1\"], mm = 3 },\n\
             { name = \"b\", count = 2, forked = true, do = [\"read there\", \"write back\"] }, { name = \"none\", program = [] }]",
        );
        assert!(wrong.0.is_empty(), "{wrong}");
        assert_eq!(set.pipes.iter().map(|pipe| pipe.capacity).collect::<Vec<_>>(), [2, 1]);
        let code = |index: usize| &set.programs.as_slice()[index].code;
        assert_eq!(code(0)[0], Instr::Fork { task: fairground_stdx::TaskId::new(2) });
        assert_eq!(code(0)[3], Instr::Jump { to: 1 });
        assert!(code(2).is_empty());
        let tasks = set.tasks.as_slice();
        assert_eq!((tasks[0].mm, tasks[1].start, tasks[2].start), (3, Start::Forked, Start::Forked));
    }

    #[test]
    fn a_pipe_has_a_size() {
        for size in ["0", "-1", "\"2\"", "true"] {
            let (_, wrong) = read_text(&format!("pipes = {{ p = {size} }}\ntasks = [{{ name = \"a\", hog = true }}]"));
            assert_eq!(wrong.0.len(), 1, "{size}: {wrong}");
            assert!(wrong.0[0].message.contains("pipe `p` without a size"), "{wrong}");
        }
    }
}
