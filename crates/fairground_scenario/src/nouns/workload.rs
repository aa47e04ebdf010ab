//! `[[workload]]`: where the tasks come from.
//!
//! Exactly one of: `name` with `args` (a workload of the registry), `rtapp` (an rt-app JSON file beside the
//! scenario) or `rtapp_text` (the JSON itself), `recorded` or `recorded_text` (a `workload.txt` of a recorded
//! set), `replay` (a recorded trace), `tasks` (written out).

use crate::check::size::Size;
use crate::error::FileMistakes;
use crate::nouns::autogroup;
use crate::nouns::cgroup;
use crate::nouns::groups::Groups;
use crate::nouns::tasks;
use crate::text::canonical;
use crate::text::fields::{Fields, Spanned};
use crate::text_file::{Texts, text_of};
use crate::trace_file::TraceFile;
use fairground_formats::fgr::Snapshot;
use fairground_model::cgroup::Memberships;
use fairground_model::features::FeatWrite;
use fairground_model::{Change, Mistakes, Start, TaskSet, TaskSpec, TimedChange};
use fairground_stdx::{CpuMask, Id, IndexVec, Instant, Ns, TaskId, TgId};
use fairground_workload::replay::{self, Replay};
use fairground_workload::service::{self, Service};
use fairground_workload::{Arg, Args, Column, Percentiles, Threads, recorded, rtapp};
use std::collections::BTreeSet;
use std::ops::Range;
use std::path::Path;
use toml_edit::{Item, Value};

/// The workload of the registry that can be varied.
const SERVICE: &str = "service";

/// The tasks of one `[[workload]]`.
#[derive(Clone, PartialEq, Debug)]
pub struct Workload {
    /// What the table of its figures is called.
    pub label: String,
    /// The tasks.
    pub tasks: TaskSet,
    /// The columns of its table; empty for workloads without a table of their own.
    pub columns: &'static [Column],
    /// Its tables of percentiles.
    pub percentiles: &'static [Percentiles],
    /// Its table with a line per thread, if it has one.
    pub threads: Option<Threads>,
    /// How long it says that it runs, if it says so.
    pub duration: Option<Ns>,
    /// Features that it sets before it starts.
    pub features: Vec<FeatWrite>,
    /// The time over which its recorded figures were taken.
    pub window: Option<(Instant, Instant)>,
    /// How it stands in a canonical scenario, as `key = value` lines.
    pub(crate) canonical: String,
    /// Where it stands in the scenario's text.
    pub(crate) span: Option<Range<usize>>,
    /// Where its tasks stand there by their rows; empty if they are not written out.
    task_spans: Vec<Range<usize>>,
    /// Where its pools stand there by their rows.
    pub(crate) pool_spans: Vec<Range<usize>>,
    /// What was assumed when it was read.
    pub notes: Vec<String>,
    /// What it is made of, if it is a service.
    pub(crate) service: Option<Service>,
    /// The sessions of its tasks by their rows; empty if none is said. A forked one without has that of its parent.
    pub(crate) sessions: Vec<Option<String>>,
}

