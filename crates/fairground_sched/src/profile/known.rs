//! Names of profiles: kernels, and unmerged patches as overlays.

use crate::version::{KernelVersion, v};

/// A kernel that can be named.
pub(super) struct Kernel {
    pub(super) version: KernelVersion,
    pub(super) modelled: bool,
    note: &'static str,
}

/// An unmerged patch, or a later change carried back, as changes of seams.
pub(super) struct Overlay {
    name: &'static str,
    note: &'static str,
    /// The tree that it applies to.
    pub(super) base: KernelVersion,
    /// Seams that it changes; none if it is not modelled yet.
    pub(super) seams: &'static [(&'static str, &'static str)],
}

const fn kernel(version: KernelVersion, modelled: bool, note: &'static str) -> Kernel {
    Kernel { version, modelled, note }
}

pub(super) static KERNELS: &[Kernel] = &[
    kernel(v(4, 12), true, "CFS before load tracking was rewritten"),
    kernel(v(4, 20), true, "CFS, contributions of load tracking scaled"),
    kernel(v(5, 1), true, "CFS, first kernel with a scaled clock for load tracking"),
    kernel(v(5, 10), true, "CFS of the recorded stable kernel 5.10.223"),
    kernel(v(5, 19), true, "CFS, last kernel before the idle search went by utilisation"),
    kernel(v(6, 1), true, "CFS of the recorded stable kernel 6.1; stands for 6.0 to 6.5"),
    kernel(v(6, 6), true, "EEVDF, first kernel with it"),
    kernel(v(6, 12), true, "EEVDF of the recorded stable kernel 6.12.107, with delayed dequeue"),
    kernel(v(6, 14), true, "EEVDF with delayed dequeue, base slice 0.75 ms"),
    kernel(v(6, 18), true, "EEVDF of the recorded stable kernel 6.18: protection by virtual time, lazy preemption"),
    kernel(v(7, 2), false, "EEVDF with slices ended by a high-resolution timer"),
];

static OVERLAYS: &[Overlay] = &[
    Overlay {
        name: "align-vruntime",
        note: "an entity whose slice is used up goes behind all others; never merged",
        base: v(4, 20),
        seams: &[("tick_preempt", "align-rightmost")],
    },
    Overlay {
        name: "clock-pelt",
        note: "time of load tracking is scaled instead of contributions, as mailed before it was merged for v5.1",
        base: v(4, 20),
        seams: &[("pelt", "c"), ("pelt_clock", "clock-pelt-as-mailed")],
    },
    Overlay {
        name: "eager-siblings",
        note: "two tasks of a core are one too many whatever the balancing core has: the rule of v4.11, kept",
        base: v(4, 12),
        seams: &[("prefer_sibling", "any-excess")],
    },
    Overlay {
        name: "independent-runnable",
        note: "runnable load of groups propagates on its own",
        base: v(4, 12),
        seams: &[("group_load", "independent")],
    },
    Overlay { name: "sis-util", note: "the idle search goes by utilisation", base: v(5, 19), seams: &[] },
    Overlay { name: "task-throttle", note: "throttled tasks stop on return to user mode", base: v(6, 14), seams: &[] },
];

pub(super) fn overlay(name: &str) -> Option<&'static Overlay> {
    OVERLAYS.iter().find(|overlay| overlay.name == name)
}

/// Whether a known name can be used.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum KnownKind {
    /// It can.
    Modelled,
    /// It is refused, as not modelled yet.
    NotModelledYet,
}

/// A name that [`super::Profile::parse`] knows.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Known {
    /// `v4.20`, `v4.20+align-vruntime`.
    pub name: String,
    /// What it is, as half a sentence.
    pub note: &'static str,
    /// Whether it can be used.
    pub kind: KnownKind,
}

pub(super) fn all() -> Vec<Known> {
    let kind = |modelled| if modelled { KnownKind::Modelled } else { KnownKind::NotModelledYet };
    let mut known = Vec::new();
    for kernel in KERNELS {
        known.push(Known { name: kernel.version.to_string(), note: kernel.note, kind: kind(kernel.modelled) });
        known.extend(OVERLAYS.iter().filter(|overlay| overlay.base == kernel.version).map(|overlay| Known {
            name: format!("{}+{}", kernel.version, overlay.name),
            note: overlay.note,
            kind: kind(!overlay.seams.is_empty()),
        }));
    }
    known
}
