use super::*;
use crate::seam::Seam;
use fairground_model::version::v;

fn message(outcome: Result<Profile, ProfileError>) -> String {
    outcome.expect_err("refused").to_string()
}

#[test]
fn every_known_name_parses_or_is_not_modelled_yet() {
    let known = Profile::known();
    for name in [
        "v4.12",
        "v4.20",
        "v5.1",
        "v5.10",
        "v5.19",
        "v6.1",
        "v6.6",
        "v6.12",
        "v6.14",
        "v6.18",
        "v4.12+independent-runnable",
        "v4.12+eager-siblings",
        "v4.20+align-vruntime",
        "v4.20+clock-pelt",
        "v6.14+task-throttle",
    ] {
        assert!(known.iter().any(|known| known.name == name && known.kind == KnownKind::Modelled), "{name}");
    }
    for known in known {
        match (known.kind, Profile::parse(&known.name)) {
            (KnownKind::Modelled, Ok(profile)) => assert_eq!(profile.name, known.name),
            (KnownKind::NotModelledYet, Err(error)) => assert!(error.message.contains("not modelled yet"), "{error}"),
            (_, outcome) => panic!("{}: {outcome:?}", known.name),
        }
    }
}

#[test]
fn a_profile_is_a_query() {
    let families =
        [(v(4, 12), PeltFamily::A), (v(4, 20), PeltFamily::B), (v(5, 1), PeltFamily::C), (v(5, 10), PeltFamily::DSynced)];
    for (version, family) in families.into_iter().chain([(v(5, 19), PeltFamily::D), (v(6, 1), PeltFamily::D)]) {
        let profile = Profile::kernel(version).unwrap();
        assert_eq!((profile.pelt, profile.base), (family, version));
        assert!(rules::check(profile).is_ok());
    }
    let clocks = [v(4, 20), v(5, 1), v(5, 19), v(6, 1)].map(|version| Profile::kernel(version).unwrap().pelt_clock);
    use PeltClockRule::{RqClockPelt, RqClockPeltIdle, ScaledContribution};
    assert_eq!(clocks, [ScaledContribution, RqClockPelt, RqClockPelt, RqClockPeltIdle]);
}

#[test]
fn overlays_change_their_seams_only() {
    let base = Profile::parse("v4.20").unwrap();
    let names = |profile: &Profile| base.diff(profile).iter().map(|row| row.name).collect::<Vec<_>>();
    assert_eq!(names(&Profile::parse("v4.20+align-vruntime").unwrap()), ["tick_preempt"]);
    let patched = Profile::parse("v4.20+clock-pelt").unwrap();
    assert_eq!(names(&patched), ["pelt", "pelt_clock"]);
    assert_eq!((patched.pelt, patched.pelt_clock), (PeltFamily::C, PeltClockRule::ClockPeltAsMailed));
    let both = Profile::parse("v4.20+clock-pelt+align-vruntime").unwrap();
    assert_eq!(names(&both), ["pelt", "pelt_clock", "tick_preempt"]);
}

#[test]
fn refuses_names_with_a_sentence() {
    for (text, part) in [
        ("v9.9", "no profile `v9.9`"),
        ("", "no profile ``"),
        ("6.12.3", "no profile `6.12.3`"),
        ("six", "no profile `six`"),
        ("v7.3", "`v7.3` is not modelled yet"),
        ("v5.19+small-llc", "overlay `small-llc` needs `sis-util`"),
        ("v4.20+", "no overlay ``"),
        ("v4.20+speed", "no overlay `speed`"),
        ("v5.1+clock-pelt", "write `v4.20+clock-pelt`"),
        ("v4.20+clock-pelt+clock-pelt", "already"),
    ] {
        let message = message(Profile::parse(text));
        assert!(message.contains(part), "{text}: {message}");
    }
    assert_eq!(Profile::parse("6.12").unwrap().name, "v6.12");
    let stable = Profile::parse("v6.12.3").unwrap_err();
    assert_eq!(stable.hint, "Stable releases are not told apart: ask for `v6.12`.");
}

/// Model: 02 T18
#[test]
fn every_switch_of_every_profile_can_be_set() {
    for known in Profile::known().iter().filter(|known| known.kind == KnownKind::Modelled) {
        let profile = Profile::parse(&known.name).unwrap();
        for &feat in Feat::ALL {
            let name = feat.row().name;
            for (text, on) in [(name.to_string(), true), (format!("NO_{name}"), false)] {
                match profile.clone().with_feature(&text) {
                    Ok(changed) => assert!(changed.feats.has(feat) == on && profile.has_feature(feat)),
                    Err(error) => {
                        assert!(!profile.has_feature(feat) || profile.idle_switch(feat).is_some(), "{error}");
                        assert!(error.message.contains(&format!("`{}`", profile.name)), "{error}");
                    }
                }
            }
        }
        let unknown = message(profile.clone().with_feature("NO_SUCH_SWITCH"));
        assert!(unknown.contains(&format!("profile `{}` has no feature `SUCH_SWITCH`", profile.name)), "{unknown}");
    }
}

