//! Who balances, when, and which tasks move.

use crate::fair::balance::{BalanceStep, End, LbEnv, MigrationType};
use crate::task::TaskState;
use crate::topology::{CpuIdleType, LbStats, SchedDomain};
use crate::{Ctx, Profile, Request, Sched};
use fairground_machine::Machine;
use fairground_model::{Digest, MachineView, Meter, NullSink, Recorder, TaskSpec};
use fairground_stdx::{CpuId, CpuMask, Instant, Ns, ProgramId, SdId, TaskId};

const MS: u64 = 1_000_000;

/// A scheduler without an engine and a clock turned by hand.
pub(super) struct World {
    pub(super) sched: Sched,
    view: MachineView,
    meter: Meter,
    requests: Vec<Request>,
    now: Instant,
}

pub(super) const fn cpu(number: u32) -> CpuId {
    CpuId::new(number)
}

impl World {
    pub(super) fn new(kernel: &str, view: MachineView) -> World {
        let sched = Sched::new(Profile::parse(kernel).unwrap(), &view);
        World { sched, view, meter: Meter::free(), requests: Vec::new(), now: Instant::from_ns(10 * MS) }
    }

    fn flat(kernel: &str, nr_cpus: usize) -> World {
        World::new(kernel, MachineView::flat(nr_cpus, Ns(MS)))
    }

    pub(super) fn call<R>(&mut self, on: u32, call: impl FnOnce(&mut Sched, &mut Ctx<'_, '_>) -> R) -> R {
        let (mut digest, mut sink) = (Digest::default(), NullSink);
        let mut rec = Recorder::new(&mut digest, &mut sink);
        let mut cx = Ctx {
            now: self.now,
            cpu: cpu(on),
            jiffies: self.now.ns() / self.view.tick.ns(),
            until: Instant::MAX,
            switched: None,
            machine: &self.view,
            meter: &mut self.meter,
            requests: &mut self.requests,
            trace: &mut rec,
        };
        call(&mut self.sched, &mut cx)
    }

    /// A task that is queued on that CPU and may run on `allowed`.
    pub(super) fn queued(&mut self, on: u32, allowed: CpuMask) -> TaskId {
        let task = self.sched.add_task(&TaskSpec::new("task", ProgramId::new(0)), allowed);
        self.call(on, |sched, cx| sched.sched_fork(cx, None, task));
        self.call(on, |sched, cx| sched.wake_up_new_task(cx, task, Some(cpu(on))));
        task
    }

    /// That CPU has been busy for long: in load-based balance that makes it overloaded by two tasks.
    pub(super) fn fully_used(&mut self, on: u32) {
        let cfs = self.sched.rqs[cpu(on)].cfs;
        self.sched.group_stats.cpu_changes(cpu(on));
        self.sched.pelt_cfs[cfs].util_avg = 1024;
    }

    pub(super) fn all(&self) -> CpuMask {
        self.view.online
    }

    /// The domain of that CPU, counted from the smallest.
    pub(super) fn sd(&self, of: u32, place: usize) -> SdId {
        self.sched.topology.domains_of(cpu(of)).nth(place).unwrap()
    }

    pub(super) fn domain(&mut self, sd: SdId) -> &mut SchedDomain {
        &mut self.sched.topology.domains[sd]
    }

    fn lb_stats(&self, sd: SdId, idle: CpuIdleType) -> LbStats {
        self.sched.topology.domains[sd].stats.lb[idle as usize]
    }

    pub(super) fn env(&self, sd: SdId, idle: CpuIdleType) -> LbEnv {
        LbEnv::new(sd, self.sched.topology.domains[sd].cpu, idle, self.all(), Vec::new())
    }

    /// A whole load_balance() of a domain by its idle CPU.
    pub(super) fn balance(&mut self, sd: SdId) -> u32 {
        let by = self.sched.topology.domains[sd].cpu.get();
        self.call(by, |sched, cx| {
            let mut lb = sched.begin_load_balance(cx, sd, CpuIdleType::Idle);
            loop {
                if let Some(moved) = sched.load_balance(cx, &mut lb, &mut true) {
                    return moved;
                }
            }
        })
    }

    fn intervals(&mut self, sd: SdId, balances: usize) -> Vec<u32> {
        let after = |_| {
            self.balance(sd);
            self.sched.topology.domains[sd].balance_interval
        };
        (0..balances).map(after).collect()
    }

