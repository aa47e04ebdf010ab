//! Page faults: once per page and process, at a price by pages and by who is at the same page, and a return to user mode at the end.

use crate::common::{Build, MS, US, free_machine, profile, repeat, setup, work};
use fairground_machine::{CostModel, Machine};
use fairground_model::{Arithmetic, Instr, NullSink, Op, PageSize, PoolSpec, TaskSet, Value};
use fairground_sim::{Setup, Simulation};
use fairground_stdx::{Ns, PoolId, TaskId};

/// 130 entries of 64 bytes: two pages of 4 KiB, and two entries on a third one.
fn pool(page: PageSize) -> PoolSpec {
    PoolSpec { name: "p".into(), entries: 130, entry_bytes: 64, page }
}

/// Touches all entries in turn, twice.
fn touches_all(pool: PoolId, write: bool) -> Vec<Instr> {
    let one = Instr::Calculate { reg: 1, by: Arithmetic::Plus, value: Value::Const(1) };
    vec![Instr::Touch { pool, entry: Value::Reg(1), write }, one, work(100), repeat(260)]
}

fn ran(mut machine: Machine, set: TaskSet, prices: &str) -> Simulation {
    machine.costs = CostModel::preset(prices).unwrap();
    machine.page_sizes = PageSize::ALL.to_vec();
    let mut simulation = Simulation::new(setup(machine, "v6.12", set, 100 * MS)).unwrap();
    simulation.run(&mut NullSink).unwrap();
    simulation
}

fn counted(simulation: &Simulation, op: Op) -> u64 {
    simulation.time_spent().ops[op as usize].count
}

fn faults(page: PageSize, write: bool, spaces: [u32; 2]) -> [u64; 4] {
    let mut set = TaskSet::default();
    let pool = set.pools.push(pool(page));
    for (row, mm) in spaces.into_iter().enumerate() {
        let task = set.task(&format!("t{row}"), touches_all(pool, write));
        set.tasks[task].mm = mm;
    }
    let simulation = ran(free_machine(1, 1000), set, "zero");
    [Op::Exception, Op::PageFault, Op::FaultMap, Op::FaultMapHuge].map(|op| counted(&simulation, op))
}

/// Model: 12 T17
#[test]
fn a_process_faults_once_per_page_and_its_threads_share_what_it_has_mapped() {
    assert_eq!(faults(PageSize::K4, true, [0, 0]), [3, 3, 3, 0]);
    assert_eq!(faults(PageSize::K4, true, [0, 1]), [6, 6, 6, 0]);
    // A fault that reads maps the 64 KiB around it, as far as there is memory.
    assert_eq!(faults(PageSize::K4, false, [0, 1]), [2, 2, 6, 0]);
    assert_eq!(faults(PageSize::K64, false, [0, 1]), [2, 2, 2, 0]);
    for huge in [PageSize::M2, PageSize::G1] {
        assert_eq!(faults(huge, true, [0, 1]), [2, 2, 0, 2]);
    }
}

/// Both CPUs come to the page in the same instant: the second finds the first there.
#[test]
fn who_faults_on_the_same_page_at_that_moment_makes_it_dearer() {
    let lines = |entries: [u64; 2], apart_ns: u64| {
        let mut set = TaskSet::default();
        let pool = set.pools.push(pool(PageSize::K4));
        for (row, entry) in entries.into_iter().enumerate() {
            let touch = Instr::Touch { pool, entry: Value::Const(entry), write: true };
            let task = set.pinned(&format!("t{row}"), row as u32, vec![work(US + row as u64 * apart_ns), touch, work(US)]);
            set.tasks[task].mm = row as u32;
        }
        counted(&ran(free_machine(2, 1000), set, "xeon-spr"), Op::FaultLine)
    };
    assert_eq!(lines([0, 63], 0), 1);
    assert_eq!(lines([0, 64], 0), 0, "another page");
    // A fault on one page takes 120 + 350 + 30 ns.
    assert_eq!([lines([0, 63], 499), lines([0, 63], 501)], [1, 0], "at another time");
}

/// A fault of 2 us takes that and its entry and exit; a range is drawn.
#[test]
fn a_fault_lasts_what_it_says_beside_its_entry_and_exit() {
    let exception = CostModel::preset("xeon-spr").unwrap().prices_ps[Op::Exception as usize] / 1000;
    let lasts = |low, high| {
        let mut set = TaskSet::default();
        let fault = Instr::PageFault { low: Ns(low), high: Ns(high) };
        set.pinned("t", 0, vec![work(US), fault, work(US)]);
        let simulation = ran(free_machine(1, 1000), set, "xeon-spr");
        simulation.sched().se(TaskId::new(0)).sum_exec_runtime
    };
    let without = lasts(0, 0);
    assert_eq!(lasts(2 * US, 2 * US) - without, 2 * US);
    assert!((US..=2 * US).contains(&(lasts(US, 2 * US) - without)));
    let mut set = TaskSet::default();
    set.pinned("t", 0, vec![work(2 * US)]);
    let plain = ran(free_machine(1, 1000), set, "xeon-spr").sched().se(TaskId::new(0)).sum_exec_runtime;
    assert_eq!(without - plain, exception);
}

#[test]
fn pools_that_cannot_be_are_refused_by_name() {
    let wrong = |machine: Machine, specs: &[PoolSpec], processes: u32| {
        let mut set = TaskSet::default();
        specs.iter().for_each(|spec| {
            set.pools.push(spec.clone());
        });
        for row in 0..processes {
            let task = set.task("t", vec![Instr::Touch { pool: PoolId::new(0), entry: Value::Reg(0), write: true }]);
            set.tasks[task].mm = row;
        }
        let setup = Setup { machine, profile: profile("v6.12"), tasks: set, seed: 1, duration: Ns(MS), paranoid: false };
        Simulation::new(setup).err().map(|wrong| wrong.to_string()).unwrap_or_default()
    };
    let machine = || free_machine(1, 1000);
    assert_eq!(wrong(machine(), &[pool(PageSize::K4)], 2), "");
    let odd = wrong(machine(), &[pool(PageSize::K64)], 1);
    assert!(odd.contains("pool `p` has pages of 64KiB, which the machine does not have"), "{odd}");
    assert!(odd.contains("4KiB, 2MiB, 1GiB"), "{odd}");
    let none = wrong(machine(), &[PoolSpec { entries: 0, ..pool(PageSize::K4) }], 1);
    assert!(none.contains("pool `p` has no pages"), "{none}");
    let many = wrong(machine(), &[PoolSpec { entries: 1 << 36, ..pool(PageSize::K4) }], 3);
    assert!(many.contains("could map 3221225472 pages"), "{many}");
}
