//! Why a profile cannot be had.

use std::fmt;

use super::{Profile, known};
use crate::fair::tunables::{TUNABLES, TunableError};
use crate::seam::{Preemption, Seam};
use fairground_model::features::Feat;
use fairground_model::version::KernelVersion;
use fairground_stdx::nearest::nearest;

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
        // `v6.12.3`: its first two numbers are a kernel.
        let stable = name.rsplit_once('.').and_then(|(kernel, _)| KernelVersion::parse(kernel));
        let hint = match stable {
            Some(kernel) => format!("Stable releases are not told apart: ask for `{kernel}`."),
            None => format!("Profiles are {}.", usable_names()),
        };
        ProfileError::new(format!("there is no profile `{name}`"), hint)
    }

    pub(super) fn not_modelled_yet(name: &str) -> ProfileError {
        ProfileError::new(format!("profile `{name}` is not modelled yet"), format!("Profiles are {}.", usable_names()))
    }

    pub(super) fn unknown_overlay(name: &str) -> ProfileError {
        let overlays = known::overlay_names();
        let hint = nearest(name, overlays).map_or_else(|| format!("Profiles are {}.", usable_names()), did_you_mean);
        ProfileError::new(format!("there is no overlay `{name}`"), hint)
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

    /// `text` is what was written: before the name of a switch that is turned off stands `NO_`.
    pub(super) fn unknown_feature(text: &str, profile: &Profile) -> ProfileError {
        let (off, name) = text.split_at(if text.starts_with("NO_") { 3 } else { 0 });
        let known = Feat::ALL.iter().filter(|&&feat| profile.has_feature(feat)).map(|feat| feat.row().name);
        let hint = match Feat::by_name(name) {
            Some(_) => "Other kernels have it.".to_string(),
            None => match nearest(name, known.clone()) {
                Some(near) => did_you_mean(&format!("{off}{near}")),
                None => it_has(&known.collect::<Vec<_>>()),
            },
        };
        ProfileError::new(format!("profile `{}` has no feature `{name}`", profile.name), hint)
    }

    pub(super) fn idle_switch(name: &str, sentence: &str, profile: &Profile) -> ProfileError {
        ProfileError::new(
            format!("feature `{name}` does nothing in profile `{}`: {sentence}", profile.name),
            "Leave it as the kernel has it.".to_string(),
        )
    }

    pub(super) fn unknown_seam(name: &str, known: &[&str]) -> ProfileError {
        let hint = nearest(name, known.iter().copied()).map_or_else(|| format!("Seams are {}.", known.join(", ")), did_you_mean);
        ProfileError::new(format!("there is no seam `{name}`"), hint)
    }

    pub(super) fn unknown_variant(seam: &str, variant: &str, known: &[&str]) -> ProfileError {
        if seam == Preemption::NAME && NAMES_OF_RT.iter().any(|name| variant.eq_ignore_ascii_case(name)) {
            let message = format!("`{variant}` of seam `{seam}` is not modelled yet: PREEMPT_RT, with locks that sleep");
            return ProfileError::new(message, it_has(known));
        }
        ProfileError::new(format!("seam `{seam}` has no variant `{variant}`"), near_or_all(variant, known))
    }

    pub(super) fn impossible_mix(profile: &Profile, sentence: &str) -> ProfileError {
        ProfileError::new(
            format!("`{}` with these changes is an impossible mix: {sentence}", profile.name),
            "Change both, or neither.".to_string(),
        )
    }

    pub(super) fn tunable(name: &str, value: &str, error: TunableError, profile: &Profile) -> ProfileError {
        match error {
            TunableError::Unknown | TunableError::NotInKernel { .. } => {
                let known: Vec<&str> = TUNABLES.iter().filter(|row| row.is_in(profile.base)).map(|row| row.name).collect();
                ProfileError::new(format!("profile `{}` has no tunable `{name}`", profile.name), near_or_all(name, &known))
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

/// How people may write the preemption model of real-time kernels.
const NAMES_OF_RT: [&str; 4] = ["rt", "preempt-rt", "preempt_rt", "realtime"];

fn did_you_mean(name: &str) -> String {
    format!("Did you mean `{name}`?")
}

fn it_has(known: &[&str]) -> String {
    format!("It has {}.", known.join(", "))
}

fn near_or_all(word: &str, known: &[&str]) -> String {
    nearest(word, known.iter().copied()).map_or_else(|| it_has(known), did_you_mean)
}

/// Names of all profiles that can be used.
fn usable_names() -> String {
    let usable = known::all().into_iter().filter(|known| known.kind == super::KnownKind::Modelled);
    usable.map(|known| known.name).collect::<Vec<_>>().join(", ")
}
