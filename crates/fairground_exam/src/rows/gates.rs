//! Pairs of rows of which each does nothing, or little, without the other.

use crate::dice::Dice;
use crate::scene::Scene;

/// A pair: what the first side sets, what the second one sets, and the scenario in which it can matter.
pub(super) struct Gate {
    /// Kernels that have both rows.
    pub(super) kernels: &'static [&'static str],
    /// The rows.
    pub(super) rows: [&'static str; 2],
    /// The settings of the first side, and of the second one: features, or `NAME=VALUE` of tunables and seams.
    pub(super) sides: fn(&mut Dice) -> [Vec<String>; 2],
    /// Changes the scenario.
    pub(super) stage: fn(&mut Scene, &mut Dice),
}

/// All pairs.
pub(super) static GATES: &[Gate] = &[
    // A wakee preempts if that is switched on and the lead that it needs is short.
    Gate {
        kernels: &["4.20", "5.1", "5.10", "5.19", "6.1"],
        rows: ["WAKEUP_PREEMPTION", "sched_wakeup_granularity_ns"],
        sides: |dice| {
            let (long, short) = (dice.between(400, 900), dice.between(300, 1_500));
            [
                vec!["NO_WAKEUP_PREEMPTION".to_string(), format!("sched_wakeup_granularity_ns={long}ms")],
                vec!["WAKEUP_PREEMPTION".to_string(), format!("sched_wakeup_granularity_ns={short}us")],
            ]
        },
        stage: |_, _| {},
    },
    // Wake-ups are left to idle CPUs of the same cache if wake-ups are left to targets at all.
    Gate {
        kernels: &["5.1", "5.10", "5.19", "6.1", "6.6", "6.12", "7.2"],
        rows: ["TTWU_QUEUE", "remote_wakeup"],
        sides: |dice| {
            let later = dice.one_of(&["idle-target", "idle-target", "on-cpu"]);
            [
                vec!["NO_TTWU_QUEUE".to_string(), "remote_wakeup=other-cache".to_string()],
                vec!["TTWU_QUEUE".to_string(), format!("remote_wakeup={later}")],
            ]
        },
        stage: |scene, _| scene.shape = 0,
    },
    // A next buddy is picked if one is set and the pick looks at it.
    Gate {
        kernels: &["6.12", "6.14", "6.18", "7.2"],
        rows: ["NEXT_BUDDY", "PICK_BUDDY"],
        sides: |_| [vec!["NO_NEXT_BUDDY".into(), "NO_PICK_BUDDY".into()], vec!["NEXT_BUDDY".into(), "PICK_BUDDY".into()]],
        stage: |_, _| {},
    },
    // A slice far below a tick is kept by a timer; a slice of a tick is kept by the tick.
    Gate {
        kernels: &["4.20", "5.1", "5.10", "5.19", "6.1"],
        rows: ["HRTICK", "sched_min_granularity_ns"],
        sides: |dice| {
            let short = dice.between(800, 2_000);
            [
                vec!["NO_HRTICK".into(), "sched_min_granularity_ns=10ms".into()],
                vec!["HRTICK".into(), format!("sched_min_granularity_ns={short}us")],
            ]
        },
        stage: |scene, dice| {
            scene.hz = 100;
            let hogs = dice.between(9, 14);
            scene.task("many", format!("hog = true, cpus = \"0\", count = {hogs}"));
        },
    },
    Gate {
        kernels: &["6.6", "6.12", "6.14", "6.18"],
        rows: ["HRTICK", "sched_base_slice_ns"],
        sides: |dice| {
            let short = dice.between(800, 2_000);
            [
                vec!["NO_HRTICK".into(), "sched_base_slice_ns=9900us".into()],
                vec!["HRTICK".into(), format!("sched_base_slice_ns={short}us")],
            ]
        },
        stage: |scene, dice| {
            scene.hz = 100;
            let hogs = dice.between(2, 5);
            scene.task("many", format!("hog = true, cpus = \"0\", count = {hogs}"));
        },
    },
];
