//! The profile of a recorded kernel, by the release that the recording tells.

use fairground_model::version::KernelVersion;
use fairground_sched::profile::{KnownKind, Profile};

/// The version in a release: `v5.10` of `5.10.0-32-cloud-amd64`.
pub(crate) fn version_of(release: &str) -> Option<KernelVersion> {
    let mut numbers = release.split('.');
    let (major, minor) = (numbers.next()?, numbers.next()?);
    let minor: String = minor.chars().take_while(char::is_ascii_digit).collect();
    KernelVersion::parse(&format!("v{major}.{minor}"))
}

/// The profile of the recorded kernel: its own, or that of the nearest earlier kernel that is modelled, which is
/// noted. Nothing if the release is unreadable or older than all that is modelled.
pub fn profile_of_release(release: &str, notes: &mut Vec<String>) -> Option<Profile> {
    let version = version_of(release)?;
    let kernels = Profile::known().into_iter().filter(|known| known.kind == KnownKind::Modelled);
    let nearest = kernels.filter_map(|known| KernelVersion::parse(&known.name)).filter(|&known| known <= version).max()?;
    notes.push(match nearest == version {
        true => format!("profile {nearest}: the recording says that its kernel is {release}"),
        false => format!("profile {nearest}: the latest that is modelled up to the recorded kernel {release}"),
    });
    Profile::kernel(nearest).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_earlier_kernel_stands_in() {
        let of = |release: &str| {
            let mut notes = Vec::new();
            (profile_of_release(release, &mut notes).map(|profile| profile.name), notes.join(""))
        };
        assert_eq!(of("6.1.187").0.as_deref(), Some("v6.1"));
        let (profile, note) = of("6.11.0-19-generic");
        assert_eq!(profile.as_deref(), Some("v6.6"));
        assert!(note.contains("up to the recorded kernel 6.11.0-19-generic"), "{note}");
        for unknown in ["2.6.32", "x", "", "6", "6.", "6.300.1"] {
            assert_eq!(of(unknown), (None, String::new()), "{unknown}");
        }
    }
}
