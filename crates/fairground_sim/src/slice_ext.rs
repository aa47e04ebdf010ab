//! Time slice extensions: a task that has asked for one keeps its CPU for some microseconds beyond a reschedule that is due.
//!
//! ```text
//! user, request | interrupt or fault: resched is due | user, granted      | timer: resched | schedule()
//!               |                      granted: 5 us |                    | granted once: it gives way
//! user, request | interrupt or fault: granted        | user | system call, it gives way at once
//! ```
//!
//! Granted is only on the way back from interrupts and exceptions that came from user mode, faults among them; not from system calls. A
//! second request within the extension ends it, and so does any system call. Who was taken off its CPU must ask again.

use crate::cpu::Then;
use crate::kernel::Next;
use crate::simulation::Simulation;
use crate::task::GaveWay;
use crate::timers::Timer;
use fairground_model::{Instr, Mistakes, Op, Section, TaskSet};
use fairground_sched::Profile;
use fairground_stdx::{CpuId, IndexVec, Ns, TaskId};

/// How long an extension lasts (slice_ext_nsec of debugfs, which takes 5 to 50 us).
///
/// Kernel: rseq.c rseq_slice_ext_nsecs, v7.0–
const SLICE_EXTENSION: Ns = Ns::from_us(5);

/// What a task has asked for and was granted.
#[derive(Clone, Copy, Debug, Default)]
struct Row {
    request: bool,
    granted: bool,
}

/// How often extensions were granted, and how they ended. Those that ended in neither way were revoked: another reschedule was due.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SliceExtensions {
    /// Extensions.
    pub granted: u64,
    /// The task gave its CPU away in time.
    pub yielded: u64,
    /// The timer ended them.
    pub expired: u64,
    /// The task made a system call.
    pub aborted: u64,
}

/// The extensions of a run.
#[derive(Clone, Debug, Default)]
pub(crate) struct SliceExts {
    /// Whether somebody asks where a task would give way: for an extension, or to tell where the holder of a lock did.
    pub(crate) notes_exits: bool,
    on: bool,
    tasks: IndexVec<TaskId, Row>,
    /// For whom the timer of each CPU was armed last.
    cookies: IndexVec<CpuId, Option<TaskId>>,
    counts: SliceExtensions,
}

fn asks(set: &TaskSet) -> bool {
    set.programs.iter().flat_map(|program| &program.code).any(|instr| matches!(instr, Instr::SliceExt { .. }))
}

/// Finds programs that ask for extensions where nobody grants any.
pub(crate) fn check_slice_extensions(set: &TaskSet, profile: &Profile, mistakes: &mut Mistakes) {
    if !asks(set) {
        return;
    }
    if profile.tree().is_some() {
        mistakes.whole("slice extensions beside a kernel tree are not modelled yet", "Run the scenario with a profile of ours.");
    } else if !profile.slice_extension.is_there() {
        mistakes.whole(
            format!("a task asks for slice extensions, and profile `{}` has none", profile.name),
            "Kernels have them from v7.0 on (rseq): choose such a profile, or leave `slice-ext` out.",
        );
    }
}

impl SliceExts {
    pub(crate) fn new(set: &TaskSet, cpus: usize) -> SliceExts {
        let on = asks(set);
        SliceExts {
            notes_exits: on || !set.locks.is_empty(),
            on,
            tasks: IndexVec::filled(Row::default(), set.tasks.len()),
            cookies: IndexVec::filled(None, cpus),
            counts: SliceExtensions::default(),
        }
    }

    /// A task leaves its CPU: before it is in user mode again the kernel clears what it had asked for.
    ///
    /// Kernel: rseq.c rseq_update_usr(), rseq_slice_clear_grant(), v7.0–
    #[inline]
    pub(crate) fn left(&mut self, task: Option<TaskId>) {
        if let Some(task) = task.filter(|_| self.on) {
            self.tasks[task] = Row::default();
        }
    }
}

impl Simulation {
    /// A reschedule is due, and the current task is on its way back to user mode from `place`: whether it may go on for a while.
    ///
    /// Kernel: rseq_entry.h __rseq_grant_slice_extension(), rseq.c __rseq_arm_slice_extension_timer(), v7.0–
    pub(crate) fn grants_slice_extension(&mut self, cpu: CpuId, task: TaskId, place: GaveWay) -> bool {
        if !self.slices.on || !matches!(place, GaveWay::InUser | GaveWay::AfterFault) {
            return false;
        }
        let row = &mut self.slices.tasks[task];
        if self.sched.user_work_due(cpu) || row.granted {
            *row = Row::default();
            return false;
        }
        if !row.request {
            return false;
        }
        *row = Row { request: false, granted: true };
        self.slices.counts.granted += 1;
        self.slices.cookies[cpu] = Some(task);
        self.sched.clear_need_resched(cpu);
        self.cpus[cpu].meter.count(Op::TimerProgram);
        self.queue.cancel_timer(self.timer_id(Timer::SliceExt(cpu)));
        self.arm_timer_at(cpu, Timer::SliceExt(cpu), self.now + SLICE_EXTENSION);
        true
    }

    /// The timer of an extension rings.
    ///
    /// Kernel: rseq.c rseq_slice_expired(), v7.0–
    pub(crate) fn slice_extension_expires(&mut self, cpu: CpuId) {
        let Some(task) = self.sched.rq(cpu).curr else { return };
        if self.slices.cookies[cpu] == Some(task) && self.slices.tasks[task].granted {
            self.slices.counts.expired += 1;
            self.sched.set_need_resched(cpu);
        }
    }

    /// The current task asks for an extension, or does not need it any more: then it gives way at once, if it was granted one.
    pub(crate) fn ask_for_slice_extension(&mut self, cpu: CpuId, task: TaskId, request: bool) -> Next {
        let row = &mut self.slices.tasks[task];
        row.request = request;
        if request || !row.granted {
            return self.pay(cpu, Section::Syscall, self.without_entry(task));
        }
        self.end_slice_extension(cpu, task);
        self.slices.counts.yielded += 1;
        self.syscall(cpu, Then::Resume)
    }

    /// The current task makes a system call: an extension is over with that, and it gives way.
    ///
    /// Kernel: rseq.c rseq_syscall_enter_work(), v7.0–
    #[inline]
    pub(crate) fn syscall_ends_slice_extension(&mut self, cpu: CpuId, task: TaskId) {
        if self.slices.on && self.slices.tasks[task].granted {
            self.end_slice_extension(cpu, task);
            self.slices.counts.aborted += 1;
        }
    }

    fn end_slice_extension(&mut self, cpu: CpuId, task: TaskId) {
        self.slices.tasks[task] = Row::default();
        self.queue.cancel_timer(self.timer_id(Timer::SliceExt(cpu)));
        self.sched.set_need_resched(cpu);
    }

    /// Whether the current task of `cpu` goes on though a reschedule was due.
    pub fn has_slice_extension(&self, cpu: CpuId) -> bool {
        self.sched.rq(cpu).curr.is_some_and(|task| self.slices.on && self.slices.tasks[task].granted)
    }

    /// How extensions went; `None` if no program asks for any.
    pub fn slice_extensions(&self) -> Option<SliceExtensions> {
        self.slices.on.then_some(self.slices.counts)
    }
}
