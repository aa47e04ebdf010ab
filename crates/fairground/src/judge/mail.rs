//! The verdict as a mail: at most 75 columns.

use super::{Judged, JudgedCase};
use crate::compare::Shift;
use fairground_metrics::{Comparison, Verdict};
use fairground_report::paragraph::wrapped;
use fairground_report::units::{counted, format_count, format_mean};
use std::cmp::Ordering;

const COLUMNS: usize = 75;
/// Rows of one kind that a mail shows for a case.
const SHOWN: usize = 4;

impl Judged {
    /// The verdict in words: what got worse, what better, by how much and where; then the cases without a difference.
    pub fn mail(&self) -> String {
        let [a, b] = &self.sides;
        let mut lines = vec![format!("Subject: [judge] {}", self.verdict()), String::new()];
        if self.interrupted {
            lines.push("PARTIAL: it was interrupted, which decides nothing.".to_string());
        }
        lines.push(format!("baseline  {a}"));
        lines.push(format!("against   {b}"));
        let cases = counted(self.cases.len() as u64, "case");
        lines.push(format!("battery   {}: {cases}, {} each", self.battery.name(), counted(self.pairs, "pair")));
        for (verdict, title) in [(Verdict::Worse, "Worse"), (Verdict::Better, "Better"), (Verdict::Differs, "Different")] {
            lines.extend(self.section(verdict, title));
        }
        for (is_same, title) in [(true, "No difference"), (false, "Not decided; more pairs (--runs) may show a difference")] {
            let cases: Vec<&JudgedCase> = self.cases.iter().filter(|case| is_undecided(case) == Some(is_same)).collect();
            if !cases.is_empty() {
                lines.extend([String::new(), title.to_string()]);
                lines.extend(cases.iter().map(|case| format!("  {}", case.title)));
            }
        }
        lines.extend(self.decisions());
        if !self.left_out.is_empty() {
            lines.extend([String::new(), "Left out".to_string()]);
            lines.extend(self.left_out.iter().map(|(title, why)| format!("  {title}: {why}")));
        }
        lines.extend([
            String::new(),
            "Verdicts: pairs of equal seeds, at most 5 % false ones in a case.".to_string(),
            format!("Digest of all runs: {:032x}", self.digest),
        ]);
        wrapped(&(lines.join("\n") + "\n"), COLUMNS)
    }

    fn verdict(&self) -> String {
        let (worse, better) = (self.count(Verdict::Worse), self.count(Verdict::Better));
        match (worse, better) {
            (0, 0) if self.cases.is_empty() => "nothing could be run".to_string(),
            (0, 0) if self.count(Verdict::Inconclusive) > 0 => "nothing is shown to be better or worse".to_string(),
            (0, 0) => "nothing is better or worse".to_string(),
            (0, better) => format!("better in {}", counted(better as u64, "metric")),
            (worse, 0) => format!("worse in {}", counted(worse as u64, "metric")),
            (worse, better) => {
                format!("worse in {}, better in {}", counted(worse as u64, "metric"), counted(better as u64, "metric"))
            }
        }
    }

    fn section(&self, verdict: Verdict, title: &str) -> Vec<String> {
        let mut lines = Vec::new();
        for case in &self.cases {
            let mut rows: Vec<&Comparison> = case.rows().filter(|row| row.verdict == verdict).collect();
            rows.sort_by(|a, b| larger_first(a, b));
            if rows.is_empty() {
                continue;
            }
            lines.push(format!("  {}", case.title));
            lines.extend(rows.iter().take(SHOWN).map(|row| row_line(row)));
            if rows.len() > SHOWN {
                lines.push(format!("    and {} more", rows.len() - SHOWN));
            }
        }
        match lines.is_empty() {
            true => lines,
            false => [String::new(), title.to_string()].into_iter().chain(lines).collect(),
        }
    }

    /// Behind each decided case: which rules decided more or less often.
    fn decisions(&self) -> Vec<String> {
        let mut lines = Vec::new();
        for case in self.cases.iter().filter(|case| case.is_decided() && !case.shifts.is_empty()) {
            lines.push(format!("  {}", case.title));
            lines.extend(case.shifts.iter().take(SHOWN).map(shift_line));
        }
        match lines.is_empty() {
            true => lines,
            false => {
                let title = "Decisions, per run; `fairground list reasons` has the rules".to_string();
                [String::new(), title].into_iter().chain(lines).collect()
            }
        }
    }
}

