//! What kernels changed on the way from one profile to another, change by change, with the version of each.

use super::{DiffRow, Profile, Row};
use crate::fair::tunables::{OWN_VALUES, OwnValue, TUNABLES};
use fairground_model::features::Feat;
use fairground_model::version::KernelVersion;

/// What it is that changed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ChangeKind {
    /// A feature switch.
    Feature,
    /// A structural difference.
    Seam,
    /// A tunable.
    Tunable,
}

/// One change on the way from one profile to another.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Change {
    /// The first kernel that has it; nothing if no kernel made it, but a patch or a setting.
    pub since: Option<KernelVersion>,
    /// What changed.
    pub kind: ChangeKind,
    /// State and sentence before it (on the way: from an older kernel to a younger one, or back).
    pub from: Row,
    /// State and sentence after it.
    pub to: Row,
}

/// The state of one row of [`Profile::describe`] in the mainline kernel of a version.
fn state(seams: &[Row], name: &'static str, version: KernelVersion) -> String {
    let switch = |on| if on { "on" } else { "off" };
    if let Some(feat) = Feat::by_name(name) {
        return feat.row().mainline_at(version).map_or("-", switch).to_string();
    }
    if let Some(row) = seams.iter().find(|row| row.name == name) {
        return row.value.clone();
    }
    if let Some(index) = OWN_VALUES.iter().position(|row| row.name == name) {
        return Profile::query(version).own_value_row(index).value;
    }
    let there = TUNABLES.iter().any(|row| row.name == name && row.is_in(version));
    if there { "there" } else { "-" }.to_string()
}

impl Profile {
    /// What changed on the way to `other`: in the order of the versions that made it, then what no kernel made.
    pub fn changes(&self, other: &Profile) -> Vec<Change> {
        let (old, new) = if self.base <= other.base { (self, other) } else { (other, self) };
        let versions = std::iter::successors(Some(old.base), |version| Some(version.next()));
        let way: Vec<Profile> = versions.take_while(|&version| version <= new.base).map(Profile::query).collect();
        let seams: Vec<Vec<Row>> = way.iter().map(Profile::seam_rows).collect();
        let mut changes = Vec::new();
        for row in self.rows_that_differ(other) {
            let (at_old, at_new) = if self.base <= other.base { (&row.from, &row.to) } else { (&row.to, &row.from) };
            let at = |n: usize| match n {
                0 => old.own_state(at_old),
                n if n + 1 == way.len() => new.own_state(at_new),
                n => state(&seams[n], row.name, way[n].base),
            };
            let states: Vec<String> = (0..way.len()).map(at).collect();
            let kernels_made_it = way.len() > 1 && states[0] == at_old.value && states[way.len() - 1] == at_new.value;
            if !kernels_made_it {
                changes.push(Change { since: None, kind: kind(row.name), from: row.from, to: row.to });
                continue;
            }
            for (n, pair) in states.windows(2).enumerate().filter(|(_, pair)| pair[0] != pair[1]) {
                let (before, after) = (made_row(&row, &pair[0]), made_row(&row, &pair[1]));
                let (from, to) = if self.base <= other.base { (before, after) } else { (after, before) };
                changes.push(Change { since: Some(way[n + 1].base), kind: kind(row.name), from, to });
            }
        }
        let back = self.base > other.base;
        changes.sort_by_key(|change| (change.since.is_none(), change.since));
        if back {
            changes.reverse();
            changes.sort_by_key(|change| change.since.is_none());
        }
        changes
    }

    /// Differences, tunables that only one of the kernels has among them.
    fn rows_that_differ(&self, other: &Profile) -> Vec<DiffRow> {
        let mut rows = self.diff(other);
        let set = |name: &str| [self, other].iter().any(|profile| profile.tunables.overrides().any(|row| row.0.name == name));
        for tunable in TUNABLES.iter().filter(|row| row.is_in(self.base) != row.is_in(other.base) && !set(row.name)) {
            let state = |profile: &Profile| Row {
                name: tunable.name,
                value: if tunable.is_in(profile.base) { "there" } else { "-" }.to_string(),
                sentence: tunable.sentence,
            };
            rows.push(DiffRow { name: tunable.name, from: state(self), to: state(other) });
        }
        let apart = self.own_values_apart(other).map(|index| (index, OWN_VALUES[index].name));
        rows.extend(apart.map(|(index, name)| DiffRow { name, from: self.own_value_row(index), to: other.own_value_row(index) }));
        rows
    }

    /// Which rows of [`OWN_VALUES`] differ in `other`.
    pub(super) fn own_values_apart(&self, other: &Profile) -> impl Iterator<Item = usize> {
        (0..OWN_VALUES.len()).filter(|&index| self.tunables.own_value(index) != other.tunables.own_value(index))
    }

    /// The kernel's own value of a tunable.
    fn own_value_row(&self, index: usize) -> Row {
        let OwnValue { name, sentence, .. } = OWN_VALUES[index];
        Row { name, value: self.tunables.own_value(index).to_string(), sentence }
    }

    /// The state that the kernel of this profile has by itself, of a row of it.
    fn own_state(&self, row: &Row) -> String {
        let plain = Profile::query(self.base);
        let described = plain.describe().into_iter().find(|described| described.name == row.name);
        described.map_or_else(|| state(&[], row.name, self.base), |described| described.value)
    }
}

fn kind(name: &str) -> ChangeKind {
    match () {
        () if Feat::by_name(name).is_some() => ChangeKind::Feature,
        () if OWN_VALUES.iter().any(|row| row.name == name) || TUNABLES.iter().any(|row| row.name == name) => ChangeKind::Tunable,
        () => ChangeKind::Seam,
    }
}

/// A row in a state that it had on the way.
fn made_row(ends: &DiffRow, value: &str) -> Row {
    let sentence = match () {
        () if ends.from.value == value => ends.from.sentence,
        () if ends.to.value == value => ends.to.sentence,
        () if OWN_VALUES.iter().any(|row| row.name == ends.name) => ends.to.sentence,
        () => Profile::sentence_of(ends.name, value),
    };
    Row { name: ends.name, value: value.to_string(), sentence }
}