    pub(super) fn check(&self) {
        assert_eq!(self.sched.check(), Ok(()));
    }
}

/// Model: 07 T01
#[test]
fn intervals_double_until_there_is_something_to_do() {
    for kernel in ["v4.12", "v4.20", "v5.10", "v5.19", "v6.1", "v6.14"] {
        let mut world = World::flat(kernel, 32);
        let sd = world.sd(0, 0);
        assert_eq!(world.domain(sd).balance_interval, 32);
        assert_eq!(world.intervals(sd, 3), [64, 64, 64], "{kernel}");
        for _ in 0..2 {
            let all = world.all();
            world.queued(1, all);
        }
        world.fully_used(1);
        assert_eq!((world.balance(sd), world.domain(sd).balance_interval), (1, 32), "{kernel}");
        world.check();

        let mut world = World::flat(kernel, 32);
        let sd = world.sd(0, 0);
        for _ in 0..2 {
            world.queued(1, CpuMask::only(cpu(1)));
        }
        world.fully_used(1);
        assert_eq!(world.intervals(sd, 6), [64, 128, 256, 512, 512, 512], "{kernel}: all are pinned");
    }
}

/// Model: 07 T02
#[test]
fn the_cost_of_newidle_balance_decays_once_a_second() {
    for kernel in ["v4.12", "v5.10", "v5.19", "v6.14"] {
        let mut world = World::flat(kernel, 2);
        let sd = world.sd(0, 0);
        world.domain(sd).max_newidle_lb_cost = 1_000_000;
        let mut series = Vec::new();
        // Jiffies are 1 ms: one look at each for five seconds and a bit.
        for ms in 11..5_100 {
            world.now = Instant::from_ns(ms * MS);
            if world.call(0, |sched, cx| sched.decay_newidle_cost(cx, sd)) {
                series.push(world.domain(sd).max_newidle_lb_cost);
            }
        }
        // The first kernels decay at the first look, and then once a second.
        let first = series.len() - series.len().min(5);
        let expected = [988_281, 976_699, 965_253, 953_941, 942_762];
        assert_eq!(&series[..5], &expected, "{kernel}");
        assert!(first <= 1, "{kernel}: {series:?}");
    }
}

/// Model: 07 T10
#[test]
fn one_cpu_of_a_group_balances() {
    let view = Machine::preset("fb-16c32t").unwrap().view();
    let asked = |kernel: &str, idle: &[u32], dst: u32| {
        let mut world = World::new(kernel, view.clone());
        for busy in (0..32).filter(|number| !idle.contains(number)) {
            world.sched.rqs[cpu(busy)].nr_running = 1;
        }
        let state = if idle.contains(&dst) { CpuIdleType::Idle } else { CpuIdleType::NotIdle };
        let env = world.env(world.sd(dst, 1), state);
        world.call(dst, |sched, cx| sched.should_we_balance(cx, &env))
    };
    for kernel in ["v4.12", "v5.19", "v6.1"] {
        assert!(asked(kernel, &[3, 20], 3), "{kernel}");
        assert!(!asked(kernel, &[3, 19, 20], 19), "{kernel}: 3 is idle");
        assert!(asked(kernel, &[20], 3) && !asked(kernel, &[20], 19), "{kernel}: nobody is idle, 3 is the first");
    }
    assert!(asked("v6.14", &[19], 19), "the idle thread of a busy core is remembered");
    assert!(!asked("v6.14", &[19], 3));
    assert!(asked("v6.6", &[19], 3) && asked("v6.6", &[19], 19), "v6.6: the group's first CPU may, too");
}

/// Model: 07 T11
#[test]
fn a_task_that_ran_within_500_us_is_cache_hot_and_moves_after_failures_only() {
    let mut world = World::flat("v5.19", 2);
    let (sd, all) = (world.sd(0, 0), world.all());
    let task = world.queued(1, all);
    let mut env = world.env(sd, CpuIdleType::NotIdle);
    let se = world.sched.se_of(task);
    let clock = world.sched.rqs[cpu(1)].clocks.clock_task;
    for (ago, hot) in [(400_000, true), (499_999, true), (500_000, false)] {
        world.sched.ses[se].exec_start = clock - ago;
        assert_eq!(world.sched.task_hot(&env, cpu(1), task), hot, "{ago} ns ago");
    }
    world.sched.ses[se].exec_start = clock - 400_000;
    let mut may_move = |world: &mut World, failed: u32| {
        world.domain(sd).nr_balance_failed = failed;
        world.call(0, |sched, cx| sched.can_migrate_task(cx, &mut env, cpu(1), task))
    };
    assert_eq!(world.domain(sd).cache_nice_tries, 1);
    assert!(!may_move(&mut world, 1));
    assert_eq!(world.lb_stats(sd, CpuIdleType::NotIdle).hot_gained, 0);
    assert!(may_move(&mut world, 2));
    assert_eq!(world.lb_stats(sd, CpuIdleType::NotIdle).hot_gained, 1);
}

