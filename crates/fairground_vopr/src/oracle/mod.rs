//! What must hold of every run: of its records, and of the scheduler between two events.

use fairground_model::reason::Question;
use fairground_model::{Instr, Mode, PrevState, Reason, Sink, TraceEvent};
use fairground_sched::seam::{AvgVruntime, LagLimit, Protection};
use fairground_sched::{Sched, TaskState};
use fairground_sim::Simulation;
use fairground_stdx::{CpuId, IndexVec, Instant, Ns, TaskId, Vruntime};

mod locks;
mod waits;

use crate::case::Case;
use locks::Locks;
use waits::Waits;

/// What the records say of a CPU.
#[derive(Clone, Default)]
struct CpuBook {
    curr: Option<TaskId>,
    /// Since when the current task is current.
    since: u64,
    /// The kernel is busy here until then.
    busy_until: u64,
    /// Time of all its sections.
    in_kernel: u64,
    /// Run time that was accounted to tasks here.
    accounted: u64,
    /// When the server of the fair class used up its runtime last.
    server_stopped: Option<u64>,
    /// When the current task was picked as one that is served.
    served_since: Option<u64>,
}

/// What the records say of a task.
#[derive(Clone, Default)]
struct TaskBook {
    /// Where it was queued last.
    cpu: Option<CpuId>,
    dead: bool,
    accounted: u64,
    /// Time between the switches to and from it.
    on_cpu: u64,
}

/// Reads the records of a run and finds contradictions. Only the first is kept.
pub struct Records {
    cpus: IndexVec<CpuId, CpuBook>,
    tasks: IndexVec<TaskId, TaskBook>,
    exact: bool,
    /// The longest section of the kernel on any CPU.
    longest_section: u64,
    broken: Option<String>,
}

impl Records {
    /// A reader for the records of a case.
    pub fn new(case: &Case) -> Records {
        // A kernel thread or a task in kernel mode is rescheduled late, and its successor is charged from the wake-up on.
        let in_kernel = |instr: &Instr| {
            matches!(
                instr,
                Instr::Enter
                    | Instr::PageFault { .. }
                    | Instr::Run { mode: Mode::Kernel, .. }
                    | Instr::RunBetween { mode: Mode::Kernel, .. }
                    | Instr::RunTime { mode: Mode::Kernel, .. }
            )
        };
        let in_programs = case.tasks.programs.iter().any(|program| program.code.iter().any(in_kernel));
        let user_only = !in_programs && !case.tasks.tasks.iter().any(|task| task.kthread);
        Records {
            cpus: IndexVec::filled(CpuBook::default(), case.machine.cpus.len()),
            tasks: IndexVec::filled(TaskBook::default(), case.tasks.tasks.len()),
            exact: user_only && case.is_free(),
            longest_section: 0,
            broken: None,
        }
    }

    fn must(&mut self, holds: bool, what: impl FnOnce() -> String) {
        if !holds && self.broken.is_none() {
            self.broken = Some(what());
        }
    }

    fn switch(&mut self, at: u64, cpu: CpuId, prev: Option<TaskId>, state: PrevState, next: Option<TaskId>) {
        let book = self.cpus[cpu].clone();
        self.must(book.curr == prev, || format!("at {at}: CPU {cpu} switches away from {prev:?}, but {:?} ran", book.curr));
        self.must(book.busy_until <= at, || format!("at {at}: CPU {cpu} switches before a kernel section is over"));
        self.must(prev != next, || format!("at {at}: CPU {cpu} switches from {prev:?} to itself"));
        if let Some(task) = prev {
            self.tasks[task].on_cpu += at - book.since;
            self.tasks[task].dead |= state == PrevState::Dead;
        }
        if let Some(task) = next {
            let elsewhere = self.cpus.iter_enumerated().find(|row| row.1.curr == Some(task) && row.0 != cpu).map(|row| row.0);
            self.must(elsewhere.is_none(), || format!("at {at}: {task:?} runs on CPU {cpu} and on {elsewhere:?}"));
            let placed = self.tasks[task].cpu;
            self.must(placed == Some(cpu), || format!("at {at}: {task:?} runs on CPU {cpu} but was queued on {placed:?}"));
            let dead = self.tasks[task].dead;
            self.must(!dead, || format!("at {at}: {task:?} runs after its end"));
        }
        let book = &mut self.cpus[cpu];
        (book.curr, book.since) = (next, at);
    }

