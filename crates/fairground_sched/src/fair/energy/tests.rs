//! Energy-aware placement: where a wakee goes, and when the ordinary placement takes over.

use super::model::{State, perf_domain};
use crate::Profile;
use crate::fair::select_task_rq::{JIFFY, TestMachine, Wake, cpu};
use crate::seam::EnergyModel;
use fairground_model::freq::dynamic_power_mw;
use fairground_model::{FreqPolicy, Governor, GovernorKind, MachineView, Opp, Reason, TaskSpec, UtilClamp, WakeContext};
use fairground_stdx::{CpuMask, Ns, ProgramId, TaskId};

/// Points of MHz and mV, as for a coefficient of the device tree.
fn policy(cpus: &str, coefficient: u32, points: &[(u32, u32)]) -> FreqPolicy {
    let opp = |&(mhz, millivolt): &(u32, u32)| {
        let khz = mhz * 1000;
        Opp { khz, power_mw: dynamic_power_mw(coefficient, khz, millivolt) }
    };
    FreqPolicy {
        cpus: CpuMask::parse_list(cpus).unwrap(),
        opps: points.iter().map(opp).collect(),
        transition_latency: Ns::ZERO,
        transition_delay: None,
        fast_switch: true,
        governor: Governor::of(GovernorKind::Schedutil),
    }
}

/// CPUs 0 to 3 of capacity 446 and 4 to 7 of 1024, under one cache.
pub(super) fn four_and_four() -> MachineView {
    let mut view = MachineView::flat(8, JIFFY);
    (0..4).for_each(|number| view.cpus[cpu(number)].capacity = 446);
    view.policies = vec![
        policy("0-3", 140, &[(450, 820), (575, 850), (700, 900), (775, 950), (850, 1000)]),
        policy("4-7", 530, &[(450, 820), (625, 850), (800, 900), (950, 950), (1100, 1000)]),
    ];
    for (row, cpus) in [0..4, 4..8].into_iter().enumerate() {
        cpus.for_each(|number| view.cpus[cpu(number)].policy = Some(row));
    }
    view
}

pub(super) struct Bench(pub(super) TestMachine);

impl Bench {
    pub(super) fn new(kernel: &str) -> Bench {
        Bench(TestMachine::new(kernel, four_and_four()))
    }

    /// A task that ran on a CPU and sleeps, with that utilisation, which the CPU has in its own.
    pub(super) fn sleeper(&mut self, number: u32, util: u32, clamp: UtilClamp) -> TaskId {
        let spec = TaskSpec { clamp, ..TaskSpec::new("task", ProgramId::new(0)) };
        let task = self.0.sched.add_task(&spec, CpuMask::first_n(self.0.view.cpus.len()));
        self.0.begin(number, task);
        self.0.sleep(task);
        let avg = &mut self.0.sched.pelt_se[self.0.sched.tasks[task].se];
        (avg.util_avg, avg.util_est.ewma, avg.util_est.enqueued) = (util, 0, 0);
        (0..self.0.view.cpus.len() as u32).for_each(|number| self.busy(number, 0));
        self.busy(number, util);
        task
    }

    /// A CPU has that utilisation, of nobody who is there now.
    pub(super) fn busy(&mut self, number: u32, util: u32) {
        let queue = self.0.sched.rqs[cpu(number)].cfs;
        let avg = &mut self.0.sched.pelt_cfs[queue];
        (avg.util_avg, avg.runnable_avg, avg.util_est.enqueued) = (util, 0, 0);
    }

    fn woken(&mut self, this: u32, task: TaskId) -> (u32, Reason) {
        self.0.choose(task, this, Wake::Ttwu { sync: false, context: WakeContext::Hardirq })
    }
}

const AWARE: [&str; 7] = ["v5.1", "v5.10", "v5.19", "v6.1", "v6.6", "v6.14", "v6.18"];

