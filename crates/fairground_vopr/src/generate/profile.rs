//! Kernels with random switches, tunables and seams.

use crate::dice::Dice;
use fairground_model::features::{Feat, FeatWrite};
use fairground_sched::Profile;
use fairground_sched::profile::{KnownKind, ProfileError};

const TIMES: [&str; 5] = [
    "sched_latency_ns",
    "sched_min_granularity_ns",
    "sched_wakeup_granularity_ns",
    "sched_idle_min_granularity_ns",
    "sched_base_slice_ns",
];
const SEAMS: [(&str, &str); 35] = [
    ("remaining_on_set", "nothing"),
    ("throttle", "on-user-return"),
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
    ("hrtick", "at-pick"),
    ("hrtick", "at-switch"),
    ("hrtick", "at-deadline"),
    ("avg_vruntime", "min-vruntime"),
    ("avg_vruntime", "zero"),
    ("lag_limit", "largest-slice"),
    ("delayed_lag", "bounded"),
    ("delayed_requeue", "now"),
    ("fork_preempts", "only-if-short"),
    ("reweight", "with-protection"),
    ("throttle_at", "charge"),
    ("sched_idle_cpu", "free-for-others"),
];

/// A kernel, and what is changed about it; changes that make an impossible mix are left out.
pub(crate) fn profile(dice: &mut Dice) -> Profile {
    let usable: Vec<_> = Profile::known().into_iter().filter(|known| known.kind == KnownKind::Modelled).collect();
    let mut profile = Profile::parse(&dice.pick(&usable).name).expect("invariant: a known kernel");
    let mut change = |change: &dyn Fn(Profile) -> Result<Profile, ProfileError>| {
        if let Ok(changed) = change(profile.clone()) {
            profile = changed;
        }
    };
    // Refused on machines with several caches in a node, and of no effect on others.
    change(&|profile| profile.with_seam("cache_aware", "absent"));
    for _ in 0..dice.pick(&[0, 0, 1, 2]) {
        let (seam, variant) = dice.pick(&SEAMS);
        change(&|profile| profile.with_seam(seam, variant));
    }
    for &feat in Feat::ALL {
        if dice.once_in(6) {
            change(&|profile| flip(profile, feat));
        }
    }
    for name in TIMES {
        let value = dice.time(1, 30_000_000).to_string();
        if dice.once_in(3) {
            change(&|profile| profile.with_tunable(name, &value));
        }
    }
    if dice.once_in(4) {
        change(&|profile| profile.with_tunable("sched_child_runs_first", "1"));
    }
    profile
}

/// Turns a switch over, if the kernel has it and it does something.
fn flip(profile: Profile, feat: Feat) -> Result<Profile, ProfileError> {
    if profile.idle_switch(feat).is_some() {
        return Ok(profile);
    }
    let on = !profile.feats.has(feat);
    profile.with_switch(FeatWrite { feat, on })
}

/// The switches of a kernel that do something.
pub(super) fn switches(profile: &Profile) -> Vec<Feat> {
    let there = |feat: &Feat| profile.has_feature(*feat) && profile.idle_switch(*feat).is_none();
    Feat::ALL.iter().copied().filter(there).collect()
}
