//! `cargo xtask instructions`: what an event costs us, held against a table in the tree.
//!
//! Nine cases of the benchmark run under callgrind, each at two lengths, so that start-up cancels. What remains are
//! instructions per event. They do not depend on what else the machine does, so a loss of a few per cent shows in the
//! commit that causes it.
//!
//! A case may cost at most [`MARGIN_PER_MILLE`] more than its row. A commit that costs more on purpose measures the table
//! anew and says why: `cargo xtask instructions --write --why "…"`.

use crate::callgrind;
use crate::steps::cargo;
use std::path::Path;
use std::process::Stdio;

/// The table, relative to the root of the workspace.
pub(crate) const TABLE: &str = "crates/fairground_bench/instructions.csv";
/// Its first line.
const HEADER: &str = "case,instructions per event,why";
/// By how much a case may exceed its row. Another order of the same functions in memory changes up to 1 %.
const MARGIN_PER_MILLE: u64 = 30;

/// A case of the benchmark and its two lengths in simulated milliseconds, a few hundred million instructions apart.
struct Case {
    name: &'static str,
    ms: [u64; 2],
}

const CASES: &[Case] = &[
    Case { name: "hogs-2x10", ms: [1_000, 21_000] },
    Case { name: "eevdf-2x10", ms: [1_000, 21_000] },
    Case { name: "hrtick-2x10", ms: [1_000, 21_000] },
    Case { name: "hogs-112x224", ms: [100, 1_100] },
    Case { name: "sleepers-112x224", ms: [20, 40] },
    Case { name: "pairs-112x224", ms: [2, 6] },
    Case { name: "press-12x36", ms: [1_000, 21_000] },
    Case { name: "schbench-32", ms: [200, 1_200] },
    Case { name: "hackbench-8xA53", ms: [300, 400] },
];

/// What the table says of a case.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Row {
    case: String,
    instructions: u64,
    why: String,
}

/// What was asked for on the command line.
#[derive(PartialEq, Eq, Debug)]
enum Wish {
    Check,
    Write { why: String },
}

/// `cargo xtask instructions [--write --why "…"]`.
pub(crate) fn run(root: &Path) -> bool {
    let words: Vec<String> = std::env::args().skip(2).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let result = wish(&words).and_then(|wish| carry_out(root, &wish));
    result.unwrap_or_else(|message| {
        eprintln!("{message}");
        false
    })
}

/// The check alone, as a step of CI.
pub(crate) fn check(root: &Path) -> bool {
    carry_out(root, &Wish::Check).unwrap_or_else(|message| {
        eprintln!("{message}");
        false
    })
}

fn wish(words: &[&str]) -> Result<Wish, String> {
    match words {
        [] => Ok(Wish::Check),
        ["--write", "--why", why] | ["--why", why, "--write"] if !why.trim().is_empty() => {
            Ok(Wish::Write { why: why.to_string() })
        }
        ["--write", ..] => Err("say why the table changes: cargo xtask instructions --write --why \"…\"".into()),
        _ => Err("usage: cargo xtask instructions [--write --why \"…\"]".into()),
    }
}

fn carry_out(root: &Path, wish: &Wish) -> Result<bool, String> {
    let text = std::fs::read_to_string(root.join(TABLE)).map_err(|error| format!("{TABLE}: {error}"))?;
    let kept = parse(&text)?;
    let bench = bench(root)?;
    let mut measured = Vec::new();
    println!("{:<18} {:>10} {:>10} {:>8}", "case", "table", "now", "change");
    for case in CASES {
        let now = instructions_per_event(&bench, case)?;
        let row = kept.iter().find(|row| row.case == case.name);
        println!("{}", line(case.name, row.map(|row| row.instructions), now));
        measured.push((case.name, now));
    }
    match wish {
        Wish::Write { why } => {
            let rows = renewed(&kept, &measured, why);
            std::fs::write(root.join(TABLE), format(&rows)).map_err(|error| format!("{TABLE}: {error}"))?;
            Ok(true)
        }
        Wish::Check => {
            let faults = faults(&kept, &measured);
            faults.iter().for_each(|fault| eprintln!("{fault}"));
            Ok(faults.is_empty())
        }
    }
}