/// Model: 04 T13
#[test]
fn a_light_task_goes_to_a_little_cpu() {
    for kernel in AWARE {
        let mut bench = Bench::new(kernel);
        let task = bench.sleeper(5, 50, UtilClamp::NONE);
        assert_eq!(bench.woken(5, task), (0, Reason::SelectEnergy), "{kernel}");
        let mut bench = Bench::new(kernel);
        let task = bench.sleeper(2, 50, UtilClamp::NONE);
        assert_eq!(bench.woken(5, task), (2, Reason::SelectEnergyPrev), "{kernel}: no other little CPU is better");
    }
}

/// Model: 04 T13
#[test]
fn an_overutilized_machine_takes_the_ordinary_path() {
    for kernel in AWARE {
        let mut bench = Bench::new(kernel);
        let task = bench.sleeper(5, 50, UtilClamp::NONE);
        bench.busy(1, 400);
        bench.0.sched.update_overutilized_status(cpu(1));
        assert!(!bench.0.sched.places_by_energy(), "{kernel}: 400 of 446");
        let (_, reason) = bench.woken(5, task);
        assert!(![Reason::SelectEnergy, Reason::SelectEnergyPrev].contains(&reason), "{kernel}: {reason:?}");
    }
}

/// Model: 04 T13
#[test]
fn energy_aware_placement_needs_unequal_cpus_known_power_and_schedutil() {
    let is_active = |profile: Profile, view: MachineView| TestMachine::of(profile, view).sched.places_by_energy();
    let profile = |kernel| Profile::parse(kernel).unwrap();
    assert!(is_active(profile("v5.19"), four_and_four()));
    assert!(!is_active(profile("v4.20"), four_and_four()), "absent in v4.20");
    assert!(!is_active(profile("v5.19").with_tunable("sched_energy_aware", "0").unwrap(), four_and_four()));
    let mut equal = four_and_four();
    equal.cpus.iter_mut().for_each(|cpu| cpu.capacity = 1024);
    assert!(!is_active(profile("v5.19"), equal), "CPUs do not differ");
    let mut other = four_and_four();
    other.policies[0].governor = Governor::of(GovernorKind::Performance);
    assert!(!is_active(profile("v5.19"), other.clone()), "a policy without schedutil");
    let mut machine = TestMachine::of(profile("v5.19"), other);
    machine.on(0, |sched, cx| sched.set_governor(cx, 0, Governor::of(GovernorKind::Schedutil)));
    assert!(machine.sched.places_by_energy(), "and now it has it");
    let mut unknown = four_and_four();
    unknown.policies[1].opps[0].power_mw = None;
    assert!(!is_active(profile("v5.19"), unknown), "the power of a point is not known");
}

#[test]
fn a_task_without_utilisation_stays_unless_it_asks_for_something() {
    let asks = UtilClamp { min: Some(600), max: None };
    for (kernel, clamp, expected) in [
        ("v5.1", UtilClamp::NONE, 6),
        ("v5.19", UtilClamp::NONE, 6),
        ("v6.14", UtilClamp::NONE, 6),
        ("v5.19", asks, 1),
        ("v6.14", asks, 4),
    ] {
        let prev = if clamp == asks { 1 } else { 6 };
        let mut bench = Bench::new(kernel);
        let task = bench.sleeper(prev, 0, clamp);
        assert_eq!(bench.woken(0, task).0, expected, "{kernel} {clamp:?}");
    }
}

#[test]
fn big_tasks_and_capped_ones() {
    let capped = UtilClamp { min: None, max: Some(300) };
    for (kernel, util, clamp, expected) in [
        ("v5.19", 600, UtilClamp::NONE, 4..8),
        ("v6.14", 600, UtilClamp::NONE, 4..8),
        ("v5.19", 400, UtilClamp::NONE, 4..8),
        ("v5.19", 400, capped, 0..4),
        // Up to v6.0 a CPU that would have nothing to spare is no candidate.
        ("v5.19", 600, capped, 4..8),
        ("v6.14", 600, capped, 0..4),
    ] {
        let mut bench = Bench::new(kernel);
        let task = bench.sleeper(6, util, clamp);
        let (found, _) = bench.woken(0, task);
        assert!(expected.contains(&found), "{kernel} {util} {clamp:?}: CPU {found}");
    }
}

