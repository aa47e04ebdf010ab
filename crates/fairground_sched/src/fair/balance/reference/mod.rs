//! Independent models of the balance decision, written from docs/model/07-load-balance.md on plain vectors, and machines in random
//! states to compare them with the scheduler's own.

mod by_load;
mod by_type;
mod state;

use by_load::decide_by_load;
use by_type::decide_by_type;
pub(super) use state::{Answer, State};

/// So many random states per kernel; all kernels together are more than the ten thousand that were asked for.
const STATES: u64 = 2000;

/// So many times the same state is asked, some of its CPUs changed in between: what is kept from the last time must not
/// show.
const CHANGES: u64 = 4;

fn agree(kernels: &[&str], decide: impl Fn(&str, &state::Plain) -> Option<Answer>) {
    for kernel in kernels {
        let mut found = 0;
        for seed in 0..STATES {
            let mut state = State::random(kernel, seed);
            for step in 0..CHANGES {
                let expected = decide(kernel, &state.plain());
                let got = state.ask();
                assert_eq!(got, expected, "{kernel}, state {seed}, changed {step} times: {:#?}", state.plain());
                found += u64::from(got.is_some());
                state.change();
            }
        }
        let asked = STATES * CHANGES;
        assert!((asked / 10..asked * 9 / 10).contains(&found), "{kernel}: {found} of {asked} states are imbalanced");
    }
}

#[test]
fn the_group_type_form_agrees_with_its_slow_model() {
    agree(&["v5.10", "v5.19", "v6.1", "v6.6", "v6.12", "v6.14", "v6.18"], decide_by_type);
}

#[test]
fn the_load_based_form_agrees_with_its_slow_model() {
    agree(&["v4.12", "v4.20", "v5.1"], decide_by_load);
}
