//! `profile diff`: what changed between two profiles, as release notes and as a table.

use crate::columns;
use crate::table::Table;
use std::fmt::Write;

/// One feature, seam or tunable that changed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ProfileChange {
    /// The version that made the change; empty if none did, but a patch or a setting.
    pub since: String,
    /// `feature`, `seam` or `tunable`.
    pub kind: &'static str,
    /// Its name, as the kernel spells it.
    pub name: String,
    /// Its state before the change.
    pub before: String,
    /// Its state after it.
    pub after: String,
    /// What happened to it, in a few words.
    pub headline: String,
    /// What that means, in sentences.
    pub sentence: String,
    /// The commits that made it, as far as they are known.
    pub commits: Vec<String>,
}

/// What differs between the profiles named `p` and `q`.
pub fn profile_diff_table(p: &str, q: &str, changes: &[ProfileChange]) -> Table {
    let columns = columns![
        left "since", left "kind", left "what" "name", left "before", left "after", left "meaning" "sentence",
        left "commits" "commits",
    ];
    let mut table = Table::new("profile_diff", format!("From {p} to {q}"), columns);
    for change in changes {
        let commits = change.commits.join("; ");
        let cells = [&change.since, change.kind, &change.name, &change.before, &change.after, &change.sentence, &commits];
        table.push(cells.map(Into::into).into());
    }
    table.note(count(changes.len()));
    table
}

fn count(changes: usize) -> String {
    match changes {
        0 => "nothing differs".to_string(),
        1 => "1 change".to_string(),
        many => format!("{many} changes"),
    }
}

/// Columns of a line of release notes where nobody says otherwise.
pub const NOTES_WIDTH: usize = 100;

/// The same to be read, in lines of `width` columns: version by version. `back`: `q` is the older one, so the changes are undone.
pub fn release_notes(p: &str, q: &str, back: bool, changes: &[ProfileChange], width: usize) -> String {
    let mut text = format!("From {p} to {q}: {}\n", count(changes.len()));
    let mut since = None;
    for change in changes {
        if since != Some(&change.since) {
            let undone = if back { " (undone)" } else { "" };
            match change.since.is_empty() {
                true => text.push_str("\nBy patches and settings\n"),
                false => _ = writeln!(text, "\n{}{undone}", change.since),
            }
            since = Some(&change.since);
        }
        wrap(&mut text, "  ", &format!("{} ({}): {}", change.name, change.kind, change.headline), width);
        wrap(&mut text, "      ", &change.sentence, width);
        change.commits.iter().for_each(|commit| wrap(&mut text, "      ", &format!("commit {commit}"), width));
    }
    text
}

/// Writes words in lines that begin with `indent` and are not longer than `width`, unless one word is.
fn wrap(text: &mut String, indent: &str, words: &str, width: usize) {
    let mut line = String::new();
    for word in words.split(' ') {
        let longer = line.chars().count() + 1 + word.chars().count();
        if !line.is_empty() && indent.len() + longer > width {
            _ = writeln!(text, "{indent}{line}");
            line.clear();
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    _ = writeln!(text, "{indent}{line}");
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;

    fn sis_util() -> ProfileChange {
        ProfileChange {
            since: "v6.0".into(),
            kind: "feature",
            name: "SIS_UTIL".into(),
            before: "-".into(),
            after: "on".into(),
            headline: "new, on".into(),
            sentence: "The search for an idle CPU is limited by the load of the cache, which is a domain of CPUs that share one."
                .into(),
            commits: vec!["70fb5ccf2ebb \"sched/fair: Introduce SIS_UTIL\"".into()],
        }
    }

    #[test]
    fn table() {
        let mut change = sis_util();
        change.sentence = "Less is looked at.".into();
        expect![[r#"
            From v5.19 to v6.1
            since  kind     what      before  after  meaning             commits
            -----  -------  --------  ------  -----  ------------------  ---------------------------------------------
            v6.0   feature  SIS_UTIL  -       on     Less is looked at.  70fb5ccf2ebb "sched/fair: Introduce SIS_UTIL"
            1 change
        "#]]
        .assert_eq(&profile_diff_table("v5.19", "v6.1", &[change]).to_string());
    }

    #[test]
    fn notes() {
        let (since, name, sentence) = (String::new(), "SIS_MORE".into(), "More.".into());
        let patch = ProfileChange { since, name, sentence, commits: Vec::new(), ..sis_util() };
        expect![[r#"
            From v5.19 to v6.1: 2 changes

            v6.0
              SIS_UTIL (feature): new, on
                  The search for an idle CPU is limited by the load of the cache, which is a domain of CPUs that
                  share one.
                  commit 70fb5ccf2ebb "sched/fair: Introduce SIS_UTIL"

            By patches and settings
              SIS_MORE (feature): new, on
                  More.
        "#]]
        .assert_eq(&release_notes("v5.19", "v6.1", false, &[sis_util(), patch], NOTES_WIDTH));
        assert!(release_notes("v6.1", "v5.19", true, &[sis_util()], NOTES_WIDTH).contains("\nv6.0 (undone)\n"));
    }

    #[test]
    fn equal_profiles_say_so() {
        assert!(profile_diff_table("v5.1", "v5.1", &[]).to_string().ends_with("nothing differs\n"));
        assert_eq!(release_notes("v5.1", "v5.1", false, &[], NOTES_WIDTH), "From v5.1 to v5.1: nothing differs\n");
    }
}
