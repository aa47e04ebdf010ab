//! Which capacities the CPUs of a recorded machine have, where its topology does not say.

use fairground_formats::recorded::LoadRow;
use fairground_machine::Machine;
use fairground_machine::machine::CAPACITY_SCALE;
use fairground_scenario::Capacities;
use fairground_stdx::{CpuId, CpuMask, Id};
use std::collections::BTreeMap;

/// Words of a family's name that stand for CPUs, and their capacity.
const WORDS: [(&str, u32); 2] = [("half", CAPACITY_SCALE / 2), ("full", CAPACITY_SCALE)];
/// The pace of a clock of load tracking that keeps step with the task clock.
const FULL: u64 = CAPACITY_SCALE as u64;

/// What tells a capacity; an earlier one goes before a later one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Source {
    /// The flag.
    Flag,
    /// The recorded clocks of load tracking: a measurement, but only of CPUs on which tasks computed.
    Clocks,
    /// The name of the family.
    Name,
    /// Nothing.
    Default,
}

impl Source {
    /// How a note ends that gives capacities from it.
    fn by(self, family: &str) -> String {
        match self {
            Source::Flag => "by --capacities".into(),
            Source::Clocks => "by the recorded clocks of load tracking".into(),
            Source::Name => format!("by the name of the family, `{family}`"),
            Source::Default => "as nothing tells another one".into(),
        }
    }
}

/// Gives each CPU the capacity that the first source that knows it tells. Returns a note on what came from where: a warning
/// if there are CPUs of which nothing tells the capacity, or if the clocks contradict the name.
pub(crate) fn find(machine: &mut Machine, flag: &Capacities, rows: &[LoadRow], family: &str) -> String {
    let (paces, named) = (by_clocks(rows), by_name(family, machine.cpus.len()));
    let mut found: BTreeMap<(Source, u32), CpuMask> = BTreeMap::new();
    let mut contradicted = CpuMask::EMPTY;
    for cpu in machine.cpus.ids() {
        let name = named.as_ref().map(|named| named[cpu.index()]);
        let clock = paces.get(&cpu).copied().filter(|capacity| (1..=CAPACITY_SCALE).contains(capacity));
        let told = [(Source::Flag, flag.of(cpu)), (Source::Clocks, clock), (Source::Name, name)];
        let first = told.into_iter().find_map(|(source, capacity)| Some((source, capacity?)));
        let (source, capacity) = first.unwrap_or((Source::Default, CAPACITY_SCALE));
        if source == Source::Clocks && name.is_some_and(|name| name != capacity) {
            contradicted.insert(cpu);
        }
        machine.cpus[cpu].capacity = capacity;
        found.entry((source, capacity)).or_insert(CpuMask::EMPTY).insert(cpu);
    }
    note(&found, &contradicted, family)
}

fn note(found: &BTreeMap<(Source, u32), CpuMask>, contradicted: &CpuMask, family: &str) -> String {
    let mut parts: Vec<String> = Vec::new();
    for source in [Source::Flag, Source::Clocks, Source::Name, Source::Default] {
        let rows = found.iter().filter(|row| row.0.0 == source);
        let rows: Vec<String> = rows.map(|((_, capacity), cpus)| format!("{cpus}={capacity}")).collect();
        if !rows.is_empty() {
            parts.push(format!("{} {}", rows.join(","), source.by(family)));
        }
    }
    if !contradicted.is_empty() {
        parts.push(format!("of CPUs {contradicted} clocks and name tell different ones"));
    }
    let is_odd = !contradicted.is_empty() || found.keys().any(|row| row.0 == Source::Default);
    let warning = if is_odd { "Warning: " } else { "" };
    format!("{warning}capacities of CPUs, which the recorded topology does not tell: {}", parts.join("; "))
}

/// The capacity of each CPU on which tasks computed without a pause, by the pace of its two clocks: from one
/// update of a running task to the next, `clock_pelt` goes on by capacity / 1024 of `clock_task`.
fn by_clocks(rows: &[LoadRow]) -> BTreeMap<CpuId, u32> {
    let mut before: BTreeMap<CpuId, &LoadRow> = BTreeMap::new();
    let mut paces: BTreeMap<CpuId, BTreeMap<u64, u64>> = BTreeMap::new();
    for row in rows.iter().filter(|row| row.clocks.is_some()) {
        let Some(last) = before.insert(row.cpu, row) else { continue };
        let (Some(from), Some(to)) = (last.clocks, row.clocks) else { continue };
        let (task, pelt) = (to.0.saturating_sub(from.0), to.1.saturating_sub(from.1));
        // Shorter stretches round to any pace.
        if last.id == row.id && last.input.running && row.input.running && task >= FULL * FULL {
            *paces.entry(row.cpu).or_default().entry((pelt * FULL + task / 2) / task).or_default() += 1;
        }
    }
    let most = |paces: &BTreeMap<u64, u64>| paces.iter().max_by_key(|(_, count)| **count).map(|(pace, _)| *pace as u32);
    paces.iter().filter_map(|(cpu, paces)| Some((*cpu, most(paces)?))).collect()
}