/// A move must save more than 1/16 up to v5.19; later any saving is enough.
#[test]
fn small_savings_are_left_alone_up_to_v5_19() {
    let mut moves = Vec::new();
    for kernel in ["v5.19", "v6.1", "v6.14"] {
        let mut bench = Bench::new(kernel);
        let task = bench.sleeper(0, 20, UtilClamp::NONE);
        // The previous CPU alone decides the frequency of its cluster: without the task it is one point lower, which saves little of all.
        bench.busy(0, 205);
        (1..4).for_each(|number| bench.busy(number, 150));
        (4..8).for_each(|number| bench.busy(number, 700));
        moves.push(bench.woken(0, task).0 != 0);
    }
    assert_eq!(moves, [false, true, true]);
}

#[test]
fn costs_of_operating_points() {
    let view = four_and_four();
    let cost = |rule: EnergyModel| -> Vec<State> { perf_domain(rule, &view.policies[0], &view).unwrap().states };
    let mw: Vec<u64> = view.policies[0].opps.iter().map(|opp| u64::from(opp.power_mw.unwrap())).collect();
    assert_eq!(mw, [42, 58, 79, 97, 119]);
    let milli: Vec<u64> = cost(EnergyModel::Milliwatt).iter().map(|state| state.cost).collect();
    assert_eq!(milli, [79, 85, 95, 106, 119], "42 * 850 / 450 = 79.3 and so on");
    assert_eq!(cost(EnergyModel::Microwatt)[0], State { speed: 450_000, cost: 79_333 });
    assert_eq!(cost(EnergyModel::Performance)[0], State { speed: 236, cost: 1_779 }, "446 * 450 / 850, 420000 / 236");
    // A point that costs no less than a faster one: 60 mW at 450 MHz.
    let mut wasteful = view.clone();
    wasteful.policies[0].opps[0].power_mw = Some(60);
    let states = |rule| perf_domain(rule, &wasteful.policies[0], &wasteful).unwrap().states.len();
    assert_eq!((states(EnergyModel::Milliwatt), states(EnergyModel::Efficient)), (5, 4));
}

#[test]
fn energy_follows_the_lowest_point_that_suffices() {
    let view = four_and_four();
    let domain = perf_domain(EnergyModel::Milliwatt, &view.policies[0], &view).unwrap();
    // 236 of 446 is 449.7 MHz: the lowest point; 238 is 453.5 MHz.
    assert_eq!(domain.energy(EnergyModel::Milliwatt, (236, 446), (446, 446), false), 79);
    assert_eq!(domain.energy(EnergyModel::Milliwatt, (238, 446), (446, 446), false), 85);
    assert_eq!(domain.energy(EnergyModel::Milliwatt, (2000, 223), (446, 446), false), 59, "119 / 2");
}

/// What pressure takes of a CPU's capacity it cannot ask for: its frequency is that of what is left.
#[test]
fn nobody_counts_with_more_than_pressure_leaves() {
    let view = four_and_four();
    let energy =
        |rule, allowed| perf_domain(rule, &view.policies[0], &view).unwrap().energy(rule, (2000, 446), (446, allowed), false);
    for rule in [EnergyModel::Efficient, EnergyModel::Microwatt, EnergyModel::Performance] {
        assert!(energy(rule, 236) < energy(rule, 446), "{rule:?}");
    }
    assert_eq!(energy(EnergyModel::Milliwatt, 236), energy(EnergyModel::Milliwatt, 446), "older kernels");
}

