//! What a recorded machine did beside its workload: kernel threads woke up now and then, and the tick
//! had a phase. Neither follows from `workload.txt`; both are inputs of the recording, none of the
//! scheduler's decisions.

use fairground_model::{Change, Instr, Mode, PrevState, Program, Start, TaskInfo, TaskSet, TaskSpec, TimedChange, TraceEvent};
use fairground_stdx::{CpuId, CpuMask, Id, IndexVec, Instant, Ns, TaskId};
use std::collections::BTreeSet;

/// Kernel threads as tasks, and the phase of the tick.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Housekeeping {
    /// A task per kernel thread, with its wake-ups at their recorded times.
    pub tasks: TaskSet,
    /// The tick comes at this phase and whole ticks after; none if the record does not show it.
    pub tick_phase: Option<Ns>,
    /// Wake-ups of kernel threads.
    pub wakeups: usize,
    /// Times at which a CPU's watchdog let its stopper run, among the changes of `tasks`.
    pub watchdogs: usize,
    /// Wake-ups of `migration/N` that moved a task: decisions of the scheduler, which are left out.
    pub left_out: usize,
}

/// Process id of the shell of the recorded machines.
const INIT: u32 = 1;
/// Bins in which the phase of the tick is searched.
const BIN: Ns = Ns::from_us(2);
/// After a wake-up or a switch an account of run time may follow from that and not from the tick.
const NOT_A_TICK: Ns = Ns::from_us(60);

/// One thread as it is followed through the record.
#[derive(Clone, Default)]
struct Thread {
    woken: Option<(Instant, CpuId)>,
    ran: Ns,
    jobs: Vec<(Instant, CpuId, Ns)>,
}

/// What is known of a stopper's wake-up.
#[derive(Clone, Copy)]
struct StopWork {
    at: Instant,
    cpu: CpuId,
    /// It was its own CPU that woke it, and it has moved no task since.
    watchdog: bool,
}

/// Reads the housekeeping of a record: `events` in order of time.
pub fn housekeeping(events: &[(Instant, CpuId, TraceEvent)], tasks: &IndexVec<TaskId, TaskInfo>, tick: Ns) -> Housekeeping {
    let forked: Vec<TaskId> = events.iter().filter_map(|row| child_of(&row.2)).collect();
    let is_kernel_thread =
        |task: TaskId| tasks.get(task).is_some_and(|info| info.pid != INIT && info.pid != 0) && !forked.contains(&task);
    let mut threads = vec![Thread::default(); tasks.len()];
    for (at, _, event) in events {
        match *event {
            TraceEvent::SchedWaking { task, target_cpu, .. } => threads[task.index()].wakes(*at, target_cpu),
            TraceEvent::SchedStatRuntime { task, runtime, .. } => threads[task.index()].ran += runtime,
            TraceEvent::SchedSwitch { prev: Some(task), prev_state, .. } if prev_state != PrevState::Running => {
                threads[task.index()].sleeps();
            }
            _ => {}
        }
    }
    let is_stopper = |task: TaskId| tasks.get(task).is_some_and(|info| info.name.starts_with("migration/"));
    let mut found = Housekeeping { tick_phase: tick_phase(events, tick), ..Housekeeping::default() };
    for (task, thread) in tasks.ids().zip(threads).filter(|row| is_kernel_thread(row.0) && !row.1.jobs.is_empty()) {
        if !is_stopper(task) {
            found.wakeups += thread.jobs.len();
            add(&mut found.tasks, &tasks[task], &thread.jobs);
        }
    }
    for work in stop_works(events, is_stopper) {
        if work.watchdog {
            found.watchdogs += 1;
            found.tasks.changes.push(TimedChange { at: work.at, change: Change::Watchdog { cpu: work.cpu } });
        } else {
            found.left_out += 1;
        }
    }
    found
}

