//! The same tree of groups over kernel trees that throttle by queues and by tasks, and the holder of a semaphore below a limit.

use super::case::{Calls, Case, Prices, SIXTH, WARMUP, limited};
use super::throttled_holder;
use crate::over::{ATOMIC, Sides, as_built, begin};
use crate::published::Published;
use crate::runs::stopped;
use fairground_metrics::Decimal;
use fairground_model::{NullSink, Op, Section, TaskSet};
use fairground_report::{Given, Quantity, SideRow};
use fairground_scenario::{Control, Error};
use fairground_sched::Profile;
use fairground_sim::Simulation;
use fairground_stdx::{Instant, Ns, TgId};

/// The stages: a sixth of those of the script.
const QUOTAS_MS: [u64; 3] = [333, 167, 83];
/// What counts of a stage.
const WINDOW: Ns = Ns::from_secs(1);
/// Why throttled holds are not counted over a tree.
const NO_QUOTA: &str = "our tables have no quota where a tree decides, so they do not see who is throttled";

pub(crate) const OVER: Sides = Sides {
    lacks: |_| None,
    rows,
    file: ("task-throttle.toml", include_str!("../published/task-throttle.toml")),
    notes: &[
        "One seed, prices of any server (`epyc`), HZ 250; 1 s of each stage counts, and numbers are of both limited groups and all CPUs.",
        "A sixth of the published machine: 64 CPUs, 3,400 hogs in 2 groups of 17 of 10. So published durations do not stand beside them.",
    ],
};

/// What is counted up to an instant.
struct Counted {
    /// Of each limited group: time of its tasks, periods, periods with somebody throttled, and for how long queues were.
    groups: Vec<[u64; 4]>,
    timers: Ns,
    interrupts: Ns,
    handovers: u64,
    switches: u64,
}

fn counted(simulation: &Simulation, tasks: &TaskSet, groups: &[TgId]) -> Counted {
    let top = |mut group: TgId| {
        while let Some(parent) = tasks.groups[group].parent {
            group = parent;
        }
        group
    };
    let sched = simulation.sched();
    let group = |&group: &TgId| {
        let of = |task| tasks.tasks.get(task).and_then(|spec| spec.group).is_some_and(|of| top(of) == group);
        let ran = sched.task_ids().filter(|&task| of(task)).map(|task| sched.se(task).sum_exec_runtime).sum();
        let stats = match simulation.led_quota(group) {
            Some((_, stats)) => stats,
            None => sched.cfs_bandwidth(group).map(|pool| pool.stats).unwrap_or_default(),
        };
        [ran, stats.nr_periods, stats.nr_throttled, stats.throttled_time.0]
    };
    let section = |section: Section| {
        let of_cpu = |cpu| simulation.kernel_time(cpu).filter(|row| row.0 == section).map(|row| row.2.0).sum::<u64>();
        Ns(sched.cpu_ids().map(of_cpu).sum())
    };
    Counted {
        groups: groups.iter().map(group).collect(),
        timers: section(Section::HrtimerInterrupt),
        interrupts: section(Section::RescheduleIpi),
        handovers: [Op::LockHandoff, Op::LockHandoffSocket].into_iter().map(|op| simulation.op_total(op)).sum(),
        switches: simulation.counts().switches,
    }
}

fn rows(profile: &Profile, _file: &Published, control: Control<'_>) -> Result<(Vec<SideRow>, Vec<u128>), Error> {
    let is_tree = profile.tree().is_some();
    let (mut rows, mut digests) = (Vec::new(), Vec::new());
    let hundredths = |part: u64, whole: u64| Decimal::ratio((part * 10_000).checked_div(whole).unwrap_or(0), 100);
    let us = |ns: u64| Given::Number(Decimal::ratio(ns, 1000));
    let mut push = |id: String, unit, published, given| rows.push(SideRow { id, unit, published, given });
    for quota_ms in QUOTAS_MS {
        if control.stopped() {
            return Ok((rows, digests));
        }
        let case = Case { tree: SIXTH, hz: 250, prices: Prices::Predicted, on_its_cpu: true, quota_ms, window: WINDOW };
        let mut setup = case.setup_with(profile.clone(), 1)?;
        as_built(&mut setup.machine);
        let (tasks, groups) = (setup.tasks.clone(), limited(&setup.tasks));
        let mut simulation = begin(setup)?;
        let mut calls = Calls::default();
        simulation.run_until(Instant::ZERO + WARMUP, &mut NullSink).map_err(stopped)?;
        let before = counted(&simulation, &tasks, &groups);
        simulation.run(&mut calls).map_err(stopped)?;
        let after = counted(&simulation, &tasks, &groups);
        digests.push(simulation.digest());
        let of = |what: &str| format!("quota_{quota_ms}ms.{what}");
        let sum = |index: usize| -> u64 {
            after.groups.iter().zip(&before.groups).map(|(after, before)| after[index] - before[index]).sum()
        };
        let [ran, periods, throttled, time] = [0, 1, 2, 3].map(sum);
        push(
            of("used"),
            "% of quota",
            Quantity::Number(100.into()),
            Given::Number(hundredths(ran, periods * quota_ms * 1_000_000)),
        );
        push(of("periods_with_throttling"), "%", Quantity::Unknown, Given::Number(hundredths(throttled, periods)));
        push(of("throttled"), "ms of queues", Quantity::Unknown, Given::Number(Decimal::from(time / 1_000_000)));
        push(of("switches"), "switches", Quantity::Unknown, Given::Number((after.switches - before.switches).into()));
        push(of("timer_interrupts"), "us", Quantity::Unknown, us(after.timers.0 - before.timers.0));
        push(of("reschedule_interrupts"), "us", Quantity::Unknown, us(after.interrupts.0 - before.interrupts.0));
        let handovers = (after.handovers - before.handovers).into();
        push(
            of("lock_handovers"),
            "locks",
            Quantity::Unknown,
            if is_tree { Given::Nothing(ATOMIC) } else { Given::Number(handovers) },
        );
        let mut took: Vec<u64> = calls.periods().map(|call| call.took.0).collect();
        took.sort_unstable();
        for (what, value) in [("period_timer.median", took.get(took.len() / 2)), ("period_timer.longest", took.last())] {
            let given = match value.filter(|_| !is_tree) {
                Some(&ns) => Given::Number(Decimal::ratio(ns / 1000, 1000)),
                None => Given::Nothing(if is_tree { ATOMIC } else { "no timer handed out quota" }),
            };
            push(of(what), "ms", Quantity::Unknown, given);
        }
    }
    let mut setup = throttled_holder::setup(profile.clone())?;
    as_built(&mut setup.machine);
    let mut simulation = begin(setup)?;
    simulation.run(&mut NullSink).map_err(stopped)?;
    digests.push(simulation.digest());
    let report = throttled_holder::report_of(&simulation);
    let of = |what: &str| format!("rwsem_throttled_holder.{what}");
    push(of("longest_hold"), "ms", Quantity::Unknown, Given::Number(Decimal::ratio(report.holds.max() / 1000, 1000)));
    let throttled = Decimal::from(report.throttled_holds);
    push(
        of("throttled_holds"),
        "holds",
        Quantity::Unknown,
        if is_tree { Given::Nothing(NO_QUOTA) } else { Given::Number(throttled) },
    );
    push(of("hung_tasks"), "tasks", Quantity::Unknown, Given::Number(report.hung_tasks.into()));
    Ok((rows, digests))
}
