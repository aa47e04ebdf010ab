//! Names of profiles: kernels, and unmerged patches as overlays.

use fairground_model::features::Feat;
use fairground_model::version::{KernelVersion, v};

/// A kernel that can be named.
pub(super) struct Kernel {
    pub(super) version: KernelVersion,
    pub(super) modelled: bool,
    note: &'static str,
}

/// An unmerged patch, or a later change carried back, as changes of seams and switches.
pub(super) struct Overlay {
    name: &'static str,
    note: &'static str,
    /// The tree that it applies to.
    pub(super) base: KernelVersion,
    /// The overlay that it applies on top of.
    pub(super) over: Option<&'static str>,
    /// Seams that it changes.
    pub(super) seams: &'static [(&'static str, &'static str)],
    /// Switches that it changes, or brings.
    pub(super) feats: &'static [(Feat, bool)],
}

impl Overlay {
    /// One that is not modelled yet changes nothing.
    pub(super) const fn modelled(&self) -> bool {
        !self.seams.is_empty() || !self.feats.is_empty()
    }
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
    kernel(v(6, 1), true, "CFS of the recorded stable kernels 6.1.176 and 6.1.192; stands for 6.0 to 6.5"),
    kernel(v(6, 6), true, "EEVDF, first kernel with it"),
    kernel(v(6, 12), true, "EEVDF of the recorded stable kernel 6.12.107, with delayed dequeue"),
    kernel(v(6, 14), true, "EEVDF with delayed dequeue, base slice 0.75 ms"),
    kernel(v(6, 18), true, "EEVDF of the recorded stable kernel 6.18: protection by virtual time, lazy preemption"),
    kernel(
        v(7, 2),
        true,
        "EEVDF of the recorded stable kernel 7.2.12: requests ended by a high-resolution timer, lags by the largest slice",
    ),
    kernel(v(7, 3), false, "EEVDF with one flat queue per CPU"),
];

static OVERLAYS: &[Overlay] = &[
    Overlay {
        name: "align-vruntime",
        note: "an entity whose slice is used up goes behind all others; never merged",
        base: v(4, 20),
        over: None,
        seams: &[("tick_preempt", "align-rightmost")],
        feats: &[],
    },
    Overlay {
        name: "clock-pelt",
        note: "time of load tracking is scaled instead of contributions, as mailed before it was merged for v5.1",
        base: v(4, 20),
        over: None,
        seams: &[("pelt", "c"), ("pelt_clock", "clock-pelt-as-mailed")],
        feats: &[],
    },
    Overlay {
        name: "eager-siblings",
        note: "two tasks of a core are one too many whatever the balancing core has: the rule of v4.11, kept",
        base: v(4, 12),
        over: None,
        seams: &[("prefer_sibling", "any-excess")],
        feats: &[],
    },
    Overlay {
        name: "independent-runnable",
        note: "runnable load of groups propagates on its own",
        base: v(4, 12),
        over: None,
        seams: &[("group_load", "independent")],
        feats: &[],
    },
    Overlay {
        name: "sis-util",
        note: "the idle search goes by utilisation, as mailed before it was merged for v6.0",
        base: v(5, 19),
        over: None,
        seams: &[],
        feats: &[(Feat::SIS_PROP, false), (Feat::SIS_UTIL, true)],
    },
    Overlay {
        name: "small-llc",
        note: "with SIS_UTIL, searches of cache domains of up to 16 CPUs go as far as if there were 32; discussed, never merged",
        base: v(5, 19),
        over: Some("sis-util"),
        seams: &[("idle_scan", "more-in-small")],
        feats: &[],
    },
    Overlay {
        name: "task-throttle",
        note: "throttled tasks stop on return to user mode, as mailed in March 2025 before it was merged for v6.18",
        base: v(6, 14),
        over: None,
        seams: &[("throttle", "on-user-return-v1")],
        feats: &[],
    },
];

/// Whether the tables tell the state of a kernel: it came out between the first and the last that are modelled.
pub(super) fn has_tables(version: KernelVersion) -> bool {
    let within = |first: &Kernel, last: &Kernel| first.version <= version && version <= last.version;
    let mut modelled = KERNELS.iter().filter(|kernel| kernel.modelled);
    version.exists() && modelled.next().zip(modelled.next_back()).is_some_and(|(first, last)| within(first, last))
}

pub(super) fn overlay(name: &str) -> Option<&'static Overlay> {
    OVERLAYS.iter().find(|overlay| overlay.name == name)
}

/// The names of the overlays that can be used.
pub(super) fn overlay_names() -> impl Iterator<Item = &'static str> {
    OVERLAYS.iter().filter(|overlay| overlay.modelled()).map(|overlay| overlay.name)
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
            name: match overlay.over {
                Some(first) => format!("{}+{first}+{}", kernel.version, overlay.name),
                None => format!("{}+{}", kernel.version, overlay.name),
            },
            note: overlay.note,
            kind: kind(overlay.modelled()),
        }));
    }
    known
}
