//! `list` and `profile`: what there is.

use fairground_formats::formats;
use fairground_machine::{CostModel, presets};
use fairground_model::features::Feat;
use fairground_model::{GovernorKind, Reason, Tunable};
use fairground_report::{Cell, ListRow, ProfileChange, Table, columns, list, profile as profile_report};
use fairground_scenario::metrics::described;
use fairground_scenario::{Error, SCHED_AUTOGROUP_ENABLED};
use fairground_sched::fair::tunables::TUNABLES;
use fairground_sched::profile::{Change, ChangeKind, KnownKind, Profile, ProfileError};
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
    /// Frequency governors.
    Governors,
    /// Named workloads.
    Workloads,
    /// Trace formats.
    Formats,
    /// Named numbers of runs.
    Metrics,
    /// Rules by which decisions fall.
    Reasons,
}

impl Listed {
    /// All of them with their names.
    pub const ALL: [(&'static str, Listed); 10] = [
        ("profiles", Listed::Profiles),
        ("features", Listed::Features),
        ("tunables", Listed::Tunables),
        ("machines", Listed::Machines),
        ("costs", Listed::Costs),
        ("governors", Listed::Governors),
        ("workloads", Listed::Workloads),
        ("formats", Listed::Formats),
        ("metrics", Listed::Metrics),
        ("reasons", Listed::Reasons),
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
            .map(|known| {
                let sentence = note(known.note, known.kind == KnownKind::Modelled);
                if known.name == Profile::DEFAULT { row(known.name, sentence + " (default)") } else { row(known.name, sentence) }
            })
            .collect(),
        Listed::Features => return feature_table(),
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
        Listed::Governors => return governor_table(),
        Listed::Workloads => return workload_table(),
        Listed::Formats => return format_table(),
        Listed::Metrics => return metric_table(),
        Listed::Reasons => Reason::ALL.iter().map(|reason| row(reason.slug(), reason.sentence())).collect(),
    };
    list::list_table(what.name(), &rows)
}

fn note(sentence: &str, modelled: bool) -> String {
    if modelled { sentence.to_string() } else { format!("{sentence} (not modelled yet)") }
}

/// Switches with the kernels that have them and what they stand at there.
fn feature_table() -> Table {
    let columns = columns![left "features" "name", left "kernels", left "default", left "what it is" "sentence"];
    let mut table = Table::new("features", "", columns);
    for feat in Feat::ALL {
        let row = feat.row();
        table.push(vec![row.name.into(), row.kernels().into(), row.defaults().into(), row.sentence.into()]);
    }
    table
}

/// Governors with their tunables and the defaults of those that do not follow from the policy.
fn governor_table() -> Table {
    let columns = columns![left "governors" "name", left "tunables", left "what it is" "sentence"];
    let mut table = Table::new("governors", "", columns);
    for kind in GovernorKind::ALL {
        let row = kind.row();
        let tunable = |&(tunable, default): &(Tunable, Option<u64>)| {
            let default = default.map_or_else(String::new, |value| format!(" ({value})"));
            format!("{}{default}", tunable.row().key)
        };
        let tunables: Vec<String> = row.tunables.iter().map(tunable).collect();
        table.push(vec![row.name.into(), tunables.join(", ").into(), row.sentence.into()]);
    }
    table
}

fn workload_table() -> Table {
    let columns = columns![left "workloads" "name", left "flag", left "default", left "what it is" "sentence"];
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
    let columns = columns![
        left "formats" "name", left "ending", left "read" "reads", left "write" "writes", left "what it is" "sentence",
    ];
    let mut table = Table::new("formats", "", columns);
    let yes = |can: bool| Cell::new(if can { "yes" } else { "-" }, can);
    for format in formats() {
        table.push(vec![
            format.name.into(),
            format!(".{}", format.ending).into(),
            yes(format.reads()),
            yes(format.writes()),
            format.sentence.into(),
        ]);
    }
    table
}

/// Metrics with unit and direction. A word in capitals stands for what a run has of it.
fn metric_table() -> Table {
    let columns = columns![left "metrics" "name", left "unit", left "better", left "what it is" "sentence"];
    let mut table = Table::new("metrics", "", columns);
    for row in described() {
        table.push(vec![row.name.into(), row.unit.into(), row.better.into(), row.sentence.into()]);
    }
    table
}

/// A profile by its name.
pub fn profile(name: &str) -> Result<Profile, Error> {
    Profile::parse(name).map_err(|ProfileError { message, hint }| Error::one("profile", message, hint))
}

/// `profile show`: seams, features and tunables of a profile.
pub fn profile_table(profile: &Profile) -> Table {
    let columns = columns![left "what" "name", left "state", left "meaning" "sentence"];
    let mut table = Table::new("profile", profile.name.clone(), columns);
    for row in profile.describe() {
        table.push(vec![row.name.into(), row.value.into(), row.sentence.into()]);
    }
    table
}

/// A profile by its name, for a look at its tables: kernels between those that can be run, too.
pub fn profile_to_show(name: &str) -> Result<Profile, Error> {
    Profile::parse_to_show(name).map_err(|ProfileError { message, hint }| Error::one("profile", message, hint))
}

/// `profile diff`: what changed between two profiles, as a table.
pub fn profile_diff(p: &Profile, q: &Profile) -> Table {
    profile_report::profile_diff_table(&p.name, &q.name, &profile_changes(p, q))
}

/// `profile diff`: what changed between two profiles, as release notes in lines of so many columns.
pub fn profile_notes(p: &Profile, q: &Profile, width: Option<usize>) -> String {
    let width = width.unwrap_or(profile_report::NOTES_WIDTH);
    profile_report::release_notes(&p.name, &q.name, p.base > q.base, &profile_changes(p, q), width)
}

fn profile_changes(p: &Profile, q: &Profile) -> Vec<ProfileChange> {
    p.changes(q).into_iter().map(profile_change).collect()
}

fn profile_change(change: Change) -> ProfileChange {
    let commits = change.commits().map(|commit| commit.to_string()).collect();
    let Change { since, kind, from, to } = change;
    let (gone, new) = (to.value == "-", from.value == "-");
    let headline = match kind {
        ChangeKind::Seam => format!("{} → {}", from.value, to.value),
        ChangeKind::Tunable if new => "new".to_string(),
        _ if gone => "gone".to_string(),
        _ if new => format!("new, {}", to.value),
        _ => format!("{}, was {}", to.value, from.value),
    };
    let sentence = match kind {
        ChangeKind::Seam => format!("Now: {} Before: {}", to.sentence, from.sentence),
        ChangeKind::Feature if gone => format!("It was {}: {}", from.value, from.sentence),
        _ if gone => from.sentence.to_string(),
        _ => to.sentence.to_string(),
    };
    let kind = match kind {
        ChangeKind::Feature => "feature",
        ChangeKind::Seam => "seam",
        ChangeKind::Tunable => "tunable",
    };
    ProfileChange {
        since: since.map_or_else(String::new, |version| version.to_string()),
        kind,
        name: to.name.to_string(),
        before: from.value,
        after: to.value,
        headline,
        sentence,
        commits,
    }
}