    /// What the end of the run at `end` adds: all time must be accounted for, but for what `between` saw nobody account for.
    pub fn finish(mut self, end: Instant, simulation: &Simulation, between: &Between) -> Result<(), String> {
        let end = end.ns();
        for cpu in self.cpus.ids() {
            let book = self.cpus[cpu].clone();
            let booked = simulation.kernel_time(cpu).map(|section| section.2.0).sum::<u64>();
            // A CPU that spins until a task has left its CPU books that when it is over; a record would come too late.
            self.must(book.in_kernel <= booked, || {
                format!("CPU {cpu} shows {} ns of kernel sections and has booked {booked}", book.in_kernel)
            });
            if let Some(task) = book.curr {
                self.tasks[task].on_cpu += end - book.since;
            }
            // A reading of the clock may lie ahead of the event's instant by what the call has cost so far.
            let most = end + self.longest_section;
            self.must(book.accounted <= most, || format!("{} ns were accounted on CPU {cpu} in {end} ns", book.accounted));
        }
        let spent = simulation.time_spent();
        let (rows, all) = (spent.rows().iter().map(|row| row.ns).sum::<i128>(), i128::from(spent.all.0));
        self.must(rows == all, || format!("the rows of the account are {rows} ns together, and all CPUs had {all}"));
        if self.exact {
            for task in self.tasks.ids() {
                let book = self.tasks[task].clone();
                let least = book.on_cpu.saturating_sub(between.not_charged[task]);
                let most = book.on_cpu + between.charged_more[task];
                self.must((least..=most).contains(&book.accounted), || {
                    format!("{task:?} was on a CPU for {} ns and was charged {}", book.on_cpu, book.accounted)
                });
            }
        }
        self.broken.map_or(Ok(()), Err)
    }

    /// The CPU has chosen, or a server has used up its runtime.
    fn pick(&mut self, at: u64, cpu: CpuId, reason: Reason) {
        let book = &mut self.cpus[cpu];
        match reason {
            Reason::ServerStops => book.server_stopped = Some(at),
            Reason::PickServed => book.served_since = Some(at),
            _ if reason.question() == Question::Pick => book.served_since = None,
            _ => {}
        }
    }

    /// Whether the server of a CPU used up its runtime as the CPU chose a task to be served: when the fair class accounted who ran, or when he
    /// was put down. That asks for a reschedule, which __schedule() forgets at its end.
    fn is_served_late(&self, cpu: CpuId) -> bool {
        let book = &self.cpus[cpu];
        book.served_since.is_some() && book.served_since == book.server_stopped
    }

    /// The first contradiction so far.
    pub fn broken(&self) -> Option<&str> {
        self.broken.as_deref()
    }
}

impl Sink for Records {
    fn record(&mut self, at: Instant, cpu: CpuId, event: &TraceEvent) {
        let at = at.ns();
        match *event {
            TraceEvent::SchedSwitch { prev, prev_state, next } => self.switch(at, cpu, prev, prev_state, next),
            TraceEvent::Decision(decision) => self.pick(at, cpu, decision.reason),
            TraceEvent::SchedWakeup { task, target_cpu } | TraceEvent::SchedWakeupNew { task, target_cpu } => {
                let dead = self.tasks[task].dead;
                self.must(!dead, || format!("at {at}: {task:?} wakes after its end"));
                self.tasks[task].cpu = Some(target_cpu);
            }
            TraceEvent::SchedMigrateTask { task, orig_cpu, dest_cpu } => {
                let was = self.tasks[task].cpu;
                self.must(was.is_none_or(|was| was == orig_cpu), || {
                    format!("at {at}: {task:?} moves from CPU {orig_cpu}, but was on {was:?}")
                });
                self.tasks[task].cpu = Some(dest_cpu);
            }
            TraceEvent::SchedStatRuntime { task, runtime, .. } => {
                self.tasks[task].accounted += runtime.0;
                if let Some(on) = self.tasks[task].cpu {
                    self.cpus[on].accounted += runtime.0;
                }
            }
            TraceEvent::KernelSection { took, .. } => {
                let busy_until = self.cpus[cpu].busy_until;
                self.must(busy_until <= at, || format!("at {at}: a kernel section of CPU {cpu} begins inside another"));
                self.cpus[cpu].busy_until = at + took.0;
                self.cpus[cpu].in_kernel += took.0;
                self.longest_section = self.longest_section.max(took.0);
            }
            _ => {}
        }
    }
    fn wants_samples(&self) -> bool {
        true
    }
}

