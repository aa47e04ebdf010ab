//! `list` and `profile`: what there is.

use crate::error::Error;
use crate::reproduce::EXPERIMENTS;
use crate::scenario::SCHED_AUTOGROUP_ENABLED;
use fairground_formats::formats;
use fairground_machine::{CostModel, presets};
use fairground_model::Reason;
use fairground_report::{Cell, Column, ListRow, ProfileChange, Table, list, profile as profile_report};
use fairground_sched::fair::tunables::TUNABLES;
use fairground_sched::features::{Feat, Status};
use fairground_sched::profile::{KnownKind, Profile, ProfileError};
use fairground_workload::workloads;

/// What can be listed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Listed {
    /// Kernels and overlays.
    Profiles,
    /// Scheduler features.
    Features,
    /// Tunables.
    Tunables,
    /// Machine presets.
    Machines,
    /// Price lists.
    Costs,
    /// Named workloads.
    Workloads,
    /// Trace formats.
    Formats,
    /// Rules by which decisions fall.
    Reasons,
    /// Published experiments.
    Experiments,
}

impl Listed {
    /// All of them with their names.
    pub const ALL: [(&'static str, Listed); 9] = [
        ("profiles", Listed::Profiles),
        ("features", Listed::Features),
        ("tunables", Listed::Tunables),
        ("machines", Listed::Machines),
        ("costs", Listed::Costs),
        ("workloads", Listed::Workloads),
        ("formats", Listed::Formats),
        ("reasons", Listed::Reasons),
        ("experiments", Listed::Experiments),
    ];
    fn name(self) -> &'static str {
        Listed::ALL.iter().find(|row| row.1 == self).map_or("", |row| row.0)
    }
}

fn row(name: impl Into<String>, sentence: impl Into<String>) -> ListRow {
    ListRow { name: name.into(), sentence: sentence.into() }
}

/// A list as a table.
pub fn list(what: Listed) -> Table {
    let rows: Vec<ListRow> = match what {
        Listed::Profiles => Profile::known()
            .into_iter()
            .map(|known| row(known.name, note(known.note, known.kind == KnownKind::Modelled)))
            .collect(),
        Listed::Features => Feat::ALL
            .iter()
            .map(|feat| row(feat.row().name, note(feat.row().sentence, feat.row().status != Status::NotModelledYet)))
            .collect(),
        Listed::Tunables => {
            let autogroup = row(
                SCHED_AUTOGROUP_ENABLED,
                "whether each session has a group of its own, 0 or 1; of scenarios, not of profiles",
            );
            TUNABLES.iter().map(|tunable| row(tunable.name, tunable.sentence)).chain([autogroup]).collect()
        }
        Listed::Machines => presets().into_iter().map(|preset| row(preset.name, preset.description)).collect(),
        Listed::Costs => CostModel::names()
            .map(|name| row(name, CostModel::preset(name).map_or_else(|_| String::new(), |costs| costs.description)))
            .collect(),
        Listed::Workloads => return workload_table(),
        Listed::Formats => return format_table(),
        Listed::Reasons => Reason::ALL.iter().map(|reason| row(reason.slug(), reason.sentence())).collect(),
        Listed::Experiments => EXPERIMENTS.iter().map(|experiment| row(experiment.name, experiment.sentence)).collect(),
    };
    list::list_table(what.name(), &rows)
}

fn note(sentence: &str, modelled: bool) -> String {
    if modelled { sentence.to_string() } else { format!("{sentence} (not modelled yet)") }
}

fn workload_table() -> Table {
    let columns = vec![
        Column::left("workloads", "name"),
        Column::left("flag", "flag"),
        Column::left("default", "default"),
        Column::left("what it is", "sentence"),
    ];
    let mut table = Table::new("workloads", "", columns);
    for workload in workloads() {
        table.push(vec![workload.name.into(), "".into(), "".into(), workload.sentence.into()]);
        for param in workload.params {
            let short = param.short.map_or_else(String::new, |short| format!("-{short}, "));
            table.push(vec!["".into(), format!("{short}--{}", param.name).into(), param.default.into(), param.sentence.into()]);
        }
    }
    table
}

fn format_table() -> Table {
    let columns = vec![
        Column::left("formats", "name"),
        Column::left("ending", "ending"),
        Column::left("read", "reads"),
        Column::left("write", "writes"),
        Column::left("what it is", "sentence"),
    ];
    let mut table = Table::new("formats", "", columns);
    let yes = |can: bool| Cell::new(if can { "yes" } else { "-" }, can);
    for format in formats() {
        table.push(vec![
            format.name.into(),
            format!(".{}", format.ending).into(),
            yes(format.reads),
            yes(format.writes),
            format.sentence.into(),
        ]);
    }
    table
}

/// A profile by its name.
pub fn profile(name: &str) -> Result<Profile, Error> {
    Profile::parse(name).map_err(|ProfileError { message, hint }| Error::one("profile", message, hint))
}

/// `profile show`: seams, features and tunables of a profile.
pub fn profile_table(profile: &Profile) -> Table {
    let columns = vec![Column::left("what", "name"), Column::left("state", "state"), Column::left("meaning", "sentence")];
    let mut table = Table::new("profile", profile.name.clone(), columns);
    for row in profile.describe() {
        table.push(vec![row.name.into(), row.value.into(), row.sentence.into()]);
    }
    table
}

/// `profile diff`: what changed between two profiles.
pub fn profile_diff(p: &Profile, q: &Profile) -> Table {
    let changes: Vec<ProfileChange> = p
        .diff(q)
        .into_iter()
        .map(|row| ProfileChange {
            name: row.name.to_string(),
            sentence: if row.from.sentence == row.to.sentence {
                row.to.sentence.to_string()
            } else {
                format!("{} | {}", row.from.sentence, row.to.sentence)
            },
            before: row.from.value,
            after: row.to.value,
        })
        .collect();
    profile_report::profile_diff_table(&p.name, &q.name, &changes)
}
