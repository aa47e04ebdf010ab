//! Clamps of tasks, groups and the system.

use super::{Clamps, Demand, Fit};
use crate::Profile;
use crate::fair::select_task_rq::{JIFFY, TestMachine, Wake, cpu};
use fairground_model::{MachineView, Policy, Reason, RtPriority, TaskGroupSpec, TaskSpec, UtilClamp, WakeContext};
use fairground_stdx::{CpuMask, ProgramId, TaskId, TgId};
use proptest::prelude::*;

fn clamp(min: Option<u32>, max: Option<u32>) -> UtilClamp {
    UtilClamp { min, max }
}

fn fifo(priority: i64) -> Policy {
    Policy::Fifo(RtPriority::new(priority).unwrap())
}

/// A scheduler without an engine, on CPUs of these capacities.
struct Bench(TestMachine);

impl Bench {
    fn new(kernel: &str, capacities: &[u32]) -> Bench {
        Bench::of(Profile::parse(kernel).unwrap(), capacities)
    }

    fn of(profile: Profile, capacities: &[u32]) -> Bench {
        let mut view = MachineView::flat(capacities.len(), JIFFY);
        view.cpus.iter_mut().zip(capacities).for_each(|(cpu, &capacity)| cpu.capacity = capacity);
        Bench(TestMachine::of(profile, view))
    }

    fn add(&mut self, group: Option<TgId>, clamp: UtilClamp, policy: Policy) -> TaskId {
        let spec = TaskSpec { group, clamp, policy, ..TaskSpec::new("task", ProgramId::new(0)) };
        self.0.sched.add_task(&spec, CpuMask::first_n(self.0.view.cpus.len()))
    }

    /// A task that is queued on a CPU, and runs there if nobody else did.
    fn queued(&mut self, number: u32, clamp: UtilClamp) -> TaskId {
        let task = self.add(None, clamp, Policy::Normal);
        self.0.begin(number, task);
        task
    }

    /// Where a task is woken, by an interrupt on `this`, and the rule that chose.
    fn woken(&mut self, this: u32, task: TaskId) -> (u32, Reason) {
        self.0.choose(task, this, Wake::Ttwu { sync: false, context: WakeContext::Hardirq })
    }

    fn group(&mut self, parent: Option<TgId>, clamp: UtilClamp) -> TgId {
        let name = format!("/group{}", self.0.sched.groups.len());
        self.0.sched.add_group(&TaskGroupSpec { clamp, ..TaskGroupSpec::new(name, parent) })
    }

    fn util(&mut self, task: TaskId, util: u32) {
        let se = self.0.sched.se_of(task);
        (self.0.sched.pelt_se[se].util_avg, self.0.sched.pelt_se[se].util_est.ewma) = (util, util);
    }

    fn effective(&mut self, group: Option<TgId>, asked: UtilClamp) -> (u32, u32) {
        let task = self.add(group, asked, Policy::Normal);
        self.0.sched.effective_clamp(task)
    }
}

/// Model: 04 T12
#[test]
fn a_group_limits_what_its_tasks_ask_for() {
    for kernel in ["v5.10", "v5.19", "v6.1", "v6.14"] {
        let mut bench = Bench::new(kernel, &[1024]);
        let half = bench.group(None, clamp(None, Some(512)));
        assert_eq!(bench.effective(Some(half), clamp(Some(800), None)), (512, 512), "{kernel}: 800 in a group with 50 %");
        assert_eq!(bench.effective(Some(half), clamp(None, Some(300))), (0, 300));
        assert_eq!(bench.effective(None, clamp(Some(800), None)), (800, 1024), "the root group allows everything");
    }
}

/// Model: 04 T12
#[test]
fn the_minimum_of_a_group_holds_for_tasks_that_ask_for_less() {
    let of = |variant: &str, asked| {
        let profile = Profile::parse("v5.10").unwrap().with_seam("uclamp", variant).unwrap();
        let mut bench = Bench::of(profile, &[1024]);
        let group = bench.group(None, clamp(Some(205), Some(819)));
        bench.effective(Some(group), asked)
    };
    assert_eq!(of("group-range", clamp(Some(100), Some(100))), (205, 205));
    assert_eq!(of("group-range", UtilClamp::NONE), (205, 819));
    assert_eq!(of("group-ceiling", clamp(Some(100), Some(100))), (100, 100), "a ceiling only");
    assert_eq!(of("group-ceiling", UtilClamp::NONE), (205, 819));
    assert_eq!(of("tasks", UtilClamp::NONE), (0, 1024), "the kernel had no clamps of groups yet");
}