/// Watches the scheduler between events.
pub struct Between {
    floors: Vec<Vruntime>,
    tick: Ns,
    /// The longest slice that each task ever had: one that sleeps keeps its lag when its slice gets shorter.
    longest_slice: IndexVec<TaskId, u64>,
    /// Whose lag is from before it was of another class: a change of its weight there has not scaled it.
    old_lag: IndexVec<TaskId, bool>,
    /// When this looked last.
    seen: u64,
    /// For how long each task ran as one of the deadline class that waits for its next period, and so stands on no queue; or since a
    /// clock was read that its last schedule() did not read.
    not_charged: IndexVec<TaskId, u64>,
    /// For how long it was charged for others, since it began on such a clock.
    charged_more: IndexVec<TaskId, u64>,
    /// Whose CPU will not read its clock, and since when.
    spared: IndexVec<CpuId, Option<(TaskId, u64)>>,
    /// Whether a CPU has gone off line.
    any_left: bool,
    /// Who does.
    runs_throttled: Vec<TaskId>,
    waits: Waits,
    locks: Locks,
}

impl Between {
    /// A watcher of a simulation of `case` at its beginning.
    pub fn new(case: &Case, simulation: &Simulation) -> Between {
        let times = IndexVec::filled(0, case.tasks.tasks.len());
        let waits = Waits::new(case);
        let locks = Locks::new(case);
        Between {
            floors: floors(simulation).collect(),
            tick: case.machine.tick,
            longest_slice: times.clone(),
            old_lag: IndexVec::filled(false, case.tasks.tasks.len()),
            seen: 0,
            charged_more: times.clone(),
            not_charged: times,
            spared: IndexVec::filled(None, case.machine.cpus.len()),
            any_left: false,
            runs_throttled: Vec::new(),
            waits,
            locks,
        }
    }

    /// What must hold after every event, of which `records` tells what led there.
    pub fn check(&mut self, simulation: &Simulation, records: &Records) -> Result<(), String> {
        let (sched, at) = (simulation.sched(), simulation.now().ns());
        self.note_who_runs_throttled(sched, at);
        self.note_spared_clocks(sched, at);
        for (cpu, (before, now)) in self.floors.iter_mut().zip(floors(simulation)).enumerate() {
            let is_floor = sched.profile().avg_vruntime == AvgVruntime::MinVruntime;
            if is_floor && now.since(*before) < 0 {
                return Err(format!("at {at}: min_vruntime of CPU {cpu} went back"));
            }
            *before = now;
        }
        for cpu in sched.cpu_ids() {
            let (rq, queued) = (sched.rq(cpu), sched.cfs_rq(cpu).nr_running);
            // Who is moved out of a throttled group to where nobody runs waits for the next interrupt there: sched_move_task()
            // asks for no reschedule.
            let moved = sched.cfs_bandwidth_used();
            if rq.curr.is_none() && !rq.stop_running && !rq.need_resched && queued > 0 && !moved {
                return Err(format!("at {at}: CPU {cpu} is idle beside {queued} queued entities"));
            }
        }
        // Who waits for a stopper stays if the CPU to which it was to go leaves meanwhile: __migrate_task().
        self.any_left |= sched.cpu_ids().any(|cpu| !sched.rq(cpu).online);
        for task in sched.task_ids() {
            let row = sched.task(task);
            let allowed = row.cpus_allowed.contains(row.cpu) || self.any_left;
            let right = match row.state {
                TaskState::Queued | TaskState::Delayed => allowed,
                TaskState::Running => allowed || waits::gives_way(simulation, row.cpu),
                _ => true,
            };
            if !right {
                return Err(format!("at {at}: {task:?} is {:?} on CPU {}, of {}", row.state, row.cpu, row.cpus_allowed));
            }
            if sched.se_avg(task).util_avg > 1024 {
                return Err(format!("at {at}: {task:?} has utilisation {}", sched.se_avg(task).util_avg));
            }
        }
        self.waits.check(sched, at)?;
        self.waits.check_real_time(simulation, records, at)?;
        self.waits.check_deadline(simulation, at)?;
        self.locks.check(simulation, at)?;
        sched.task_ids().try_for_each(|task| self.check_lag(sched, task)).map_err(|broken| format!("at {at}: {broken}"))
    }

