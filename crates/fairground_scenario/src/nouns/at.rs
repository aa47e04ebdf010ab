//! `[[at]]`: changes in mid-run.
//!
//! `time = "2s"` and `do = "nice TASK 5"`, or the same as a table: `do = { nice = 5, task = "TASK" }`.

use crate::nouns::cgroup::{self, GroupAct};
use crate::nouns::verbs::{self, HOTPLUG, VERBS, Verb};
use crate::nouns::words;
use crate::text::Wrong;
use crate::text::fields::{Fields, Spanned};
use fairground_model::features::FeatWrite;
use fairground_model::{Governor, Mistakes, Policy, UtilClamp};
use fairground_stdx::nearest;
use fairground_stdx::{CpuMask, Ns};
use std::ops::Range;

/// What is done.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Act {
    /// Sets the nice value of tasks of this name.
    Nice(String, i8),
    /// Sets the allowed CPUs of tasks of this name.
    Affinity(String, CpuMask),
    /// Sets the policy of tasks of this name.
    Policy(String, Policy),
    /// Gives tasks of this name a slice of their own (sched_runtime of sched_setattr), or the base slice again.
    Slice(String, Option<Ns>),
    /// Lets tasks of this name ask for a utilization clamp (sched_util_min or sched_util_max of sched_setattr).
    Clamp(String, UtilClamp),
    /// Writes a scheduler feature, as to the kernel's debugfs.
    Feature(FeatWrite),
    /// Sets the frequency of CPUs, in 1024ths of their highest.
    Frequency(CpuMask, u32),
    /// Another governor for the policies of CPUs; `setspeed` is userspace with its frequency.
    Governor(CpuMask, Governor),
    /// CPUs lose a share of their capacity to heat, in 1024ths.
    Thermal(CpuMask, u32),
    /// CPUs come back on line, or go off line.
    Hotplug(CpuMask, bool),
    /// The watchdogs of CPUs let the stoppers run for an instant.
    Watchdog(CpuMask),
    /// Changes a group, or moves tasks into it.
    Group(GroupAct),
    /// Sets the weight of a session's autogroup to that of a nice value: a write to /proc/PID/autogroup.
    AutogroupNice(String, i8),
}

/// One `[[at]]`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct At {
    /// When.
    pub time: Ns,
    /// What.
    pub act: Act,
}

/// As a `do` string.
impl std::fmt::Display for Act {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Act::Group(act) => act.fmt(f),
            act => f.write_str(&verbs::text(act).expect("invariant: what was read has a verb")),
        }
    }
}

/// The forms of all changes, for hints.
fn forms() -> String {
    let own: Vec<String> = VERBS.iter().map(Verb::form).collect();
    format!("Forms: {}, {}.", own.join(", "), cgroup::forms())
}

/// Reads all `[[at]]` rows.
pub(crate) fn read(rows: Vec<Fields<'_>>, m: &mut Mistakes) -> Vec<Spanned<At>> {
    let mut found = Vec::new();
    for mut row in rows {
        let span = row.span();
        let time = row.time("time", m);
        if time.is_none() && row.span_of("time") == span {
            m.at(span.clone(), "`[[at]]` without `time`", "Say when: `time = \"2s\"`.");
        }
        let act = read_act(&mut row, m);
        row.end(m);
        if let (Some(time), Some(act)) = (time, act) {
            found.push(Spanned { value: At { time: time.value, act: act.value }, span: act.span });
        }
    }
    found
}

fn read_act(row: &mut Fields<'_>, m: &mut Mistakes) -> Option<Spanned<Act>> {
    let span = row.span_of("do");
    let Some(item) = row.item("do") else {
        if HOTPLUG.iter().any(|key| row.item(key).is_some()) {
            return read_hotplug(row, m);
        }
        m.at(row.span(), "`[[at]]` without `do`", forms());
        return None;
    };
    let act = match (item.as_str(), item.as_table_like()) {
        (Some(text), _) => from_text(text),
        (None, Some(table)) => return from_table(Fields::new(table, span.clone(), "[at.do]"), span, m),
        (None, None) => Err(("`do` is neither a string nor a table".to_string(), forms())),
    };
    m.keep(act, &span).map(|value| Spanned { value, span })
}

