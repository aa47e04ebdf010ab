//! Which function lies at which place of a library: the list that the build leaves beside it, as `nm` prints it.

use std::path::Path;

/// Functions by their start, in ascending order.
#[derive(Default)]
pub(crate) struct Symbols {
    rows: Vec<(u64, String)>,
}

impl Symbols {
    /// Reads `core.symbols` beside a library. Without one no function is named.
    pub(crate) fn beside(library: &Path) -> Symbols {
        Symbols::parse(&std::fs::read_to_string(library.with_extension("symbols")).unwrap_or_default())
    }

    pub(crate) fn parse(text: &str) -> Symbols {
        let row = |line: &str| {
            let mut words = line.split_whitespace();
            let start = u64::from_str_radix(words.next()?, 16).ok()?;
            words.next().filter(|kind| kind.eq_ignore_ascii_case("t"))?;
            Some((start, words.next()?.to_string()))
        };
        let mut rows: Vec<(u64, String)> = text.lines().filter_map(row).collect();
        rows.sort();
        Symbols { rows }
    }

    /// The function that holds the instruction at `offset`.
    pub(crate) fn at(&self, offset: u64) -> Option<String> {
        let row = self.rows.partition_point(|row| row.0 <= offset).checked_sub(1)?;
        (offset != 0).then(|| self.rows[row].1.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::Symbols;

    #[test]
    fn a_place_belongs_to_the_function_that_starts_at_or_before_it() {
        let symbols = Symbols::parse("0000000000001000 t pick\n0000000000002000 T wake\nbroken\n0000000000001800 d data\n");
        let at = |offset| symbols.at(offset).unwrap_or_default();
        assert_eq!([at(0x1000), at(0x1fff), at(0x2001)], ["pick", "pick", "wake"]);
        assert_eq!([at(0), at(0xfff)], ["", ""]);
    }
}