/// What is wrong with the measured cases, a sentence each.
fn faults(kept: &[Row], measured: &[(&str, u64)]) -> Vec<String> {
    let fault = |&(name, now): &(&str, u64)| {
        let Some(row) = kept.iter().find(|row| row.case == name) else {
            return Some(format!("{name}: no row in {TABLE}; run `cargo xtask instructions --write --why \"…\"`"));
        };
        grew(row.instructions, now).then(|| {
            format!(
                "{name}: {now} instructions per event, {} in {TABLE}. Find what costs more, or measure the table anew in the \
                 same commit: cargo xtask instructions --write --why \"…\"",
                row.instructions
            )
        })
    };
    let unknown = kept.iter().filter(|row| !CASES.iter().any(|case| case.name == row.case));
    let unknown = unknown.map(|row| format!("{TABLE}: there is no case {}", row.case));
    measured.iter().filter_map(fault).chain(unknown).collect()
}

/// Whether a case costs more than the margin allows.
fn grew(kept: u64, now: u64) -> bool {
    now * 1000 > kept * (1000 + MARGIN_PER_MILLE)
}

/// The table with what was measured. A row that moved by less than a tenth of the margin stays as it is, reason included.
fn renewed(kept: &[Row], measured: &[(&str, u64)], why: &str) -> Vec<Row> {
    let new = |&(name, now): &(&str, u64)| {
        let same =
            |row: &&Row| row.case == name && row.instructions.abs_diff(now) * 10_000 <= row.instructions * MARGIN_PER_MILLE;
        let changed = || Row { case: name.to_string(), instructions: now, why: why.replace(['\n', '"'], " ") };
        kept.iter().find(same).cloned().unwrap_or_else(changed)
    };
    measured.iter().map(new).collect()
}

fn line(name: &str, kept: Option<u64>, now: u64) -> String {
    let Some(kept) = kept else { return format!("{name:<18} {:>10} {now:>10} {:>8}", "-", "new") };
    let (sign, by) = if now < kept { ('-', kept - now) } else { ('+', now - kept) };
    let tenths = (by * 1000 + kept / 2) / kept.max(1);
    format!("{name:<18} {kept:>10} {now:>10} {:>8}", format!("{sign}{}.{}%", tenths / 10, tenths % 10))
}

fn format(rows: &[Row]) -> String {
    let lines = rows.iter().map(|row| format!("{},{},\"{}\"\n", row.case, row.instructions, row.why));
    format!("{HEADER}\n{}", lines.collect::<String>())
}

/// The rows of the table; an error names the line.
fn parse(text: &str) -> Result<Vec<Row>, String> {
    let mut lines = text.lines().enumerate();
    match lines.next() {
        Some((_, HEADER)) => {}
        _ => return Err(format!("{TABLE}:1: expected `{HEADER}`")),
    }
    let row = |(at, line): (usize, &str)| {
        let wrong = || format!("{TABLE}:{}: expected CASE,NUMBER,\"why\"", at + 1);
        let mut parts = line.splitn(3, ',');
        let (case, number, why) = (parts.next(), parts.next(), parts.next());
        let instructions = number.and_then(|number| number.parse().ok()).filter(|&number: &u64| number > 0).ok_or_else(wrong)?;
        let why = why.and_then(|why| why.strip_prefix('"')?.strip_suffix('"')).filter(|why| !why.is_empty()).ok_or_else(wrong)?;
        Ok(Row { case: case.unwrap_or_default().to_string(), instructions, why: why.to_string() })
    };
    lines.map(row).collect()
}