impl Workload {
    /// A workload of the registry, from its settings.
    pub fn named(name: &str, args: &Args) -> Result<Workload, Mistakes> {
        let tasks = fairground_workload::build(name, args)?;
        let rows: Vec<String> =
            args.0.iter().map(|arg| format!("{} = {}", canonical::key(&arg.key), canonical::quoted(&arg.value))).collect();
        let mut text = format!("name = {}\n", canonical::quoted(name));
        if !rows.is_empty() {
            text.push_str(&format!("args = {{ {} }}\n", rows.join(", ")));
        }
        let row = fairground_workload::find(name);
        let columns = row.map_or(&[][..], |row| row.table);
        let percentiles = row.map_or(&[][..], |row| row.percentiles);
        let duration = fairground_workload::duration(name, args);
        let threads = fairground_workload::threads(name, args);
        let service = if name == SERVICE { Some(service::of_args(args)?) } else { None };
        Ok(Workload { columns, percentiles, threads, duration, service, ..Workload::new(name, tasks, text) })
    }
    /// An rt-app description.
    pub fn rtapp(text: &str) -> Result<Workload, Mistakes> {
        let parsed = rtapp::parse(text)?;
        let canonical = format!("rtapp_text = {}\n", canonical::block(text));
        let workload = Workload::new("rt-app", parsed.tasks, canonical);
        Ok(Workload { columns: rtapp::TABLE, duration: parsed.duration, notes: parsed.notes, ..workload })
    }
    /// The `workload.txt` of a recorded set.
    pub fn recorded(text: &str) -> Result<Workload, Mistakes> {
        Workload::of_recording(text, recorded::parse(text)?, String::new())
    }
    /// The same, of what was read already; `more` are further rows of a canonical scenario.
    pub fn of_recording(text: &str, parsed: recorded::RecordedWorkload, more: String) -> Result<Workload, Mistakes> {
        let canonical = format!("recorded_text = {}\n{more}", canonical::block(text));
        let workload = Workload::new("recorded", parsed.tasks, canonical);
        Ok(Workload { features: parsed.features, window: Some(parsed.window), ..workload })
    }
    /// The tasks of a recorded trace, for a machine of `cpus` CPUs.
    pub fn replay(file: &TraceFile, cpus: usize) -> Workload {
        Workload::replayed(file, cpus, replay::build(&file.trace.events, &file.trace.tasks, cpus))
    }
    /// The same, of tasks that were made of it already: the trace needs no events then.
    pub fn replayed(file: &TraceFile, cpus: usize, replay: Replay) -> Workload {
        let canonical = format!("replay = {}\nreplay_digest = \"{:032x}\"\n", canonical::quoted(&file.name), file.digest);
        let (mut tasks, mut notes) = (replay.tasks, replay.notes);
        let told = &file.trace.groups;
        let begin = file.trace.stats.container.as_ref().and_then(|known| known.beginning());
        let known = begin.map(|begin| begin.specs().0);
        let tells_weights = known.is_some();
        let Memberships { groups, begins, moves, left_out, .. } =
            Memberships::of(known, told.iter().map(|of| (of.task, of.group())));
        tasks.groups = groups;
        for (task, group) in begins {
            let spec = replay.task_of[task].map(|row| &mut tasks.tasks[row]);
            spec.filter(|spec| spec.start != Start::Forked).into_iter().for_each(|spec| spec.group = Some(group));
        }
        for (place, task, group) in moves {
            let task = replay.task_of[task];
            let change = task.map(|task| TimedChange { at: told[place].at, change: Change::Group { task, group } });
            tasks.changes.extend(change);
        }
        if !tasks.groups.is_empty() {
            let weights =
                if tells_weights { "with their weights and limits" } else { "each of weight 100, as the trace tells no weights" };
            notes.push(format!(
                "{} groups of the trace are kept, {weights}; {} moves between them happen at their recorded times; {left_out} rows name no \
                 possible group",
                tasks.groups.len(),
                tasks.changes.len()
            ));
        }
        if let Some(begin) = begin {
            notes.extend(given(begin, file, cpus, &replay.task_of, &mut tasks));
        }
        let workload = Workload::new(&file.name, tasks, canonical);
        Workload { duration: Some(replay.length), notes, ..workload }
    }
    /// Puts the tasks into a group of the scenario that are in none: those that are forked are where their parents are.
    pub(crate) fn put_into(&mut self, group: Option<TgId>, groups: &Groups) {
        let mut set = groups.set();
        set.append(std::mem::take(&mut self.tasks));
        let free = |task: &&mut TaskSpec| task.group.is_none() && task.start != Start::Forked;
        set.tasks.iter_mut().filter(free).for_each(|task| task.group = group);
        self.tasks = set;
    }
    /// Makes its tasks a session if they name none: kernel threads are of no session, forked ones of their parents'.
    fn of_session(&mut self, session: &str) {
        self.sessions.resize(self.tasks.tasks.len(), None);
        for (task, own) in self.tasks.tasks.iter().zip(&mut self.sessions) {
            if !task.kthread && task.start != Start::Forked {
                own.get_or_insert_with(|| session.to_string());
            }
        }
    }
    /// Says what is wrong with a task: at its own place if it is written out, else at that of the workload.
    pub(crate) fn mistake(&self, task: TaskId, message: impl Into<String>, hint: impl Into<String>, m: &mut Mistakes) {
        match self.task_spans.get(task.index()).or(self.span.as_ref()) {
            Some(span) => m.at(span.clone(), message, hint),
            None => m.whole(message, hint),
        }
    }
    fn new(label: &str, tasks: TaskSet, canonical: String) -> Workload {
        Workload {
            label: label.to_string(),
            tasks,
            columns: &[],
            percentiles: &[],
            threads: None,
            duration: None,
            features: Vec::new(),
            window: None,
            canonical,
            span: None,
            task_spans: Vec::new(),
            pool_spans: Vec::new(),
            notes: Vec::new(),
            service: None,
            sessions: Vec::new(),
        }
    }
}

