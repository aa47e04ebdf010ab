//! Where the time goes: every nanosecond of every CPU belongs to a task, to the kernel or to idle.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test stops where it fails")]

use crate::common::{Build, Log, MS, US, busy_until, cpu, free_machine, hogs, priced_machine, repeat, setup, sleep, work};
use fairground_model::{Change, Instr, Mode, NullSink, Section, TaskSet, TimedChange, TraceEvent};
use fairground_sim::{Flow, Setup, Simulation, Stopped};
use fairground_stdx::{CpuId, Ns, TaskId};

/// Where the time of a CPU went, read from the records.
#[derive(Default, Clone, PartialEq, Eq, Debug)]
struct Book {
    kernel: u64,
    idle: u64,
    /// By task: computing, without the kernel's sections.
    tasks: Vec<u64>,
}

/// Books every stretch of a CPU between two records on whoever has it.
fn book(log: &Log, of: CpuId, tasks: usize) -> Book {
    let mut book = Book { tasks: vec![0; tasks], ..Book::default() };
    let (mut at, mut curr) = (0, None::<TaskId>);
    let give = |book: &mut Book, until: u64, at: &mut u64, curr: Option<TaskId>| {
        let length = until.saturating_sub(*at);
        match curr {
            Some(task) => book.tasks[task.get() as usize] += length,
            None => book.idle += length,
        }
        *at = (*at).max(until);
    };
    for row in log.events.iter().filter(|row| row.1 == of) {
        match row.2 {
            TraceEvent::SchedSwitch { next, .. } => {
                give(&mut book, row.0, &mut at, curr);
                curr = next;
            }
            TraceEvent::KernelSection { took, .. } => {
                give(&mut book, row.0, &mut at, curr);
                assert_eq!(at, row.0, "a section of CPU {of} begins inside another");
                let took = took.0.min(log.end - row.0);
                book.kernel += took;
                at += took;
            }
            _ => {}
        }
    }
    give(&mut book, log.end, &mut at, curr);
    book
}

/// Tasks that compute a known amount, among ticks, timers, wake-ups, moves and one another.
fn finite_set() -> (TaskSet, Vec<u64>) {
    let mut set = TaskSet::default();
    let mut demands = Vec::new();
    for row in 0..5u64 {
        let (run, times) = (300 * US + 77 * US * row, 20 + row);
        let kernel = Instr::Run { work: Ns(20 * US + row), mode: Mode::Kernel };
        let timed = Instr::RunTime { time: Ns(33 * US), mode: Mode::User };
        set.task("worker", vec![work(run), kernel, sleep(200 * US + 50 * US * row), timed, repeat(times)]);
        demands.push((run + 20 * US + row + 33 * US) * times);
    }
    (set, demands)
}

#[test]
fn every_task_computes_exactly_what_it_asked_for() {
    for prices in ["zero", "unit", "xeon-spr"] {
        for irq_time in [true, false] {
            let (set, demands) = finite_set();
            let mut machine = priced_machine(2, prices);
            machine.irq_time_accounting = irq_time;
            let log = Log::of(setup(machine, "v5.19", set, 1_000 * MS));
            let books = [0, 1].map(|number| book(&log, cpu(number), demands.len()));
            let computed: Vec<u64> = (0..demands.len()).map(|row| books[0].tasks[row] + books[1].tasks[row]).collect();
            assert_eq!(computed, demands, "{prices}, irq time {irq_time}");
        }
    }
}

#[test]
fn task_kernel_and_idle_time_add_up_to_the_run() {
    for prices in ["zero", "unit", "xeon-spr"] {
        let (set, demands) = finite_set();
        let (log, simulation, end) = Log::and_simulation(setup(priced_machine(2, prices), "v5.19", set, 1_000 * MS));
        for number in 0..2 {
            let book = book(&log, cpu(number), demands.len());
            let total = book.kernel + book.idle + book.tasks.iter().sum::<u64>();
            assert_eq!(total, end.at.ns(), "CPU {number}, {prices}");
            assert!(book.idle > 0 && (prices == "zero") == (book.kernel == 0), "CPU {number}, {prices}: {book:?}");
            // The engine's own books say the same, but for a section that the end of the run cuts off.
            let booked: u64 = simulation.kernel_time(cpu(number)).map(|row| row.2.0).sum();
            assert!(booked >= book.kernel && booked - book.kernel < 100 * US, "{booked} ns booked, {}", book.kernel);
        }
    }
}

/// Without prices what is charged to a task is what it computed, also as the scheduler accounts it.
#[test]
fn charges_equal_computing_where_the_kernel_is_free() {
    let (set, demands) = finite_set();
    let log = Log::of(setup(free_machine(2, 1000), "v5.19", set, 1_000 * MS));
    let charged: Vec<u64> = (0..demands.len()).map(|row| log.runtime(TaskId::new(row as u32))).collect();
    assert_eq!(charged, demands);
}

