//! Mixes that no kernel could have: refused with a sentence, so that the core may assume consistency.

use super::{Profile, ProfileError};
use crate::pelt::{PeltClockRule, PeltFamily, UtilEstRule, UtilEstSample};
use crate::seam::{
    ForkPlace, ForkPreempts, GroupLoad, Hrtick, Place, Protection, Reweight, Throttle, ThrottleAt, TickPreempt, Yield,
};
use fairground_model::features::Feat;

/// A rule: whether a profile breaks it, and why that cannot be, or what follows.
struct Rule {
    breaks: fn(&Profile) -> bool,
    sentence: &'static str,
}

const RULES: &[Rule] = &[
    Rule {
        breaks: |p| scales_contributions(p) && p.pelt_clock != PeltClockRule::ScaledContribution,
        sentence: "families a and b of seam `pelt` scale contributions, so a scaled `pelt_clock` would scale twice",
    },
    Rule {
        breaks: |p| !scales_contributions(p) && p.pelt_clock == PeltClockRule::ScaledContribution,
        sentence: "families c and d of seam `pelt` do not scale contributions, so they need a scaled `pelt_clock`",
    },
    Rule {
        breaks: |p| scales_weight_in_sums(p) != matches!(p.group_load, GroupLoad::ViaLoadAvg | GroupLoad::Independent),
        sentence: "sums with the weight in them (family a of seam `pelt`) and `via-load-avg` or `independent` of seam `group_load` need each other",
    },
    Rule {
        breaks: |p| p.pelt.counts_tasks() != (p.group_load == GroupLoad::RunnableAvg),
        sentence: "runnable_avg (family d of seam `pelt`) and `runnable-avg` of seam `group_load` need each other",
    },
    Rule {
        breaks: |p| p.util_est == UtilEstRule::None && p.feats.has(Feat::UTIL_EST),
        sentence: "UTIL_EST is on, but seam `util_est` is `none`: turn NO_UTIL_EST too",
    },
    Rule {
        breaks: |p| p.util_est != UtilEstRule::None && Feat::UTIL_EST.row().at(p.base).is_none(),
        sentence: "a rule of seam `util_est` needs the switch UTIL_EST, which this kernel does not have",
    },
    Rule {
        breaks: |p| matches!(p.util_est, UtilEstRule::SingleValue | UtilEstRule::SingleValueDecays) && !p.pelt.counts_tasks(),
        sentence: "`single-value` and `single-value-decays` of seam `util_est` read runnable_avg, which only family d of seam `pelt` has",
    },
    Rule {
        breaks: |p| p.pick.is_eevdf() != (p.place == Place::Lag),
        sentence: "eligibility is the sign of the lag, so an EEVDF `pick` and `lag` of seam `place` need each other",
    },
    Rule {
        breaks: |p| p.pick.is_eevdf() != (p.tick_preempt == TickPreempt::Deadline),
        sentence: "an EEVDF `pick` and `deadline` of seam `tick_preempt` need each other",
    },
    Rule {
        breaks: |p| p.pick.is_eevdf() != (p.protection != Protection::None),
        sentence: "an EEVDF `pick` needs a rule of seam `protection`, and no other pick has one",
    },
    Rule {
        breaks: |p| p.task_slice.is_custom() && !p.pick.is_eevdf(),
        sentence: "`custom` of seam `task_slice` is the length of a request, which only an EEVDF `pick` knows",
    },
    Rule {
        breaks: |p| p.pick.is_eevdf() != (p.yields != Yield::SkipBuddy),
        sentence: "only `leftmost` of seam `pick` knows the mark that `skip-buddy` of seam `yield` sets, and it knows no deadline",
    },
    Rule {
        breaks: |p| p.place == Place::SleeperCredit && p.fork_place == ForkPlace::AtEnqueue,
        sentence: "`sleeper-credit` of seam `place` places new tasks relative to their parent's queue, which is `at-fork`",
    },
    Rule {
        breaks: |p| p.feats.has(Feat::DELAY_DEQUEUE) && p.util_est_sample == UtilEstSample::AfterDequeue,
        sentence: "with DELAY_DEQUEUE a dequeue may end a task's time on the queue later, so `util_est_sample` must be `before-dequeue` or `within-dequeue`",
    },
    Rule {
        breaks: |p| p.pick.is_eevdf() != (p.reweight != Reweight::KeepsVruntime),
        sentence: "an entity has lag and a deadline to scale with an EEVDF `pick` only, so seam `reweight` goes with it",
    },
    Rule {
        breaks: |p| p.hrtick == Hrtick::AtDeadline && !p.pick.is_eevdf(),
        sentence: "`at-deadline` of seam `hrtick` goes by the virtual deadline, which only an EEVDF `pick` knows",
    },
    Rule {
        breaks: |p| p.throttle_at == ThrottleAt::Charge && p.throttle != Throttle::OnUserReturn,
        sentence: "`charge` of seam `throttle_at` marks the task that runs, so seam `throttle` must be `on-user-return`",
    },
    Rule {
        breaks: |p| p.fork_preempts == ForkPreempts::OnlyIfShort && !p.protection.is_vprot(),
        sentence: "`only-if-short` of seam `fork_preempts` shrinks the protection that only `vprot` of seam `protection` has",
    },
    Rule {
        breaks: |p| p.reweight == Reweight::WithProtection && !p.protection.is_vprot(),
        sentence: "`with-protection` of seam `reweight` scales the protection that only `vprot` of seam `protection` has",
    },
];

/// Switches that contradict each other in a kernel that can have both: what it does then.
const CONTRADICTIONS: &[Rule] = &[Rule {
    breaks: |p| p.feats.has(Feat::SIS_PROP) && p.feats.has(Feat::SIS_UTIL),
    sentence: "SIS_PROP and SIS_UTIL are both on: as in the kernel, SIS_UTIL says how far a search goes, and SIS_PROP only measures it",
}];

/// What kernels do where switches of the profile contradict each other.
pub(super) fn contradictions(profile: &Profile) -> impl Iterator<Item = &'static str> + '_ {
    CONTRADICTIONS.iter().filter(|rule| (rule.breaks)(profile)).map(|rule| rule.sentence)
}

fn scales_weight_in_sums(profile: &Profile) -> bool {
    profile.pelt == PeltFamily::A
}

fn scales_contributions(profile: &Profile) -> bool {
    matches!(profile.pelt, PeltFamily::A | PeltFamily::B)
}

/// The profile, if it keeps all rules.
pub(super) fn check(profile: Profile) -> Result<Profile, ProfileError> {
    match RULES.iter().find(|rule| (rule.breaks)(&profile)) {
        None => Ok(profile),
        Some(rule) => Err(ProfileError::impossible_mix(&profile, rule.sentence)),
    }
}