/// What the rows are read for.
pub(crate) struct Place<'a> {
    /// Files are looked for in this folder, that of the scenario.
    pub(crate) folder: &'a Path,
    /// Texts that are taken instead of files.
    pub(crate) texts: &'a Texts,
    /// The machine's number of CPUs.
    pub(crate) cpus: usize,
    /// The groups that the scenario declares.
    pub(crate) groups: &'a Groups,
}

/// Reads the rows. Mistakes in a file that they name are reported with that file's own lines.
pub(crate) fn read(rows: Vec<Fields<'_>>, place: &Place<'_>, m: &mut Mistakes, files: &mut Vec<FileMistakes>) -> Vec<Workload> {
    let (mut found, mut size) = (Vec::new(), Size::default());
    let paths = place.groups.paths();
    for mut row in rows {
        let span = row.span();
        let group = row.text("group", m);
        let id = group.as_ref().and_then(|group| m.keep(cgroup::find(group.value, &paths), &group.span).flatten());
        let session = autogroup::name(&mut row, m);
        if let Some(mut workload) = read_row(&mut row, place, id, m, files) {
            workload.span = Some(span.clone());
            if let Some(group) = group {
                // Tasks that are written out may say `/` for themselves, and were put there when they were read.
                if !row.raw().contains_key("tasks") {
                    workload.put_into(id, place.groups);
                }
                workload.canonical.push_str(&format!("group = {}\n", canonical::quoted(group.value)));
            }
            if let Some(session) = session {
                workload.of_session(&session.value);
                workload.canonical.push_str(&format!("session = {}\n", canonical::quoted(&session.value)));
            }
            if !size.add(&workload, &span, m) {
                break;
            }
            found.push(workload);
        }
        row.end(m);
    }
    found
}

