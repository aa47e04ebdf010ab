//! Limits of groups that change in mid-run, and those that a run refuses.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test stops where it fails")]

use crate::common::{Build, MS, US, free_machine, hogs, priced_machine, profile, repeat, setup, sleep, work};
use fairground_model::{Change, CpuMax, NullSink, Op, TaskGroupSpec, TaskSet};
use fairground_sim::{Setup, Simulation};
use fairground_stdx::{Instant, Ns, TgId};

fn limit(quota_ms: u64, period_ms: u64) -> CpuMax {
    CpuMax { quota: Some(Ns::from_ms(quota_ms)), period: Ns::from_ms(period_ms), burst: Ns::ZERO }
}

/// Each write refills the pool and releases who stands still: at 350 ms, 30 ms after the hog was throttled, and at 810.5 ms, where it
/// had no limit; the tick that follows charges the half millisecond before too.
#[test]
fn a_changed_limit_holds_at_once() {
    for name in ["v4.20", "v5.10", "v6.1", "v6.6", "v6.12", "v6.18"] {
        let mut set = TaskSet::default();
        let group = set.groups.push(TaskGroupSpec { limit: limit(20, 100), ..TaskGroupSpec::new("/limited", None) });
        let hog = set.pinned("hog", 0, vec![work(u64::MAX)]);
        set.tasks[hog].group = Some(group);
        set.at(350 * MS, Change::CpuMax { group, limit: limit(50, 100) });
        set.at(655 * MS, Change::CpuMax { group, limit: CpuMax::UNLIMITED });
        set.at(810 * MS + 500 * US, Change::CpuMax { group, limit: limit(10, 50) });
        let profile = profile(name).with_seam("period_phase", "boot").unwrap();
        let setup = Setup { profile, ..setup(free_machine(1, 1000), name, set, 1_000 * MS) };
        let mut simulation = Simulation::new(setup).unwrap();
        let mut before = 0;
        let mut rows = Vec::new();
        for step in 1..=10 {
            let now = Instant::from_ns(step * 100 * MS - 1);
            simulation.run_until(now, &mut NullSink).unwrap();
            let se = simulation.sched().se(hog);
            let running = simulation.sched().rq(simulation.sched().task(hog).cpu).curr == Some(hog);
            let ran = se.sum_exec_runtime + if running { now.saturating_since(se.accounted_until()).0 } else { 0 };
            rows.push((ran - before + MS / 2) / MS);
            before = ran;
        }
        // From v6.18 on a write leaves each CPU a nanosecond: it asks for more a tick later.
        let more = u64::from(name == "v6.18");
        assert_eq!(rows, [20, 20, 20, 70, 50 + more, 50, 95, 100, 30 + more, 20], "{name}");
    }
}

/// Periods that are known to begin at 37 ms and every 100 ms after, whatever the kernel would have drawn.
#[test]
fn a_period_begins_when_it_is_said_to() {
    for name in ["v5.10", "v6.12", "v6.18"] {
        let mut set = TaskSet::default();
        let spec = TaskGroupSpec { limit: limit(20, 100), ..TaskGroupSpec::new("/limited", None) };
        let group = set.groups.push(TaskGroupSpec { period_phase: Some(Ns::from_ms(337)), ..spec });
        let hog = set.pinned("hog", 0, vec![work(u64::MAX)]);
        set.tasks[hog].group = Some(group);
        let mut simulation = Simulation::new(setup(free_machine(1, 1000), name, set, 300 * MS)).unwrap();
        let mut ran = |ms: u64| {
            simulation.run_until(Instant::from_ns(ms * MS), &mut NullSink).unwrap();
            simulation.sched().se(hog).sum_exec_runtime / MS
        };
        assert_eq!([21, 36, 58, 136, 158, 236].map(&mut ran), [20, 20, 40, 40, 60, 60], "{name}");
    }
}

#[test]
fn what_no_group_may_have_is_refused_before_the_run() {
    let wrong = |kernel: &str, start: CpuMax, later: CpuMax| {
        let mut set = hogs(&[0]);
        let group: TgId = set.groups.push(TaskGroupSpec { limit: start, ..TaskGroupSpec::new("/a", None) });
        set.at(MS, Change::CpuMax { group, limit: later });
        Simulation::new(setup(free_machine(1, 1000), kernel, set, 20 * MS)).err().map(|wrong| wrong.to_string())
    };
    let burst = CpuMax { burst: Ns::from_ms(21), ..limit(20, 100) };
    for (kernel, start, later, part) in [
        ("v6.12", burst, CpuMax::UNLIMITED, "group `/a`: the burst is larger than the quota"),
        ("v6.12", CpuMax::UNLIMITED, limit(0, 100), "group `/a`: the quota is below 1 ms"),
        ("v6.12", CpuMax::UNLIMITED, limit(5, 1_001), "group `/a`: the period is longer than 1 s"),
    ] {
        let found = wrong(kernel, start, later).unwrap();
        assert!(found.contains(part), "{found}");
    }
    assert_eq!(wrong("v6.12", limit(20, 100), CpuMax::UNLIMITED), None);
    assert_eq!(wrong("v6.18", CpuMax::UNLIMITED, CpuMax { burst: Ns(7), ..CpuMax::UNLIMITED }), None);
}

/// A group's queue on a CPU is made at its first use. A kernel has all of them from the beginning, and its walks visit them all.
#[test]
fn queues_that_nobody_used_change_nothing() {
    for name in ["v4.20", "v5.10", "v6.1", "v6.12", "v6.14+task-throttle", "v6.18"] {
        let run = |eager: bool| {
            let mut set = TaskSet::default();
            let mut above = None;
            for depth in 0..3 {
                for row in 0..3 {
                    let limit = if row == depth { limit(10 + 7 * row, 50) } else { CpuMax::UNLIMITED };
                    let path = format!("/{depth}{row}");
                    let group = set.groups.push(TaskGroupSpec { limit, ..TaskGroupSpec::new(path, above) });
                    let code = vec![work(3 * MS), sleep(2 * MS), repeat(1000)];
                    let task = set.task(&format!("task{depth}{row}"), code);
                    set.tasks[task].group = Some(group);
                }
                above = set.groups.ids().last();
            }
            let mut simulation = Simulation::new(setup(priced_machine(8, "xeon-spr"), name, set, 400 * MS)).unwrap();
            if eager {
                simulation.make_group_queues();
            }
            simulation.run(&mut NullSink).unwrap();
            (simulation.digest(), simulation.time_spent().ops)
        };
        let (lazy, eager) = (run(false), run(true));
        assert_eq!(lazy.0, eager.0, "{name}");
        for (op, (lazy, eager)) in Op::ALL.iter().zip(lazy.1.iter().zip(&eager.1)) {
            assert_eq!((lazy.count, lazy.ps), (eager.count, eager.ps), "{name}: {op:?}");
        }
    }
}
