//! `schbench`: the scheduler benchmark as it is since 2023, whose workers sleep, then multiply matrices.

use crate::build::{land, marker, words};
use crate::param::{Param, Values};
use crate::post_wait::{BLOCKED, post, wait};
use crate::table::{Percentile, Percentiles};
use crate::workload::Workload;
use fairground_model::{
    Arithmetic, Instr, MarkerUnit, Mistakes, Mode, Program, Reg, Start, TaskSet, TaskSpec, Test, Value, Word,
};
use fairground_stdx::{CpuMask, MarkerId, Ns, TaskId, WordId};

/// What a message thread has in the cache; a guess. A worker has its matrices there.
const MESSAGE_WORKING_SET_KIB: u32 = 2;

/// Picoseconds of one multiplication and addition where nobody says otherwise.
const MULTIPLY_ADD_PS: &str = "1000";

const LATENCY_ROWS: &[Percentile] = &[
    Percentile::hidden(20_000),
    Percentile::new(50_000, "50.0th"),
    Percentile::new(90_000, "90.0th"),
    Percentile::starred(99_000, "99.0th"),
    Percentile::new(99_900, "99.9th"),
];
const RPS_ROWS: &[Percentile] =
    &[Percentile::new(20_000, "20.0th"), Percentile::starred(50_000, "50.0th"), Percentile::new(90_000, "90.0th")];

const fn latencies(title: &'static str, marker: &'static str) -> Percentiles {
    Percentiles { title, unit: "usec", marker, rows: LATENCY_ROWS, counts: true }
}

pub(crate) const WORKLOAD: Workload = Workload {
    name: "schbench",
    sentence: "schbench since 2023: workers are woken, sleep, multiply matrices under a lock of their CPU; how late, and how many?",
    params: &[
        Param::count("message-threads", (1, 1024), "1", "The number of message threads.").short('m'),
        Param::count("threads", (1, 4096), "4", "Workers per message thread; the real program takes one per CPU in all.")
            .short('t'),
        Param::count("runtime", (1, 1_000_000), "30", "How long it runs, in seconds.").short('r'),
        Param::count("cache_footprint", (1, 1 << 20), "256", "Size of the three matrices of a worker, in KiB.").short('F'),
        Param::count("operations", (0, 1_000_000), "5", "Products of matrices per request.").short('n'),
        Param::count("sleep_usec", (0, 1_000_000_000), "100", "Sleep of a worker before it works, in us.").short('s'),
        Param::switch("no-locking", "Workers take no lock of their CPU while they work.").short('L'),
        Param::cpus("message-cpus", "", "The CPUs to which message threads are bound; empty = all.").short('M'),
        Param::cpus("worker-cpus", "", "The CPUs to which workers are bound; empty = all.").short('W'),
        Param::count(
            "multiply-add-ps",
            (1, 1_000_000),
            MULTIPLY_ADD_PS,
            "Cost of one step of a product in ps; no flag of the real program.",
        ),
    ],
    table: &[],
    percentiles: &[
        latencies("Wakeup Latencies percentiles (usec)", "schbench_wakeup_us"),
        latencies("Request Latencies percentiles (usec)", "schbench_request_us"),
        Percentiles {
            title: "RPS percentiles (requests)",
            unit: "requests",
            marker: "schbench_rps",
            rows: RPS_ROWS,
            counts: true,
        },
    ],
    duration: Some(|values| Ns::from_secs(values.count("runtime") + 1)),
    threads: None,
    build,
};

/// The side of each of three square matrices of eight-byte numbers that fit into so many KiB.
pub(crate) fn matrix_side(footprint_kib: u64) -> u64 {
    (footprint_kib * 1024 / 3 / 8).isqrt()
}

/// What all workers do.
struct Work {
    sleep: Ns,
    /// CPU work of one request: side³ multiplications and additions per product.
    products: Ns,
    /// The locks of all CPUs.
    locks: Option<WordId>,
    stopping: Word,
    /// Requests done by all workers.
    loops: Word,
    wakeup: MarkerId,
    request: MarkerId,
}

/// What a message thread shares with its workers; entry 0 is its own, entry i that of worker i.
#[derive(Clone, Copy)]
struct Shared {
    futex: WordId,
    next: WordId,
    wake_time: WordId,
}