#[test]
fn switches_that_do_nothing_are_refused_by_name() {
    for (name, feature, part) in [
        ("v6.6", "NO_HZ_BW", "full dynticks"),
        ("v7.2", "PARANOID_AVG", "128 bits"),
        ("v6.14", "RT_RUNTIME_SHARE", "nothing"),
        ("v6.12", "DOUBLE_TICK", "no test of its own"),
        ("v6.6", "WARN_DOUBLE_CLOCK", "reads a run queue's clock twice"),
    ] {
        let profile = || Profile::parse(name).unwrap();
        let message = message(profile().with_feature(feature));
        assert!(message.contains(part) && message.contains(&format!("`{name}`")), "{message}");
        // As the kernel has it, it may be named: recorded sets name all.
        let other = feature.strip_prefix("NO_").map_or(format!("NO_{feature}"), str::to_string);
        assert_eq!(profile().with_feature(&other).unwrap(), profile());
    }
    assert!(Profile::parse("v6.1").unwrap().with_feature("WARN_DOUBLE_CLOCK").is_ok());
    assert!(Profile::parse("v6.6").unwrap().with_feature("RT_RUNTIME_SHARE").is_ok());
}

/// Kernels that cannot be run have tables too; each change is told with the version that made it.
#[test]
fn changes_are_told_version_by_version() {
    let show = |name: &str| Profile::parse_to_show(name).unwrap();
    let changes = show("v5.18").changes(&show("v6.6"));
    let told = |name: &str| -> Vec<(String, String, String)> {
        let rows = changes.iter().filter(|change| change.to.name == name);
        rows.map(|row| (row.since.unwrap().to_string(), row.from.value.clone(), row.to.value.clone())).collect()
    };
    let step = |since: &str, from: &str, to: &str| (since.to_string(), from.to_string(), to.to_string());
    assert_eq!(told("SIS_UTIL"), [step("v6.0", "-", "on")]);
    assert_eq!(told("SIS_PROP"), [step("v6.0", "on", "off")]);
    assert_eq!(told("sched_latency_ns"), [step("v6.6", "there", "-")]);
    // Both are of one series of August 2022, when v6.0 had its features.
    assert_eq!(told("migrate_detach"), [step("v6.1", "after-dequeue", "with-dequeue")]);
    assert_eq!(told("attach_new"), [step("v6.1", "before-enqueue", "at-enqueue")]);
    assert!(changes.is_sorted_by_key(|change| change.since));
    let back = show("v6.6").changes(&show("v5.18"));
    assert_eq!(back.len(), changes.len());
    assert!(back.iter().rev().map(|row| row.since).eq(changes.iter().map(|row| row.since)));
    // What kernels did not do has no version.
    let patched = show("v5.19").changes(&show("v5.19+sis-util"));
    assert!(!patched.is_empty() && patched.iter().all(|change| change.since.is_none()));
    for nothing in ["v4.11", "v5.20", "v7.3", "v5.18+sis-util"] {
        assert!(Profile::parse_to_show(nothing).is_err(), "{nothing}");
    }
    assert!(Profile::parse("v5.18").is_err());
}

