//! Which pages of the accounts are in memory already: how often a transaction needs a buffer for one.
//!
//! A transaction updates a random account: it reads a leaf of the index and a page of the table. After n of them a page of P is still not in
//! memory with a chance of
//!
//! ```text
//! (1 - 1/P)^n = e^(-n/P)
//! ```
//!
//! A run is short against that, so the chance is the same all through it.

/// Chances are of a million.
pub(super) const MILLION: u32 = 1_000_000;

/// Accounts of a scale factor of 1 (naccounts of pgbench).
const ACCOUNTS: u64 = 100_000;
/// Rows that fit into a full page of the table: 8168 bytes by 128 of a row and 4 of its pointer.
const ROWS: u64 = 61;
/// Entries of a leaf of the index: 8152 bytes by 20 of an entry, 90 % full.
const ENTRIES: u64 = 366;

/// The chance that a transaction needs a buffer from the free list, for the leaf and for the page. Nobody does when the list is empty.
pub(super) fn misses(scale: u64, fillfactor: u64, after: u64, buffers: u64) -> [u32; 2] {
    let accounts = scale * ACCOUNTS;
    let pages = [accounts.div_ceil(ENTRIES), accounts.div_ceil((ROWS * fillfactor / 100).max(1))];
    let chances = pages.map(|pages| still_missing(after, pages));
    let taken: u64 =
        pages.iter().zip(chances).map(|(pages, chance)| pages * u64::from(MILLION - chance) / u64::from(MILLION)).sum();
    if taken < buffers { chances } else { [0; 2] }
}

/// e^(-n/pages), of a million: e^(-y) of a small y as a series, and that to the power of 2^16.
fn still_missing(n: u64, pages: u64) -> u32 {
    const ONE: u128 = 1 << 60;
    const SQUARINGS: u32 = 16;
    let y = (u128::from(n) << (60 - SQUARINGS)) / u128::from(pages);
    if y >= ONE {
        return 0;
    }
    let square = (y * y) >> 60;
    let series = ONE - y + square / 2 - ((square * y) >> 60) / 6;
    let power = (0..SQUARINGS).fold(series, |power, _| (power * power) >> 60);
    ((power * u128::from(MILLION) + ONE / 2) >> 60) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chances_fall_off_exponentially() {
        let p = 1_000_000;
        // e^-0.1, e^-0.5, e^-1, e^-2, e^-5 and e^-20.
        let expected = [1_000_000, 904_837, 606_531, 367_879, 135_335, 6_738, 0];
        assert_eq!([0, p / 10, p / 2, p, 2 * p, 5 * p, 20 * p].map(|n| still_missing(n, p)), expected);
        assert_eq!([1_000, u64::MAX].map(|n| still_missing(n, 1)), [0; 2]);
    }

    /// Scale 8,470 with a fillfactor of 90: 847 million accounts, 2.3 million leaves, 15.7 million pages of 54 rows.
    #[test]
    fn a_large_table_is_read_bit_by_bit_until_the_list_is_empty() {
        let buffers = 15_728_640;
        assert_eq!(misses(8470, 90, 0, buffers), [1_000_000; 2]);
        assert_eq!(misses(8470, 90, 5_000_000, buffers), [115_260, 727_041]);
        // 87 % of the pages and all leaves are more than the buffers.
        assert_eq!(misses(8470, 90, 30_000_000, buffers)[1], 147_691);
        assert_eq!(misses(8470, 90, 34_000_000, buffers), [0; 2]);
        assert_eq!(misses(1, 100, 1_000_000_000_000, 16_384), [0; 2]);
    }
}