impl Shared {
    /// Entry `row` of an array.
    fn of(first: WordId, row: u64) -> Word {
        WordId::new(first.get() + row as u32).into()
    }
}

fn build(values: &Values, _mistakes: &mut Mistakes) -> TaskSet {
    let workers = values.count("threads");
    let mut set = TaskSet::default();
    let wakeup = marker(&mut set, "schbench_wakeup_us", MarkerUnit::WholeUs);
    let request = marker(&mut set, "schbench_request_us", MarkerUnit::WholeUs);
    let rps = marker(&mut set, "schbench_rps", MarkerUnit::PerSecond);
    let (stopping, loops) = (set.words.push(0).into(), set.words.push(0).into());
    let steps = u128::from(matrix_side(values.count("cache_footprint"))).pow(3) * u128::from(values.count("operations"));
    let products_ns = (steps * u128::from(values.count("multiply-add-ps"))).div_ceil(1000);
    let locks = (!values.switch("no-locking")).then(|| words(&mut set, CpuMask::CAPACITY as u64, |_| 0));
    let work = Work {
        sleep: Ns::from_us(values.count("sleep_usec")),
        products: Ns(u64::try_from(products_ns).unwrap_or(u64::MAX)),
        locks,
        stopping,
        loops,
        wakeup,
        request,
    };
    let mut main = Program::default();
    let mut messages = Vec::new();
    for index in 0..values.count("message-threads") {
        let mut array = || words(&mut set, workers + 1, |_| 0);
        let shared = Shared { futex: array(), next: array(), wake_time: array() };
        let task = |name: String, program, affinity, working_set_kib| TaskSpec {
            start: Start::Forked,
            affinity,
            working_set_kib,
            ..TaskSpec::new(name, program)
        };
        // Without a product nobody touches the matrices.
        let works = values.count("operations") > 0;
        let footprint = if works { values.count("cache_footprint") as u32 } else { MESSAGE_WORKING_SET_KIB };
        let mut children = Vec::new();
        for row in 1..=workers {
            let program = set.programs.push(worker(&work, shared, row));
            let name = format!("worker{index}.{}", row - 1);
            children.push(set.tasks.push(task(name, program, values.cpus("worker-cpus"), footprint)));
        }
        let program = set.programs.push(message(&work, shared, &children));
        let thread =
            set.tasks.push(task(format!("message{index}"), program, values.cpus("message-cpus"), MESSAGE_WORKING_SET_KIB));
        main.push(Instr::Fork { task: thread });
        messages.push(Shared::of(shared.futex, 0));
    }
    watch(&mut main, &work, rps, values.count("runtime"));
    messages.into_iter().for_each(|futex| post(&mut main, futex, 0));
    main.push(Instr::WaitChildren);
    let program = set.programs.push(main);
    set.tasks.push(TaskSpec::new("schbench", program));
    set
}

/// The main thread counts the requests of every second, the first time at once, and then says that the time is up.
fn watch(program: &mut Program, work: &Work, rps: MarkerId, seconds: u64) {
    let (now, last, loops, last_loops, rate, zero) = (0, 1, 2, 3, 4, 5);
    let calculate = |reg, by, value| Instr::Calculate { reg, by, value: Value::Reg(value) };
    program.push(Instr::TimeOfDay { reg: last });
    let top = program.push(Instr::TimeOfDay { reg: now });
    program.push(Instr::Load { word: work.loops, into: loops });
    program.push(Instr::Let { reg: rate, value: Value::Reg(loops) });
    program.push(calculate(rate, Arithmetic::Minus, last_loops));
    program.push(Instr::Calculate { reg: rate, by: Arithmetic::Times, value: Value::Const(Ns::from_secs(1).0) });
    program.push(Instr::Let { reg: last_loops, value: Value::Reg(loops) });
    // last = now - last, the length of the second.
    program.push(Instr::Let { reg: loops, value: Value::Reg(now) });
    program.push(calculate(loops, Arithmetic::Minus, last));
    program.push(calculate(rate, Arithmetic::Over, loops));
    program.push(Instr::Let { reg: last, value: Value::Reg(now) });
    program.push(Instr::MarkBetween { marker: rps, early: zero, late: rate });
    program.push(Instr::Sleep { time: Ns::from_secs(1) });
    program.push(Instr::Repeat { counter: 0, times: seconds, to: top });
    program.push(Instr::Store { word: work.stopping, value: Value::Const(1) });
}

