//! What was added to a recording.

/// Records that no recorder wrote, by kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Inferred {
    /// Wake-ups of tasks that are first seen when they get a CPU.
    pub first_seen: u64,
    /// Wake-ups of tasks that slept.
    pub wakeups: u64,
    /// Beginnings of wake-ups.
    pub wakings: u64,
    /// Births: wake-ups of tasks that were made and not queued.
    pub births: u64,
    /// Moves to another CPU.
    pub moves: u64,
    /// Switches.
    pub switches: u64,
}

impl Inferred {
    /// All kinds with their names in JSON and in sentences.
    pub const fn rows(&self) -> [(&'static str, &'static str, u64); 6] {
        [
            ("first_seen", "wake-ups of tasks first seen at a switch", self.first_seen),
            ("wakeups", "wake-ups", self.wakeups),
            ("wakings", "beginnings of wake-ups", self.wakings),
            ("births", "births", self.births),
            ("moves", "moves", self.moves),
            ("switches", "switches", self.switches),
        ]
    }
    /// How many there are.
    pub fn sum(&self) -> u64 {
        self.rows().iter().map(|row| row.2).sum()
    }
}