/// Late stable kernels and those from v6.14 on count a cache-hot task when it is moved, others when it may move.
#[test]
fn cache_hot_tasks_that_are_too_big_are_counted_by_some_kernels() {
    for (kernel, too_big) in [("v5.10", 2), ("v5.19", 2), ("v6.1", 0), ("v6.6", 2), ("v6.12", 0), ("v6.14", 0), ("v6.18", 0)] {
        let mut world = World::flat(kernel, 2);
        let (sd, all) = (world.sd(0, 0), world.all());
        let tasks = [world.queued(1, all), world.queued(1, all)];
        let clock = world.sched.rqs[cpu(1)].clocks.clock_task;
        for task in tasks {
            let se = world.sched.se_of(task);
            world.sched.ses[se].exec_start = clock;
        }
        world.domain(sd).nr_balance_failed = 2;
        let mut env = world.env(sd, CpuIdleType::NotIdle);
        (env.src_cpu, env.imbalance, env.loop_max, env.migration) = (Some(cpu(1)), 1, 2, MigrationType::Load);
        assert_eq!(world.call(0, |sched, cx| sched.detach_tasks(cx, &mut env, cpu(1))), 0, "{kernel}");
        assert_eq!(world.lb_stats(sd, CpuIdleType::NotIdle).hot_gained, too_big, "{kernel}");
        (env.loops, env.migration) = (0, MigrationType::Task);
        assert_eq!(world.call(0, |sched, cx| sched.detach_tasks(cx, &mut env, cpu(1))), 1, "{kernel}");
        assert_eq!(world.lb_stats(sd, CpuIdleType::NotIdle).hot_gained, too_big + 1, "{kernel}");
    }
}

/// A hog whose utilisation is above what an idle CPU has left is taken by it after a vain balance; kernels before v6.7 leave it where it is,
/// but for the stable ones to which the rule was carried back.
#[test]
fn vain_balances_make_tasks_smaller() {
    for (kernel, taken) in [("v5.10", 0), ("v5.19", 0), ("v6.1", 1), ("v6.6", 0), ("v6.12", 1), ("v6.18", 1), ("v7.2", 1)] {
        let mut world = World::flat(kernel, 2);
        let (sd, all) = (world.sd(0, 0), world.all());
        for task in [world.queued(1, all), world.queued(1, all)] {
            let se = world.sched.se_of(task);
            world.sched.pelt_se[se].util_avg = 595;
        }
        let mut env = world.env(sd, CpuIdleType::Idle);
        (env.src_cpu, env.imbalance, env.loop_max, env.migration) = (Some(cpu(1)), 512, 2, MigrationType::Util);
        let mut detached = |failed| {
            (world.domain(sd).nr_balance_failed, env.loops) = (failed, 0);
            world.call(0, |sched, cx| sched.detach_tasks(cx, &mut env, cpu(1)))
        };
        assert_eq!([detached(0), detached(1)], [0, taken], "{kernel}");
    }
}

/// Model: 07 T12
#[test]
fn v4_12_detaches_the_newest_task_first_and_later_kernels_the_oldest() {
    for (kernel, first) in [("v4.12", 2), ("v4.20", 0), ("v5.10", 0), ("v6.1", 0), ("v6.14", 0)] {
        let mut world = World::flat(kernel, 2);
        let all = world.all();
        let tasks: Vec<TaskId> = (0..3).map(|_| world.queued(1, all)).collect();
        assert_eq!(world.sched.cfs_tasks_candidate(cpu(1)), Some(tasks[first]), "{kernel}");
    }
}