/// Up to v6.11 a task that goes on is looked at, too; later ones leave that to the tick.
#[test]
fn a_task_is_looked_at_for_misfit_as_soon_as_it_is_picked() {
    for (kernel, again) in [("v6.1", true), ("v6.14", false)] {
        let mut bench = Bench::new(kernel);
        let task = bench.0.running(0);
        let misfit = |bench: &Bench| bench.0.sched.rqs[cpu(0)].lb.misfit_task_load > 0;
        assert!(!misfit(&bench), "{kernel}: half of a little CPU fits");
        bench.0.sched.pelt_se[bench.0.sched.tasks[task].se].util_avg = 600;
        bench.0.on(0, |sched, cx| sched.schedule(cx));
        assert_eq!(misfit(&bench), again, "{kernel}");
        let next = bench.0.running(0);
        bench.0.sched.pelt_se[bench.0.sched.tasks[next].se].util_avg = 600;
        bench.0.sleep(task);
        assert!(misfit(&bench), "{kernel}: the next one is picked at once");
        bench.0.sleep(next);
        assert!(!misfit(&bench), "{kernel}: who looks for tasks has none");
    }
}

/// A task that is too big for CPU 0 and may use no other one is no misfit from v5.12 on, and in the stable kernel 5.10. From v6.10 on
/// neither is one that may use other little CPUs only.
#[test]
fn who_may_go_nowhere_is_no_misfit() {
    for (kernel, bound, little) in [("v5.1", true, true), ("v5.10", false, true), ("v6.1", false, true), ("v6.14", false, false)]
    {
        let misfit = |cpus: &str| {
            let mut bench = Bench::new(kernel);
            let task = bench.0.running(0);
            bench.0.allow(task, cpus);
            bench.0.sched.pelt_se[bench.0.sched.tasks[task].se].util_avg = 600;
            bench.0.on(0, |sched, cx| sched.update_misfit_status(cx, cx.cpu, Some(task)));
            bench.0.sched.rqs[cpu(0)].lb.misfit_task_load > 0
        };
        assert_eq!((misfit("0"), misfit("0-3"), misfit("0-7")), (bound, little, true), "{kernel}");
    }
}

/// Two tasks of nice 19 have long been queued on CPU 0, and use little; CPU 1 is full with one of nice 0. A new task leaves the first for being
/// overloaded, though it has less load. In 7.2 nobody is overloaded here, since no CPU has more to do than it can.
#[test]
fn queued_tasks_alone_overload_nobody_in_7_2() {
    for (kernel, expected) in [("v6.18", 1), ("v7.2", 0)] {
        let mut bench = Bench::new(kernel);
        let small = [bench.0.running(0), bench.0.running(0)];
        small.into_iter().for_each(|task| bench.0.on(0, |sched, cx| sched.set_user_nice(cx, task, 19)));
        bench.0.running(1);
        for (number, load, runnable, util) in [(0, 30, 1024, 100), (1, 1024, 446, 446)] {
            let queue = bench.0.sched.rqs[cpu(number)].cfs;
            let avg = &mut bench.0.sched.pelt_cfs[queue];
            (avg.load_avg, avg.runnable_avg, avg.util_avg, avg.util_est.enqueued) = (load, runnable, util, 0);
        }
        let child = bench.0.sched.add_task(&TaskSpec::new("child", ProgramId::new(0)), CpuMask::parse_list("0-1").unwrap());
        let chosen = bench.0.on(0, |sched, cx| {
            sched.sched_fork(cx, None, child);
            sched.select_new_task(cx, child, None)
        });
        assert_eq!(chosen, cpu(expected), "{kernel}");
    }
}

/// The timer of HRTICK notes a task that is too big, as the tick does; in 7.2 it does not.
#[test]
fn hrtick_looks_for_no_misfit_in_7_2() {
    for (kernel, looks) in [("v6.18", true), ("v7.2", false)] {
        let mut bench = Bench::new(kernel);
        let task = bench.0.running(0);
        bench.0.sched.pelt_se[bench.0.sched.tasks[task].se].util_avg = 600;
        bench.0.on(0, |sched, cx| sched.hrtick(cx));
        assert_eq!(bench.0.sched.rqs[cpu(0)].lb.misfit_task_load > 0, looks, "{kernel}");
    }
}
