//! Rows that the core can run apart only together.

use fairground_sched::profile::Profile;

/// The rows that differ, in units: each can be taken over from the state before, without another one outside of it.
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
            for &other in rows.iter().filter(|&&other| other != row) {
                let less: Vec<&'static str> = unit.iter().copied().filter(|&kept| kept != other).collect();
                if runs(&less) {
                    unit = less;
                }
            }
        }
        if !units.contains(&unit) {
            units.push(unit);
        }
    }
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
}
