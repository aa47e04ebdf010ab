//! The `[[idle_state]]` tables.

use super::explicit::tables;
use super::fields::Fields;
use crate::idle::IdleState;
use fairground_model::Mistakes;
use fairground_stdx::Ns;

const KEYS: [&str; 5] = ["name", "exit_latency", "exit_time", "target_residency", "polling"];
/// No driver lists more states (CPUIDLE_STATE_MAX).
const MAX_STATES: usize = 10;
/// The longest latency or residency: no state is deeper than this.
const MAX_LENGTH: Ns = Ns::from_secs(10);

/// The states in the order of the file, if it has any.
pub(super) fn idle_states(fields: &Fields, mistakes: &mut Mistakes) -> Option<Vec<IdleState>> {
    let item = fields.item("idle_state")?;
    let Some(tables) = tables(item) else {
        fields.wrong("idle_state", item, "one `[[idle_state]]` table per state", mistakes);
        return None;
    };
    if tables.len() > MAX_STATES {
        let message = format!("{} idle states", tables.len());
        mistakes.at(fields.span_of("idle_state"), message, format!("A CPU has at most {MAX_STATES}."));
        return None;
    }
    let mut states: Vec<IdleState> = Vec::new();
    for (table, span) in tables {
        let fields = Fields::new(table, span.unwrap_or(fields.span_of("idle_state")));
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
    fields.refuse_unknown(&KEYS, mistakes);
    for key in ["exit_latency", "target_residency"].into_iter().filter(|key| !fields.has(key)) {
        mistakes.at(fields.span(), format!("an idle state without `{key}`"), format!("Write {key} = \"10us\"."));
    }
    let mut length_of = |key| {
        let length = fields.length(key, mistakes).unwrap_or(Ns::ZERO);
        if length > MAX_LENGTH {
            mistakes.at(fields.span_of(key), format!("`{key}` is {length}"), format!("It is at most {MAX_LENGTH}."));
        }
        length.min(MAX_LENGTH)
    };
    let (exit_latency, target_residency) = (length_of("exit_latency"), length_of("target_residency"));
    let exit_time = if fields.has("exit_time") { length_of("exit_time") } else { exit_latency };
    IdleState {
        name: fields.text("name", mistakes).map_or_else(|| format!("state{place}"), str::to_string),
        exit_latency,
        exit_time,
        target_residency,
        polling: fields.boolean("polling", mistakes).unwrap_or(false),
    }
}