/// A message thread makes its workers, and wakes at once whoever leaves a message: the last one first, with one stamp.
fn message(work: &Work, shared: Shared, workers: &[TaskId]) -> Program {
    let (list, now, next, scratch) = (0, 1, 2, 3);
    let at = |first, reg| Word { first, plus: Some(reg) };
    let (own, head) = (Shared::of(shared.futex, 0), Shared::of(shared.next, 0));
    let mut program = Program::default();
    program.code.extend(workers.iter().map(|&task| Instr::Fork { task }));
    let top = program.push(Instr::Store { word: own, value: Value::Const(BLOCKED) });
    program.push(Instr::Load { word: head, into: list });
    program.push(Instr::Store { word: head, value: Value::Const(0) });
    program.push(Instr::TimeOfDay { reg: now });
    let each = program.push(Instr::JumpIf { reg: list, is: Test::Equal, value: Value::Const(0), to: 0 });
    program.push(Instr::Load { word: at(shared.next, list), into: next });
    program.push(Instr::Store { word: at(shared.wake_time, list), value: Value::Reg(now) });
    post(&mut program, at(shared.futex, list), scratch);
    program.push(Instr::Let { reg: list, value: Value::Reg(next) });
    program.push(Instr::Jump { to: each });
    land(&mut program, each);
    program.push(Instr::Load { word: work.stopping, into: scratch });
    let end = program.push(Instr::JumpIf { reg: scratch, is: Test::Equal, value: Value::Const(1), to: 0 });
    wait(&mut program, own, scratch);
    program.push(Instr::Jump { to: top });
    land(&mut program, end);
    (1..=workers.len() as u64).for_each(|row| post(&mut program, Shared::of(shared.futex, row), scratch));
    program.push(Instr::WaitChildren);
    program
}

const NOW: Reg = 0;
const THEN: Reg = 1;
const SCRATCH: Reg = 2;
const CPU: Reg = 3;
const START: Reg = 4;

/// A worker: message, wait, sleep, products.
fn worker(work: &Work, shared: Shared, row: u64) -> Program {
    let mut program = Program::default();
    let (own, stamp) = (Shared::of(shared.futex, row), Shared::of(shared.wake_time, row));
    program.push(Instr::Load { word: work.stopping, into: SCRATCH });
    let exit = program.push(Instr::JumpIf { reg: SCRATCH, is: Test::Equal, value: Value::Const(1), to: 0 });
    program.push(Instr::Store { word: own, value: Value::Const(BLOCKED) });
    program.push(Instr::TimeOfDay { reg: NOW });
    program.push(Instr::Store { word: stamp, value: Value::Reg(NOW) });
    program.push(Instr::Load { word: Shared::of(shared.next, 0), into: SCRATCH });
    program.push(Instr::Store { word: Shared::of(shared.next, row), value: Value::Reg(SCRATCH) });
    program.push(Instr::Store { word: Shared::of(shared.next, 0), value: Value::Const(row) });
    post(&mut program, Shared::of(shared.futex, 0), SCRATCH);
    program.push(Instr::Load { word: work.stopping, into: SCRATCH });
    let no_wait = program.push(Instr::JumpIf { reg: SCRATCH, is: Test::Equal, value: Value::Const(1), to: 0 });
    wait(&mut program, own, SCRATCH);
    land(&mut program, no_wait);
    program.push(Instr::Load { word: stamp, into: THEN });
    since(&mut program, THEN, work.wakeup);
    program.push(Instr::TimeOfDay { reg: START });
    if work.sleep > Ns::ZERO {
        program.push(Instr::Sleep { time: work.sleep });
    }
    if let Some(locks) = work.locks {
        lock(&mut program, locks);
    }
    if work.products > Ns::ZERO {
        program.push(Instr::Run { work: work.products, mode: Mode::User });
    }
    if let Some(first) = work.locks {
        program.push(Instr::Store { word: Word { first, plus: Some(CPU) }, value: Value::Const(0) });
    }
    program.push(Instr::Load { word: work.loops, into: SCRATCH });
    program.push(Instr::Calculate { reg: SCRATCH, by: Arithmetic::Plus, value: Value::Const(1) });
    program.push(Instr::Store { word: work.loops, value: Value::Reg(SCRATCH) });
    since(&mut program, START, work.request);
    program.push(Instr::Jump { to: 0 });
    land(&mut program, exit);
    program.push(Instr::Exit);
    program
}

