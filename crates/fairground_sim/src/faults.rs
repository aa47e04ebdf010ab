//! Page faults: exceptions that a task runs into, on pages that its process has not mapped.
//!
//! ```text
//! user | exception | page_fault | fault_map per page | fault_line per CPU at the same page | user
//!                                                                                          ^ the reschedule flags are looked at
//! ```
//!
//! The memory itself is there: all faults are minor ones. What a process has mapped stays mapped, also over an execve.

use crate::cpu::Then;
use crate::kernel::Next;
use crate::simulation::Simulation;
use crate::task::Want;
use fairground_machine::Machine;
use fairground_model::{Instr, MAX_MAPPED_PAGES, Mistakes, Mode, Op, PageSize, PoolSpec, Section, TaskSet};
use fairground_stdx::{CpuId, Id, IndexVec, Ns, PoolId, TaskId};
use std::sync::Arc;

/// So much a fault maps that reads memory in a file or shared memory, where its pages are there. A fault that writes maps one page.
///
/// Kernel: memory.c fault_around_pages, do_fault_around(), v4.12–
const FAULT_AROUND_BYTES: u64 = 64 << 10;

/// A pool, and what processes have mapped of it.
#[derive(Clone, Debug)]
struct Pool {
    spec: PoolSpec,
    /// A bit per page of each process that may touch it. What no process has changed since a copy of the run was made is shared with it.
    mapped: Vec<Arc<Vec<u64>>>,
}

/// The memory that programs touch.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pages {
    pools: IndexVec<PoolId, Pool>,
    /// The row of a task's process in each pool.
    process: IndexVec<TaskId, u32>,
    /// The page on which each CPU is in a fault.
    faults_on: IndexVec<CpuId, Option<(PoolId, u64)>>,
}

/// What the processes of a set may map in all, in pages: each of those whose programs touch a pool may map all of it.
pub(crate) fn pages_to_map(set: &TaskSet) -> u64 {
    let of_pool = |pool| Some((set.pools.get(pool)?.pages(), processes_at(set, pool).len() as u64));
    let rows = set.pools.ids().filter_map(of_pool);
    rows.fold(0, |sum: u64, (pages, processes)| sum.saturating_add(pages.saturating_mul(processes)))
}

/// The address spaces in which a pool is touched, in the order of tasks.
fn processes_at(set: &TaskSet, pool: PoolId) -> Vec<u32> {
    let touches: Vec<bool> = set.programs.iter().map(|program| program.code.iter().any(|instr| is_touch(instr, pool))).collect();
    sorted(set.tasks.iter().filter(|task| touches[task.program.index()]).map(|task| task.mm))
}

/// Address spaces, each once.
fn sorted(spaces: impl Iterator<Item = u32>) -> Vec<u32> {
    let mut spaces: Vec<u32> = spaces.collect();
    spaces.sort_unstable();
    spaces.dedup();
    spaces
}

fn is_touch(instr: &Instr, of: PoolId) -> bool {
    matches!(instr, Instr::Touch { pool, .. } if *pool == of)
}

/// Finds pools without memory, of pages that the machine does not have, and more pages than there is room for.
pub(crate) fn check_pools(machine: &Machine, set: &TaskSet, mistakes: &mut Mistakes) {
    for pool in set.pools.iter() {
        if pool.entries == 0 || pool.entry_bytes == 0 {
            mistakes.whole(format!("pool `{}` has no pages", pool.name), "It has at least one entry of at least one byte.");
        } else if !machine.page_sizes.contains(&pool.page) {
            let message = format!("pool `{}` has pages of {}, which the machine does not have", pool.name, pool.page.name());
            mistakes.whole(
                message,
                format!("Its pages: {}. The machine's key `page_sizes` says so.", PageSize::list(&machine.page_sizes)),
            );
        }
    }
    let pages = pages_to_map(set);
    if pages > MAX_MAPPED_PAGES {
        let message = format!("the processes of this run could map {pages} pages of pools, more than {MAX_MAPPED_PAGES}");
        mistakes.whole(message, "Take fewer processes, smaller pools or larger pages.");
    }
}

