//! `[profile]`: a kernel, overlays of unmerged patches, features, tunables, and seams by name.

use crate::nouns::autogroup::{self, SCHED_AUTOGROUP_ENABLED};
#[cfg(target_os = "linux")]
pub use crate::nouns::tree::library;
pub use crate::nouns::tree::named;
use crate::text::canonical;
use crate::text::fields::Fields;
use fairground_model::Mistakes;
use fairground_model::features::Feat;
use fairground_sched::fair::tunables::TUNABLES;
use fairground_sched::profile::{Profile, ProfileError};
use toml_edit::Item;

/// What `[profile]` says.
pub(crate) struct Kernel {
    /// How tasks are scheduled.
    pub(crate) profile: Profile,
    /// In which groups they are.
    pub(crate) sched_autogroup_enabled: bool,
}

/// Reads `[profile]`.
///
/// `kernel = "4.20"` (or `"v4.20+align-vruntime"`), `overlay = ["align-vruntime"]`, `features = ["NO_NEXT_BUDDY"]`,
/// `tunables = { sched_latency_ns = "24ms" }`; every other key names a seam: `tick_preempt = "align-rightmost"`.
pub(crate) fn read(mut table: Fields<'_>, m: &mut Mistakes) -> Option<Kernel> {
    let kernel = table.text("kernel", m);
    let overlays = table.texts("overlay", m);
    let features = table.texts("features", m);
    let tunables = table.table("tunables", m);
    let mut sched_autogroup_enabled =
        table.item(SCHED_AUTOGROUP_ENABLED).is_some_and(|item| sysctl(item, table.span_of(SCHED_AUTOGROUP_ENABLED), m));
    let seams = table.rest();
    let Some(kernel) = kernel else {
        if table.item("kernel").is_none() {
            m.at(table.span(), "`[profile]` without `kernel`", "Name a kernel: `kernel = \"v5.19\"`.");
        }
        return None;
    };
    let mut profile = keep(named(kernel.value), kernel.span, m)?;
    for overlay in overlays {
        profile = keep(profile.with_overlay(overlay.value), overlay.span, m)?;
    }
    for feature in features {
        profile = keep(profile.clone().with_feature(feature.value), feature.span, m).unwrap_or(profile);
    }
    let (mut settings, mut later) = (Vec::new(), Vec::new());
    for (name, item) in tunables.map(|mut table| table.free()).unwrap_or_default() {
        let span = item.span().unwrap_or(name.span);
        if name.value == SCHED_AUTOGROUP_ENABLED {
            sched_autogroup_enabled = sysctl(item, span, m);
            continue;
        }
        match setting(item) {
            // The period and the runtime of real-time tasks limit each other, in whatever order they stand.
            Some(value) => match profile.clone().with_tunable(name.value, &value) {
                Ok(set) => profile = set,
                Err(_) => later.push((name.value, value, span)),
            },
            None => m.at(
                span,
                format!("`{}` is no tunable's value", name.value),
                "Write a time with its unit, or a whole number in the unit of the name.",
            ),
        }
    }
    for (name, value, span) in later {
        profile = keep(profile.clone().with_tunable(name, &value), span, m).unwrap_or(profile);
    }
    for (name, item) in seams {
        match item.as_str() {
            Some(variant) => settings.push((name, variant)),
            None => {
                let hint = if TUNABLES.iter().any(|row| row.name == name.value) {
                    format!("It is a tunable: write `tunables = {{ {} = … }}`.", name.value)
                } else {
                    "A seam takes the name of a variant in quotes.".to_string()
                };
                m.at(name.span, format!("`{}` is no variant's name", name.value), hint)
            }
        }
    }
    if let Some((first, _)) = settings.first() {
        let span = first.span.clone();
        let rows: Vec<(&str, &str)> = settings.iter().map(|(name, variant)| (name.value, *variant)).collect();
        profile = keep(with_settings(profile, &rows), span, m)?;
    }
    Some(Kernel { profile, sched_autogroup_enabled })
}

/// Whether autogroups are switched on.
fn sysctl(item: &Item, span: std::ops::Range<usize>, m: &mut Mistakes) -> bool {
    let text = item.as_bool().map(|on| on.to_string()).or_else(|| setting(item));
    let no_word = || (format!("`{SCHED_AUTOGROUP_ENABLED}` is no truth value"), "Write true or false, or 1 or 0.".to_string());
    text.ok_or_else(no_word).and_then(|text| autogroup::enabled(&text)).unwrap_or_else(|(message, hint)| {
        m.at(span, message, hint);
        false
    })
}

fn setting(item: &Item) -> Option<String> {
    item.as_str().map(str::to_string).or_else(|| item.as_integer().map(|number| number.to_string()))
}

/// The profile with settings by name: each is a tunable or a seam.
pub(crate) fn with_settings(profile: Profile, settings: &[(&str, &str)]) -> Result<Profile, ProfileError> {
    settings.iter().try_fold(profile, |profile, (name, value)| with_setting(profile, name, value))
}

