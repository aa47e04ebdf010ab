//! Steps that run into page faults, and how the memory is declared in which they do.
//!
//! ```text
//! fault 2us         fault 1us..2us          touch POOL r0           touch POOL 7 read
//! pools = { buffers = "15728640 x 64B", huge = "15728640 x 64B on 2MiB" }
//! ```

use crate::nouns::memory_steps::number;
use crate::nouns::step_args::{Names, between, named};
use crate::text::Wrong;
use fairground_model::{Instr, PageSize, PoolSpec, Value};
use fairground_stdx::{Id, PoolId};

/// The steps that [`read`] knows.
pub(crate) const VERBS: [&str; 2] = ["fault", "touch"];

/// Largest entry, bytes, and most entries of a pool: far more than there are pages for.
const MAX: u64 = 1 << 40;

/// Reads a step; none if its verb is not one of these.
pub(crate) fn read(verb: &str, value: &str, names: &Names) -> Option<Result<Instr, Wrong>> {
    Some(match verb {
        "fault" => between(value).map(|(low, high)| Instr::PageFault { low, high }),
        "touch" => touch(value, names),
        _ => return None,
    })
}

/// `NAME r0`, `NAME 7 read`; a name may hold blanks.
fn touch(value: &str, names: &Names) -> Result<Instr, Wrong> {
    let (place, write) = match value.strip_suffix("read").filter(|place| place.ends_with(char::is_whitespace)) {
        Some(place) => (place.trim(), false),
        None => (value, true),
    };
    let form = || {
        let hint = "Write `touch POOL r0` to change an entry, `touch POOL r0 read` to look at it; a number in place of r0 is an entry, too.";
        (format!("`touch {value}` is incomplete"), hint.to_string())
    };
    let (name, entry) = place.rsplit_once(char::is_whitespace).ok_or_else(form)?;
    let pool = PoolId::from_index(named(name.trim(), &names.pools, "pool")?);
    Ok(Instr::Touch { pool, entry: number(entry)?, write })
}

/// A pool as it is declared: `COUNT x SIZE`, with `on PAGESIZE` if that is not the smallest.
pub(crate) fn declared(name: &str, text: &str) -> Result<PoolSpec, Wrong> {
    let form = || {
        let hint = "Say how many entries of which size it has, and on which pages: `pools = { p = \"1000 x 64B\", q = \"1000 x 8KiB on 2MiB\" }`.";
        (format!("`{text}` is no pool"), hint.to_string())
    };
    let words: Vec<&str> = text.split_whitespace().collect();
    let (count, size, page) = match words[..] {
        [count, "x", size] => (count, size, PageSize::K4),
        [count, "x", size, "on", page] => (count, size, page_size(page)?),
        _ => return Err(form()),
    };
    let entries: u64 = count.parse().map_err(|_| form())?;
    let entry_bytes = bytes(size).ok_or_else(form)?;
    if entries == 0 || entry_bytes == 0 {
        return Err((format!("`{text}` has no pages"), "It has at least one entry of at least one byte.".to_string()));
    }
    if entries > MAX || entry_bytes > MAX {
        return Err((format!("`{text}` is too large"), format!("At most {MAX} entries of at most so many bytes.")));
    }
    Ok(PoolSpec { name: name.to_string(), entries, entry_bytes, page })
}

fn page_size(text: &str) -> Result<PageSize, Wrong> {
    let hint = || format!("Sizes of pages are {}.", PageSize::list(&PageSize::ALL));
    PageSize::by_name(text).ok_or_else(|| (format!("there are no pages of `{text}`"), hint()))
}

/// `64B`, `8KiB`, `2MiB`.
fn bytes(text: &str) -> Option<u64> {
    let split = text.find(|c: char| !c.is_ascii_digit())?;
    let scale = match &text[split..] {
        "B" => 1,
        "KiB" => 1 << 10,
        "MiB" => 1 << 20,
        _ => return None,
    };
    text[..split].parse::<u64>().ok()?.checked_mul(scale)
}

/// A pool as [`declared`] reads it.
pub(crate) fn declaration(pool: &PoolSpec) -> String {
    let on = if pool.page == PageSize::K4 { String::new() } else { format!(" on {}", pool.page.name()) };
    format!("{} x {}B{on}", pool.entries, pool.entry_bytes)
}

/// The step as [`read`] reads it; none if it is not one of these.
pub(crate) fn text(instr: &Instr, names: &Names) -> Option<String> {
    Some(match *instr {
        Instr::PageFault { low, high } if low == high => format!("fault {low}"),
        Instr::PageFault { low, high } if low < high => format!("fault {low}..{high}"),
        Instr::Touch { pool, entry, write } => {
            let entry = match entry {
                Value::Const(entry) => entry.to_string(),
                Value::Reg(reg) => format!("r{reg}"),
            };
            format!("touch {} {entry}{}", names.pools.get(pool.index())?, if write { "" } else { " read" })
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn declarations_read_back() {
        for text in ["15728640 x 64B", "3 x 1B on 64KiB", "3 x 8192B on 2MiB", "1 x 5B on 1GiB"] {
            assert_eq!(declaration(&declared("p", text).unwrap()), text);
        }
        assert_eq!(declaration(&declared("p", "3 x 8KiB on 4KiB").unwrap()), "3 x 8192B");
        for (text, part) in [
            ("", "is no pool"),
            ("64B x 3", "is no pool"),
            ("3 x 64", "is no pool"),
            ("3 x 64B on", "is no pool"),
            ("0 x 64B", "`0 x 64B` has no pages"),
            ("3 x 0B", "`3 x 0B` has no pages"),
            ("3 x 64B on 8KiB", "there are no pages of `8KiB`"),
            ("99999999999999 x 64B", "is too large"),
        ] {
            let wrong = declared("p", text).unwrap_err();
            assert!(wrong.0.contains(part), "{text}: {wrong:?}");
        }
    }
}
