//! `list`: names with a sentence each.

use crate::table::{Column, Table};

/// One thing that there is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ListRow {
    /// Its name, as it is written on the command line.
    pub name: String,
    /// What it is.
    pub sentence: String,
}

/// A list of things of one kind, such as `profiles`.
pub fn list_table(kind: &str, rows: &[ListRow]) -> Table {
    let mut table = Table::new(kind, "", vec![Column::left(kind, "name"), Column::left("what it is", "sentence")]);
    for row in rows {
        table.push(vec![row.name.clone().into(), row.sentence.clone().into()]);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;

    #[test]
    fn text() {
        let rows = [("v5.19", "mainline v5.19"), ("v4.20+align-vruntime", "v4.20 with a patch")]
            .map(|(name, sentence)| ListRow { name: name.into(), sentence: sentence.into() });
        expect![[r#"
            profiles              what it is
            --------------------  ------------------
            v5.19                 mainline v5.19
            v4.20+align-vruntime  v4.20 with a patch
        "#]]
        .assert_eq(&list_table("profiles", &rows).to_string());
    }
}
