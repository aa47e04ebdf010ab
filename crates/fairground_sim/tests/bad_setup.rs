//! Task sets that cannot be run: all that is wrong is named before the run begins, and what shows only
//! in mid-run stops it.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test stops where it fails")]

use crate::common::{Build, MS, cpu, free_machine, repeat, setup, work};
use fairground_model::features::{Feat, FeatWrite};
use fairground_model::{Change, Instr, NullSink, Start, TaskSet};
use fairground_sim::{Simulation, Stopped};
use fairground_stdx::{CpuMask, Ns};

#[test]
fn everything_that_cannot_be_run_is_named_at_once() {
    let mut set = TaskSet::default();
    let child = set.task("child", vec![work(MS)]);
    let task = set.task("task", vec![work(MS), Instr::Fork { task: child }]);
    set.tasks[task].nice = 20;
    set.tasks[child].affinity = Some(CpuMask::only(cpu(7)));
    set.at(0, Change::Affinity { task, cpus: CpuMask::only(cpu(2)) });
    set.at(0, Change::Nice { task, nice: -21 });
    set.at(MS, Change::Slice { task, slice: Some(Ns(MS)) });
    set.at(MS, Change::Feature(FeatWrite { feat: Feat::PLACE_LAG, on: false }));
    set.at(MS, Change::FreqCapacity { cpu: cpu(0), freq_capacity: 0 });
    set.at(MS, Change::FreqCapacity { cpu: cpu(2), freq_capacity: 512 });
    let wrong = Simulation::new(setup(free_machine(2, 1000), "v5.19", set, u64::MAX / 2)).err().expect("much is wrong");
    let parts = [
        "too long",
        "no CPU to run on",
        "has nice 20",
        "leaves it no CPU",
        "nice -21",
        "asks for a slice of its own, and profile `v5.19` knows none",
        "no feature `PLACE_LAG`",
        "CPU 0 to 0/1024",
        "CPU 2 to 512/1024",
        "`child` is forked, but also starts by itself",
    ];
    assert_eq!(wrong.0.len(), parts.len(), "{wrong}");
    for part in parts {
        assert!(wrong.to_string().contains(part), "{part}: {wrong}");
    }
}

#[test]
fn a_row_that_is_forked_twice_stops_the_run() {
    for runs in [vec![], vec![work(MS)]] {
        let mut set = TaskSet::default();
        let child = set.task("child", vec![work(MS)]);
        set.tasks[child].start = Start::Forked;
        let code = [runs, vec![Instr::Fork { task: child }, repeat(2)]].concat();
        set.task("parent", code);
        let mut simulation = Simulation::new(setup(free_machine(1, 1000), "v5.19", set, 100 * MS)).expect("it can begin");
        let stopped = simulation.run(&mut NullSink).expect_err("the second fork has no child to make");
        assert!(matches!(&stopped, Stopped::ForkedTwice { task, child, .. } if task == "parent" && child == "child"));
        assert!(stopped.to_string().contains("was forked before") && stopped.hint().contains("of its own"));
        assert_eq!(simulation.ended(), None, "it was stopped, it did not end");
    }
}

/// What cache-aware balancing of v7.2 would draw together is refused, and only that.
#[test]
fn threads_of_a_process_beside_several_caches_of_a_node_are_refused_where_the_kernel_would_gather_them() {
    let run = |preset: &str, kernel: &str, absent: bool, own_mm: bool| {
        let mut set = TaskSet::default();
        for row in 0..2 {
            let task = set.task("thread", vec![work(MS)]);
            set.tasks[task].mm = if own_mm { row } else { 0 };
        }
        let mut setup = setup(fairground_machine::Machine::preset(preset).unwrap(), kernel, set, MS);
        if absent {
            setup.profile = setup.profile.with_seam("cache_aware", "absent").unwrap();
        }
        Simulation::new(setup).err().map(|mistakes| mistakes.to_string())
    };
    let refused = run("epyc-9654-2s", "v7.2", false, false).unwrap();
    assert!(refused.contains("cache-aware balancing of profile `v7.2` is not modelled yet"), "{refused}");
    for (preset, kernel, absent, own_mm) in [
        ("spr-2x56", "v7.2", false, false),
        ("epyc-9654-2s", "v6.18", false, false),
        ("epyc-9654-2s", "v7.2", true, false),
        ("epyc-9654-2s", "v7.2", false, true),
    ] {
        assert_eq!(run(preset, kernel, absent, own_mm), None, "{preset} {kernel}");
    }
}
