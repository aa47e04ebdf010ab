//! Worked examples of section 12, and admission.

mod server;

use super::entity::DlEntity;
use super::{DlRq, Refused, entity};
use crate::Profile;
use crate::core::PushPull;
use crate::fair::select_task_rq::{TestMachine, cpu};
use crate::seam::FairServerWake;
use fairground_model::{DlParams, MachineView, Policy};
use fairground_stdx::Ns;

fn params(runtime_us: u64, deadline_us: u64, period_us: u64) -> DlParams {
    let us = Ns::from_us;
    DlParams { runtime: us(runtime_us), deadline: us(deadline_us), period: us(period_us), reclaim: false }
}

/// An entity with that much left, whose deadline is at 100 ms.
fn with(params: DlParams, left_us: i64) -> DlEntity {
    DlEntity { runtime: left_us * 1000, deadline: 100_000_000, ..DlEntity::new(Policy::Deadline(params)) }
}

/// Model: 02 T17
#[test]
fn a_wake_up_keeps_runtime_that_is_no_more_than_the_share() {
    let ms = 1_000_000;
    let wake = |params, left_us, now_ms: u64, revises| {
        let mut entity = with(params, left_us);
        entity.wake(now_ms * ms, revises, FairServerWake::New);
        (entity.runtime / 1000, entity.deadline / ms)
    };
    let implicit = params(10_000, 100_000, 100_000);
    // 5 ms of 50 ms are 10 %: kept; 6 ms of 50 ms are more, and so is anything after the deadline.
    assert_eq!(wake(implicit, 5_000, 50, true), (5_000, 100));
    assert_eq!(wake(implicit, 6_000, 50, true), (10_000, 150));
    assert_eq!(wake(implicit, 1_000, 101, true), (10_000, 201));
    // With a deadline before the period it is cut to Q / D of what is left: 10/40 of 20 ms, rounded down to 2^-20.
    let constrained = params(10_000, 40_000, 100_000);
    assert_eq!(wake(constrained, 8_000, 80, true), (5_000, 100));
    assert_eq!(wake(constrained, 8_000, 80, false), (10_000, 120));
    assert_eq!(wake(constrained, 1_000, 101, true), (10_000, 141));
}

/// Model: 02 T17
#[test]
fn a_replenishment_pays_for_overruns() {
    let ms = 1_000_000;
    let replenish = |left_us, now_ms: u64, yielded| {
        let mut entity = DlEntity { throttled: true, yielded, ..with(params(10_000, 100_000, 100_000), left_us) };
        entity.replenish(now_ms * ms);
        assert!(!entity.throttled && !entity.yielded);
        (entity.runtime / 1000, entity.deadline / ms)
    };
    assert_eq!(replenish(0, 100, false), (10_000, 200));
    assert_eq!(replenish(-3_000, 100, false), (7_000, 200));
    // An overrun of two periods and a half.
    assert_eq!(replenish(-25_000, 100, false), (5_000, 400));
    assert_eq!(replenish(-10_000, 100, false), (10_000, 300));
    // Given away, or so late that the deadline would be past.
    assert_eq!(replenish(4_000, 100, true), (10_000, 200));
    assert_eq!(replenish(0, 500, false), (10_000, 600));
}

#[test]
fn the_0_lag_time_is_when_an_even_pace_would_be_where_the_task_is() {
    let entity = with(params(10_000, 100_000, 100_000), 4_000);
    assert_eq!(entity.zero_lag_after(30_000_000), 30_000_000);
    assert_eq!(with(params(10_000, 100_000, 100_000), 8_000).zero_lag_after(30_000_000), -10_000_000);
}

#[test]
fn ratios_are_rounded_down_to_two_to_the_minus_20() {
    assert_eq!((entity::to_ratio(100, 10), entity::to_ratio(1000, 950), entity::to_ratio(0, 5)), (104_857, 996_147, 0));
}

