//! Which rules decided more often, or less, on the other side: what stands behind a verdict.

use super::Compared;
use crate::run::RunOutcome;
use fairground_model::Reason;
use fairground_report::{Table, columns};

/// A shift counts if it is at least this part of the larger side, in hundredths.
const LEAST_PERCENT: u64 = 5;

/// A rule that decided more often on one side.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shift {
    /// The rule.
    pub reason: Reason,
    /// How often it decided in a run of the baseline, in the mean.
    pub a: u64,
    /// The same on the other side.
    pub b: u64,
}

impl Compared {
    /// The rules that decided more often on the same side in every pair, and by 5 % at least; the largest shift first.
    pub fn shifts(&self) -> Vec<Shift> {
        let pairs: Vec<[&RunOutcome; 2]> = self.outcomes.chunks_exact(2).map(|pair| [&pair[0], &pair[1]]).collect();
        let mut shifts: Vec<Shift> = Reason::ALL.iter().filter_map(|&reason| shift(reason, &pairs)).collect();
        shifts.sort_by_key(|shift| (std::cmp::Reverse(shift.a.abs_diff(shift.b)), shift.reason));
        shifts
    }
}

/// Shifts as a table.
pub(crate) fn shifts_table(shifts: &[Shift]) -> Table {
    let columns = columns![left "rule", right "baseline", right "compare", left "what it says"];
    let mut table = Table::new("shifts", "Rules that decided more or less often, per run", columns);
    for Shift { reason, a, b } in shifts {
        let sentence = reason.sentence().replace("{a}", "A").replace("{b}", "B");
        table.push(vec![reason.slug().into(), (*a).into(), (*b).into(), sentence.into()]);
    }
    table
}

fn shift(reason: Reason, pairs: &[[&RunOutcome; 2]]) -> Option<Shift> {
    let count = |run: &RunOutcome| run.report.reasons.iter().find(|row| row.reason == reason).map_or(0, |row| row.count);
    let counts = || pairs.iter().map(|pair| pair.map(count));
    let one_way = counts().all(|[a, b]| a < b) || counts().all(|[a, b]| a > b);
    let number = (pairs.len() as u64).max(1);
    let [a, b] = counts().fold([0, 0], |[a, b], [more_a, more_b]| [a + more_a, b + more_b]);
    let is_worth = a != b && a.abs_diff(b) * 100 >= a.max(b) * LEAST_PERCENT;
    (one_way && is_worth).then_some(Shift { reason, a: a / number, b: b / number })
}

#[cfg(test)]
mod tests {
    use crate::compare::{CompareOptions, compare};
    use fairground_model::Reason;
    use fairground_scenario::{Control, Overrides, Scenario};
    use std::path::Path;

    const TEXT: &str = "duration = \"300ms\"\nmachine = { preset = \"smp-1\" }\nprofile = { kernel = \"v6.1\" }\n\
                        [[workload]]\ntasks = [{ name = \"hog\", hog = true }, { name = \"short\", do = [\"run 100us..200us\", \"sleep 3ms..4ms\"] }]\n";

    /// Without preemption by wake-ups no wake-up preempts.
    #[test]
    fn a_rule_that_was_switched_off_is_among_them() {
        let scenario = Scenario::parse("shift", TEXT, Path::new(""), &Overrides::default()).unwrap();
        let change = |change: &str| CompareOptions { changes: vec![change.to_string()], runs: 3, ..CompareOptions::default() };
        let shifts = compare(&scenario, &change("NO_WAKEUP_PREEMPTION"), Control::none()).unwrap().shifts();
        let of = |reason: Reason| shifts.iter().find(|shift| shift.reason == reason).copied();
        let preempts = of(Reason::WakePreempts).unwrap_or_else(|| panic!("{shifts:?}"));
        assert!(preempts.a > 20 && preempts.b == 0, "{shifts:?}");
        let same = compare(&scenario, &change("NO_SIS_UTIL"), Control::none()).unwrap();
        assert_eq!(same.shifts(), [], "one CPU has no other to search");
    }
}
