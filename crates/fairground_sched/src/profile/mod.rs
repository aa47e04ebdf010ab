//! A profile says how a kernel schedules: the state of each switch and each seam at a version, and
//! what was changed from there. It is a query over the tables' histories; nothing is listed per version.

mod changes;
mod commits;
mod error;
mod idle_switches;
mod known;
mod mix;
mod rules;
#[cfg(test)]
mod tests;
mod tree;

pub use changes::{Change, ChangeKind};
pub use commits::Commit;
pub use error::ProfileError;
pub use known::{Known, KnownKind};
pub use tree::{PREFIX as TREE_PREFIX, Tree};

use crate::fair::tunables::Tunables;
use crate::seam::*;
use fairground_model::features::{Feat, FeatSet, FeatWrite};
use fairground_model::version::KernelVersion;

/// A property of a profile, for people.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Row {
    /// Name of the seam, the switch or the tunable.
    pub name: &'static str,
    /// Its state.
    pub value: String,
    /// What that means, as a sentence.
    pub sentence: &'static str,
}

/// A difference between two profiles, for people.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DiffRow {
    /// Name of the seam, the switch or the tunable.
    pub name: &'static str,
    /// State and sentence in the first profile.
    pub from: Row,
    /// State and sentence in the second profile.
    pub to: Row,
}

macro_rules! profile {
    ($($(#[$doc:meta])* $field:ident: $seam:ident;)*) => {
        /// How a kernel schedules. Frozen before the first event.
        #[derive(Clone, PartialEq, Eq, Debug)]
        pub struct Profile {
            /// The name as it was written: base version and overlays.
            pub name: String,
            /// The kernel that everything unchanged is taken from.
            pub base: KernelVersion,
            /// Switches that are on.
            pub feats: FeatSet,
            /// Switches that there are: the kernel's own, and those that overlays bring.
            known_feats: FeatSet,
            /// Tunables that were set.
            pub tunables: Tunables,
            $($(#[$doc])* pub $field: $seam,)*
        }

        impl Profile {
            /// Asks each table for its state at a version.
            fn query(base: KernelVersion) -> Profile {
                Profile {
                    name: base.to_string(),
                    base,
                    feats: FeatSet::at(base),
                    known_feats: FeatSet::known_at(base),
                    tunables: Tunables::of(base),
                    $($field: $seam::at(base),)*
                }
            }

            fn set_seam(&mut self, name: &str, variant: &str) -> Result<(), ProfileError> {
                match name {
                    $($seam::NAME => match $seam::by_name(variant) {
                        Some(value) => self.$field = value,
                        None => return Err(ProfileError::unknown_variant(name, variant, &names($seam::VARIANTS))),
                    },)*
                    _ => return Err(ProfileError::unknown_seam(name, &[$($seam::NAME),*])),
                }
                Ok(())
            }

            /// What a variant of a seam, or a switch, does.
            fn sentence_of(name: &str, value: &str) -> &'static str {
                match name {
                    $($seam::NAME => $seam::by_name(value).map_or("", Seam::sentence),)*
                    _ => Feat::by_name(name).map_or("", |feat| feat.row().sentence),
                }
            }

            fn seam_rows(&self) -> Vec<Row> {
                vec![$(Row { name: $seam::NAME, value: self.$field.name().to_string(), sentence: self.$field.sentence() }),*]
            }
        }
    };
}

crate::seam::fields! { profile []
    pelt fair eevdf hrtick groups bandwidth rt deadline placement wakeup topology rebalance balance busiest capacity clock cpufreq pipe stats
}

fn names<S>(variants: &'static [(&'static str, S)]) -> Vec<&'static str> {
    variants.iter().map(|row| row.0).collect()
}

impl Profile {
    /// A mainline kernel (or the recorded stable one of that version); refused if it is not modelled yet.
    pub fn kernel(version: KernelVersion) -> Result<Profile, ProfileError> {
        match known::KERNELS.iter().find(|known| known.version == version) {
            Some(known) if known.modelled => Ok(Profile::query(version)),
            Some(_) => Err(ProfileError::not_modelled_yet(&version.to_string())),
            None => Err(ProfileError::unknown_profile(&version.to_string())),
        }
    }

    /// Reads a name such as `v4.20+align-vruntime`: a kernel and overlays; or the whole name of a [`Tree`].
    pub fn parse(text: &str) -> Result<Profile, ProfileError> {
        if text.trim().starts_with(tree::PREFIX) {
            return Profile::of_tree(text.trim());
        }
        let mut parts = text.trim().split('+');
        let base = parts.next().unwrap_or_default();
        let version = KernelVersion::parse(base).ok_or_else(|| ProfileError::unknown_profile(base))?;
        parts.try_fold(Profile::kernel(version)?, Profile::with_overlay)
    }

    /// Reads a name as [`Profile::parse`] does, for a look at its state and not for a run: kernels between those that can be run, too.
    pub fn parse_to_show(text: &str) -> Result<Profile, ProfileError> {
        match KernelVersion::parse(text.trim()) {
            Some(version) if known::has_tables(version) => Ok(Profile::query(version)),
            _ => Profile::parse(text),
        }
    }

    /// The name of the kernel of whoever names none: the newest that is held against recordings.
    pub const DEFAULT: &str = "v7.2";

    /// All names that [`Profile::parse`] knows, with those that it refuses as not modelled yet.
    pub fn known() -> Vec<Known> {
        known::all()
    }