/// Records the time since `early`, which is at least 1 us if it is recorded.
fn since(program: &mut Program, early: Reg, marker: MarkerId) {
    program.push(Instr::TimeOfDay { reg: NOW });
    let none = program.push(Instr::JumpIf { reg: NOW, is: Test::AtMost, value: Value::Reg(early), to: 0 });
    program.push(Instr::MarkBetween { marker, early, late: NOW });
    land(program, none);
}

/// Takes the lock of the CPU: tries again and again, without sleeping, and begins anew if it has moved meanwhile.
fn lock(program: &mut Program, first: WordId) {
    let word = Word { first, plus: Some(CPU) };
    let again = program.push(Instr::GetCpu { into: CPU });
    let attempt = program.push(Instr::Spin { word, value: 1 });
    program.push(Instr::Load { word, into: SCRATCH });
    program.push(Instr::JumpIf { reg: SCRATCH, is: Test::Equal, value: Value::Const(1), to: attempt });
    program.push(Instr::Store { word, value: Value::Const(1) });
    program.push(Instr::GetCpu { into: SCRATCH });
    let same = program.push(Instr::JumpIf { reg: SCRATCH, is: Test::Equal, value: Value::Reg(CPU), to: 0 });
    program.push(Instr::Store { word, value: Value::Const(0) });
    program.push(Instr::Jump { to: again });
    land(program, same);
}

#[cfg(test)]
mod tests {
    use super::matrix_side;
    use crate::{args_of_flags, build, testing};
    use expect_test::expect_file;
    use fairground_model::{Instr, TaskSet};
    use fairground_stdx::Ns;

    fn read(flags: &str) -> Result<TaskSet, fairground_model::Mistakes> {
        let flags: Vec<String> = flags.split_whitespace().map(String::from).collect();
        build("schbench", &args_of_flags("schbench", &flags)?)
    }

    /// Model: 08 T14
    #[test]
    fn matrices_of_256_1024_and_64_kib_have_sides_of_104_209_and_52() {
        assert_eq!([256, 1024, 64].map(matrix_side), [104, 209, 52]);
    }

    #[test]
    fn golden() {
        let set = read("-t 1 -L").unwrap();
        testing::check(&set);
        expect_file!["golden/one-worker.txt"].assert_eq(&testing::dump(&set));
    }

    #[test]
    fn a_request_costs_its_products() {
        let runs = |flags: &str| {
            let set = read(flags).unwrap();
            testing::check(&set);
            let work: Vec<Instr> =
                set.programs.iter().flat_map(|p| &p.code).filter(|i| matches!(i, Instr::Run { .. })).cloned().collect();
            let [Instr::Run { work, .. }] = work[..] else { panic!("{work:?}") };
            work
        };
        // 104 * 104 * 104 steps of 1 ns, five times.
        assert_eq!(runs("-t 1"), Ns(5 * 1_124_864));
        assert_eq!(runs("-t 1 -n 1 -F 64 --multiply-add-ps 500"), Ns(70_304));
    }

    /// Nobody touches a matrix then: what a worker has in the cache is little.
    #[test]
    fn requests_without_products_cost_nothing_and_touch_no_matrix() {
        let set = read("-t 1 -n 0").unwrap();
        testing::check(&set);
        assert!(!set.programs.iter().flat_map(|program| &program.code).any(|instr| matches!(instr, Instr::Run { .. })));
        let worker = |set: &TaskSet| set.tasks.iter().find(|task| task.name.starts_with("worker")).unwrap().working_set_kib;
        assert_eq!((worker(&set), worker(&read("-t 1").unwrap())), (super::MESSAGE_WORKING_SET_KIB, 256));
    }

    #[test]
    fn wrong_flags_are_refused() {
        for wrong in ["-t 0", "-t 1 -A 50", "-t 1 --split 10", "-t 1 -W auto", "-t 1 -r 0"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }
}