impl Pages {
    pub(crate) fn new(set: &TaskSet, cpus: usize) -> Pages {
        if set.pools.is_empty() {
            return Pages::default();
        }
        assert!(pages_to_map(set) <= MAX_MAPPED_PAGES, "invariant: pools are checked before the run begins");
        let spaces = sorted(set.tasks.iter().map(|task| task.mm));
        let row = |mm: u32| spaces.binary_search(&mm).map_or(0, |row| row as u32);
        let pool = |id: PoolId| {
            let (spec, touched) = (set.pools[id].clone(), processes_at(set, id));
            let words = spec.pages().div_ceil(64) as usize;
            let (all, none) = (Arc::new(vec![0; words]), Arc::new(Vec::new()));
            let mapped = spaces.iter().map(|mm| if touched.binary_search(mm).is_ok() { &all } else { &none }).cloned().collect();
            Pool { spec, mapped }
        };
        Pages {
            process: set.tasks.iter().map(|task| row(task.mm)).collect(),
            pools: set.pools.ids().map(pool).collect(),
            faults_on: IndexVec::filled(None, cpus),
        }
    }

    /// `task` touches an entry. Returns the page on which that is a fault, with how many pages it maps, if it is one.
    fn touch(&mut self, task: TaskId, id: PoolId, entry: u64, write: bool) -> Option<(u64, u64)> {
        let pool = &mut self.pools[id];
        let mapped = &mut pool.mapped[self.process[task] as usize];
        let page = pool.spec.page_of(entry);
        let is_mapped = |mapped: &[u64], page: u64| mapped[page as usize / 64] >> (page % 64) & 1 == 1;
        if is_mapped(mapped, page) {
            return None;
        }
        let around = if write { 1 } else { (FAULT_AROUND_BYTES / pool.spec.page.bytes()).max(1) };
        let first = page / around * around;
        let mut count = 0;
        for page in first..(first + around).min(pool.spec.pages()) {
            count += u64::from(!is_mapped(mapped, page));
            Arc::make_mut(mapped)[page as usize / 64] |= 1 << (page % 64);
        }
        Some((page, count))
    }

    /// The CPU is in no fault on a page of a pool any more.
    pub(crate) fn fault_ends(&mut self, cpu: CpuId) {
        self.faults_on[cpu] = None;
    }
}

impl Simulation {
    /// An exception that lasts so long. Within a system call it leads back to that, else to user mode.
    pub(crate) fn page_fault(&mut self, cpu: CpuId, task: TaskId, work: Ns) -> Next {
        self.cpus[cpu].meter.count(Op::Exception);
        let row = &mut self.tasks[task];
        (row.want, row.mode) = (Want::Work(work), Mode::Kernel);
        self.pay(cpu, Section::Syscall, Then::Resume)
    }

    /// The current task touches an entry of a pool.
    ///
    /// Kernel: memory.c do_read_fault(), do_shared_fault(), v4.12–
    pub(crate) fn touch(&mut self, cpu: CpuId, task: TaskId, pool: PoolId, entry: u64, write: bool) -> Next {
        let Some((page, maps)) = self.pages.touch(task, pool, entry, write) else {
            return self.go_on(cpu, self.without_entry(task));
        };
        let here = Some((pool, page));
        let others = self.pages.faults_on.iter().filter(|other| **other == here).count() as u64;
        let map = if self.pages.pools[pool].spec.page.is_huge() { Op::FaultMapHuge } else { Op::FaultMap };
        let meter = &mut self.cpus[cpu].meter;
        meter.count(Op::Exception);
        meter.count(Op::PageFault);
        meter.count_n(map, maps);
        meter.count_n(Op::FaultLine, others);
        self.pages.faults_on[cpu] = here;
        self.pay(cpu, Section::Syscall, Then::FaultEnds)
    }
}