fn shift_line(shift: &Shift) -> String {
    let change = (shift.a > 0).then(|| (shift.b as f64 / shift.a as f64 - 1.0) * 100.0);
    line(shift.reason.slug(), &format_count(shift.a), &format_count(shift.b), change)
}

fn row_line(row: &Comparison) -> String {
    line(&row.name, &format_mean(&row.a, row.unit), &format_mean(&row.b, row.unit), row.change_percent())
}

/// A name, its value on both sides, and the change, which has no percentage from 0.
fn line(name: &str, a: &str, b: &str, percent: Option<f64>) -> String {
    let change = percent.map_or("from 0".to_string(), |percent| format!("{percent:+.1} %"));
    format!("    {name:<34} {a:>12} {b:>12} {change:>9}")
}

fn larger_first(a: &Comparison, b: &Comparison) -> Ordering {
    let size = |row: &Comparison| row.change_percent().map_or(f64::INFINITY, f64::abs);
    size(b).total_cmp(&size(a)).then_with(|| a.name.cmp(&b.name))
}

/// Whether nothing is decided in a case, and whether that is since nothing differs: else more pairs might decide.
fn is_undecided(case: &JudgedCase) -> Option<bool> {
    let is = |verdict: Verdict| move |row: &Comparison| row.verdict == verdict;
    let (no_difference, inconclusive) = (is(Verdict::NoDifference), is(Verdict::Inconclusive));
    case.rows().all(|row| no_difference(row) || inconclusive(row)).then(|| case.rows().all(no_difference))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::{Battery, JudgeOptions, judge};
    use fairground_scenario::Control;

    /// A case of which nothing is known is no case without a difference.
    #[test]
    fn what_is_not_decided_is_not_called_equal() {
        let options = JudgeOptions {
            a: "v6.12".into(),
            b: "v6.14".into(),
            battery: Battery::Quick,
            only: vec!["mixed".into()],
            runs: Some(2),
        };
        let judged = judge(&options, Control::none()).unwrap();
        let mail = judged.mail();
        assert!(judged.count(Verdict::Inconclusive) > 0 && judged.count(Verdict::Worse) == 0, "two pairs decide nothing: {mail}");
        assert!(mail.contains("Not decided") && !mail.contains("No difference"), "{mail}");
        assert!(mail.starts_with("Subject: [judge] nothing is shown to be better or worse\n"), "{mail}");
        assert_eq!(judged.exit_code(), 4);
    }

    /// Without preemption by wake-ups sleepers wait for hogs.
    #[test]
    fn a_kernel_against_one_that_does_less_is_judged_in_75_columns() {
        let options = JudgeOptions {
            a: "v6.12".into(),
            b: "v5.10".into(),
            battery: Battery::Quick,
            only: vec!["mixed".into(), "pipe".into()],
            runs: Some(6),
        };
        let judged = judge(&options, Control::none()).unwrap();
        assert_eq!((judged.cases.len(), judged.left_out.len()), (3, 0), "{:?}", judged.left_out);
        let mail = judged.mail();
        assert!(mail.lines().all(|line| line.chars().count() <= COLUMNS), "{mail}");
        assert!(mail.starts_with("Subject: [judge] ") && mail.contains("baseline  v6.12\n"), "{mail}");
        assert!(judged.count(Verdict::Worse) + judged.count(Verdict::Better) > 0, "{mail}");
        assert!(mail.contains("\nDecisions, per run") && mail.contains("    pick-eligible-deadline "), "{mail}");
        assert_eq!(judge(&options, Control::none()).unwrap().mail(), mail, "the same runs");
    }

    /// Every case of both batteries is a scenario that our core takes.
    #[test]
    fn every_case_is_a_scenario() {
        for battery in [Battery::Quick, Battery::Full] {
            for case in battery.cases() {
                let text = case.scenario();
                let parsed = fairground_scenario::Scenario::parse(case.name, &text, "".as_ref(), &Default::default());
                let scenario = parsed.unwrap_or_else(|why| panic!("{}: {why}\n{text}", case.name));
                assert!(fairground_sim::Simulation::new(scenario.setup().unwrap()).is_ok(), "{text}");
            }
        }
    }
}
