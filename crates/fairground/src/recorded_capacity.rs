//! Which capacities the CPUs of a recorded machine have, where its topology does not say.

use crate::load_tracking::{self, LoadRow};
use fairground_machine::Machine;
use fairground_machine::machine::CAPACITY_SCALE;

/// Words of a family's name that stand for CPUs, and their capacity.
const WORDS: [(&str, u32); 2] = [("half", CAPACITY_SCALE / 2), ("full", CAPACITY_SCALE)];

/// Gives the CPUs the capacities that the name of the recorded family and the recorded clocks of load tracking tell. Clocks
/// are a measurement, so they decide where both say something. Returns a note on what was found.
pub(crate) fn find(machine: &mut Machine, family: &str, rows: &[LoadRow]) -> String {
    let named = by_name(family, machine.cpus.len());
    for (cpu, &capacity) in machine.cpus.iter_mut().zip(named.iter().flatten()) {
        cpu.capacity = capacity;
    }
    let (mut shown, mut against) = (Vec::new(), Vec::new());
    for (id, capacity) in load_tracking::capacities(rows) {
        if machine.cpus.get(id).is_none() || !(1..=CAPACITY_SCALE).contains(&capacity) {
            continue;
        }
        let cpu = &mut machine.cpus[id];
        if named.is_some() && cpu.capacity != capacity {
            against.push(format!("CPU {id} has {capacity}"));
        }
        cpu.capacity = capacity;
        shown.push(format!("CPU {id} has {capacity}"));
    }
    match (named.is_some(), shown.is_empty(), against.is_empty()) {
        (true, _, true) => {
            format!("capacities of CPUs by the name of the family, `{family}`: the recorded topology does not tell them")
        }
        (true, _, false) => format!(
            "Warning: capacities of CPUs by the name of the family, `{family}`, but by the recorded clocks of load tracking {}",
            against.join(", ")
        ),
        (false, true, _) => {
            "Warning: the recorded CPUs differ in capacity, but the recording does not say which: all are taken as 1024".into()
        }
        (false, false, _) => {
            format!("capacities by the recorded clocks of load tracking: {}; all others are taken as 1024", shown.join(", "))
        }
    }
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
    fn a_machine_of_which_nothing_is_told_stays_as_it_is() {
        let mut machine = Machine::preset("smp-2").unwrap();
        assert!(find(&mut machine, "k6.1-hogs-2cpu", &[]).starts_with("Warning"));
        assert!(machine.cpus.iter().all(|cpu| cpu.capacity == CAPACITY_SCALE));
        assert!(!find(&mut machine, "x-1half-1full", &[]).starts_with("Warning"));
        assert_eq!(machine.cpus.iter().map(|cpu| cpu.capacity).collect::<Vec<_>>(), [512, 1024]);
    }
}
