//! Why a profile cannot be had.

use std::fmt;

use super::{Profile, known};
use crate::fair::tunables::{TUNABLES, TunableError};
use crate::features::Feat;
use crate::version::KernelVersion;

/// What is wrong with a profile that somebody asked for, and what would be right.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ProfileError {
    /// What is wrong, naming the thing as it was written.
    pub message: String,
    /// What would be right, as a full sentence.
    pub hint: String,
}

impl fmt::Display for ProfileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (hint: {})", self.message, self.hint)
    }
}

impl std::error::Error for ProfileError {}

impl ProfileError {
    fn new(message: String, hint: String) -> ProfileError {
        ProfileError { message, hint }
    }

    pub(super) fn unknown_profile(name: &str) -> ProfileError {
        ProfileError::new(format!("there is no profile `{name}`"), format!("Profiles are {}.", usable_names()))
    }

    pub(super) fn not_modelled_yet(name: &str) -> ProfileError {
        ProfileError::new(format!("profile `{name}` is not modelled yet"), format!("Profiles are {}.", usable_names()))
    }

    pub(super) fn unknown_overlay(name: &str) -> ProfileError {
        ProfileError::new(format!("there is no overlay `{name}`"), format!("Profiles are {}.", usable_names()))
    }

    pub(super) fn wrong_base(overlay: &str, profile: &str, base: KernelVersion) -> ProfileError {
        ProfileError::new(
            format!("overlay `{overlay}` does not apply to `{profile}`"),
            format!("It is a patch to {base}: write `{base}+{overlay}`."),
        )
    }

    pub(super) fn needs_overlay(overlay: &str, first: &str, base: KernelVersion) -> ProfileError {
        ProfileError::new(format!("overlay `{overlay}` needs `{first}`"), format!("Write `{base}+{first}+{overlay}`."))
    }

    pub(super) fn twice(overlay: &str, profile: &str) -> ProfileError {
        ProfileError::new(format!("overlay `{overlay}` is in `{profile}` already"), "Name each overlay once.".to_string())
    }

    pub(crate) fn not_in_mid_run(change: &str) -> ProfileError {
        ProfileError::new(
            format!("`{change}` cannot join a run: it changes what the tables of the scheduler mean"),
            "Run it from the beginning.".to_string(),
        )
    }

    pub(super) fn unknown_feature(name: &str, profile: &Profile) -> ProfileError {
        let hint = match Feat::by_name(name) {
            Some(_) => "Other kernels have it.".to_string(),
            None => {
                let known = Feat::ALL.iter().filter(|&&feat| profile.has_feature(feat));
                format!("It has {}.", known.map(|feat| feat.row().name).collect::<Vec<_>>().join(", "))
            }
        };
        ProfileError::new(format!("profile `{}` has no feature `{name}`", profile.name), hint)
    }

    pub(super) fn unknown_seam(name: &str, known: &[&str]) -> ProfileError {
        ProfileError::new(format!("there is no seam `{name}`"), format!("Seams are {}.", known.join(", ")))
    }

    pub(super) fn unknown_variant(seam: &str, variant: &str, known: &[&str]) -> ProfileError {
        ProfileError::new(format!("seam `{seam}` has no variant `{variant}`"), format!("It has {}.", known.join(", ")))
    }

    pub(super) fn impossible_mix(profile: &Profile, sentence: &str) -> ProfileError {
        ProfileError::new(
            format!("`{}` with these changes is an impossible mix: {sentence}", profile.name),
            "Change both, or neither.".to_string(),
        )
    }

    pub(super) fn tunable(name: &str, value: &str, error: TunableError, profile: &Profile) -> ProfileError {
        let names = || TUNABLES.iter().filter(|row| row.is_in(profile.base)).map(|row| row.name).collect::<Vec<_>>().join(", ");
        match error {
            TunableError::Unknown | TunableError::NotInKernel { .. } => {
                ProfileError::new(format!("profile `{}` has no tunable `{name}`", profile.name), format!("It has {}.", names()))
            }
            TunableError::NotAValue(reason) => ProfileError::new(
                format!("`{value}` is no value for tunable `{name}`: {reason}"),
                "Write a whole number in the unit of the name, or a time with its unit, such as \"24ms\".".to_string(),
            ),
            TunableError::OutOfRange(range) => ProfileError::new(
                format!("{value} is out of range for tunable `{name}`"),
                format!("It may be {} to {}.", range.start(), range.end()),
            ),
        }
    }
}

/// Names of all profiles that can be used.
fn usable_names() -> String {
    let usable = known::all().into_iter().filter(|known| known.kind == super::KnownKind::Modelled);
    usable.map(|known| known.name).collect::<Vec<_>>().join(", ")
}
