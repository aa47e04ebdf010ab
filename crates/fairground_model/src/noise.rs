//! What takes time from CPUs that no task asked for: interrupts of devices, and the host of a virtual machine.

use fairground_stdx::{CpuMask, Instant, Ns};

/// Who takes the time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NoiseKind {
    /// An interrupt of a device: time in interrupt context.
    Interrupt,
    /// The host, which runs something else on the physical CPU.
    Stolen {
        /// Whether it tells the guest (paravirt_steal_clock, CONFIG_PARAVIRT_TIME_ACCOUNTING).
        told: bool,
    },
}

/// From the beginning of a disturbance to that of the next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Gap {
    /// Drawn evenly between two lengths.
    Between(Ns, Ns),
    /// Drawn from an exponential distribution of this mean.
    Exponential(Ns),
}

impl Gap {
    /// The mean.
    pub const fn mean(self) -> Ns {
        match self {
            Gap::Between(low, high) => Ns(low.0 + (high.0 - low.0) / 2),
            Gap::Exponential(mean) => mean,
        }
    }
}

/// A source of disturbances: on each of its CPUs one after another, apart from those of the other CPUs.
///
/// ```text
/// first at `start` + a gap, then each a gap after the one before has begun
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NoiseSpec {
    /// Who takes the time.
    pub kind: NoiseKind,
    /// The CPUs; `None` = all.
    pub cpus: Option<CpuMask>,
    /// From when on.
    pub start: Instant,
    /// From the beginning of one to that of the next.
    pub gap: Gap,
    /// How long one lasts: drawn evenly from the least to the most.
    pub length: (Ns, Ns),
}