#[test]
fn parameters_that_make_no_sense_are_refused_by_name() {
    let old = Profile::parse("v4.12").unwrap();
    let new = Profile::parse("v6.6").unwrap();
    let ns =
        |runtime, deadline, period| DlParams { runtime: Ns(runtime), deadline: Ns(deadline), period: Ns(period), reclaim: false };
    for profile in [&old, &new] {
        let refused = |params| profile.check_dl_params(&params).unwrap_err();
        assert_eq!(refused(ns(1023, 200_000, 200_000)), Refused::ShortRuntime(Ns(1023)));
        assert_eq!(refused(params(20, 10, 200)), Refused::RuntimeBeyondDeadline(params(20, 10, 200)));
        assert_eq!(refused(params(10, 300, 200)), Refused::DeadlineBeyondPeriod(params(10, 300, 200)));
        assert_eq!(profile.check_dl_params(&ns(1024, 1024, 100_000)), Ok(()));
    }
    let [short, long] = [params(10, 50, 99), params(10, 50, 4_194_305)];
    assert_eq!((old.check_dl_params(&short), old.check_dl_params(&long)), (Ok(()), Ok(())));
    assert_eq!(new.check_dl_params(&short), Err(Refused::Period(Ns::from_us(99))));
    assert_eq!(new.check_dl_params(&long), Err(Refused::Period(Ns::from_us(4_194_305))));
}

#[test]
fn all_shares_together_are_at_most_95_percent_or_all_of_the_cpus_less_the_servers() {
    let mut machine = MachineView::flat(4, Ns::from_ms(4));
    let admits = |machine: &MachineView, kernel: &str, tenths: usize, count: usize| {
        let task = params(tenths as u64 * 1_000, 10_000, 10_000);
        let found = Profile::parse(kernel).unwrap().admits(machine, std::iter::repeat_n(task, count));
        found.map_or_else(|(index, why)| (index, why.to_string()), |()| (count, String::new()))
    };
    // 3.8 CPUs; from v6.12 on 3.6. Each share is rounded down, the limit too.
    assert_eq!(admits(&machine, "v5.19", 1, 100).0, 38);
    assert_eq!(admits(&machine, "v6.12", 1, 100).0, 36);
    // In 7.2 the limit is 100 %, 4 CPUs less 0.2.
    assert_eq!(admits(&machine, "v7.2", 1, 100).0, 38);
    let (index, why) = admits(&machine, "v6.12", 5, 100);
    assert_eq!(index, 7);
    let said = "a deadline task asks for 50.00 % of a CPU, others have 369.99 %, of which servers of fair tasks 19.99 %, and all may have 379.99 % (EBUSY)";
    assert_eq!(why, said);
    // Two CPUs of half the capacity count as one, where capacities count.
    for cpu in [2, 3] {
        machine.cpus[fairground_stdx::CpuId::new(cpu)].capacity = 512;
    }
    assert_eq!((admits(&machine, "v5.1", 1, 100).0, admits(&machine, "v5.19", 1, 100).0), (38, 28));
}

/// Two deadline tasks wait behind one that has just become a fair task, and whose last deadline was later: they will run soon, and nobody
/// pulls them. Kernels compare deadlines without asking for the class. Behind a task that never had a deadline they are pulled.
#[test]
fn who_waits_behind_a_task_that_has_left_the_class_is_not_pulled() {
    for (had_one, soon) in [(true, true), (false, false)] {
        let mut machine = TestMachine::new("v6.1", MachineView::flat(1, Ns(1_000_000)));
        let curr = machine.running(0);
        let waits = [70_000, 80_000].map(|deadline| {
            let task = machine.running(0);
            let policy = Policy::Deadline(params(1_000, deadline, 150_000));
            machine.on(0, |sched, cx| sched.sched_setscheduler(cx, task, policy)).unwrap();
            task
        });
        assert_eq!(machine.sched.rqs[cpu(0)].dl.queue.len(), 2);
        machine.sched.rqs[cpu(0)].curr = Some(curr);
        machine.sched.tasks[curr].dl.deadline = if had_one { machine.sched.tasks[waits[1]].dl.deadline } else { 0 };
        assert_eq!(DlRq::runs_soon(&machine.sched, cpu(0), waits[0]), soon, "{had_one}");
    }
}
