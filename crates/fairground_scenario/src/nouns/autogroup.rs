//! Sessions and their autogroups: with `sched_autogroup_enabled` every session has a task group of its own below the root.
//!
//! ```toml
//! [profile]
//! kernel   = "6.1"
//! tunables = { sched_autogroup_enabled = true }   # off if left out
//!
//! [[session]]              # only for a session whose autogroup has another weight
//! name = "make"
//! autogroup_nice = 10      # as written to /proc/PID/autogroup
//!
//! [[workload]]
//! session = "make"
//! tasks = [{ name = "cc", hog = true, count = 9 }, { name = "editor", hog = true, session = "desktop" }]
//! ```
//!
//! What a session is, is settled before the run: autogroups become ordinary groups of the task set. They are no cgroups, so no path
//! names one: a task is there while it lies in the root group.
//!
//! Kernel: autogroup.c autogroup_task_group(), task_wants_autogroup(), v4.12–

use crate::nouns::words;
use crate::text::Wrong;
use crate::text::canonical;
use crate::text::fields::{Fields, Spanned};
use fairground_model::Mistakes;

/// The sysctl, by which groups are made and not profiles: it stands among the tunables of `[profile]`.
pub const SCHED_AUTOGROUP_ENABLED: &str = "sched_autogroup_enabled";
/// The change of an autogroup's weight, and the key of `[[session]]` that says the first one.
pub(crate) const NICE: &str = "autogroup_nice";

/// The value of [`SCHED_AUTOGROUP_ENABLED`] as it is written to it, or as a truth value of TOML.
pub(crate) fn enabled(value: &str) -> Result<bool, Wrong> {
    match value {
        "0" | "false" => Ok(false),
        "1" | "true" => Ok(true),
        _ => Err((
            format!("`{value}` is no value for `{SCHED_AUTOGROUP_ENABLED}`"),
            "It is true (1) or false (0, the default).".to_string(),
        )),
    }
}

/// The name of a session, as it stands at a task or a workload.
pub(crate) fn name(row: &mut Fields<'_>, m: &mut Mistakes) -> Option<Spanned<String>> {
    let name = row.text("session", m)?;
    if name.value.trim() != name.value || name.value.is_empty() {
        m.at(name.span, "a session without a name", "Any name will do: `session = \"make\"`; equal names are one session.");
        return None;
    }
    Some(Spanned { value: name.value.to_string(), span: name.span })
}

/// One `[[session]]`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Row {
    pub(crate) name: Spanned<String>,
    pub(crate) nice: i8,
}

/// What is said of sessions beside the tasks.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Sessions(pub(crate) Vec<Row>);

impl Sessions {
    /// How they stand in a canonical scenario.
    pub(crate) fn canonical(&self) -> String {
        let text = |row: &Row| format!("\n[[session]]\nname = {}\n{NICE} = {}\n", canonical::quoted(&row.name.value), row.nice);
        self.0.iter().map(text).collect()
    }
}

/// Reads the rows `[[session]]`.
pub(crate) fn read(rows: Vec<Fields<'_>>, m: &mut Mistakes) -> Sessions {
    let mut found: Vec<Row> = Vec::new();
    for mut row in rows {
        let span = row.span();
        let name = row.text("name", m);
        if name.is_none() && row.span_of("name") == span {
            m.at(span, "`[[session]]` without `name`", "Name it as its tasks do: `name = \"make\"`.");
        }
        let nice = row.integer(NICE, m).map(|nice| (words::nice(nice.value), nice.span));
        row.end(m);
        let nice = match nice {
            None => 0,
            Some((nice, span)) => match m.keep(nice, &span) {
                Some(nice) => nice,
                None => continue,
            },
        };
        let Some(name) = name else { continue };
        if found.iter().any(|row| row.name.value == name.value) {
            m.at(name.span, format!("session `{}` stands here twice", name.value), "Write one `[[session]]` for it.");
            continue;
        }
        found.push(Row { name: Spanned { value: name.value.to_string(), span: name.span }, nice });
    }
    Sessions(found)
}
