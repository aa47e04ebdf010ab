//! The state in which a task leaves its CPU, as recorders spell it.

use fairground_model::PrevState;

// Bits of prev_state as the tracepoint reports them (kernel 4.14 and later): include/linux/sched.h
// TASK_REPORT and the bits above it.
const INTERRUPTIBLE: u64 = 0x01;
const UNINTERRUPTIBLE: u64 = 0x02;
const STOPPED: u64 = 0x04;
const TRACED: u64 = 0x08;
const DEAD: u64 = 0x10;
const ZOMBIE: u64 = 0x20;
const PARKED: u64 = 0x40;
const IDLE: u64 = 0x80;
const NOLOAD: u64 = 0x400;

/// Reads `R`, `R+`, `S`, `D|K`, `0x2` and the like; `None` if it is none of these.
///
/// A stopped or traced task (`T`, `t`) waits for a signal and counts as sleeping; a parked kernel
/// thread (`P`) waits for its owner and counts as one that waits for work.
pub(crate) fn parse(text: &str) -> Option<PrevState> {
    if let Some(hex) = text.strip_prefix("0x") {
        return u64::from_str_radix(hex, 16).ok().map(from_bits);
    }
    if text.bytes().all(|byte| byte.is_ascii_digit()) {
        return text.parse().ok().map(from_bits);
    }
    if text == "W" {
        return Some(PrevState::IdleWait); // how trace-cmd's own table of letters spells bit 0x80, `I`
    }
    let letters: Vec<&str> = text.trim_end_matches('+').split('|').collect();
    if letters.iter().any(|letter| letter.len() != 1 || !"RSDTtXxZPIKWNL".contains(letter)) {
        return None;
    }
    let has = |wanted: char| letters.iter().any(|letter| letter.starts_with(wanted));
    Some(from_letters(has).unwrap_or(if has('R') { PrevState::Running } else { PrevState::Sleeping }))
}

/// The state that a set of letters means; `None` if the task neither sleeps nor ends.
pub(crate) fn from_letters(has: impl Fn(char) -> bool) -> Option<PrevState> {
    Some(match () {
        () if has('X') || has('x') || has('Z') => PrevState::Dead,
        () if has('I') || has('P') || (has('D') && has('N')) => PrevState::IdleWait,
        () if has('D') || has('L') => PrevState::DiskSleep,
        () if has('S') || has('T') || has('t') => PrevState::Sleeping,
        () => return None,
    })
}

/// The state that the bits of a binary record mean.
pub(crate) fn from_bits(bits: u64) -> PrevState {
    let has = |bit: u64| bits & bit != 0;
    match () {
        () if has(DEAD) || has(ZOMBIE) => PrevState::Dead,
        () if has(IDLE) || has(PARKED) || (has(UNINTERRUPTIBLE) && has(NOLOAD)) => PrevState::IdleWait,
        () if has(UNINTERRUPTIBLE) => PrevState::DiskSleep,
        () if has(INTERRUPTIBLE) || has(STOPPED) || has(TRACED) => PrevState::Sleeping,
        () => PrevState::Running,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_combinations_and_numbers() {
        use PrevState::*;
        let known = [
            ("R", Running),
            ("R+", Running),
            ("S", Sleeping),
            ("S+", Sleeping),
            ("D", DiskSleep),
            ("I", IdleWait),
            ("T", Sleeping),
            ("t", Sleeping),
            ("X", Dead),
            ("x", Dead),
            ("Z", Dead),
            ("P", IdleWait),
            ("D|K", DiskSleep),
            ("D|N", IdleWait),
            ("S|D", DiskSleep),
            ("X|Z", Dead),
            ("T|K", Sleeping),
            ("K", Sleeping),
            ("R|W", Running),
            ("W", IdleWait),
            ("0x0", Running),
            ("0x1", Sleeping),
            ("0x2", DiskSleep),
            ("0x402", IdleWait),
            ("0x80", IdleWait),
            ("0x20", Dead),
            ("0x100", Running),
            ("1", Sleeping),
            ("16", Dead),
        ];
        for (text, state) in known {
            assert_eq!(parse(text), Some(state), "{text}");
        }
        for text in ["Q", "RS", "0x", "0xg", "|", "S|"] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
