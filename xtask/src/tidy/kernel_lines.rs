//! Lines that say which kernel function an item models:
//!
//! ```text
//! Kernel: fair.c place_entity(), v4.12–v6.5
//! ```
//!
//! A file, the functions (or a structure, a table), and the versions for which it holds; an open end
//! means "still so". A remark in brackets may follow.

use super::{Finding, Project};

const FORM: &str = "must have the form `Kernel: file.c function(), v4.12–v6.5` (or `v4.12–`)";

pub(super) fn check(project: &Project<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for source in &project.sources {
        for (index, line) in source.file.text.lines().enumerate() {
            let line = line.trim_start();
            let Some(doc) = line.strip_prefix("///").or_else(|| line.strip_prefix("//!")) else { continue };
            if let Some(claim) = doc.trim_start().strip_prefix("Kernel:")
                && !is_well_formed(claim.trim())
            {
                findings.push(Finding { path: source.file.path.clone(), line: index + 1, message: FORM.to_string() });
            }
        }
    }
    findings
}

fn is_well_formed(claim: &str) -> bool {
    let claim = claim.trim_end_matches('.');
    let claim = if claim.ends_with(')') && !claim.ends_with("()") {
        claim.rsplit_once(" (").map_or(claim, |parts| parts.0)
    } else {
        claim
    };
    let Some((what, range)) = claim.rsplit_once(", ") else { return false };
    let Some((file, names)) = what.split_once(' ') else { return false };
    is_file(file) && !names.trim().is_empty() && is_range(range)
}
fn is_file(text: &str) -> bool {
    let stem = text.strip_suffix(".c").or_else(|| text.strip_suffix(".h")).or_else(|| text.strip_suffix(".S"));
    stem.is_some_and(|stem| !stem.is_empty() && stem.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_/".contains(&byte)))
}
fn is_range(text: &str) -> bool {
    let Some((from, until)) = text.split_once('–') else { return false };
    is_version(from.trim_end_matches(" stable")) && (until.is_empty() || is_version(until))
}
fn is_version(text: &str) -> bool {
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    text.strip_prefix('v')
        .and_then(|numbers| numbers.split_once('.'))
        .is_some_and(|(major, minor)| is_number(major) && is_number(minor))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_form_is_checked() {
        for good in [
            "fair.c place_entity(), v4.12–v6.5",
            "core.c try_to_wake_up() up to set_task_cpu(), v4.12–",
            "entry/common.c exit_to_user_mode_loop(), v5.8– (earlier per architecture)",
            "fair.c entity_is_long_sleeper(), v6.1 stable–v6.5",
            "sched-pelt.h LOAD_AVG_MAX, v4.12–",
        ] {
            assert!(is_well_formed(good), "{good}");
        }
        for bad in [
            "place_entity(), v4.12–v6.5",
            "fair.c, v4.12–",
            "fair.c f()",
            "fair.c f(), v4.12-v6.5",
            "fair.c f(), 4.12–",
            "fair.c f(), v4–",
        ] {
            assert!(!is_well_formed(bad), "{bad}");
        }
    }
}