/// Hogs on one CPU under a price list: the sum of all charges, and the time of interrupts.
fn charges_of_hogs(irq_time: bool) -> (u64, u64, u64) {
    let mut machine = priced_machine(1, "xeon-spr");
    machine.irq_time_accounting = irq_time;
    let mut simulation = Simulation::new(setup(machine, "v5.19", hogs(&[0, 0, 5]), 500 * MS + 777 * US)).unwrap();
    let mut log = Log::default();
    while simulation.sched().rq(cpu(0)).curr.is_none() {
        simulation.step(&mut log).unwrap();
    }
    let first = simulation.sched().rq(cpu(0)).curr.expect("the loop ended");
    let from = simulation.sched().se(first).exec_start - fairground_sched::SCHED_CLOCK_AT_START;
    let end = simulation.run(&mut log).unwrap().at.ns();
    let charged = (0..3).map(|row| log.runtime(TaskId::new(row))).sum();
    let irq = |row: &(u64, CpuId, TraceEvent)| match row.2 {
        TraceEvent::KernelSection { section: Section::SchedTick | Section::RescheduleIpi | Section::HrtimerInterrupt, took } => {
            took.0
        }
        _ => 0,
    };
    (charged, log.events.iter().map(irq).sum(), end - from)
}

#[test]
fn interrupt_time_is_charged_to_nobody_if_it_is_accounted() {
    let (charged, irq, wall) = charges_of_hogs(true);
    assert!(irq > 500 * US, "{irq} ns of interrupts");
    assert_eq!(charged + irq, wall);
    let (charged, irq, wall) = charges_of_hogs(false);
    assert!(irq > 500 * US, "{irq} ns of interrupts");
    assert_eq!(charged, wall);
}

/// Utilisation of a hog that is alone on a CPU of half capacity. Families that scale contributions
/// end at the capacity; those that scale time take twice as long and end at the top.
#[test]
fn utilisation_of_a_hog_at_half_capacity() {
    let util_at = |name: &str, capacity: u32, freq_capacity: u32, ms: u64| {
        let mut machine = free_machine(1, 1000);
        for cpu in machine.cpus.iter_mut() {
            (cpu.capacity, cpu.freq_capacity) = (capacity, freq_capacity);
        }
        let (_, simulation, _) = Log::and_simulation(setup(machine, name, hogs(&[0]), ms * MS));
        simulation.sched().se_avg(TaskId::new(0)).util_avg
    };
    for (name, scales_time) in [
        ("v4.12", false),
        ("v4.20", false),
        ("v4.20+clock-pelt", true),
        ("v5.1", true),
        ("v5.10", true),
        ("v5.19", true),
        ("v6.1", true),
    ] {
        assert!((1015..=1024).contains(&util_at(name, 1024, 1024, 1_000)), "{name}");
        for (capacity, freq_capacity) in [(512, 1024), (1024, 512)] {
            let (soon, late) = (util_at(name, capacity, freq_capacity, 64), util_at(name, capacity, freq_capacity, 2_000));
            match scales_time {
                true => assert!((1015..=1024).contains(&late) && soon < 800, "{name}: {soon}, then {late}"),
                false => assert!((505..=512).contains(&late) && soon <= 512, "{name}: {soon}, then {late}"),
            }
        }
    }
}

fn stuck(code: Vec<Instr>) -> Result<Flow, Stopped> {
    let mut set = hogs(&[0]);
    set.task("stuck", code);
    let setup = Setup { paranoid: false, ..setup(free_machine(2, 1000), "v5.19", set, 100 * MS) };
    let mut simulation = Simulation::new(setup).unwrap();
    let end = simulation.run(&mut NullSink);
    assert_eq!(simulation.step(&mut NullSink).is_err(), end.is_err(), "a run that has stopped goes no further");
    end.map(|_| Flow::Done)
}

#[test]
fn a_program_that_never_lets_time_pass_stops_the_run() {
    let jump = Instr::Jump { to: 0 };
    let same_instant = vec![Instr::Now { reg: 0 }, Instr::RunUntil { reg: 0 }, jump.clone()];
    let past = vec![Instr::SleepUntil { reg: 0 }, jump.clone()];
    for code in [vec![jump.clone()], vec![Instr::Yield, jump.clone()], vec![work(0), jump.clone()], same_instant, past] {
        let shown = format!("{code:?}");
        match stuck(code) {
            Err(Stopped::NoProgress { task, at }) => assert_eq!((task.as_str(), at.ns()), ("stuck", 0), "{shown}"),
            other => panic!("{shown}: {other:?}"),
        }
    }
    let mut later = busy_until(5 * MS).to_vec();
    later.extend([Instr::Yield, Instr::Jump { to: 2 }]);
    assert!(matches!(stuck(later), Err(Stopped::NoProgress { at, .. }) if at.ns() == 5 * MS));
    assert_eq!(stuck(vec![Instr::Yield, work(10 * US), jump]), Ok(Flow::Done));
}

