//! Rows that the core can run apart only together.

use fairground_sched::profile::Profile;

/// The rows that differ, in units: each can be taken over from the state before, without another one outside of it. They stand in
/// the order in which kernels changed them; a unit that holds another one stands behind it.
///
/// A row that cannot be taken alone brings what it needs: of all rows those are dropped, one after the other, without which the
/// mix can still be run.
pub(crate) fn units(before: &Profile, after: &Profile) -> Vec<Vec<&'static str>> {
    let rows = before.rows_apart(after);
    let runs = |rows: &[&'static str]| before.with_rows(after, rows).is_ok();
    let mut units: Vec<Vec<&'static str>> = Vec::new();
    for &row in &rows {
        let mut unit = vec![row];
        if !runs(&unit) {
            unit = rows.clone();
            // Again and again: a row may be needed only by one that is dropped after it.
            let mut before = usize::MAX;
            while unit.len() < before {
                before = unit.len();
                for &other in rows.iter().filter(|&&other| other != row) {
                    let less: Vec<&'static str> = unit.iter().copied().filter(|&kept| kept != other).collect();
                    if runs(&less) {
                        unit = less;
                    }
                }
            }
        }
        if !units.contains(&unit) {
            units.push(unit);
        }
    }
    let changes = before.changes(after);
    // What no kernel made comes last. On the way back the youngest comes first.
    let place = |row: &str| changes.iter().position(|change| change.to.name == row).unwrap_or(usize::MAX);
    units.sort_by_cached_key(|unit| (unit.iter().map(|row| place(row)).max(), unit.len()));
    units
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_seams_of_eevdf_are_one_unit_and_others_stand_alone() {
        let (a, b) = (Profile::parse("v6.1").unwrap(), Profile::parse("v6.6").unwrap());
        let units = units(&a, &b);
        let of_pick = units.iter().find(|unit| unit.contains(&"pick")).unwrap();
        assert!(of_pick.contains(&"place") && of_pick.contains(&"tick_preempt"), "{of_pick:?}");
        assert!(units.iter().any(|unit| unit.len() == 1), "{units:?}");
        assert!(units.iter().all(|unit| a.with_rows(&b, unit).is_ok()));
        assert!(a.rows_apart(&b).iter().all(|row| units.iter().any(|unit| unit.contains(row))));
    }

    /// `util_est_sample` is needed by DELAY_DEQUEUE only.
    #[test]
    fn a_unit_holds_nothing_that_it_could_run_without() {
        let (a, b) = (Profile::parse("v6.1").unwrap(), Profile::parse("v6.12").unwrap());
        for unit in units(&a, &b).iter().filter(|unit| unit.len() > 1) {
            let holds = |other: &str| unit.contains(&other);
            assert!(!holds("util_est_sample") || holds("DELAY_DEQUEUE"), "{unit:?}");
        }
    }

    #[test]
    fn units_stand_in_the_order_of_history() {
        let (a, b) = (Profile::parse("v6.1").unwrap(), Profile::parse("v6.12").unwrap());
        let place = |row: &str, units: &[Vec<&str>]| units.iter().position(|unit| unit.contains(&row)).unwrap();
        let there = units(&a, &b);
        assert!(place("unthrottle", &there) < place("tg_load_update", &there));
        assert!(place("tg_load_update", &there) < place("task_slice", &there));
        let back = units(&b, &a);
        assert!(place("tg_load_update", &back) < place("unthrottle", &back));
        for (at, unit) in there.iter().enumerate() {
            let holds = |other: &Vec<&str>| other.len() < unit.len() && other.iter().all(|row| unit.contains(row));
            assert!(there[at..].iter().all(|other| !holds(other)), "{unit:?}");
        }
    }
}