/// The capacities in the name of a family: `karm6.1-asym-4half-4full` has four CPUs of half the capacity, then four of the full one.
/// `None` if the name does not speak of all CPUs.
fn by_name(family: &str, cpus: usize) -> Option<Vec<u32>> {
    let mut capacities = Vec::new();
    for word in family.split('-') {
        let number = word.trim_end_matches(|letter: char| !letter.is_ascii_digit());
        let Some(&(_, capacity)) = WORDS.iter().find(|row| word.strip_prefix(number) == Some(row.0)) else { continue };
        let count = number.parse::<usize>().ok().filter(|&count| count <= cpus)?;
        capacities.extend(std::iter::repeat_n(capacity, count));
    }
    (capacities.len() == cpus).then_some(capacities)
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairground_formats::recorded::read_load_rows;

    /// On CPU 2 the clock of load tracking goes on at half the pace.
    const TWO_HALF: &str = include_str!("../tests/data/pelt_arm64_6.1_two_half.csv");
    const GROUP_6_18: &str = include_str!("../tests/data/pelt_6.18_group.csv");

    fn rows(text: &str) -> Vec<LoadRow> {
        read_load_rows(text.as_bytes()).0
    }

    fn found(flag: &str, records: &str, family: &str) -> (Vec<u32>, String) {
        let mut machine = Machine::preset("smp-4").unwrap();
        let flag = if flag.is_empty() { Capacities::default() } else { Capacities::parse(flag).unwrap() };
        let note = find(&mut machine, &flag, &rows(records), family);
        (machine.cpus.iter().map(|cpu| cpu.capacity).collect(), note)
    }

    #[test]
    fn the_name_of_a_family_tells_the_capacities_of_all_cpus_or_of_none() {
        let (half, full) = (512, 1024);
        assert_eq!(by_name("karm6.1-asym-2half-1full", 3), Some(vec![half, half, full]));
        assert_eq!(by_name("karm6.1-asym-1full-2half", 3), Some(vec![full, half, half]));
        for name in
            ["karm6.1-asym-4half-4full", "k6.1-hogs-3cpu", "half-full", "99999999999999999999half", "", "3", "a-2half-\u{fc}"]
        {
            assert_eq!(by_name(name, 3), None, "{name}");
        }
    }

    #[test]
    fn the_pace_of_two_clocks_tells_a_capacity() {
        assert_eq!(by_clocks(&rows(TWO_HALF)), BTreeMap::from([(CpuId::new(2), 512)]));
        assert_eq!(by_clocks(&rows(GROUP_6_18)), BTreeMap::from([(CpuId::new(2), 1024)]));
        assert_eq!(by_clocks(&[]), BTreeMap::new());
    }

    #[test]
    fn the_flag_goes_before_the_clocks_and_the_clocks_before_the_name() {
        let what = "capacities of CPUs, which the recorded topology does not tell:";
        let by_name = "by the name of the family, `x-4full`";
        let (clocks, differ) = ("by the recorded clocks of load tracking", "of CPUs 2 clocks and name tell different ones");
        for (flag, records, family, capacities, note) in [
            ("", "", "x-4full", [1024; 4], format!("{what} 0-3=1024 {by_name}")),
            (
                "",
                "",
                "x-2half-2full",
                [512, 512, 1024, 1024],
                format!("{what} 0-1=512,2-3=1024 by the name of the family, `x-2half-2full`"),
            ),
            (
                "",
                TWO_HALF,
                "x-4full",
                [1024, 1024, 512, 1024],
                format!("Warning: {what} 2=512 {clocks}; 0-1,3=1024 {by_name}; {differ}"),
            ),
            (
                "2=300",
                TWO_HALF,
                "x-4full",
                [1024, 1024, 300, 1024],
                format!("{what} 2=300 by --capacities; 0-1,3=1024 {by_name}"),
            ),
            ("0,1,3=700", TWO_HALF, "x", [700, 700, 512, 700], format!("{what} 0-1,3=700 by --capacities; 2=512 {clocks}")),
            (
                "",
                TWO_HALF,
                "x",
                [1024, 1024, 512, 1024],
                format!("Warning: {what} 2=512 {clocks}; 0-1,3=1024 as nothing tells another one"),
            ),
        ] {
            assert_eq!(found(flag, records, family), (capacities.to_vec(), note));
        }
    }
}
