//! Another core that decides: turns of two ticks, first come first served, and an idle CPU steals.

use crate::common::{Build, MS, US, priced_machine, setup, sleep, work};
use fairground_model::{Change, CpuMax, Instr, Mode, NullSink, Op, PrevState, Sink, TaskSet, TraceEvent};
use fairground_sched::{BandwidthStats, Sched, TaskState};
use fairground_sim::{CpuFlags, Entry, LeadingCore, Led, Setup, Simulation, Site, Stopped};
use fairground_stdx::{CpuId, Id, Instant, Ns, TaskId, TgId};
use std::cell::Cell;
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;

/// The core: each CPU has a line; its task of the moment is in no line.
#[derive(Clone)]
struct Turns {
    lines: Vec<VecDeque<TaskId>>,
    running: Vec<Option<TaskId>>,
    ticks: Vec<u32>,
    homes: BTreeMap<TaskId, CpuId>,
    /// Wake-ups of other CPUs go by their lists.
    lists: bool,
    /// A fault: it runs a task that sleeps.
    runs_sleepers: bool,
    /// Turns end by a work of the task on its way to user mode.
    ends_by_works: bool,
    /// The stopper runs before each that gets the CPU.
    stops: bool,
    returns: Rc<Cell<u64>>,
    /// A wake-up looks at all other CPUs so often, schedule() at one, and each takes the lock of CPU 0.
    looks: usize,
}

fn flags(cpu: CpuId, resched: bool, user_works: bool) -> CpuFlags {
    CpuFlags { cpu, resched, resched_lazy: false, user_works }
}

impl Turns {
    fn new(cpus: usize, lists: bool) -> Turns {
        let lines = vec![VecDeque::new(); cpus];
        Turns {
            lines,
            running: vec![None; cpus],
            ticks: vec![0; cpus],
            homes: BTreeMap::new(),
            lists,
            runs_sleepers: false,
            ends_by_works: false,
            stops: false,
            returns: Rc::default(),
            looks: 0,
        }
    }
    fn line_up(&mut self, task: TaskId, cpu: CpuId, led: &mut Led) {
        self.homes.insert(task, cpu);
        self.lines[cpu.index()].push_back(task);
        if self.running[cpu.index()].is_none() {
            led.flags.push(flags(cpu, true, false));
        }
    }
    fn schedule(&mut self, cpu: CpuId, state: PrevState, led: &mut Led) {
        let here = cpu.index();
        let left = self.running[here].take();
        match left {
            Some(task) if state == PrevState::Running => self.lines[here].push_back(task),
            Some(task) if self.runs_sleepers => return led.next = Some(task),
            _ => {}
        }
        if self.lines[here].is_empty()
            && let Some(task) = self.lines.iter_mut().max_by_key(|line| line.len()).and_then(VecDeque::pop_back)
        {
            led.moved.push((task, cpu));
            self.homes.insert(task, cpu);
            self.lines[here].push_back(task);
        }
        (led.next, led.stopped) = (self.lines[here].pop_front(), self.stops);
        (self.running[here], self.ticks[here]) = (led.next, 0);
        led.flags.push(flags(cpu, false, false));
    }
}

impl LeadingCore for Turns {
    fn nr_timers(&self) -> usize {
        1
    }
    fn begin(&mut self, ours: &Sched) -> Result<(), String> {
        match ours.task_ids().any(|task| ours.task(task).state == TaskState::Asleep) {
            true => Err("nobody may have slept before".to_owned()),
            false => Ok(()),
        }
    }
    fn quota(&self, group: TgId) -> Option<(CpuMax, BandwidthStats)> {
        let stats = BandwidthStats { nr_periods: self.ticks.len() as u64, ..BandwidthStats::default() };
        (group == TgId::new(1)).then_some((CpuMax::UNLIMITED, stats))
    }
    fn copy(&self) -> Box<dyn LeadingCore> {
        Box::new(self.clone())
    }
    fn enter(&mut self, ours: &Sched, site: Site, entry: Entry<'_>, led: &mut Led) -> Result<(), String> {
        let here = site.cpu.index();
        if self.looks > 0 && matches!(entry, Entry::Schedule { .. } | Entry::Wake { .. }) {
            let others = (0..self.lines.len()).filter(|&cpu| cpu != here).map(CpuId::from_index);
            match entry {
                Entry::Wake { .. } => led.looked = others.clone().cycle().take(others.count() * self.looks).collect(),
                _ => led.looked = others.take(1).collect(),
            }
            led.locked.push(CpuId::new(0));
        }
        match entry {
            Entry::Schedule { prev_state } => self.schedule(site.cpu, prev_state, led),
            Entry::WakeNew { child, .. } => {
                let shortest = (0..self.lines.len()).min_by_key(|&cpu| self.lines[cpu].len() + self.running[cpu].iter().len());
                let cpu = CpuId::from_index(shortest.unwrap());
                self.line_up(child, cpu, led);
                led.target = Some(cpu);
                led.ipis.extend((cpu != site.cpu).then_some(cpu));
            }
            Entry::Wake { wakee, .. } => {
                let cpu = self.homes[&wakee];
                led.target = Some(cpu);
                led.listed = self.lists && cpu != site.cpu;
                led.ipis.extend((cpu != site.cpu).then_some(cpu));
                if !led.listed {
                    self.line_up(wakee, cpu, led);
                }
            }
            Entry::Ipi => {
                let listed = ours.task_ids().filter(|&task| ours.task(task).state == TaskState::Queued);
                for task in listed.filter(|&task| ours.task(task).cpu == site.cpu) {
                    if !self.lines[here].contains(&task) {
                        self.line_up(task, site.cpu, led);
                    }
                }
            }
            Entry::Tick => {
                self.ticks[here] += 1;
                let over = self.running[here].is_some() && self.ticks[here].is_multiple_of(2);
                let ends = over && !self.lines[here].is_empty();
                led.flags.push(flags(site.cpu, ends && !self.ends_by_works, ends && self.ends_by_works));
                led.timers.push((0, Some(site.now + Ns(100))));
            }
            Entry::UserReturn => {
                self.returns.set(self.returns.get() + 1);
                led.flags.push(flags(site.cpu, true, false));
            }
            Entry::Timer
            | Entry::Fork { .. }
            | Entry::Yield
            | Entry::Exec
            | Entry::Softirq
            | Entry::Frequency { .. }
            | Entry::Change(_) => {}
        }
        Ok(())
    }
}

