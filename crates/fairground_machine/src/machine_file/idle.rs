//! The `[[idle_state]]` tables.

use crate::fields::Fields;
use crate::idle::IdleState;
use crate::keys::{self, Key, field};
use fairground_model::Mistakes;
use fairground_stdx::Ns;

pub(super) static KEYS: &[Key<IdleState>] = &[
    field!("name" always text(), name, "Its name, such as C1."),
    field!("exit_latency" always length(), exit_latency, "How long the driver's table says that it takes to leave it."),
    field!("exit_time" changed length(), exit_time, "How long it takes to leave it; as the table says if left out."),
    field!("target_residency" always length(), target_residency, "How long an idle time must be for the state to pay."),
    field!("polling" always boolean(), polling, "Whether the CPU watches its reschedule flag, as with mwait; false if left out."),
];
/// No driver lists more states (CPUIDLE_STATE_MAX).
const MAX_STATES: usize = 10;
/// The longest latency or residency: no state is deeper than this.
const MAX_LENGTH: Ns = Ns::from_secs(10);

/// The states in the order of the file, if it has any.
pub(super) fn idle_states(fields: &Fields, mistakes: &mut Mistakes) -> Option<Vec<IdleState>> {
    let tables = fields.read_tables("idle_state", "one `[[idle_state]]` table per state", mistakes)?;
    if tables.len() > MAX_STATES {
        let message = format!("{} idle states", tables.len());
        mistakes.at(fields.span_of("idle_state"), message, format!("A CPU has at most {MAX_STATES}."));
        return None;
    }
    let mut states: Vec<IdleState> = Vec::new();
    for fields in tables {
        let state = idle_state(&fields, states.len(), mistakes);
        if let Some(shallower) = states.last().filter(|last| is_deeper(last, &state)) {
            let message = format!("idle state `{}` is shallower than `{}` before it", state.name, shallower.name);
            let hint = "List the states from the shallowest to the deepest: latency and residency do not go down.";
            mistakes.at(fields.span(), message, hint);
        }
        states.push(state);
    }
    Some(states)
}

fn is_deeper(a: &IdleState, b: &IdleState) -> bool {
    a.exit_latency > b.exit_latency || a.target_residency > b.target_residency
}

fn idle_state(fields: &Fields, place: usize, mistakes: &mut Mistakes) -> IdleState {
    fields.refuse_unknown(keys::names(KEYS), mistakes);
    for key in ["exit_latency", "target_residency"].into_iter().filter(|key| !fields.has(key)) {
        mistakes.at(fields.span(), format!("an idle state without `{key}`"), format!("Write {key} = \"10us\"."));
    }
    let mut state = IdleState {
        name: format!("state{place}"),
        exit_latency: Ns::ZERO,
        exit_time: Ns::ZERO,
        target_residency: Ns::ZERO,
        polling: false,
    };
    keys::read(KEYS, fields, &mut state, mistakes);
    if !fields.has("exit_time") {
        state.exit_time = state.exit_latency;
    }
    let lengths = [
        ("exit_latency", &mut state.exit_latency),
        ("exit_time", &mut state.exit_time),
        ("target_residency", &mut state.target_residency),
    ];
    for (key, length) in lengths {
        if *length > MAX_LENGTH && fields.has(key) {
            mistakes.at(fields.span_of(key), format!("`{key}` is {length}"), format!("It is at most {MAX_LENGTH}."));
        }
        *length = MAX_LENGTH.min(*length);
    }
    state
}

/// One table per state.
pub(super) fn write(states: &[IdleState]) -> String {
    let row = |state: &IdleState| {
        let without = IdleState { exit_time: state.exit_latency, ..state.clone() };
        format!("\n[[idle_state]]\n{}", keys::write(KEYS, state, &without))
    };
    states.iter().map(row).collect()
}