/// The profile with one setting by name.
pub fn with_setting(profile: Profile, name: &str, value: &str) -> Result<Profile, ProfileError> {
    if name == SCHED_AUTOGROUP_ENABLED {
        let message = format!("`{SCHED_AUTOGROUP_ENABLED}` is no part of a profile");
        let hint =
            format!("It makes groups: write it in a scenario, give `run --set {SCHED_AUTOGROUP_ENABLED}=1`, or sweep over it.");
        return Err(ProfileError { message, hint });
    }
    if is_seam(&profile, name) {
        return profile.with_seam(name, value);
    }
    if Feat::by_name(name).is_some() || name.strip_prefix("NO_").is_some_and(|name| Feat::by_name(name).is_some()) {
        let message = format!("`{name}` is a feature, not a setting");
        return Err(ProfileError { message, hint: format!("Features are written as debugfs does: `{name}` or `NO_{name}`.") });
    }
    if name.starts_with("cpu.") {
        let message = format!("`{name}` is no part of a profile");
        return Err(ProfileError { message, hint: "It is a file of a group: write it in the group's `[[group]]`.".to_string() });
    }
    profile.with_tunable(name, value)
}

fn is_seam(profile: &Profile, name: &str) -> bool {
    let is_tunable = TUNABLES.iter().any(|row| row.name == name);
    !is_tunable && Feat::by_name(name).is_none() && profile.describe().iter().any(|row| row.name == name)
}

/// How the profile stands in a canonical scenario: the rows of `[profile]`. What equals the named kernel
/// is left out, and so is a sysctl that is off.
pub(crate) fn canonical(profile: &Profile, sched_autogroup_enabled: bool) -> String {
    let mut text = format!("kernel = {}\n", canonical::quoted(&profile.name));
    let changed = Profile::parse(&profile.name).map(|base| base.diff(profile)).unwrap_or_default();
    let (mut features, mut tunables, mut seams) = (Vec::new(), Vec::new(), String::new());
    for row in changed {
        if TUNABLES.iter().any(|tunable| tunable.name == row.name) {
            tunables.push(format!("{} = {}", canonical::key(row.name), row.to.value));
        } else if Feat::by_name(row.name).is_some() {
            let prefix = if row.to.value == "on" { "" } else { "NO_" };
            features.push(canonical::quoted(&format!("{prefix}{}", row.name)));
        } else {
            seams.push_str(&format!("{} = {}\n", canonical::key(row.name), canonical::quoted(&row.to.value)));
        }
    }
    if sched_autogroup_enabled {
        tunables.push(format!("{SCHED_AUTOGROUP_ENABLED} = true"));
    }
    if !features.is_empty() {
        text.push_str(&format!("features = [{}]\n", features.join(", ")));
    }
    if !tunables.is_empty() {
        text.push_str(&format!("tunables = {{ {} }}\n", tunables.join(", ")));
    }
    text + &seams
}

fn keep(found: Result<Profile, ProfileError>, span: std::ops::Range<usize>, m: &mut Mistakes) -> Option<Profile> {
    found.map_err(|error| m.at(span, error.message, error.hint)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::fields::parse_toml;

    fn read_text(text: &str) -> (Option<Profile>, Mistakes) {
        let mut m = Mistakes::default();
        let table = parse_toml(text, &mut m);
        (read(Fields::new(&table, 0..0, "[profile]"), &mut m).map(|kernel| kernel.profile), m)
    }

    #[test]
    fn canonical_text_reads_back_as_the_same_profile() {
        for text in [
            "kernel = \"5.19\"",
            "kernel = \"v4.20\"\noverlay = [\"align-vruntime\"]",
            "kernel = \"6.1\"\nfeatures = [\"NEXT_BUDDY\", \"NO_START_DEBIT\"]\ntunables = { sched_latency_ns = \"24ms\" }",
            "kernel = \"4.20\"\ntick_preempt = \"align-rightmost\"",
        ] {
            let (profile, wrong) = read_text(text);
            assert!(wrong.0.is_empty(), "{text}: {wrong}");
            let profile = profile.unwrap();
            let printed = canonical(&profile, false);
            assert_eq!(read_text(&printed).0, Some(profile), "{printed}");
        }
    }

    #[test]
    fn mistakes_are_named() {
        for (text, part) in [
            ("overlay = [\"align-vruntime\"]", "without `kernel`"),
            ("kernel = \"9.9\"", "no profile"),
            ("kernel = \"5.19\"\nsched_latency_ns = 24000000", "write `tunables = { sched_latency_ns = … }`"),
            ("kernel = \"5.19\"\n\"cpu.max\" = \"max\"", "write it in the group's `[[group]]`"),
            ("kernel = \"7.3\"", "not modelled yet"),
            ("kernel = \"5.19\"\noverlay = [\"align-vruntime\"]", "does not apply"),
            ("kernel = \"5.19\"\nfeatures = [\"FOO\"]", "no feature `FOO`"),
            ("kernel = \"5.19\"\ntunables = { foo = 3 }", "no tunable `foo`"),
            ("kernel = \"5.19\"\ntick_preempt = \"magic\"", "no variant `magic`"),
            ("kernel = \"5.19\"\nfoo = \"x\"", "`foo`"),
        ] {
            let (_, wrong) = read_text(text);
            assert_eq!(wrong.0.len(), 1, "{text}: {wrong}");
            assert!(wrong.to_string().contains(part), "{text}: {wrong}");
        }
    }
}