#[derive(Default)]
struct Log {
    switches: Vec<(u64, Option<u32>)>,
    decisions: u64,
    migrations: u64,
    wakeups: u64,
}

impl Sink for Log {
    fn record(&mut self, at: Instant, cpu: CpuId, event: &TraceEvent) {
        match event {
            TraceEvent::SchedSwitch { next, .. } if cpu.get() == 0 => self.switches.push((at.ns(), next.map(TaskId::get))),
            TraceEvent::Decision(_) => self.decisions += 1,
            TraceEvent::SchedMigrateTask { .. } => self.migrations += 1,
            TraceEvent::SchedWakeup { .. } => self.wakeups += 1,
            _ => {}
        }
    }
}

fn led(setup: Setup, turns: Turns) -> (Simulation, Log, Result<(), Stopped>) {
    let mut simulation = Simulation::led_by(setup, Box::new(turns)).unwrap();
    let mut log = Log::default();
    let end = simulation.run(&mut log).map(drop);
    (simulation, log, end)
}

fn hogs(count: usize) -> TaskSet {
    let mut set = TaskSet::default();
    for nr in 0..count {
        set.task(&format!("hog{nr}"), vec![work(u64::MAX)]);
    }
    set
}

#[test]
fn it_says_whose_turn_it_is() {
    let setup = setup(priced_machine(1, "zero"), "v6.12", hogs(3), 100 * MS);
    let tick = setup.machine.tick.0;
    let (simulation, log, end) = led(setup, Turns::new(1, false));
    end.unwrap();
    // Nobody of ours would give turns of two ticks to each.
    let turns: Vec<(u64, Option<u32>)> = (0..log.switches.len() as u64).map(|nr| (2 * nr * tick, Some(nr as u32 % 3))).collect();
    assert_eq!(log.switches, turns);
    assert!(turns.len() > 10 && log.decisions == 0, "our core does not say why");
    let ran: u64 = simulation.sched().task_ids().map(|task| simulation.sched().se(task).sum_exec_runtime).sum();
    assert_eq!(ran, 100 * MS, "run time is accounted");
    let periods = |group| simulation.led_quota(TgId::new(group)).map(|quota| quota.1.nr_periods);
    assert_eq!([periods(0), periods(1)], [None, Some(1)], "who decides counts");
}

/// As in a kernel's own record: from the task to the stopper, which is nobody's task, and from there to the next one.
#[test]
fn the_stopper_in_between_is_a_switch_of_its_own() {
    let [without, with] = [false, true].map(|stops| {
        let mut turns = Turns::new(1, false);
        turns.stops = stops;
        let (_, log, end) = led(setup(priced_machine(1, "zero"), "v6.12", hogs(3), 100 * MS), turns);
        end.unwrap();
        log
    });
    let (first, others) = without.switches.split_first().unwrap();
    let wanted: Vec<_> = others.iter().flat_map(|&(at, next)| [(at, None), (at, next)]).collect();
    assert_eq!((with.switches[0], &with.switches[1..]), (*first, &wanted[..]));
    assert_eq!(with.decisions, 0, "the CPU is not idle");
}