#[test]
fn refuses_impossible_mixes() {
    let with = |name: &str, seam: &str, variant: &str| Profile::parse(name).unwrap().with_seam(seam, variant);
    for (name, seam, variant, part) in [
        ("v4.20", "pelt_clock", "rq-clock-pelt", "scale twice"),
        ("v5.1", "pelt_clock", "scaled-contribution", "need a scaled"),
        ("v5.1", "pelt", "b", "scale twice"),
        ("v5.1", "util_est", "none", "NO_UTIL_EST"),
        ("v4.12", "util_est", "two-values", "needs the switch UTIL_EST"),
        ("v5.1", "util_est", "single-value", "runnable_avg"),
        ("v5.1", "tick_preempt", "eevdf", "has no variant `eevdf`"),
        ("v5.1", "speed", "fast", "no seam `speed`"),
        ("v6.12", "preemption", "rt", "not modelled yet: PREEMPT_RT"),
        ("v6.12", "pick", "leftmost", "`lag` of seam `place` need each other"),
        ("v5.19", "place", "lag", "need each other"),
        ("v6.1", "task_slice", "custom", "only an EEVDF `pick` knows"),
        ("v6.12", "tick_preempt", "cfs-slice", "`deadline` of seam `tick_preempt`"),
        ("v6.1", "hrtick", "at-deadline", "only an EEVDF `pick`"),
        ("v6.12", "throttle_at", "charge", "must be `on-user-return`"),
        ("v6.12", "fork_preempts", "only-if-short", "only `vprot`"),
        ("v6.12", "reweight", "with-protection", "only `vprot`"),
        ("v6.18", "protection", "none", "needs a rule of seam `protection`"),
        ("v6.6", "yields", "skip-buddy", "it knows no deadline"),
        ("v6.1", "fork_place", "at-enqueue", "`at-fork`"),
        ("v4.20", "group_load", "independent", "family a of seam `pelt`"),
        ("v5.19", "group_load", "reweighted", "`runnable-avg` of seam `group_load`"),
        ("v6.12", "reweight", "keeps-vruntime", "seam `reweight` goes with it"),
        ("v6.14", "util_est_sample", "after-dequeue", "`before-dequeue`"),
    ] {
        let message = message(with(name, seam, variant));
        assert!(message.contains(part), "{name} {seam}={variant}: {message}");
    }
    let quiet = Profile::parse("v5.1").unwrap().with_feature("NO_UTIL_EST").unwrap().with_seam("util_est", "none").unwrap();
    assert!(message(quiet.with_feature("UTIL_EST")).contains("impossible mix"));
    for (name, seam, variant) in [
        ("v6.12", "protection", "vprot"),
        ("v6.6", "task_slice", "custom"),
        ("v6.12", "preemption", "lazy"),
        ("v6.14", "yields", "forfeit-request"),
    ] {
        assert!(with(name, seam, variant).is_ok(), "{name} {seam}={variant}");
    }
    assert_eq!(with("v5.19", "tick_preempt", "align-rightmost").unwrap().tick_preempt, TickPreempt::AlignRightmost);
}

#[test]
fn tunables_name_the_profile() {
    let profile = Profile::parse("v5.1").unwrap();
    let set = profile.clone().with_tunable("sched_latency_ns", "24000000").unwrap();
    assert_eq!(set.tunables.at(1).latency_ns, 24_000_000);
    let differences = profile.diff(&set);
    assert_eq!(differences.len(), 1);
    assert_eq!((differences[0].name, differences[0].from.value.as_str()), ("sched_latency_ns", "-"));
    for (name, value, part) in [
        ("sched_idle_min_granularity_ns", "1ms", "profile `v5.1` has no tunable"),
        ("nonsense", "1", "It has sched_latency_ns"),
        ("base_slice_ns", "3ms", "profile `v5.1` has no tunable `base_slice_ns`"),
        ("sched_latency_ns", "soon", "no value for tunable"),
        ("sched_min_granularity_ns", "0", "1 to 4294967295"),
    ] {
        let message = message(profile.clone().with_tunable(name, value));
        assert!(message.contains(part), "{message}");
    }
}

/// A wrong name is answered with the nearest one of the same profile, and only without one with all.
#[test]
fn wrong_names_are_answered_with_the_nearest() {
    let hint = |found: Result<Profile, ProfileError>| found.expect_err("it is wrong").hint;
    let patched = || Profile::parse("v5.19+sis-util").unwrap();
    for (word, answer) in [
        ("SIS_UTILS", "Did you mean `SIS_UTIL`?"),
        ("NO_SIS_PORP", "Did you mean `NO_SIS_PROP`?"),
        ("sis_util", "Did you mean `SIS_UTIL`?"),
        ("PLACE_LAG", "Other kernels have it."),
    ] {
        assert_eq!(hint(patched().with_feature(word)), answer, "{word}");
    }
    assert!(hint(patched().with_feature("MAGIC")).starts_with("It has GENTLE_FAIR_SLEEPERS, "));
    assert_eq!(hint(Profile::parse("v5.19+sis-utl")), "Did you mean `sis-util`?");
    assert!(hint(Profile::parse("v5.19+magic")).starts_with("Profiles are v4.12, "));
    assert_eq!(hint(patched().with_seam("tick_prempt", "x")), "Did you mean `tick_preempt`?");
    assert_eq!(hint(patched().with_seam("tick_preempt", "align-rigthmost")), "Did you mean `align-rightmost`?");
    assert_eq!(hint(patched().with_tunable("sched_latncy_ns", "1ms")), "Did you mean `sched_latency_ns`?");
}

