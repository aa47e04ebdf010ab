//! Idle states: what a CPU without work may enter, and who chooses.

use fairground_stdx::Ns;

/// One state, as the kernel's table of its driver has it. States are listed from the shallowest to the deepest.
///
/// Kernel: cpuidle.h struct cpuidle_state, v4.12–
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdleState {
    /// Its name, such as C1.
    pub name: String,
    /// How long the table says that it takes to leave it: what governor and scheduler go by.
    pub exit_latency: Ns,
    /// How long it takes to leave it. The driver's table has the worst case of the whole package; a core is faster.
    pub exit_time: Ns,
    /// How long an idle time must be for the state to pay.
    pub target_residency: Ns,
    /// The CPU watches its reschedule flag (mwait, a poll loop): it needs no interrupt to be woken.
    pub polling: bool,
}

/// Who chooses among the states.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum IdleGovernor {
    /// The deepest state that pays for the predicted idle time: up to the next timer, but no longer than the last
    /// eight idle times were on the average.
    #[default]
    MenuLike,
    /// Always the first state.
    Shallowest,
    /// Always the last state.
    Deepest,
}

impl IdleGovernor {
    /// All governors with the names that machine files use.
    pub const NAMES: [(&'static str, IdleGovernor); 3] =
        [("menu-like", IdleGovernor::MenuLike), ("shallowest", IdleGovernor::Shallowest), ("deepest", IdleGovernor::Deepest)];

    /// The place in `states` of the one to enter for an idle time of `predicted`; none if there are no states.
    ///
    /// Kernel: governors/menu.c menu_select(), v4.12–
    pub fn select(self, states: &[IdleState], predicted: Ns) -> Option<usize> {
        let last = states.len().checked_sub(1)?;
        Some(match self {
            IdleGovernor::MenuLike => states.iter().rposition(|state| state.target_residency <= predicted).unwrap_or(0),
            IdleGovernor::Shallowest => 0,
            IdleGovernor::Deepest => last,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn states() -> Vec<IdleState> {
        let rows = [("C1", 2, 2), ("C1E", 10, 20), ("C3", 40, 100), ("C6", 133, 400)];
        rows.map(|(name, exit, residency)| IdleState {
            name: name.to_string(),
            exit_latency: Ns::from_us(exit),
            exit_time: Ns::from_us(exit),
            target_residency: Ns::from_us(residency),
            polling: true,
        })
        .to_vec()
    }

    #[test]
    fn the_deepest_state_that_pays_is_taken() {
        let select = |us| IdleGovernor::MenuLike.select(&states(), Ns::from_us(us));
        assert_eq!([0, 2, 19, 20, 99, 100, 399, 400, 10_000].map(select), [0, 0, 0, 1, 1, 2, 2, 3, 3].map(Some));
        assert_eq!(IdleGovernor::Shallowest.select(&states(), Ns::from_us(10_000)), Some(0));
        assert_eq!(IdleGovernor::Deepest.select(&states(), Ns::ZERO), Some(3));
        assert_eq!(IdleGovernor::MenuLike.select(&[], Ns::ZERO), None);
    }
}