/// Model: 07 T13
#[test]
fn no_more_than_32_tasks_are_tried() {
    for kernel in ["v4.12", "v4.20", "v5.10", "v5.19", "v6.14"] {
        let mut world = World::flat(kernel, 2);
        let (sd, all) = (world.sd(0, 0), world.all());
        for _ in 0..100 {
            world.queued(1, all);
        }
        let mut env = world.env(sd, CpuIdleType::Idle);
        (env.src_cpu, env.imbalance, env.loop_max) = (Some(cpu(1)), 1, 32);
        env.migration = MigrationType::Load;
        let moved = world.call(0, |sched, cx| sched.detach_tasks(cx, &mut env, cpu(1)));
        assert_eq!((moved, env.loops, env.need_break, env.imbalance), (0, 33, false, 1), "{kernel}");
    }
}

/// Model: 07 T14
#[test]
fn newidle_balance_runs_if_the_expected_idle_time_pays_for_it() {
    for (kernel, runs) in [("v4.12", 0), ("v4.20", 0), ("v5.10", 0), ("v5.19", 1), ("v6.14", 1)] {
        let mut world = World::flat(kernel, 2);
        let (sd, all) = (world.sd(0, 0), world.all());
        for _ in 0..2 {
            world.queued(1, all);
        }
        world.sched.rqs[cpu(0)].lb.avg_idle = 400_000;
        world.domain(sd).max_newidle_lb_cost = 50_000;
        while world.call(0, |sched, cx| sched.newidle_balance(cx)) == BalanceStep::More {}
        let stats = world.lb_stats(sd, CpuIdleType::NewlyIdle);
        assert_eq!((stats.count, stats.gained), (runs, runs), "{kernel}");
        assert_eq!(u64::from(world.sched.rqs[cpu(0)].nr_running), runs, "{kernel}");
        assert_eq!(world.sched.rqs[cpu(0)].lb.idle_stamp == 0, runs == 1, "{kernel}: what was pulled ends the idle time");
        world.check();
    }
}

/// Model: 07 T17
#[test]
fn after_failures_the_running_task_is_pushed_by_active_balance() {
    for (kernel, after_asking) in [("v4.12", 2), ("v5.10", 2), ("v5.19", 4), ("v6.14", 4)] {
        let mut world = World::flat(kernel, 2);
        let (sd, all) = (world.sd(0, 0), world.all());
        let runs = world.queued(1, all);
        world.call(1, |sched, cx| sched.schedule(cx));
        world.queued(1, CpuMask::only(cpu(1)));
        world.fully_used(1);
        world.domain(sd).nr_balance_failed = 3;
        assert_eq!(world.balance(sd), 0, "{kernel}");
        assert_eq!(world.domain(sd).nr_balance_failed, after_asking, "{kernel}");
        world.domain(sd).nr_balance_failed = 3;
        world.balance(sd);
        assert!(world.sched.rqs[cpu(1)].need_resched, "{kernel}");
        assert!(world.sched.stop_work_due(cpu(1)));

        let switch = world.call(1, |sched, cx| sched.schedule_stopper(cx, None));
        assert_eq!(switch.prev, Some(runs), "{kernel}");
        world.sched.finish_task_switch(runs);
        while world.call(1, |sched, cx| sched.active_load_balance_cpu_stop(cx)) == BalanceStep::More {}
        let domain = world.domain(sd);
        let counts = (domain.stats.alb_count, domain.stats.alb_pushed, domain.stats.alb_failed, domain.nr_balance_failed);
        assert_eq!(counts, (1, 1, 0, 0), "{kernel}");
        assert_eq!(world.sched.tasks[runs].cpu, cpu(0), "{kernel}");
        assert!(!world.sched.stop_work_due(cpu(1)));
        world.check();
    }
}

#[test]
fn a_task_whose_switch_away_is_not_over_stays() {
    for (kernel, switching, moved) in [("v4.12", true, 0), ("v4.12", false, 1), ("v6.14", true, 0), ("v6.14", false, 1)] {
        let mut world = World::flat(kernel, 2);
        let (sd, all) = (world.sd(0, 0), world.all());
        let tasks = [world.queued(1, all), world.queued(1, all)];
        world.fully_used(1);
        tasks.iter().for_each(|&task| world.sched.tasks[task].on_cpu = switching);
        let mut lb = world.call(0, |sched, cx| sched.begin_load_balance(cx, sd, CpuIdleType::Idle));
        let mut phase = |world: &mut World| world.call(0, |sched, cx| sched.load_balance(cx, &mut lb, &mut true));
        let found = (0..10).find_map(|_| phase(&mut world));
        assert_eq!(found, Some(moved), "{kernel}, switching {switching}");
    }
}

