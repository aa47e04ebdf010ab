//! What a problem is about.

use fairground_stdx::CpuId;

/// The part of a machine that a problem is about, so that a reader can point at it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    /// What one of these keys of a machine file says, the first that it has.
    Keys(&'static [&'static str]),
    /// One CPU.
    Cpu(CpuId),
    /// What is said of CPUs that change frequency together: their row in the list, and the key.
    Policy(usize, &'static str),
}

impl Place {
    /// The list of CPUs as a whole.
    pub const CPUS: Place = Place::Keys(&["cpu", "cores", "preset"]);
    /// The capacities.
    pub const CAPACITY: Place = Place::Keys(&["capacity", "capacities", "cpu", "preset"]);
}

/// One thing that is wrong with a machine.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Problem {
    /// What it is about.
    pub place: Place,
    /// What is wrong.
    pub message: String,
    /// What would be right.
    pub hint: String,
}