    /// Adds an overlay: an unmerged patch, under the name of [`Profile::known`].
    pub fn with_overlay(mut self, name: &str) -> Result<Profile, ProfileError> {
        self.refuse_in_tree(name)?;
        let overlay = known::overlay(name).ok_or_else(|| ProfileError::unknown_overlay(name))?;
        if !overlay.modelled() {
            return Err(ProfileError::not_modelled_yet(&format!("{}+{name}", self.name)));
        }
        if self.base != overlay.base {
            return Err(ProfileError::wrong_base(name, &self.name, overlay.base));
        }
        if self.name.split('+').any(|part| part == name) {
            return Err(ProfileError::twice(name, &self.name));
        }
        if let Some(first) = overlay.over.filter(|first| self.name.split('+').all(|part| part != *first)) {
            return Err(ProfileError::needs_overlay(name, first, overlay.base));
        }
        for (seam, variant) in overlay.seams {
            self.set_seam(seam, variant)?;
        }
        for &(feat, on) in overlay.feats {
            self.known_feats.set(feat, true);
            self.feats.set(feat, on);
        }
        self.name = format!("{}+{name}", self.name);
        rules::check(self)
    }

    /// Sets a switch as in the kernel: `NEXT_BUDDY` on, `NO_NEXT_BUDDY` off. One that does nothing here stays as the kernel has it.
    pub fn with_feature(self, text: &str) -> Result<Profile, ProfileError> {
        match FeatWrite::parse(text) {
            Ok(write) => self.with_switch(write),
            Err(_) => Err(ProfileError::unknown_feature(text, &self)),
        }
    }

    /// Sets a switch that the kernel has.
    pub fn with_switch(mut self, write: FeatWrite) -> Result<Profile, ProfileError> {
        let FeatWrite { feat, on } = write;
        if !self.has_feature(feat) {
            return Err(ProfileError::unknown_feature(&write.to_string(), &self));
        }
        let turned = feat.row().at(self.base).is_some_and(|default| default != on);
        if let Some(sentence) = self.idle_switch(feat).filter(|_| turned) {
            return Err(ProfileError::idle_switch(feat.row().name, sentence, &self));
        }
        self.feats.set(feat, on);
        rules::check(self)
    }

    /// Whether there is such a switch: in the kernel, or from an overlay.
    pub fn has_feature(&self, feat: Feat) -> bool {
        self.known_feats.has(feat)
    }

    /// Sets a tunable by its kernel name, in ns or with a unit.
    pub fn with_tunable(mut self, name: &str, value: &str) -> Result<Profile, ProfileError> {
        let outcome = self.tunables.set(self.base, name, value);
        outcome.map_err(|error| ProfileError::tunable(name, value, error, &self))?;
        Ok(self)
    }

    /// Whether a name is that of a seam.
    pub fn has_seam(&self, name: &str) -> bool {
        self.seam_rows().iter().any(|row| row.name == name)
    }

    /// Sets one seam to one of its variants.
    pub fn with_seam(mut self, seam: &str, variant: &str) -> Result<Profile, ProfileError> {
        self.refuse_in_tree(seam)?;
        self.set_seam(seam, variant)?;
        rules::check(self)
    }

    /// Everything that the profile says: seams, the switches that the kernel has, tunables that were set.
    pub fn describe(&self) -> Vec<Row> {
        let mut rows = self.seam_rows();
        let present = Feat::ALL.iter().filter(|&&feat| self.has_feature(feat));
        rows.extend(present.map(|&feat| self.feature_row(feat)));
        rows.extend(self.tunables.overrides().map(|(row, value)| Row {
            name: row.name,
            value: row.shown(value),
            sentence: row.sentence,
        }));
        rows
    }

    /// What differs in `other`.
    pub fn diff(&self, other: &Profile) -> Vec<DiffRow> {
        let (mine, theirs) = (self.describe(), other.describe());
        let missing = |row: &Row| Row { name: row.name, value: "-".to_string(), sentence: "Not there, or not set." };
        let find = |rows: &[Row], row: &Row| rows.iter().find(|r| r.name == row.name).cloned().unwrap_or_else(|| missing(row));
        let added = theirs.iter().filter(|row| mine.iter().all(|r| r.name != row.name));
        mine.iter()
            .chain(added)
            .map(|row| DiffRow { name: row.name, from: find(&mine, row), to: find(&theirs, row) })
            .filter(|row| row.from.value != row.to.value)
            .collect()
    }

    /// The profile's name with what was changed from it: `v5.19 NEXT_BUDDY`.
    pub fn full_name(&self) -> String {
        let Ok(base) = Profile::parse(&self.name) else { return self.name.clone() };
        let mut name = self.name.clone();
        for row in base.diff(self) {
            let text = match row.to.value.as_str() {
                "on" => row.name.to_string(),
                "off" => format!("NO_{}", row.name),
                value => format!("{}={value}", row.name),
            };
            name = format!("{name} {text}");
        }
        name
    }

    /// Whether one switch, one tunable, one seam or one overlay makes the one of the other.
    pub fn is_one_change_from(&self, other: &Profile) -> bool {
        let overlay = |from: &Profile, to: &Profile| {
            let rest = to.name.strip_prefix(from.name.as_str()).and_then(|rest| rest.strip_prefix('+'));
            let name = rest.filter(|rest| !rest.contains('+'));
            name.and_then(|name| from.clone().with_overlay(name).ok()).is_some_and(|with| with == *to)
        };
        self.diff(other).len() == 1 || overlay(self, other) || overlay(other, self)
    }

    /// What kernels do where switches of this profile contradict each other: a sentence each, to be shown to the user.
    pub fn contradictions(&self) -> impl Iterator<Item = &'static str> + '_ {
        rules::contradictions(self)
    }

    fn feature_row(&self, feat: Feat) -> Row {
        let value = if self.feats.has(feat) { "on" } else { "off" };
        Row { name: feat.row().name, value: value.to_string(), sentence: feat.row().sentence }
    }
}
