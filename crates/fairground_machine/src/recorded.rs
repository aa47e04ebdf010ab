//! `system/topology.txt` of a recorded set: a line per CPU,
//! `cpu4 core=0 pkg=1 smt=4 llc=4-7`, with `capacity=512` if CPUs differ.

use crate::cost::CostModel;
use crate::import::{FoundCpu, Imported, build};
use crate::machine::CAPACITY_SCALE;
use crate::suggest;
use crate::suggest::clip;
use fairground_model::Mistakes;
use fairground_stdx::{CpuId, CpuMask, Ns};
use std::collections::BTreeMap;
use std::ops::Range;

const KEYS: [&str; 5] = ["core", "pkg", "smt", "llc", "capacity"];

/// One line: the CPU's number, its place in the text and the masks that it names.
struct Row {
    number: u32,
    span: Range<usize>,
    package: u64,
    smt: CpuMask,
    /// Empty if the system shows no last-level cache.
    llc: CpuMask,
    capacity: u32,
}

/// How long a round of all CPUs lasts in the emulator.
const ROUND_OF_TURNS: Ns = Ns::from_us(100);

/// Reads the topology of a recorded set. The machine is an emulator on which busy CPUs take turns: HZ 250; prices `icount`, one
/// instruction per ns; interrupt time stays with the task, as in the recorded kernels, whose
/// `clock_task` keeps step with the clock over more than a second of ticks.
pub fn parse_topology(text: &str) -> Result<Imported, Mistakes> {
    let mut mistakes = Mistakes::default();
    let mut rows = Vec::new();
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let trimmed = line.trim();
        if !trimmed.is_empty() {
            let from = start + (line.len() - line.trim_start().len());
            rows.extend(row(trimmed, from..from + trimmed.len(), &mut mistakes));
        }
        start += line.len();
    }
    check_masks(&rows, "smt", |row| row.smt, &mut mistakes);
    check_masks(&rows, "llc", |row| row.llc, &mut mistakes);
    mistakes.or(())?;
    let mut notes = Vec::new();
    if rows.iter().any(|row| row.llc.is_empty()) {
        notes.push("CPUs without a known last-level cache: each has one of its own".to_string());
    }
    let first = |mask: CpuMask, own: u32| u64::from(mask.first().map_or(own, CpuId::get));
    let found = rows.iter().map(|row| FoundCpu {
        number: row.number,
        core: first(row.smt, row.number),
        cluster: None,
        llc: if row.llc.is_empty() { first(row.smt, row.number) } else { first(row.llc, row.number) },
        package: row.package,
        node: 0,
        capacity: row.capacity,
        freq_domain: first(row.smt, row.number),
    });
    let mut imported = build("recorded", found.collect(), None, notes)?;
    imported.machine.costs = CostModel::preset("icount")?;
    imported.machine.irq_time_accounting = false;
    imported.machine.round_of_turns = ROUND_OF_TURNS;
    Ok(imported)
}

/// Whether `system/debug_sched.txt` shows domains of CPUs that differ in capacity. The topology does
/// not say how much they differ.
pub fn has_asymmetric_capacity(debug_sched: &str) -> bool {
    debug_sched.split_whitespace().any(|word| word == "SD_ASYM_CPUCAPACITY")
}

fn row(line: &str, span: Range<usize>, mistakes: &mut Mistakes) -> Option<Row> {
    let mut words = line.split_whitespace();
    let name = words.next()?;
    let number = name.strip_prefix("cpu").and_then(|number| number.parse().ok()).filter(|&n| n < CpuMask::CAPACITY as u32);
    let Some(number) = number else {
        let hint = "A line begins with cpu and a number below 1024, as in `cpu4 core=0 pkg=1 smt=4 llc=4-7`.";
        mistakes.at(span, format!("`{}` is no CPU", clip(name)), hint);
        return None;
    };
    let own = CpuMask::only(CpuId::new(number));
    let mut row = Row { number, span, package: 0, smt: own, llc: CpuMask::EMPTY, capacity: CAPACITY_SCALE };
    let before = mistakes.0.len();
    let mut seen: BTreeMap<&str, &str> = BTreeMap::new();
    for word in words {
        let (key, value) = word.split_once('=').unwrap_or((word, ""));
        if let Err((message, hint)) = row.set(key, value) {
            mistakes.at(row.span.clone(), format!("cpu{number}: {message}"), hint);
        }
        if seen.insert(key, value).is_some() {
            mistakes.at(row.span.clone(), format!("cpu{number}: `{}` twice", clip(key)), "Give each key once.");
        }
    }
    (mistakes.0.len() == before).then_some(row)
}

impl Row {
    fn set(&mut self, key: &str, value: &str) -> Result<(), (String, String)> {
        let wrong = |hint: &str| (format!("`{}={}`", clip(key), clip(value)), hint.to_string());
        let number = || value.parse::<i64>().map_err(|_| wrong("Expected a number."));
        let list = || CpuMask::parse_list(value).ok_or_else(|| wrong("Expected a list of CPUs, as in 0-3,8."));
        match key {
            // The kernel counts cores per package, so this id alone does not tell cores apart; `smt` does.
            "core" => number().map(|_| ()),
            "pkg" => number().map(|package| self.package = package as u64),
            "smt" => list().map(|mask| self.smt = mask),
            "llc" => list().map(|mask| self.llc = mask),
            "capacity" => match number()? {
                capacity @ 1..=1024 => {
                    self.capacity = capacity as u32;
                    Ok(())
                }
                _ => Err(wrong("A capacity lies in 1..=1024.")),
            },
            _ => Err((format!("unknown key `{}`", clip(key)), suggest::hint(key, &KEYS))),
        }
    }
}

/// Every CPU is in its own mask, and all CPUs of a mask have that mask.
fn check_masks(rows: &[Row], key: &str, mask: fn(&Row) -> CpuMask, mistakes: &mut Mistakes) {
    let masks: BTreeMap<u32, CpuMask> = rows.iter().map(|row| (row.number, mask(row))).collect();
    for row in rows.iter().filter(|row| !mask(row).is_empty()) {
        let own = mask(row);
        if !own.contains(CpuId::new(row.number)) {
            let message = format!("cpu{} is not in its own `{key}={own}`", row.number);
            mistakes.at(row.span.clone(), message, "The list holds the CPU itself and those it shares with.");
        } else if let Some(other) = own.iter().find(|cpu| masks.get(&cpu.get()).is_some_and(|other| *other != own)) {
            let message = format!("cpu{} has `{key}={own}`, but cpu{other} has another list", row.number);
            mistakes.at(row.span.clone(), message, "CPUs that share have the same list.");
        }
    }
}
