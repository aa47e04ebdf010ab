//! `profile diff`: what changed between two profiles.

use crate::table::{Column, Table};

/// One feature, seam or tunable that differs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ProfileChange {
    /// Its name, as the kernel spells it.
    pub name: String,
    /// Its state in the first profile.
    pub before: String,
    /// Its state in the second.
    pub after: String,
    /// What it does, in a sentence.
    pub sentence: String,
}

/// What differs between the profiles named `p` and `q`.
pub fn profile_diff_table(p: &str, q: &str, changes: &[ProfileChange]) -> Table {
    let columns = vec![
        Column::left("what", "name"),
        Column::left(p, "before"),
        Column::left(q, "after"),
        Column::left("meaning", "sentence"),
    ];
    let mut table = Table::new("profile_diff", format!("From {p} to {q}"), columns);
    for change in changes {
        let cells = [&change.name, &change.before, &change.after, &change.sentence];
        table.push(cells.map(|cell| cell.as_str().into()).into());
    }
    table.note(match changes.len() {
        0 => "nothing differs".to_string(),
        1 => "1 difference".to_string(),
        many => format!("{many} differences"),
    });
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;

    #[test]
    fn text() {
        let change = ProfileChange {
            name: "SIS_UTIL".into(),
            before: "off".into(),
            after: "on".into(),
            sentence: "The search for an idle CPU is limited by the cache's load.".into(),
        };
        expect![[r#"
            From v5.19 to v6.1
            what      v5.19  v6.1  meaning
            --------  -----  ----  ----------------------------------------------------------
            SIS_UTIL  off    on    The search for an idle CPU is limited by the cache's load.
            1 difference
        "#]]
        .assert_eq(&profile_diff_table("v5.19", "v6.1", &[change]).to_string());
    }

    #[test]
    fn equal_profiles_say_so() {
        assert!(profile_diff_table("v5.1", "v5.1", &[]).to_string().ends_with("nothing differs\n"));
    }
}