/// What the stoppers were woken for, in order of time. A watchdog's timer wakes the stopper of its own CPU, which then
/// moves nothing; the scheduler wakes it to have a task moved.
fn stop_works(events: &[(Instant, CpuId, TraceEvent)], is_stopper: impl Fn(TaskId) -> bool) -> Vec<StopWork> {
    let mut works: Vec<StopWork> = Vec::new();
    let mut running: Vec<CpuId> = Vec::new();
    for &(at, cpu, ref event) in events {
        match *event {
            TraceEvent::SchedWaking { task, target_cpu, .. } if is_stopper(task) => {
                works.push(StopWork { at, cpu: target_cpu, watchdog: cpu == target_cpu });
            }
            TraceEvent::SchedSwitch { next, .. } => {
                running.retain(|&other| other != cpu);
                running.extend(next.filter(|&next| is_stopper(next)).map(|_| cpu));
            }
            TraceEvent::SchedMigrateTask { .. } if running.contains(&cpu) => {
                let work = works.iter_mut().rev().find(|work| work.cpu == cpu);
                work.into_iter().for_each(|work| work.watchdog = false);
            }
            _ => {}
        }
    }
    works
}

impl Thread {
    fn wakes(&mut self, at: Instant, cpu: CpuId) {
        self.woken = self.woken.or(Some((at, cpu)));
        self.ran = Ns::ZERO;
    }
    fn sleeps(&mut self) {
        if let Some((at, cpu)) = self.woken.take() {
            self.jobs.push((at, cpu, self.ran));
        }
    }
}

fn child_of(event: &TraceEvent) -> Option<TaskId> {
    match *event {
        TraceEvent::SchedProcessFork { child, .. } | TraceEvent::SchedWakeupNew { task: child, .. } => Some(child),
        _ => None,
    }
}

/// A thread that sleeps as the record begins, and from job to job.
fn add(set: &mut TaskSet, info: &TaskInfo, jobs: &[(Instant, CpuId, Ns)]) {
    let mut program = Program::default();
    for &(at, _, ran) in jobs {
        program.push(Instr::Set { reg: 0, at });
        program.push(Instr::SleepUntil { reg: 0 });
        program.push(Instr::Run { work: ran, mode: Mode::Kernel });
    }
    let program = set.programs.push(program);
    let bound = info.name.rsplit_once('/').is_some_and(|(_, cpu)| cpu.starts_with(|c: char| c.is_ascii_digit()));
    let cpu = jobs[0].1;
    set.tasks.push(TaskSpec {
        nice: (info.prio - 120).clamp(-20, 19) as i8,
        affinity: bound.then(|| CpuMask::only(cpu)),
        first_cpu: Some(cpu),
        start: Start::Asleep,
        timer_slack: Ns::ZERO,
        kthread: true,
        measured: false,
        ..TaskSpec::new(info.name.clone(), program)
    });
}

/// The phase of the tick by the first CPU that shows it well: at least half as often as the one that shows it most often. On an idle
/// stretch there is no account, so who is idle shows nothing.
fn tick_phase(events: &[(Instant, CpuId, TraceEvent)], tick: Ns) -> Option<Ns> {
    let cpus: BTreeSet<CpuId> = events.iter().map(|row| row.1).collect();
    let shown: Vec<(Ns, u32)> = cpus.into_iter().filter_map(|cpu| tick_phase_of(events, cpu, tick)).collect();
    let most = shown.iter().map(|row| row.1).max()?;
    shown.iter().find(|row| row.1 > 1 && row.1 * 2 >= most).map(|row| row.0)
}