    /// Who leaves the deadline class throttled and comes back before its next period is throttled still. A task that runs meanwhile runs
    /// on, since nobody asks for a reschedule, and update_curr_dl() does not account who is not queued.
    fn note_who_runs_throttled(&mut self, sched: &Sched, at: u64) {
        for &task in &self.runs_throttled {
            self.not_charged[task] += at - self.seen;
        }
        let running = sched.cpu_ids().filter_map(|cpu| sched.rq(cpu).curr);
        self.runs_throttled.clear();
        self.runs_throttled.extend(running.filter(|&task| sched.is_dl_throttled(task)));
        self.seen = at;
    }

    /// A wake-up that asks for a reschedule spares the next schedule() its reading of the clock. From v6.7 on that holds also for one within
    /// a newidle balance, and the next schedule() may come late: who leaves then is not charged, and who follows is charged for it.
    fn note_spared_clocks(&mut self, sched: &Sched, at: u64) {
        for cpu in sched.cpu_ids() {
            let (curr, before) = (sched.rq(cpu).curr, self.spared[cpu]);
            if let Some((task, since)) = before.filter(|before| curr != Some(before.0)) {
                self.not_charged[task] += at - since;
                curr.into_iter().for_each(|next| self.charged_more[next] += at - since);
            }
            let since = before.filter(|before| curr == Some(before.0)).map_or(at, |before| before.1);
            self.spared[cpu] = curr.filter(|_| sched.skips_next_clock_update(cpu)).map(|task| (task, since));
        }
    }

    /// Who sleeps in delayed dequeue is queued. Lag that outlives a sleep is limited, to the length of two requests
    /// or a tick; another weight scales both, but not while the task is of another class: set_load_weight() only notes it then. Up to v6.18
    /// the end of a protection has the field of the lag. A wakee with a shorter request may write it after the running task has left its queue.
    ///
    /// ```text
    /// |vlag| * w  <=  max(2 * slice, tick) * 1024 (or largest slice + tick)     weights have inverses that are exact to 2^-15
    /// ```
    fn check_lag(&mut self, sched: &Sched, task: TaskId) -> Result<(), String> {
        let (se, state) = (sched.se(task), sched.task(task).state);
        let longest_slice = &mut self.longest_slice[task];
        *longest_slice = se.slice.max(*longest_slice);
        // A task in delayed dequeue that balance moves stays in it, between two queues as well.
        let moves = state == TaskState::Migrating;
        if !moves && (se.sched_delayed != (state == TaskState::Delayed) || (se.sched_delayed && !se.on_rq)) {
            return Err(format!("{task:?} is {state:?}, but its entity says otherwise: {se:?}"));
        }
        let weight = u128::from(se.load.weight() >> 10);
        let union = sched.profile().protection == Protection::VprotInLag;
        let left = u128::try_from(Vruntime(se.vlag as u64).since(se.vruntime)).ok();
        let is_protection = union && left.is_some_and(|left| left * weight <= u128::from(*longest_slice) * 1024);
        let old_lag = &mut self.old_lag[task];
        *old_lag = !sched.task(task).policy.is_fair() || (!se.on_rq && (is_protection || *old_lag));
        let longest = match sched.profile().lag_limit {
            LagLimit::OwnSlice => self.tick.0.max(2 * *longest_slice),
            LagLimit::LargestSlice => self.tick.0 + self.longest_slice.iter().copied().max().unwrap_or(0),
        };
        let limit = u128::from(longest) * 1024;
        if !se.on_rq && !*old_lag && u128::from(se.vlag.unsigned_abs()) * weight > limit + (limit >> 15) + 2 * weight {
            return Err(format!("{task:?} has left with lag {} at weight {weight}", se.vlag));
        }
        Ok(())
    }
}

fn floors(simulation: &Simulation) -> impl Iterator<Item = Vruntime> + '_ {
    simulation.sched().cpu_ids().map(|cpu| simulation.sched().cfs_rq(cpu).min_vruntime)
}
