//! Lines that say which kernel function an item models:
//!
//! ```text
//! Kernel: fair.c place_entity(), v4.12–v6.5
//! ```
//!
//! A file, the functions (or a structure, a table), and the versions for which it holds; an open end
//! means "still so". A remark may follow, in brackets or behind a semicolon.

use super::{Finding, Project};

const FORM: &str = "must have the form `Kernel: file.c function(), v4.12–v6.5` (or `v4.12–`)";

pub(super) fn check(project: &Project<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for source in &project.sources {
        for (index, line) in source.file.text.lines().enumerate() {
            if claim(line).is_some_and(|claim| !is_well_formed(claim)) {
                findings.push(Finding { path: source.file.path.clone(), line: index + 1, message: FORM.to_string() });
            }
        }
    }
    findings
}

/// What a `Kernel:` line claims, if this is one.
pub(super) fn claim(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let doc = line.strip_prefix("//")?.trim_start_matches(['/', '!']);
    doc.trim_start().strip_prefix("Kernel:").map(str::trim)
}

fn is_well_formed(claim: &str) -> bool {
    let claim = claim.split("; ").next().unwrap_or(claim).trim_end_matches('.');
    let has_remark = claim.ends_with(')') && !claim.ends_with("()");
    let claim = if has_remark { claim.rsplit_once(" (").map_or(claim, |parts| parts.0) } else { claim };
    let Some((what, range)) = claim.rsplit_once(", ") else { return false };
    let (file, names) = what.split_once(' ').unwrap_or((what, ""));
    is_file(file) && (!names.is_empty() || file.starts_with("Kconfig")) && is_range(range)
}
pub(super) fn is_file(text: &str) -> bool {
    let is_source = [".c", ".h", ".S"].iter().any(|ending| text.len() > ending.len() && text.ends_with(ending));
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_/.".contains(&byte);
    (is_source || text.starts_with("Kconfig")) && text.bytes().all(is_plain)
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
            "fair.c sched_slice(), v5.13–v6.5; the idle floor from v5.16",
            "Kconfig.hz, v4.12–",
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