/// `offline = "3"` or `online = "3"` beside `time`.
fn read_hotplug(row: &mut Fields<'_>, m: &mut Mistakes) -> Option<Spanned<Act>> {
    let asked: Vec<(&str, Spanned<&str>)> = HOTPLUG.iter().filter_map(|&key| Some((key, row.text(key, m)?))).collect();
    let [(verb, cpus)] = asked.as_slice() else {
        if asked.len() > 1 {
            m.at(row.span(), "`[[at]]` with both `offline` and `online`", "One `[[at]]` makes exactly one change.");
        }
        return None;
    };
    let act = m.keep(from_text(&format!("{verb} {}", cpus.value)), &cpus.span)?;
    Some(Spanned { value: act, span: cpus.span.clone() })
}

/// The verb is the first word, the new value the last; what stands between names the task or the CPUs.
pub(crate) fn from_text(text: &str) -> Result<Act, Wrong> {
    let text = text.trim();
    let (verb, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    let rest = rest.trim();
    if cgroup::verbs().any(|name| name == verb) {
        return cgroup::act(verb, rest).map(Act::Group);
    }
    let verb = Verb::by_name(verb).ok_or_else(|| unknown_verb(verb))?;
    let (target, value) = match verb.target {
        Some(_) => rest.rsplit_once(char::is_whitespace).unwrap_or((rest, "")),
        None => ("", rest),
    };
    if value.is_empty() {
        return Err((format!("`{text}` is incomplete"), forms()));
    }
    (verb.read)(target.trim_end(), value)
}

fn unknown_verb(verb: &str) -> Wrong {
    let hint = match nearest::nearest(verb, VERBS.iter().map(|verb| verb.name).chain(cgroup::verbs())) {
        Some(near) => format!("Did you mean `{near}`?"),
        None => forms(),
    };
    (format!("unknown change `{verb}`"), hint)
}

fn from_table(mut table: Fields<'_>, span: Range<usize>, m: &mut Mistakes) -> Option<Spanned<Act>> {
    let targets = ["task", "cpus", "session"].map(|key| (key, table.text(key, m).map(|row| row.value.to_string())));
    let target = |verb: &Verb| {
        let Some(key) = verb.target else { return Ok("") };
        let found = targets.iter().find(|row| row.0 == key).and_then(|row| row.1.as_deref());
        found.ok_or_else(|| (format!("`{}` without `{key}`", verb.name), format!("Write {key} = \"…\" beside it.")))
    };
    let mut acts: Vec<Result<Act, Wrong>> = Vec::new();
    for verb in VERBS {
        let value = match verb.name {
            "policy" => words::read_policy(&mut table, m).map(|row| row.0.map(words::policy_name)),
            _ if verb.is_number() => table.integer(verb.name, m).map(|row| Ok(row.value.to_string())),
            _ => table.text(verb.name, m).map(|row| Ok(row.value.to_string())),
        };
        acts.extend(value.map(|value| (verb.read)(target(verb)?, &value?)));
    }
    let task = targets[0].1.as_deref();
    let group = table.text("group", m).map(|row| row.value.to_string());
    acts.extend(on_group(&mut table, task, group.as_deref(), m));
    table.end(m);
    if acts.len() != 1 {
        m.at(
            span,
            format!("`do` asks for {} changes", acts.len()),
            "One `[[at]]` makes exactly one change; write another `[[at]]`.",
        );
        return None;
    }
    m.keep(acts.pop()?, &span).map(|value| Spanned { value, span })
}

/// The changes of groups: `{ "cpu.weight" = 200, group = "/web" }`, `{ "cgroup.procs" = "/web", task = "a" }`, `{ rmdir = "/web" }`.
fn on_group(table: &mut Fields<'_>, task: Option<&str>, group: Option<&str>, m: &mut Mistakes) -> Vec<Result<Act, Wrong>> {
    let need = |verb: &str, key: &str| (format!("`{verb}` without `{key}`"), format!("Forms: {}.", cgroup::forms()));
    let mut acts = Vec::new();
    if let Some(path) = table.text(cgroup::MOVE, m) {
        let words = task.map(|task| format!("{} {task}", path.value)).ok_or_else(|| need(cgroup::MOVE, "task"));
        acts.push(words.and_then(|words| cgroup::act(cgroup::MOVE, &words)));
    }
    if let Some(path) = table.text(cgroup::REMOVE, m) {
        acts.push(cgroup::act(cgroup::REMOVE, path.value));
    }
    acts.extend(cgroup::read_files(table, m).into_iter().map(|(_, write)| {
        let write = write?;
        let group = group.ok_or_else(|| need(write.file().name, "group"))?;
        cgroup::act(write.file().name, &format!("{group} {write}"))
    }));
    acts.into_iter().map(|act| act.map(Act::Group)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::fields::parse_toml;

    fn read_text(text: &str) -> (Vec<At>, Mistakes) {
        let mut m = Mistakes::default();
        let table = parse_toml(text, &mut m);
        let rows = Fields::new(&table, 0..0, "scenario").tables("at", &mut m);
        (read(rows, &mut m).into_iter().map(|row| row.value).collect(), m)
    }

    #[test]
    fn both_forms_say_the_same() {
        for (text, table) in [
            ("\"nice my task 5\"", "{ nice = 5, task = \"my task\" }"),
            ("\"affinity a 0-3\"", "{ affinity = \"0-3\", task = \"a\" }"),
            ("\"policy a SCHED_IDLE\"", "{ policy = \"idle\", task = \"a\" }"),
            ("\"slice a 5ms\"", "{ slice = \"5000us\", task = \"a\" }"),
            ("\"slice a base\"", "{ slice = \"base\", task = \"a\" }"),
            ("\"thermal 0-3 20%\"", "{ thermal = \"20%\", cpus = \"0-3\" }"),
            ("\"uclamp_min a 300\"", "{ uclamp_min = 300, task = \"a\" }"),
            ("\"cpu.uclamp.max /a 12.50\"", "{ \"cpu.uclamp.max\" = \"12.5%\", group = \"/a\" }"),
            ("\"feature NO_NEXT_BUDDY\"", "{ feature = \"NO_NEXT_BUDDY\" }"),
            ("\"frequency 0,2 50%\"", "{ frequency = \"512/1024\", cpus = \"0,2\" }"),
            ("\"offline 2-3\"", "{ offline = \"2,3\" }"),
            ("\"online 3\"", "{ online = \"3\" }"),
            ("\"cgroup.procs /web/api my task\"", "{ \"cgroup.procs\" = \"/web/api\", task = \"my task\" }"),
            ("\"cgroup.procs / a\"", "{ \"cgroup.procs\" = \"/\", task = \"a\" }"),
            ("\"cpu.weight /web 200\"", "{ \"cpu.weight\" = 200, group = \"/web\" }"),
            ("\"cpu.weight.nice /web -5\"", "{ \"cpu.weight.nice\" = -5, group = \"/web\" }"),
            ("\"cpu.shares /web 2048\"", "{ \"cpu.shares\" = 2048, group = \"/web\" }"),
            ("\"cpu.idle /web 1\"", "{ \"cpu.idle\" = 1, group = \"/web\" }"),
            ("\"cpu.max /web 50000 100000\"", "{ \"cpu.max\" = \"50000  100000\", group = \"/web\" }"),
            ("\"cpu.max /web max\"", "{ \"cpu.max\" = \"max\", group = \"/web\" }"),
            ("\"cpu.max.burst /web 20000\"", "{ \"cpu.max.burst\" = 20000, group = \"/web\" }"),
            ("\"cpu.cfs_quota_us /web -1\"", "{ \"cpu.cfs_quota_us\" = -1, group = \"/web\" }"),
            ("\"cpu.cfs_period_us /web 50000\"", "{ \"cpu.cfs_period_us\" = 50000, group = \"/web\" }"),
            ("\"cpu.cfs_burst_us /web 0\"", "{ \"cpu.cfs_burst_us\" = 0, group = \"/web\" }"),
            ("\"rmdir /web/api\"", "{ rmdir = \"/web/api\" }"),
            ("\"watchdog 0-3\"", "{ watchdog = \"0-3\" }"),
            ("\"autogroup_nice my session -5\"", "{ autogroup_nice = -5, session = \"my session\" }"),
        ] {
            let (one, wrong) = read_text(&format!("[[at]]\ntime = \"1s\"\ndo = {text}\n"));
            assert!(wrong.0.is_empty(), "{wrong}");
            let (two, wrong) = read_text(&format!("[[at]]\ntime = \"1s\"\ndo = {table}\n"));
            assert!(wrong.0.is_empty(), "{wrong}");
            assert_eq!(one, two);
            // The printed form reads back as the same.
            assert_eq!(from_text(&one[0].act.to_string()), Ok(one[0].act.clone()));
        }
    }

    #[test]
    fn mistakes_are_named() {
        for (text, part) in [
            ("time = \"1s\"\ndo = \"cpu.uclamp.min /a 1000\"", "more than 100 %"),
            ("time = \"1s\"\ndo = \"thermal 0 100%\"", "`100%` is no possible loss"),
            ("time = \"1s\"\ndo = \"uclamp_min a 1025\"", "uclamp_min 1025 does not exist"),
            ("time = \"1s\"\ndo = { uclamp_max = -1, task = \"a\" }", "uclamp_max -1 does not exist"),
            ("time = \"1s\"\ndo = { \"cpu.uclamp.max\" = \"max\" }", "without `group`"),
            ("time = \"1s\"\ndo = \"cpu.max /a\"", "incomplete"),
            ("time = \"1s\"\ndo = \"cpu.max / max\"", "of the root group"),
            ("time = \"1s\"\ndo = \"cpu.max /a much\"", "`much` is no number of us"),
            ("time = \"1s\"\ndo = { \"cpu.max\" = \"max\" }", "`cpu.max` without `group`"),
            ("time = \"1s\"\ndo = { \"cpu.cfs_quota_us\" = 5000 }", "`cpu.cfs_quota_us` without `group`"),
            ("time = \"1s\"\ndo = \"cpu.weight /a 0\"", "cpu.weight 0: less than 1"),
            ("time = \"1s\"\ndo = \"cpu.weight /a much\"", "cpu.weight much: no whole number"),
            ("time = \"1s\"\ndo = \"cpu.weight / 100\"", "of the root group"),
            ("time = \"1s\"\ndo = \"cpu.weight a 100\"", "`a` is no path"),
            ("time = \"1s\"\ndo = \"cpu.weigth /a 100\"", "unknown change `cpu.weigth`"),
            ("time = \"1s\"\ndo = \"cpu.weight /a\"", "incomplete"),
            ("time = \"1s\"\ndo = \"cgroup.procs /a\"", "incomplete"),
            ("time = \"1s\"\ndo = \"rmdir\"", "incomplete"),
            ("time = \"1s\"\ndo = \"rmdir /a b\"", "too long"),
            ("time = \"1s\"\ndo = \"rmdir /\"", "of the root group"),
            ("time = \"1s\"\ndo = { \"cpu.weight\" = 3 }", "without `group`"),
            ("time = \"1s\"\ndo = { \"cgroup.procs\" = \"/a\" }", "without `task`"),
            ("time = \"1s\"\ndo = \"offline\"", "incomplete"),
            ("time = \"1s\"\ndo = \"watchdog\"", "incomplete"),
            ("time = \"1s\"\noffline = \"x\"", "`x`"),
            ("time = \"1s\"\noffline = \"1\"\nonline = \"2\"", "both `offline` and `online`"),
            ("time = \"1s\"\ndo = \"nise a 3\"", "unknown change `nise`"),
            ("time = \"1s\"\ndo = \"nice a 30\"", "nice 30 does not exist"),
            ("time = \"1s\"\ndo = \"autogroup_nice s 20\"", "nice 20 does not exist"),
            ("time = \"1s\"\ndo = \"autogroup_nice s\"", "incomplete"),
            ("time = \"1s\"\ndo = { autogroup_nice = 3 }", "`autogroup_nice` without `session`"),
            ("time = \"1s\"\ndo = \"slice a 5\"", "`5` is no slice"),
            ("time = \"1s\"\ndo = \"nice a\"", "incomplete"),
            ("time = \"1s\"\ndo = \"feature\"", "incomplete"),
            ("time = 1\ndo = \"nice a 3\"", "`time = 1` has no unit"),
            ("do = \"nice a 3\"", "without `time`"),
            ("time = \"1s\"", "without `do`"),
            ("time = \"1s\"\ndo = 5", "neither a string nor a table"),
            ("time = \"1s\"\ndo = { nice = 3 }", "without `task`"),
            ("time = \"1s\"\ndo = { nice = 3, policy = \"batch\", task = \"a\" }", "2 changes"),
            ("time = \"1s\"\ndo = { task = \"a\" }", "0 changes"),
        ] {
            let (rows, wrong) = read_text(&format!("[[at]]\n{text}\n"));
            assert!(rows.is_empty(), "{text}");
            assert_eq!(wrong.0.len(), 1, "{text}: {wrong}");
            assert!(wrong.0[0].message.contains(part), "{text}: {wrong}");
        }
    }
}