/// Model: 04 T12
#[test]
fn a_child_group_stays_within_its_parent_and_changes_count_at_once() {
    let mut bench = Bench::new("v5.19", &[1024]);
    let above = bench.group(None, clamp(Some(600), Some(700)));
    let below = bench.group(Some(above), clamp(Some(650), None));
    assert_eq!(bench.effective(Some(below), UtilClamp::NONE), (600, 700), "not above the parent's");
    let task = bench.add(Some(below), UtilClamp::NONE, Policy::Normal);
    bench.0.begin(0, task);
    assert_eq!(bench.0.sched.uclamp_rq_get(cpu(0)), Clamps { min: 600, max: 700 });
    bench.0.on(0, |sched, cx| sched.cpu_uclamp_write(cx, above, clamp(None, Some(512))));
    assert_eq!(bench.0.sched.uclamp_rq_get(cpu(0)), Clamps { min: 512, max: 512 }, "who runs counts at once; min not above max");
    bench.0.on(0, |sched, cx| sched.sched_move_task(cx, task, None));
    assert_eq!(bench.0.sched.uclamp_rq_get(cpu(0)), Clamps { min: 0, max: 1024 });
}

/// Model: 04 T12
#[test]
fn limits_of_the_system_hold_for_groups_and_real_time_tasks() {
    let profile = Profile::parse("v5.19").unwrap().with_tunable("sched_util_clamp_min", "300").unwrap();
    let profile = profile.with_tunable("sched_util_clamp_max", "800").unwrap();
    let mut bench = Bench::of(profile.with_tunable("sched_util_clamp_min_rt_default", "512").unwrap(), &[1024]);
    assert_eq!(bench.effective(None, clamp(Some(500), None)), (300, 800));
    let group = bench.group(None, clamp(Some(400), None));
    assert_eq!(bench.effective(Some(group), UtilClamp::NONE), (300, 800));
    let rt = bench.add(None, UtilClamp::NONE, fifo(1));
    assert_eq!(bench.0.sched.effective_clamp(rt), (300, 800), "512, at most what anybody may have");
}

#[test]
fn buckets_keep_the_greatest_until_they_are_empty() {
    let mut bench = Bench::new("v5.19", &[1024]);
    let high = bench.queued(0, clamp(Some(400), Some(600)));
    let low = bench.queued(0, clamp(Some(300), Some(500)));
    assert_eq!(bench.0.sched.uclamp_rq_get(cpu(0)), Clamps { min: 400, max: 600 });
    bench.0.sleep(high);
    assert_eq!(
        bench.0.sched.uclamp_rq_get(cpu(0)),
        Clamps { min: 400, max: 600 },
        "300 is in the bucket of 400, 500 in that of 600"
    );
    let other = bench.queued(0, clamp(Some(100), Some(700)));
    assert_eq!(bench.0.sched.uclamp_rq_get(cpu(0)), Clamps { min: 400, max: 700 });
    bench.0.sleep(low);
    assert_eq!(bench.0.sched.uclamp_rq_get(cpu(0)), Clamps { min: 100, max: 700 });
    bench.0.sleep(other);
    assert_eq!(bench.0.sched.uclamp_rq_get(cpu(0)), Clamps { min: 0, max: 700 }, "the most of the last one stays");
    assert!(bench.0.sched.uclamp_rq_is_idle(cpu(0)));
    assert_eq!(bench.0.sched.uclamp_rq_with(cpu(0), high), Clamps { min: 400, max: 600 }, "but not for who comes next");
    bench.queued(0, clamp(None, Some(200)));
    assert_eq!(bench.0.sched.uclamp_rq_get(cpu(0)), Clamps { min: 0, max: 200 });
}

/// Model: 04 T11
#[test]
fn a_capped_task_fits_a_small_cpu_and_asks_for_five_eighths() {
    let full = |max| Demand { util: 1024, clamps: Clamps { min: 0, max } };
    let mut bench = Bench::new("v6.14", &[512, 1024]);
    bench.queued(1, clamp(None, Some(512)));
    let clamped = bench.0.sched.uclamp_rq_get(cpu(1)).apply(1024);
    assert_eq!((clamped, clamped + clamped / 4), (512, 640), "640 of 1024 is 0.625 of the highest frequency");
    let fit = |max, on| bench.0.sched.fit_of(full(max), cpu(on));
    assert_eq!((fit(512, 0), fit(513, 0), fit(1024, 0)), (Fit::Yes, Fit::No, Fit::No));
    assert_eq!((fit(512, 1), fit(1024, 1)), (Fit::Yes, Fit::No), "1024 on the biggest CPU says nothing");
}

