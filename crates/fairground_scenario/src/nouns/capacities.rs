//! `--capacities 0-3=512,4-7=1024`: capacities of CPUs, where a machine's description does not tell them or tells them wrong.

use fairground_machine::Machine;
use fairground_machine::machine::CAPACITY_SCALE;
use fairground_machine::validate::{self, Place};
use fairground_model::Mistakes;
use fairground_stdx::{CpuId, CpuMask};

const FLAG: &str = "--capacities";
const SYNTAX: &str = "Write lists of CPUs with their capacity, as in `--capacities 0-3=512,4,6=1024`.";
const RANGE: &str = "A capacity lies in 1..=1024; 1024 is the biggest CPU at its highest frequency.";

/// What the flag says: lists of CPUs, no CPU twice, and the capacity of each of them.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Capacities(Vec<(CpuMask, u32)>);

impl Capacities {
    /// Reads the flag's value; everything that is wrong with it is reported.
    pub fn parse(text: &str) -> Result<Capacities, Mistakes> {
        let (mut rows, mut wrong) = (Capacities::default(), Mistakes::default());
        let mut list = String::new();
        // Commas divide CPUs as well as rows: a row ends with its capacity.
        for word in text.split(',') {
            match word.split_once('=') {
                None => list.extend([word, ","]),
                Some((last, capacity)) => {
                    list.push_str(last);
                    rows.add(&list, capacity.trim(), &mut wrong);
                    list.clear();
                }
            }
        }
        if !list.is_empty() {
            wrong.whole(format!("{FLAG}: `{}` has no capacity", list.trim_end_matches(',')), SYNTAX);
        }
        wrong.or(rows)
    }
    fn add(&mut self, list: &str, capacity: &str, wrong: &mut Mistakes) {
        let cpus = CpuMask::parse_list(list).filter(|cpus| !cpus.is_empty());
        if cpus.is_none() {
            wrong.whole(format!("{FLAG}: `{}` is no list of CPUs", list.trim()), SYNTAX);
        }
        let known = capacity.parse().ok().filter(|capacity| (1..=CAPACITY_SCALE).contains(capacity));
        if known.is_none() {
            wrong.whole(format!("{FLAG}: `{capacity}` is no capacity"), RANGE);
        }
        let (Some(cpus), Some(capacity)) = (cpus, known) else { return };
        let twice = cpus.and(&self.cpus());
        if !twice.is_empty() {
            wrong.whole(format!("{FLAG}: it names CPUs {twice} twice"), "Name each CPU once.");
        }
        self.0.push((cpus, capacity));
    }
    fn cpus(&self) -> CpuMask {
        self.0.iter().fold(CpuMask::EMPTY, |all, row| all.or(&row.0))
    }
    /// The capacity of a CPU, if the flag names it.
    pub fn of(&self, cpu: CpuId) -> Option<u32> {
        self.0.iter().find(|row| row.0.contains(cpu)).map(|row| row.1)
    }
    /// Gives the machine's CPUs their capacities.
    pub(crate) fn apply(&self, machine: &mut Machine, wrong: &mut Mistakes) {
        if self.0.is_empty() {
            return;
        }
        let there = CpuMask::first_n(machine.cpus.len());
        let missing = self.cpus().and_not(&there);
        if !missing.is_empty() {
            wrong.whole(format!("{FLAG}: there are no CPUs {missing}"), format!("`{}` has CPUs {there}.", machine.name));
        }
        for cpu in there.iter() {
            machine.cpus[cpu].capacity = self.of(cpu).unwrap_or(machine.cpus[cpu].capacity);
        }
        let about = validate::problems(machine).into_iter().filter(|problem| problem.place == Place::CAPACITY);
        about.for_each(|problem| wrong.whole(format!("{FLAG}: {}", problem.message), problem.hint));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn applied(text: &str, machine: &str) -> Result<Vec<u32>, String> {
        let mut machine = Machine::preset(machine).unwrap();
        let said = |wrong: Mistakes| wrong.0.iter().map(|row| row.message.as_str()).collect::<Vec<_>>().join("; ");
        let capacities = Capacities::parse(text).map_err(said)?;
        let mut wrong = Mistakes::default();
        capacities.apply(&mut machine, &mut wrong);
        wrong.or(()).map_err(said)?;
        Ok(machine.cpus.iter().map(|cpu| cpu.capacity).collect())
    }

    #[test]
    fn cpus_that_the_flag_names_get_its_capacities_and_the_others_keep_theirs() {
        assert_eq!(applied("0-1=512,2,3=1024", "smp-4"), Ok(vec![512, 512, 1024, 1024]));
        assert_eq!(applied(" 0, 2 = 430 ,3=1", "smp-4"), Ok(vec![430, 1024, 430, 1]));
    }

    #[test]
    fn everything_that_is_wrong_is_said() {
        for (text, said) in [
            ("", "`` has no capacity"),
            ("0-3", "`0-3` has no capacity"),
            ("0=512,1,2", "`1,2` has no capacity"),
            ("=512", "`` is no list of CPUs"),
            ("3-1=512", "`3-1` is no list of CPUs"),
            ("a=0", "`a` is no list of CPUs; --capacities: `0` is no capacity"),
            ("0=1025", "`1025` is no capacity"),
            ("0=512=3", "`512=3` is no capacity"),
            ("0-2=512,1-3=1024", "it names CPUs 1-2 twice"),
            ("3-5=512", "there are no CPUs 4-5"),
        ] {
            assert_eq!(applied(text, "smp-4"), Err(format!("--capacities: {said}")));
        }
    }

    #[test]
    fn siblings_on_a_machine_of_two_capacities_are_refused() {
        assert!(applied("0=512", "lap8").unwrap_err().contains("not modelled yet"));
    }
}