fn read_row(
    row: &mut Fields<'_>,
    place: &Place<'_>,
    group: Option<TgId>,
    m: &mut Mistakes,
    files: &mut Vec<FileMistakes>,
) -> Option<Workload> {
    let name = row.text("name", m);
    let args = row.table("args", m);
    let file = row.text("rtapp", m);
    let text = row.text("rtapp_text", m);
    let set_file = row.text("recorded", m);
    let set_text = row.text("recorded_text", m);
    let trace = row.text("replay", m);
    let digest = row.text("replay_digest", m);
    let listed = row.tables("tasks", m);
    let pipes = row.table("pipes", m);
    let shared = row.table("words", m);
    let locks = row.table("locks", m);
    let pools = row.table("pools", m);
    let hung_task_timeout = row.time("hung_task_timeout", m);
    if let Some(record) = row.text("housekeeping", m) {
        let message = "`housekeeping` names a recording, which is no part of a scenario file";
        m.at(record.span, message, "Run the folder of the recorded experiment itself.");
        return None;
    }
    let given =
        [&name, &file, &text, &set_file, &set_text, &trace].into_iter().flatten().count() + usize::from(!listed.is_empty());
    if given != 1 {
        m.at(row.span(), "a workload comes from exactly one place", PLACES);
        return None;
    }
    for (what, table) in [("pipes", &pipes), ("words", &shared), ("pools", &pools), ("locks", &locks)] {
        if let (Some(table), true) = (table, listed.is_empty()) {
            let hint = "They are named by the steps of tasks that are written out.";
            m.at(table.span(), format!("`{what}` without `tasks`"), hint);
            return None;
        }
    }
    if let Some(time) = hung_task_timeout.as_ref().filter(|_| listed.is_empty()) {
        m.at(time.span.clone(), "`hung_task_timeout` without `tasks`", "It stands beside tasks that are written out.");
        return None;
    }
    if let Some(name) = name {
        read_named(&name, args, m)
    } else if let Some(file) = file {
        read_file(&file, place, Workload::rtapp, m, files)
    } else if let Some(text) = text {
        read_inner("rtapp_text", &text, Workload::rtapp, m, files)
    } else if let Some(file) = set_file {
        read_file(&file, place, Workload::recorded, m, files)
    } else if let Some(text) = set_text {
        read_inner("recorded_text", &text, Workload::recorded, m, files)
    } else if let Some(trace) = trace {
        read_trace(&trace, digest, place, m)
    } else {
        let mut table = |key| row.item(key).map(|item| format!("{key} = {}\n", canonical::of_item(item))).unwrap_or_default();
        let mut text = table("pipes") + &table("words") + &table("pools") + &table("locks") + &table("hung_task_timeout");
        text.push_str(&format!("tasks = {}\n", row.item("tasks").map(canonical::of_item).unwrap_or_default()));
        let declared = tasks::Declared { pipes, words: shared, pools, locks, hung_task_timeout };
        let listed = tasks::read(listed, declared, place.groups, group, m);
        let (sessions, task_spans, pool_spans) = (listed.sessions, listed.spans, listed.pool_spans);
        Some(Workload { sessions, task_spans, pool_spans, ..Workload::new("tasks", listed.set, text) })
    }
}

const PLACES: &str = "Say exactly one of: `name = \"press\"` with `args`, `rtapp = \"FILE.json\"`, \
                      `recorded = \"workload.txt\"`, `replay = \"TRACE\"`, `tasks = [{ … }]`.";

fn read_named(name: &Spanned<&str>, args: Option<Fields<'_>>, m: &mut Mistakes) -> Option<Workload> {
    let mut list = Args::default();
    for (key, item) in args.map(|mut args| args.free()).unwrap_or_default() {
        let span = item.span().unwrap_or(key.span);
        match arg_value(item) {
            Some(value) => list.0.push(Arg { key: key.value.to_string(), value, span: Some(span) }),
            None => m.at(
                span,
                format!("`{}` is no setting", key.value),
                "A setting is a string, a whole number, true, false or a list of these.",
            ),
        }
    }
    match Workload::named(name.value, &list) {
        Ok(workload) => Some(workload),
        Err(wrong) => {
            for mut mistake in wrong.0 {
                mistake.span.get_or_insert(name.span.clone());
                m.0.push(mistake);
            }
            None
        }
    }
}

/// A setting's value as its flag would be written: lists are joined with commas.
fn arg_value(item: &Item) -> Option<String> {
    fn scalar(value: &Value) -> Option<String> {
        match value {
            Value::String(text) => Some(text.value().clone()),
            Value::Integer(number) => Some(number.value().to_string()),
            Value::Boolean(truth) => Some(truth.value().to_string()),
            Value::Array(list) => {
                let parts: Option<Vec<String>> = list.iter().map(scalar).collect();
                parts.map(|parts| parts.join(","))
            }
            Value::Float(_) | Value::Datetime(_) | Value::InlineTable(_) => None,
        }
    }
    item.as_value().and_then(scalar)
}