/// Steps of nanoseconds let time pass, but a run over seconds of them would take hours.
#[test]
fn programs_that_let_hardly_any_time_pass_stop_the_run() {
    let jump = Instr::Jump { to: 0 };
    let steps_of = |ns| vec![work(ns), Instr::Sleep { time: Ns(ns) }, jump.clone()];
    assert!(matches!(stuck(steps_of(1)), Err(Stopped::NoProgress { task, at }) if task == "stuck" && at.ns() < 21 * MS));
    assert_eq!(stuck(steps_of(100)), Ok(Flow::Done));
}

/// The message names the task, so that its author can find the loop.
#[test]
fn the_message_says_who_and_when() {
    let stopped = stuck(vec![Instr::Jump { to: 0 }]).expect_err("it is stuck");
    assert!(stopped.to_string().contains("`stuck` makes no progress at 0ns"), "{stopped}");
}

/// The account of a run at its end: its rows add up, and each is what the records say.
fn account_of(machine: fairground_machine::Machine, length: u64) -> (fairground_model::TimeSpent, Log) {
    let cpus = machine.cpus.len();
    let (set, _) = finite_set();
    let (log, simulation, end) = Log::and_simulation(setup(machine, "v5.19", set, length));
    let spent = simulation.time_spent();
    assert_eq!(spent.all.0, end.at.ns() * cpus as u64);
    assert_eq!(spent.rows().iter().map(|row| row.ns).sum::<i128>(), spent.all.0.into());
    for &op in fairground_model::Op::ALL {
        assert_eq!(spent.ops[op as usize].count, simulation.op_total(op));
    }
    let books: Vec<Book> = (0..cpus).map(|number| book(&log, cpu(number as u32), 5)).collect();
    assert_eq!(spent.tasks.0, books.iter().flat_map(|book| &book.tasks).sum::<u64>());
    assert_eq!(spent.idle.0, books.iter().map(|book| book.idle).sum::<u64>());
    (spent, log)
}

#[test]
fn the_account_of_a_run_adds_up_and_is_what_the_records_say() {
    for prices in ["zero", "unit", "xeon-spr", "kvm-guest"] {
        // To the end of all tasks, and cut off at odd instants: some of them in the middle of a section.
        let lengths = (0..40).map(|row| 3 * MS + row * 7_919).chain([1_000 * MS]);
        let accounts: Vec<_> = lengths.map(|length| account_of(priced_machine(2, prices), length).0).collect();
        assert!(accounts.iter().all(|spent| spent.beyond_ps == 0), "{prices}: two CPUs never wait for each other here");
        let cut_off = accounts.iter().filter(|spent| spent.cut_off_ps >= 1_000).count();
        assert_eq!(cut_off > 0, prices != "zero", "{prices}: {cut_off}");
    }
}

/// Half the frequency doubles the price of what is counted from then on, and not of what was counted before.
#[test]
fn the_account_goes_by_the_prices_that_held() {
    let ticks = |capacity: u32| {
        let mut set = hogs(&[0]);
        let change = Change::FreqCapacity { cpu: cpu(0), freq_capacity: capacity };
        set.changes.push(TimedChange { at: fairground_stdx::Instant::from_ns(50 * MS + 100 * US), change });
        let (_, simulation, _) = Log::and_simulation(setup(priced_machine(1, "xeon-spr"), "v5.19", set, 100 * MS + 100 * US));
        simulation.time_spent().ops[fairground_model::Op::Tick as usize]
    };
    let (full, half) = (ticks(1024), ticks(512));
    assert_eq!(full.count, half.count);
    assert_eq!((full.ps, half.ps), (full.count as u128 * 1_800_000, full.count as u128 * 1_800_000 * 3 / 2));
}

/// An idle state's exit time is the time of its exits; a machine whose CPUs take turns waits beyond its prices.
#[test]
fn exits_from_idle_states_and_turns_have_their_time() {
    let machine = fairground_machine::Machine::preset("fb-16c32t").unwrap();
    let exit = account_of(machine, 20 * MS).0.ops[fairground_model::Op::IdleExit as usize];
    assert!(exit.count > 0 && exit.ps > 0, "{exit:?}");
    let mut turns = priced_machine(2, "icount");
    turns.round_of_turns = Ns::from_us(100);
    let (set, _) = finite_set();
    let (_, simulation, _) = Log::and_simulation(setup(turns, "v5.19", set, 20 * MS));
    let spent = simulation.time_spent();
    assert_eq!(spent.rows().iter().map(|row| row.ns).sum::<i128>(), spent.all.0.into());
    assert!(spent.beyond_ps > 0);
}