#[test]
fn clamps_change_what_fits_by_kernel() {
    let wants = |kernel: &str, util, clamps: (u32, u32), on| {
        let mut bench = Bench::new(kernel, &[446, 1024]);
        bench.queued(1, clamp(Some(1), None));
        bench.0.sched.fit_of(Demand { util, clamps: Clamps { min: clamps.0, max: clamps.1 } }, cpu(on))
    };
    // A small task that asks for much: no kernel up to v5.5 looks, then it counts as big, then it is a second choice.
    assert_eq!(
        ["v5.1", "v5.10", "v5.19", "v6.1", "v6.14"].map(|kernel| wants(kernel, 100, (600, 1024), 0)),
        [Fit::Yes, Fit::No, Fit::No, Fit::MissesMin, Fit::MissesMin]
    );
    // A big one that may use little: 400 needs 500 of capacity up to v5.19.
    assert_eq!(["v5.10", "v5.19", "v6.1"].map(|kernel| wants(kernel, 1024, (0, 400), 0)), [Fit::No, Fit::No, Fit::Yes]);
    assert_eq!(["v5.10", "v5.19", "v6.1"].map(|kernel| wants(kernel, 1024, (0, 300), 0)), [Fit::Yes, Fit::Yes, Fit::Yes]);
}

/// CPU 0 and 1 are small, 2 and 3 big; all idle.
#[test]
fn wakeups_go_where_clamps_send_them() {
    for (kernel, asked, util, expected) in [
        ("v5.19", UtilClamp::NONE, 100, 0),
        ("v5.19", clamp(Some(600), None), 100, 2),
        ("v5.19", clamp(None, Some(200)), 900, 0),
        ("v6.14", clamp(Some(600), None), 100, 2),
        ("v6.14", clamp(None, Some(446)), 900, 0),
        ("v6.14", UtilClamp::NONE, 900, 2),
    ] {
        let mut bench = Bench::new(kernel, &[446, 446, 1024, 1024]);
        let task = bench.queued(0, asked);
        bench.0.sleep(task);
        bench.util(task, util);
        assert_eq!(bench.woken(0, task).0, expected, "{kernel} {asked:?} {util}");
    }
}

/// All big CPUs are busy: the CPU that only misses the task's least is better than one that does not fit.
#[test]
fn second_choices_are_taken_where_nothing_fits() {
    let mut bench = Bench::new("v6.14", &[300, 446, 700, 1024]);
    let task = bench.queued(0, clamp(Some(900), None));
    bench.0.sleep(task);
    bench.queued(3, UtilClamp::NONE);
    bench.util(task, 300);
    assert_eq!(bench.woken(0, task), (2, Reason::SelectIdleCapacity), "446 and 700 miss the least; 700 has more");
    bench.util(task, 650);
    assert_eq!(bench.woken(0, task), (2, Reason::SelectIdleCapacity), "no CPU fits: the one with most");
}

#[test]
fn real_time_tasks_go_where_they_have_what_they_ask_for() {
    for (kernel, asked, expected) in [
        ("v5.19", clamp(Some(1024), None), (2, Reason::SelectRtLowest)),
        ("v5.19", clamp(Some(400), None), (0, Reason::SelectRtPrev)),
        ("v5.19", clamp(None, Some(446)), (0, Reason::SelectRtPrev)),
        // Says nothing, but clamps are in use: it asks for all.
        ("v6.14", UtilClamp::NONE, (2, Reason::SelectRtLowest)),
    ] {
        let mut bench = Bench::new(kernel, &[446, 446, 1024, 1024]);
        bench.queued(1, clamp(Some(1), None));
        let task = bench.add(None, asked, fifo(10));
        bench.0.begin(0, task);
        bench.0.sleep(task);
        bench.0.sched.tasks[task].cpu = cpu(0);
        assert_eq!(bench.woken(0, task), expected, "{kernel} {asked:?}");
    }
}

#[test]
fn misfits_are_those_that_miss_what_they_ask_for() {
    for (asked, util, misfit) in [
        (UtilClamp::NONE, 100, false),
        (clamp(Some(600), None), 100, true),
        (clamp(None, Some(446)), 1000, false),
        (clamp(Some(0), None), 1000, true),
    ] {
        let mut bench = Bench::new("v6.14", &[446, 1024]);
        let task = bench.queued(0, asked);
        bench.util(task, util);
        bench.0.on(0, |sched, cx| sched.update_misfit_status(cx, cx.cpu, Some(task)));
        assert_eq!(bench.0.sched.rqs[cpu(0)].lb.misfit_task_load > 0, misfit, "{asked:?} {util}");
    }
}