fn read_trace(name: &Spanned<&str>, digest: Option<Spanned<&str>>, place: &Place<'_>, m: &mut Mistakes) -> Option<Workload> {
    let file = match TraceFile::load(&place.folder.join(name.value)) {
        Ok(file) => file,
        Err(error) => {
            m.at(name.span.clone(), error.to_string(), "The path is relative to the scenario's folder.");
            return None;
        }
    };
    if let Some(digest) = digest.filter(|digest| *digest.value != format!("{:032x}", file.digest)) {
        m.at(
            digest.span,
            format!("`{}` has another content than when this was written", name.value),
            "Take the original file, or leave out `replay_digest`.",
        );
        return None;
    }
    Some(Workload::replay(&file, place.cpus))
}

type Parse = fn(&str) -> Result<Workload, Mistakes>;

fn read_file(
    file: &Spanned<&str>,
    place: &Place<'_>,
    parse: Parse,
    m: &mut Mistakes,
    files: &mut Vec<FileMistakes>,
) -> Option<Workload> {
    let path = place.folder.join(file.value);
    let text = match text_of(&path, place.texts) {
        Ok(text) => text,
        Err(error) => {
            m.at(file.span.clone(), error.to_string(), "The path is relative to the scenario's folder.");
            return None;
        }
    };
    match parse(&text) {
        Ok(mut workload) => {
            workload.label = path.file_stem().map_or(workload.label, |stem| stem.to_string_lossy().into_owned());
            Some(workload)
        }
        Err(mistakes) => {
            files.push(FileMistakes { name: path.display().to_string(), text, mistakes });
            None
        }
    }
}

fn read_inner(
    key: &str,
    text: &Spanned<&str>,
    parse: Parse,
    m: &mut Mistakes,
    files: &mut Vec<FileMistakes>,
) -> Option<Workload> {
    match parse(text.value) {
        Ok(workload) => Some(workload),
        Err(mistakes) => {
            m.at(
                text.span.clone(),
                format!("`{key}` has mistakes ({})", mistakes.0.len()),
                "They are listed on their own, with the lines of that text.",
            );
            files.push(FileMistakes { name: key.to_string(), text: text.value.to_string(), mistakes });
            None
        }
    }
}

/// What tasks were given when the recording began goes to the tasks that are made of them; says to how many. Of the CPUs that a task may use
/// those count that the machine has. A task that may use none of these may use all.
fn given(
    begin: &Snapshot,
    file: &TraceFile,
    cpus: usize,
    task_of: &IndexVec<TaskId, Option<TaskId>>,
    tasks: &mut TaskSet,
) -> Vec<String> {
    let (settings, machine) = (begin.settings(), CpuMask::first_n(cpus));
    let (mut seen, mut count, mut unbound) = (BTreeSet::new(), 0_u64, 0_u64);
    for (row, info) in file.trace.tasks.iter_enumerated() {
        // An id that comes again is of another task.
        let Some(given) = settings.get(&info.pid).filter(|_| seen.insert(info.pid)) else { continue };
        let Some(spec) = task_of[row].map(|task| &mut tasks.tasks[task]).filter(|spec| spec.policy.is_fair()) else { continue };
        spec.policy = given.policy.filter(|policy| policy.is_fair()).unwrap_or(spec.policy);
        (spec.slice, spec.clamp) = (given.slice, given.clamp);
        if let Some(allowed) = &given.affinity {
            let allowed = allowed.and(&machine);
            unbound += u64::from(allowed.is_empty());
            spec.affinity = Some(allowed).filter(|allowed| !allowed.is_empty());
        }
        if let Some(allowed) = &spec.affinity {
            spec.first_cpu = spec.first_cpu.filter(|cpu| allowed.contains(*cpu));
        }
        count += 1;
    }
    let mut said = Vec::new();
    if count > 0 {
        said.push(format!("{count} tasks have the policy, slice, clamps or CPUs that they had when the recording began"));
    }
    if unbound > 0 {
        said.push(format!("{unbound} tasks were bound to CPUs that this machine does not have, and may use all"));
    }
    said
}