/// A task that is in the kernel for 2.5 ms of each 3.5 ms, and one that never is: ticks come in between.
#[test]
fn works_are_done_where_a_task_returns_to_user_mode() {
    let run = |ends_by_works: bool| {
        let mut set = hogs(1);
        let calls = Instr::Run { work: Ns(2500 * US), mode: Mode::Kernel };
        set.task("calls", vec![work(MS), calls, Instr::Jump { to: 0 }]);
        let mut turns = Turns::new(1, false);
        turns.ends_by_works = ends_by_works;
        let returns = Rc::clone(&turns.returns);
        let (_, log, end) = led(setup(priced_machine(1, "zero"), "v6.18", set, 100 * MS), turns);
        end.unwrap();
        (log.switches, returns.get())
    };
    let (by_works, returns) = run(true);
    let (by_ticks, none) = run(false);
    assert_eq!(none, 0);
    // One work for each switch but the first.
    assert_eq!(returns, by_works.len() as u64 - 1);
    // Kernel code of this profile may be preempted, but a work waits for its end.
    assert_ne!(by_works, by_ticks);
}

fn sleepers() -> TaskSet {
    let mut set = hogs(1);
    for nr in 0..7 {
        set.task(&format!("t{nr}"), vec![work((200 + 70 * nr) * US), sleep((500 + 130 * nr) * US), Instr::Jump { to: 0 }]);
    }
    let child = set.task("child", vec![work(MS)]);
    set.tasks[child].start = fairground_model::Start::Forked;
    set.task("parent", vec![sleep(3 * MS), Instr::Fork { task: child }, Instr::WaitChildren]);
    set.at(5 * MS, Change::Nice { task: TaskId::new(0), nice: 5 });
    set
}

#[test]
fn it_moves_tasks_and_uses_wake_lists() {
    for (prices, lists) in [("zero", false), ("zero", true), ("xeon-spr", false), ("xeon-spr", true)] {
        let run = || {
            let mut setup = setup(priced_machine(3, prices), "v6.12", sleepers(), 100 * MS);
            setup.paranoid = true;
            led(setup, Turns::new(3, lists))
        };
        let ((first, log, end), (second, ..)) = (run(), run());
        end.unwrap();
        assert_eq!(first.digest(), second.digest(), "{prices}");
        assert!(log.migrations > 5 && log.wakeups > 200, "{prices}: {} {}", log.migrations, log.wakeups);
        assert_eq!(log.wakeups, first.counts().wakeups, "{prices}");
        let ran = |row: u32| first.sched().se(TaskId::new(row)).sum_exec_runtime;
        assert!((1..8).all(|row| ran(row) > 5 * MS), "{prices}: all sleepers run");
    }
}

#[test]
fn a_copy_of_the_run_goes_on_to_the_same_digest() {
    let begun = || {
        let setup = setup(priced_machine(3, "xeon-spr"), "v6.12", sleepers(), 100 * MS);
        Simulation::led_by(setup, Box::new(Turns::new(3, true))).unwrap()
    };
    let (mut straight, mut run) = (begun(), begun());
    straight.run(&mut NullSink).unwrap();
    run.run_until(Instant::from_ns(40 * MS), &mut NullSink).unwrap();
    assert!(run.digest() != straight.digest());
    for mut one in [run.clone(), run] {
        one.run(&mut NullSink).unwrap();
        assert_eq!(one.digest(), straight.digest());
    }
}

#[test]
fn what_it_looks_at_has_its_price() {
    let run = |looks: usize| {
        let mut turns = Turns::new(3, false);
        turns.looks = looks;
        let (simulation, log, end) = led(setup(priced_machine(3, "xeon-spr"), "v6.12", sleepers(), 100 * MS), turns);
        end.unwrap();
        let total = |op: Op| simulation.op_total(op);
        (total(Op::ScanCpu), total(Op::LbCpu), total(Op::LockFree) + total(Op::LockRemote), log.wakeups, simulation.digest())
    };
    let (blind, two, three) = (run(0), run(2), run(3));
    assert_eq!((blind.0, blind.1, blind.2), (0, 0, 0), "what is not looked at costs nothing");
    assert_eq!((two.0, three.0), (2 * 2 * two.3, 2 * 3 * three.3), "in wake-ups looks are those of a search");
    assert!(two.1 > 200, "in schedule() they are those of a balance: {}", two.1);
    assert!(two.2 > two.3, "each wake-up has a lock, and schedule() of another CPU: {}", two.2);
    assert!(blind.4 != two.4 && two.4 != three.4, "each look takes time");
}

#[test]
fn where_our_tables_cannot_follow_the_run_ends() {
    let mut turns = Turns::new(1, false);
    turns.runs_sleepers = true;
    let (_, _, end) = led(setup(priced_machine(1, "zero"), "v6.12", sleepers(), 100 * MS), turns);
    let why = end.unwrap_err().to_string();
    assert!(why.contains("our tables lost track: CPU 0 runs `t0`, which is OffCpuPending"), "{why}");
}
