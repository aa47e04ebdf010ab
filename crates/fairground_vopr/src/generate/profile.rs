//! Kernels with random switches, tunables and seams.

use crate::case::ProfileChange;
use crate::dice::Dice;
use fairground_sched::Profile;
use fairground_sched::features::Feat;
use fairground_sched::profile::KnownKind;

const TIMES: [&str; 5] = [
    "sched_latency_ns",
    "sched_min_granularity_ns",
    "sched_wakeup_granularity_ns",
    "sched_idle_min_granularity_ns",
    "sched_base_slice_ns",
];
const SEAMS: [(&str, &str); 21] = [
    ("repeated_pick", "keeps-slice"),
    ("repeated_pick", "renews-slice"),
    ("min_vruntime_at_dequeue", "save-restore-only"),
    ("min_vruntime_at_dequeue", "unless-save-restore"),
    ("tick_preempt", "align-rightmost"),
    ("idle_entity", "policy-only"),
    ("idle_entity", "entity-aware"),
    ("idle_entity", "entity-only"),
    ("idle_protection", "kept"),
    ("idle_protection", "cancelled"),
    ("long_sleeper", "take-placement"),
    ("preemption", "voluntary"),
    ("preemption", "lazy"),
    ("pick", "eligible-by-vruntime"),
    ("pick", "eligible-by-deadline"),
    ("fork_place", "at-fork"),
    ("fork_place", "at-enqueue"),
    ("protection", "deadline-mark"),
    ("protection", "vprot"),
    ("yield", "push-deadline"),
    ("yield", "forfeit-request"),
];

/// A kernel by name, and what is changed about it.
pub(crate) fn profile(dice: &mut Dice) -> (String, Vec<ProfileChange>) {
    let usable: Vec<_> = Profile::known().into_iter().filter(|known| known.kind == KnownKind::Modelled).collect();
    let kernel = dice.pick(&usable).name;
    let mut changes = Vec::new();
    let base = Profile::parse(&kernel).expect("invariant: a known kernel");
    for feat in switches(&base) {
        if dice.once_in(5) {
            changes.push(ProfileChange::Feature(flipped(&base, feat)));
        }
    }
    for name in TIMES {
        if dice.once_in(3) {
            changes.push(ProfileChange::Tunable(name, dice.time(1, 30_000_000).to_string()));
        }
    }
    if dice.once_in(4) {
        changes.push(ProfileChange::Tunable("sched_child_runs_first", "1".to_string()));
    }
    for _ in 0..dice.pick(&[0, 0, 1, 2]) {
        let (seam, variant) = dice.pick(&SEAMS);
        changes.push(ProfileChange::Seam(seam, variant));
    }
    (kernel, changes)
}

/// The switches of a kernel.
pub(super) fn switches(profile: &Profile) -> Vec<Feat> {
    Feat::ALL.iter().copied().filter(|feat| feat.row().at(profile.base).is_some()).collect()
}

/// The text that turns a switch over.
fn flipped(profile: &Profile, feat: Feat) -> String {
    format!("{}{}", if profile.feats.has(feat) { "NO_" } else { "" }, feat.row().name)
}