/// Builds the benchmark and returns the path of its program.
pub(crate) fn bench(root: &Path) -> Result<String, String> {
    let mut command = cargo(root);
    command.args(["bench", "--package", "fairground_bench", "--bench", "speed", "--no-run", "--message-format=json"]);
    let output = command.stderr(Stdio::inherit()).output().map_err(|error| format!("cargo bench: {error}"))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let path = |line: &str| Some(line.split_once("\"executable\":\"")?.1.split_once('"')?.0.to_string());
    let found = text.lines().filter(|line| line.contains("\"name\":\"speed\"")).find_map(path);
    found.filter(|_| output.status.success()).ok_or_else(|| "the benchmark was not built".into())
}

fn instructions_per_event(bench: &str, case: &Case) -> Result<u64, String> {
    // Both lengths at once: the counts do not depend on what else runs.
    let counts = std::thread::scope(|scope| {
        case.ms
            .map(|ms| scope.spawn(move || callgrind::count(&[bench.into()], case.name, ms)))
            .map(|thread| thread.join().unwrap_or_else(|_| Err("a count did not end".into())))
    });
    let [short, long] = counts;
    let ((short_instructions, short_events), (long_instructions, long_events)) = (short?, long?);
    callgrind::per_event(short_instructions, short_events, long_instructions, long_events)
        .ok_or_else(|| format!("{}: the longer run has no more events than the shorter", case.name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(case: &str, instructions: u64) -> Row {
        Row { case: case.into(), instructions, why: "as first measured".into() }
    }

    #[test]
    fn a_case_may_grow_by_three_per_cent_and_no_more() {
        assert!(faults(&[row("hogs-2x10", 1000)], &[("hogs-2x10", 1030)]).is_empty());
        let found = faults(&[row("hogs-2x10", 1000)], &[("hogs-2x10", 1031)]);
        assert_eq!(found.len(), 1);
        assert!(found[0].starts_with("hogs-2x10: 1031 instructions per event, 1000 in "), "{found:?}");
    }

    #[test]
    fn a_case_without_a_row_and_a_row_without_a_case_are_faults() {
        let found = faults(&[row("gone", 5)], &[("hogs-2x10", 1000)]);
        assert!(found[0].contains("no row") && found[1].contains("no case gone"), "{found:?}");
    }

    #[test]
    fn a_new_table_keeps_the_reasons_of_rows_that_did_not_move() {
        let rows = renewed(&[row("a", 1000), row("b", 1000)], &[("a", 1002), ("b", 1100)], "locks are \"modelled\"");
        assert_eq!(rows[0], row("a", 1000));
        assert_eq!((rows[1].instructions, rows[1].why.as_str()), (1100, "locks are  modelled "));
        assert_eq!(parse(&format(&rows)), Ok(rows));
    }

    #[test]
    fn a_table_with_a_broken_line_is_refused_by_its_number() {
        for line in ["a,ten,\"why\"", "a,10", "a,0,\"why\"", "a,10,why", "a,10,\"\""] {
            assert!(parse(&format!("{HEADER}\n{line}\n")).is_err_and(|error| error.contains(":2:")), "{line}");
        }
        assert!(parse("").is_err_and(|error| error.contains(":1:")));
    }

    #[test]
    fn a_change_of_the_table_needs_a_reason() {
        assert_eq!(wish(&[]), Ok(Wish::Check));
        assert_eq!(wish(&["--write", "--why", "locks"]), Ok(Wish::Write { why: "locks".into() }));
        assert!(wish(&["--write"]).is_err() && wish(&["--write", "--why", " "]).is_err() && wish(&["--check"]).is_err());
    }

    #[test]
    fn the_kept_table_has_a_row_for_each_case() {
        let text = std::fs::read_to_string(crate::root().join(TABLE)).expect("the table");
        let rows = parse(&text).expect("a table of rows");
        assert!(CASES.iter().map(|case| case.name).eq(rows.iter().map(|row| row.case.as_str())));
    }
}
