//! States between two profiles: some rows of the one and the rest of the other.

use super::{Profile, ProfileError, rules};
use crate::fair::tunables::OWN_VALUES;
use fairground_model::features::{Feat, FeatWrite};
use fairground_model::version::KernelVersion;

impl Profile {
    /// The names of the rows that act differently in `other`: seams, switches that are on in one of them only, tunables that
    /// were set, and values that the kernels themselves have changed.
    pub fn rows_apart(&self, other: &Profile) -> Vec<&'static str> {
        let (mine, theirs) = (self.seam_rows(), other.seam_rows());
        let seams = mine.iter().zip(&theirs).filter(|pair| pair.0.value != pair.1.value).map(|pair| pair.0.name);
        let switches =
            Feat::ALL.iter().filter(|&&feat| self.feats.has(feat) != other.feats.has(feat)).map(|feat| feat.row().name);
        let mut names: Vec<&'static str> = seams.chain(switches).chain(self.tunables.set_apart(&other.tunables)).collect();
        names.extend(self.own_values_apart(other).map(|index| OWN_VALUES[index].name));
        names
    }

    /// The same with these rows of another profile, named as in [`Profile::rows_apart`]. Refused if the core could not run such a
    /// mix.
    pub fn with_rows(&self, other: &Profile, rows: &[&str]) -> Result<Profile, ProfileError> {
        let mut mixed = self.clone();
        let theirs = other.seam_rows();
        for &name in rows {
            if let Some(feat) = Feat::by_name(name) {
                mixed.feats.set(feat, other.feats.has(feat));
                mixed.known_feats.set(feat, self.known_feats.has(feat) || other.known_feats.has(feat));
            } else if let Some(row) = theirs.iter().find(|row| row.name == name) {
                mixed.set_seam(name, &row.value)?;
            } else if let Some(index) = OWN_VALUES.iter().position(|row| row.name == name) {
                mixed.tunables.take_own_value(&other.tunables, index);
            } else {
                mixed.tunables.take(&other.tunables, name);
            }
        }
        // Rules that ask for the age of a kernel ask for what it has: here the younger one of the two.
        mixed.base = self.base.max(other.base);
        rules::check(mixed)
    }

    /// The same with what was set in `other` beside its kernel and overlays: switches, tunables and seams. Refused if this kernel
    /// does not have one of them.
    pub fn with_settings_of(self, other: &Profile) -> Result<Profile, ProfileError> {
        let plain = Profile::parse(&other.name)?;
        let mut with = self;
        for name in plain.rows_apart(other) {
            if let Some(feat) = Feat::by_name(name) {
                with = with.with_switch(FeatWrite { feat, on: other.feats.has(feat) })?;
            } else if let Some(row) = other.seam_rows().into_iter().find(|row| row.name == name) {
                with = with.with_seam(name, &row.value)?;
            } else if let Some((row, value)) = other.tunables.overrides().find(|row| row.0.name == name) {
                with = with.with_tunable(name, &row.shown(value))?;
            }
        }
        Ok(with)
    }

    /// The states from this profile to `other`, both ends as they are: one for each mainline version between at which a row
    /// changes. Only rows that differ at the ends do so on the way: what one kernel changed and a later one, or the stable kernels of
    /// both ends, took back is no change. What a user or a patch set stays as it is at the beginning until the last state.
    pub fn way_to(&self, other: &Profile) -> Vec<Profile> {
        let is_back = self.base > other.base;
        let (old, new) = if is_back { (other, self) } else { (self, other) };
        let set = [old, new].map(|end| Profile::query(end.base).rows_apart(end));
        let by_kernels = old.rows_apart(new).into_iter().filter(|row| set.iter().all(|set| !set.contains(row)));
        let rows: Vec<&'static str> = by_kernels.collect();
        let between = std::iter::successors(Some(old.base.next()), |version| Some(version.next()));
        let mut way = vec![old.clone()];
        for version in between.take_while(|&version| version < new.base) {
            let Ok(state) = old.with_rows(&Profile::query_mainline(version), &rows) else { continue };
            if way.last().is_none_or(|last| !last.rows_apart(&state).is_empty()) {
                way.push(Profile { name: version.to_string(), base: version, ..state });
            }
        }
        way.push(new.clone());
        if is_back {
            way.reverse();
        }
        way
    }

    fn query_mainline(version: KernelVersion) -> Profile {
        let mut profile = Profile::query(version);
        for &feat in Feat::ALL {
            let default = feat.row().mainline_at(version);
            profile.feats.set(feat, default == Some(true));
            profile.known_feats.set(feat, default.is_some());
        }
        profile
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kernel(name: &str) -> Profile {
        Profile::parse(name).unwrap()
    }

    #[test]
    fn all_rows_make_the_other_profile() {
        for (a, b) in [("v5.10", "v6.1"), ("v6.1", "v6.12"), ("v6.12", "v6.18"), ("v6.18", "v6.6")] {
            let (a, b) = (kernel(a), kernel(b));
            let rows = a.rows_apart(&b);
            assert!(!rows.is_empty());
            let mixed = a.with_rows(&b, &rows).unwrap();
            assert!(mixed.rows_apart(&b).is_empty(), "{:?}", mixed.rows_apart(&b));
            assert!(a.with_rows(&b, &[]).unwrap().rows_apart(&a).is_empty());
        }
    }

    #[test]
    fn what_was_set_goes_along_or_is_refused_by_name() {
        let set = kernel("v6.1").with_tunable("sched_migration_cost_ns", "1ms").unwrap().with_feature("NEXT_BUDDY").unwrap();
        let with = kernel("v6.12").with_settings_of(&set).unwrap();
        assert_eq!(kernel("v6.12").rows_apart(&with), ["NEXT_BUDDY", "sched_migration_cost_ns"]);
        let of_cfs = kernel("v6.1").with_tunable("sched_latency_ns", "1ms").unwrap();
        let refused = kernel("v6.12").with_settings_of(&of_cfs).unwrap_err();
        assert!(refused.message.contains("sched_latency_ns"), "{refused:?}");
    }

    #[test]
    fn half_of_eevdf_is_refused() {
        let (a, b) = (kernel("v6.1"), kernel("v6.6"));
        assert!(a.with_rows(&b, &["pick"]).is_err());
    }

    #[test]
    fn the_way_leads_through_versions_and_keeps_what_was_set() {
        let a = kernel("v6.1").with_feature("NEXT_BUDDY").unwrap();
        let b = kernel("v6.12");
        let way = a.way_to(&b);
        assert_eq!((way.first(), way.last()), (Some(&a), Some(&b)));
        assert!(way.len() > 3, "{:?}", way.iter().map(|state| &state.name).collect::<Vec<_>>());
        assert!(way[1..way.len() - 1].iter().all(|state| state.feats.has(Feat::NEXT_BUDDY)));
        let back: Vec<String> = b.way_to(&a).into_iter().map(|state| state.name).collect();
        assert_eq!(back, way.into_iter().rev().map(|state| state.name).collect::<Vec<_>>());
    }

    /// NI_RANDOM and `newidle_batch` are in the stable kernels of both ends, and in no mainline one between.
    #[test]
    fn what_is_equal_at_both_ends_changes_nowhere_between() {
        let way = kernel("v6.1").way_to(&kernel("v6.12"));
        for pair in way.windows(2) {
            let rows = pair[0].rows_apart(&pair[1]);
            assert!(!rows.contains(&"newidle_batch") && !rows.contains(&"NI_RANDOM"), "{}: {rows:?}", pair[1].name);
        }
        let all: usize = way.windows(2).map(|pair| pair[0].rows_apart(&pair[1]).len()).sum();
        assert!(all >= way[0].rows_apart(&way[way.len() - 1]).len());
    }

    #[test]
    fn a_mix_of_two_kernels_is_reached_version_by_version() {
        let (a, b) = (kernel("v6.1"), kernel("v6.12"));
        let mix = a.with_rows(&b, &["tg_load_update", "hrtick", "lb_task_order"]).unwrap();
        let way = a.way_to(&mix);
        let names: Vec<&str> = way.iter().map(|state| state.name.as_str()).collect();
        assert_eq!(names, ["v6.1", "v6.7", "v6.1"]);
        assert_eq!(way[0].rows_apart(&way[1]), ["tg_load_update"]);
        assert_eq!(way[1].rows_apart(&way[2]), ["hrtick", "lb_task_order"]);
    }
}