#[test]
fn who_needs_a_task_on_its_way_does_not_find_it_on_no_queue() {
    for kernel in ["v4.12", "v6.14"] {
        let mut world = World::flat(kernel, 2);
        let (sd, all) = (world.sd(0, 0), world.all());
        let tasks = [world.queued(1, all), world.queued(1, all)];
        world.fully_used(1);
        let mut lb = world.call(0, |sched, cx| sched.begin_load_balance(cx, sd, CpuIdleType::Idle));
        let mut phase = |world: &mut World| world.call(0, |sched, cx| sched.load_balance(cx, &mut lb, &mut true));
        assert_eq!((phase(&mut world), phase(&mut world)), (None, None));
        let moves = *tasks.iter().find(|&&task| world.sched.tasks[task].state == TaskState::Migrating).unwrap();
        world.call(1, |sched, cx| sched.set_user_nice(cx, moves, 5));
        assert_eq!((world.sched.tasks[moves].state, world.sched.tasks[moves].cpu), (TaskState::Queued, cpu(0)), "{kernel}");
        assert_eq!(phase(&mut world), Some(1), "{kernel}");
        world.check();
    }
}

#[test]
fn a_destination_that_goes_off_line_hands_on_what_was_on_its_way() {
    for kernel in ["v4.12", "v5.19", "v6.14"] {
        let mut world = World::flat(kernel, 3);
        let (sd, all) = (world.sd(0, 0), world.all());
        let tasks = [world.queued(1, all), world.queued(1, all)];
        world.fully_used(1);
        let mut lb = world.call(0, |sched, cx| sched.begin_load_balance(cx, sd, CpuIdleType::Idle));
        let mut phase = |world: &mut World| world.call(0, |sched, cx| sched.load_balance(cx, &mut lb, &mut true));
        assert_eq!((phase(&mut world), phase(&mut world)), (None, None));
        world.view.online.remove(cpu(0));
        world.call(1, |sched, cx| sched.set_cpu_offline(cx, cpu(0))).unwrap();
        assert_eq!(phase(&mut world), Some(1), "{kernel}");
        world.call(0, |sched, cx| sched.schedule_with_stopper(cx));
        assert!(tasks.iter().all(|&task| world.sched.tasks[task].cpu != cpu(0)), "{kernel}");
        assert_eq!(world.sched.rqs[cpu(0)].nr_running, 0);
        world.check();
    }
}

proptest::proptest! {
    /// The list of a CPU's tasks is a list, whatever is done to it.
    #[test]
    fn the_task_list_agrees_with_a_deque(steps in proptest::collection::vec((0_u32..8, 0_u8..4), 0..100)) {
        let mut world = World::flat("v5.19", 2);
        for _ in 0..8 {
            world.sched.add_task(&TaskSpec::new("task", ProgramId::new(0)), CpuMask::first_n(2));
        }
        let (on, mut model) = (cpu(0), std::collections::VecDeque::new());
        for (number, what) in steps {
            let task = TaskId::new(number);
            let place = model.iter().position(|&other| other == task);
            match (place, what) {
                (None, 0 | 1) => {
                    world.sched.cfs_tasks_add(on, task, End::Head);
                    model.push_front(task);
                }
                (None, _) => {
                    world.sched.cfs_tasks_add(on, task, End::Tail);
                    model.push_back(task);
                }
                (Some(place), 0 | 1) => {
                    world.sched.cfs_tasks_remove(on, task);
                    model.remove(place);
                }
                (Some(place), _) => {
                    world.sched.cfs_tasks_pass_over(on, task);
                    model.remove(place);
                    model.push_front(task);
                }
            }
            let mut listed = Vec::new();
            let mut next = world.sched.cfs_tasks_candidate(on);
            while let Some(task) = next {
                listed.push(task);
                next = world.sched.cfs_tasks_after(task);
            }
            proptest::prop_assert!(listed.iter().rev().eq(model.iter()));
        }
    }
}

#[test]
fn odds_of_newidle_balance_follow_its_success() {
    let mut rate = crate::topology::NewidleRate::default();
    assert_eq!((rate.weight(513), rate.weight(514)), (Some(2), None), "1 + 512 of 1024; a success counts for two");
    for _ in 0..512 {
        rate.count(0, None);
    }
    assert_eq!((rate.call, rate.success, rate.ratio), (512, 128, 256), "at 1024 calls the rate is taken and both are halved");
}