#[test]
fn requests_that_contradict_each_other_change_nothing() {
    let mut bench = Bench::new("v5.19", &[1024]);
    let task = bench.queued(0, clamp(None, Some(512)));
    assert!(!bench.0.on(0, |sched, cx| sched.set_clamp(cx, task, clamp(Some(513), None))));
    assert!(!bench.0.on(0, |sched, cx| sched.set_clamp(cx, task, clamp(None, Some(1025)))));
    assert_eq!(bench.0.sched.effective_clamp(task), (0, 512));
    assert!(bench.0.on(0, |sched, cx| sched.set_clamp(cx, task, clamp(Some(512), None))));
    assert_eq!(bench.0.sched.uclamp_rq_get(cpu(0)), Clamps { min: 512, max: 512 });
    let mut old = Bench::new("v5.1", &[1024]);
    let task = old.queued(0, UtilClamp::NONE);
    assert!(!old.0.on(0, |sched, cx| sched.set_clamp(cx, task, clamp(Some(1), None))), "v5.1 has no clamps");
}

#[test]
fn clamps_follow_a_task_that_moves_and_a_child_has_its_parents() {
    let mut bench = Bench::new("v6.14", &[1024, 1024]);
    let parent = bench.queued(0, clamp(Some(300), Some(800)));
    let child = bench.add(None, clamp(None, Some(600)), Policy::Normal);
    bench.0.on(0, |sched, cx| sched.sched_fork(cx, Some(parent), child));
    assert_eq!(bench.0.sched.effective_clamp(child), (300, 600));
    bench.0.on(0, |sched, cx| sched.wake_up_new_task(cx, child, Some(cpu(1))));
    assert_eq!(bench.0.sched.uclamp_rq_get(cpu(1)), Clamps { min: 300, max: 600 });
    let free = Clamps::NONE;
    assert_eq!((free.apply(0), free.apply(77), Clamps { min: 600, max: 500 }.apply(550)), (0, 77, 600));
}

proptest! {
    /// The effective value of a task, computed as docs/model/04-cpufreq-and-capacity.md words it.
    #[test]
    fn effective_values_are_those_of_the_words(
        asked in (0..=1024_u32, 0..=1024_u32),
        group in (0..=1024_u32, 0..=1024_u32),
        above in (0..=1024_u32, 0..=1024_u32),
    ) {
        let asked = (asked.0.min(asked.1), asked.1);
        let mut bench = Bench::new("v5.19", &[1024]);
        let parent = bench.group(None, clamp(Some(above.0), Some(above.1)));
        let child = bench.group(Some(parent), clamp(Some(group.0), Some(group.1)));
        let most = group.1.min(above.1);
        let least = [group.0, above.0, above.1, most].into_iter().min().unwrap();
        let within = |value: u32| value.max(least).min(most);
        let got = bench.effective(Some(child), clamp(Some(asked.0), Some(asked.1)));
        prop_assert_eq!(got, (within(asked.0), within(asked.1)));
    }
}

/// It sleeps on its queue when it is moved, so it does not count where it comes to, until it is woken there.
#[test]
fn a_task_in_delayed_dequeue_that_moves_does_not_count() {
    for kernel in ["v6.12", "v6.14", "v6.18"] {
        let mut bench = Bench::new(kernel, &[1024, 1024]);
        let (a, _) = (bench.queued(0, clamp(Some(512), None)), bench.queued(0, clamp(Some(100), None)));
        let se = bench.0.sched.se_of(a);
        bench.0.sched.ses[se].sched_delayed = true;
        bench.0.sched.uclamp_rq_dec(a);
        bench.0.sched.tasks[a].state = crate::TaskState::Migrating;
        bench.0.sched.uclamp_rq_inc(a);
        assert!(bench.0.sched.uclamps.tasks[a].counted.is_none(), "{kernel}");
    }
}

/// Two tasks of a group wait on a CPU: one that asks for a most of 660, and one that asks for none. The group gets a most of 659. A group goes
/// through its tasks in the order in which they came, so the bucket of both forgets the 660 only if that one is first.
#[test]
fn a_group_goes_through_its_tasks_in_the_order_in_which_they_came() {
    for (first, most) in [(0, 659), (1, 660)] {
        let mut bench = Bench::new("v6.12", &[1024]);
        let group = bench.group(None, UtilClamp::NONE);
        let asks = [clamp(None, Some(660)), UtilClamp::NONE];
        let tasks = asks.map(|asked| bench.add(Some(group), asked, Policy::Normal));
        bench.0.begin(0, tasks[first]);
        bench.0.begin(0, tasks[1 - first]);
        bench.0.on(0, |sched, cx| sched.cpu_uclamp_write(cx, group, clamp(None, Some(659))));
        assert_eq!(bench.0.sched.cpu_clamps(cpu(0)).1, most, "first: {first}");
    }
}