#[test]
fn switches_that_contradict_each_other_are_allowed_and_explained() {
    for (name, feature, both) in [
        ("v5.19+sis-util", "SIS_PROP", true),
        ("v6.1", "SIS_PROP", true),
        ("v6.1", "NO_SIS_UTIL", false),
        ("v5.19", "SIS_PROP", false),
    ] {
        let profile = Profile::parse(name).unwrap().with_feature(feature).unwrap();
        let said: Vec<&str> = profile.contradictions().collect();
        assert_eq!(said.len(), usize::from(both), "{name} {feature}");
        assert!(said.iter().all(|said| said.contains("SIS_UTIL says how far")), "{said:?}");
    }
}

#[test]
fn describes_and_compares() {
    let (old, new) = (Profile::parse("v5.10").unwrap(), Profile::parse("v6.1").unwrap());
    assert_eq!(old.diff(&old), []);
    let names: Vec<&str> = old.diff(&new).iter().map(|row| row.name).collect();
    assert!(names.contains(&"pelt_clock") && names.contains(&"SIS_UTIL") && names.contains(&"SIS_AVG_CPU"), "{names:?}");
    assert!(old.describe().iter().all(|row| row.sentence.ends_with('.') || row.sentence.ends_with(')')));
}

/// Each history begins with the oldest kernel and goes forward, and all names differ.
#[test]
fn seams_are_well_formed() {
    fn check<S: Seam + std::fmt::Debug>() {
        assert!(S::HISTORY[0].0 <= v(4, 12) && S::HISTORY.is_sorted_by_key(|row| row.0), "{}", S::NAME);
        for &(name, variant) in S::VARIANTS {
            assert_eq!((S::by_name(name), variant.name()), (Some(variant), name));
            assert!(variant.sentence().ends_with('.') || variant.sentence().ends_with(')'), "{name}");
        }
    }
    check::<PeltFamily>();
    check::<PeltClockRule>();
    check::<PostInit>();
    check::<UtilEstRule>();
    check::<ScaleLoadDown>();
    check::<TickPreempt>();
    check::<MinVruntimeAtDequeue>();
    check::<Pick>();
    check::<Place>();
    check::<ForkPlace>();
    check::<Protection>();
    check::<Yield>();
    check::<Preemption>();
    check::<SliceExtension>();
    check::<RepeatedPick>();
    check::<Throttle>();
    check::<Unthrottle>();
    check::<PeriodPhase>();
    check::<HotplugQuota>();
    check::<OfflineClock>();
    check::<ExcessSteal>();
    check::<SliceExpiry>();
    check::<Refill>();
    check::<UtilEstSample>();
    check::<UtilEstDequeue>();
    check::<MisfitAtPick>();
    check::<BiggerGroup>();
    check::<LongSleeper>();
    check::<IdleEntity>();
    check::<IdleProtection>();
    check::<TaskOrder>();
    check::<ShouldWeBalance>();
    check::<NohzBalance>();
    check::<NewidleCost>();
    check::<NewidleBatch>();
    check::<Migratable>();
    check::<LbPinned>();
    check::<LbLoop>();
    check::<LbInterval>();
    check::<DetachAmount>();
    check::<ActiveBalance>();
}

#[test]
fn the_whole_name_of_a_tree_is_a_profile_with_the_rows_of_its_release() {
    let name = "tree:my+patch@6.12.117-0123456789ab";
    let profile = Profile::parse(name).unwrap();
    let tree = profile.tree().unwrap();
    assert_eq!((tree.name, tree.release, tree.digest), ("my+patch", "6.12.117", "0123456789ab"));
    assert_eq!((profile.name.as_str(), tree.profile_name().as_str(), profile.full_name().as_str()), (name, name, name));
    assert_eq!(Profile { name: "v6.12".to_string(), ..profile.clone() }, Profile::parse("v6.12").unwrap());
    assert_eq!(Profile::parse("v6.12").unwrap().tree(), None);
    // Its features can be switched, as in its debugfs; our rules cannot.
    assert_eq!(profile.clone().with_feature("NEXT_BUDDY").unwrap().full_name(), format!("{name} NEXT_BUDDY"));
    let refused = |wrong: Result<Profile, ProfileError>| wrong.unwrap_err().message;
    for wrong in [profile.clone().with_seam("pick", "cfs"), profile.clone().with_overlay("x")] {
        assert!(refused(wrong).ends_with("changes a rule of ours, and tree `my+patch` decides by its own"));
    }
    assert!(refused(Profile::parse("tree:base")).contains("is a kernel tree, which is not taken here"));
    assert!(refused(Profile::parse("tree:base@9.9.1-01")).contains("no rows for release 9.9.1"));
}