/// The fullest bin of a CPU's accounts of run time that neither a wake-up nor a switch explains, and how many there are in it.
fn tick_phase_of(events: &[(Instant, CpuId, TraceEvent)], cpu: CpuId, tick: Ns) -> Option<(Ns, u32)> {
    let mut bins = vec![0u32; tick.0.div_ceil(BIN.0) as usize];
    let mut explained_until = Instant::ZERO;
    for (at, _, event) in events.iter().filter(|row| row.1 == cpu) {
        match event {
            TraceEvent::SchedWaking { .. } | TraceEvent::SchedSwitch { .. } => explained_until = *at + NOT_A_TICK,
            TraceEvent::SchedStatRuntime { .. } if *at >= explained_until => bins[(at.ns() % tick.0 / BIN.0) as usize] += 1,
            _ => {}
        }
    }
    let (bin, &count) = bins.iter().enumerate().max_by_key(|&(bin, count)| (count, std::cmp::Reverse(bin)))?;
    Some((Ns(bin as u64 * BIN.0), count))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn info(name: &str, pid: u32, prio: i32) -> TaskInfo {
        TaskInfo { name: name.into(), pid, prio }
    }

    #[test]
    fn kernel_threads_become_tasks_and_the_tick_has_a_phase() {
        let tasks: IndexVec<TaskId, TaskInfo> =
            [info("init", 1, 120), info("kworker/0:1H", 9, 100), info("hog", 30, 120), info("migration/0", 12, 0)]
                .into_iter()
                .collect();
        let (kworker, hog, stopper) = (TaskId::new(1), TaskId::new(2), TaskId::new(3));
        let cpu = CpuId::new(0);
        let waking = |task| TraceEvent::SchedWaking {
            task,
            target_cpu: cpu,
            waker: None,
            context: fairground_model::WakeContext::Hardirq,
        };
        let ran = |task, ns| TraceEvent::SchedStatRuntime { task, runtime: Ns(ns), vruntime: None };
        let off = |task| TraceEvent::SchedSwitch { prev: Some(task), prev_state: PrevState::IdleWait, next: Some(hog) };
        let on = |task| TraceEvent::SchedSwitch { prev: Some(hog), prev_state: PrevState::Running, next: Some(task) };
        let at = |us: u64, event| (Instant::from_ns(us * 1000), cpu, event);
        let events = [
            at(1, TraceEvent::SchedProcessFork { parent: Some(TaskId::new(0)), child: hog }),
            at(1_500, ran(hog, 1_000)),
            at(5_500, ran(hog, 4_000_000)),
            at(6_000, waking(kworker)),
            at(6_010, ran(kworker, 7_000)),
            at(6_011, off(kworker)),
            at(7_000, waking(stopper)),
            at(7_001, on(stopper)),
            at(7_002, off(stopper)),
            at(8_000, waking(stopper)),
            at(8_001, on(stopper)),
            at(8_002, TraceEvent::SchedMigrateTask { task: hog, orig_cpu: cpu, dest_cpu: CpuId::new(1) }),
            at(8_003, off(stopper)),
            (Instant::from_ns(9_000_000), CpuId::new(1), waking(stopper)),
        ];
        let found = housekeeping(&events, &tasks, Ns::from_ms(4));
        assert_eq!(found.tick_phase, Some(Ns::from_us(1_500)));
        assert_eq!((found.wakeups, found.watchdogs, found.left_out, found.tasks.tasks.len()), (1, 1, 2, 1));
        let watchdog = TimedChange { at: Instant::from_ns(7_000_000), change: Change::Watchdog { cpu } };
        assert_eq!(found.tasks.changes, [watchdog]);
        let task = found.tasks.tasks.iter().next().unwrap();
        assert_eq!((task.name.as_str(), task.nice, task.affinity), ("kworker/0:1H", -20, Some(CpuMask::only(cpu))));
        assert_eq!(task.start, Start::Asleep);
        let code = &found.tasks.programs[task.program].code;
        assert_eq!(code[0], Instr::Set { reg: 0, at: Instant::from_ns(6_000_000) });
        assert_eq!(code[2], Instr::Run { work: Ns(7_000), mode: Mode::Kernel });
    }

    /// CPU 0 is idle but for two moments; the ticks of CPU 2 are seen 30 us after those of CPU 1, which show as well.
    #[test]
    fn the_phase_of_the_tick_is_that_of_the_first_cpu_that_shows_it() {
        let ran = TraceEvent::SchedStatRuntime { task: TaskId::new(0), runtime: Ns::from_ms(4), vruntime: None };
        let at = |us: u64, cpu| (Instant::from_ns(us * 1000), CpuId::new(cpu), ran);
        let ticks =
            |cpu: u32, phase: u64, count: u64| (0..count).map(move |tick| at(tick * 4000 + phase, cpu)).collect::<Vec<_>>();
        let phase = |events: &[Vec<(Instant, CpuId, TraceEvent)>]| tick_phase(&events.concat(), Ns::from_ms(4));
        assert_eq!(phase(&[ticks(0, 700, 2), ticks(1, 2640, 9), ticks(2, 2670, 10)]), Some(Ns::from_us(2640)));
        assert_eq!(phase(&[ticks(0, 700, 5), ticks(2, 2670, 10)]), Some(Ns::from_us(700)));
        assert_eq!(phase(&[ticks(0, 700, 1)]), None);
    }

    #[test]
    fn an_empty_record_has_no_housekeeping() {
        assert_eq!(housekeeping(&[], &IndexVec::new(), Ns::from_ms(4)), Housekeeping::default());
    }
}
