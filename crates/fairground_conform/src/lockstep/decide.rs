//! Questions about preemption, their outcome in the record, and the verdict.

use super::Lockstep;
use super::guess::Asked;
use crate::outcome::{Choice, Kind, Mismatch};
use fairground_model::{Decision, Reason};
use fairground_sched::Followed;
use fairground_stdx::{CpuId, Id, Instant, Ns, TaskId};

/// Questions so close together share one outcome: a tick and the wake-ups of its soft interrupt.
const GROUP_NS: u64 = 60_000;
/// With several CPUs the recorded ones may share a host CPU in turns of some 100 us, and the work of one interrupt (the
/// tick with the balancing and the wake-ups of its soft interrupt) is cut in pieces: up to 180 us were recorded.
const GROUP_SMP_NS: u64 = 250_000;

/// A schedule() that keeps the task comes so soon after the question if nothing comes between.
const KEPT_NS: u64 = 10_000;
/// The same where CPUs take turns.
const KEPT_SMP_NS: u64 = 110_000;

/// A task that has run for less since it woke may well be about to read its clock.
const JUST_BEGUN_NS: u64 = 1_000_000;

/// How long outcomes take: on one CPU, and on several.
#[derive(Clone, Copy)]
pub(super) struct Patience {
    /// How close questions must be to share an outcome.
    group_ns: u64,
    /// Run time until a schedule() that keeps the task, at the longest.
    kept_ns: u64,
}

impl Patience {
    pub(super) const fn new(nr_cpus: usize) -> Patience {
        match nr_cpus {
            0 | 1 => Patience { group_ns: GROUP_NS, kept_ns: KEPT_NS },
            _ => Patience { group_ns: GROUP_SMP_NS, kept_ns: KEPT_SMP_NS },
        }
    }
}

/// Questions of one CPU that wait for their outcome.
pub(super) struct Group {
    at: Instant,
    last: Instant,
    kind: Kind,
    /// The core's rule: of the question that flagged, else of the last.
    reason: Option<Decision>,
    /// The task that ran.
    curr: TaskId,
    /// Run time of that task since the last question.
    since: Ns,
    /// Whether an account came that may or may not be the outcome, so that what the core expects was taken for it.
    unclear: bool,
    /// Whether the CPU acts on the answer only at its next tick at the latest.
    waits: bool,
    /// Whether another CPU asked last.
    remote: bool,
    /// Whether nobody else could run, so that nothing is judged: only a sleeper in delayed dequeue is looked at.
    alone: bool,
    /// The wakees that it was about.
    asked: Vec<Asked>,
}

impl Lockstep<'_> {
    /// The core was just asked whether `wakee`, which was queued on `cpu`, preempts the running task.
    pub(super) fn asked_about(&mut self, wakee: TaskId, writer: CpuId, cpu: CpuId, at: Instant, was_due: bool) {
        self.asked(writer, cpu, at, Kind::WakeupPreempt, was_due);
        let Some(curr) = self.curr(cpu).filter(|_| self.learns) else { return };
        let lead = self.world.sched.wakeup_lead(curr, wakee);
        if let Some(group) = &mut self.cpus[cpu].group {
            group.asked.push(Asked { wakee, lead });
        }
    }

    /// The core was just asked, on `cpu` by `writer`, whether the running task shall give way. `was_due`: a reschedule
    /// was due before already.
    pub(super) fn asked(&mut self, writer: CpuId, cpu: CpuId, at: Instant, kind: Kind, was_due: bool) {
        if self.recording.is_inferred(self.next) {
            return;
        }
        let Some(curr) = self.curr(cpu).filter(|_| self.cpus[cpu].leaving.is_none()) else { return };
        if self.told.calls && !was_due {
            self.had_no_outcome(cpu);
        }
        let due = self.world.sched.resched_due(cpu);
        let alone = self.world.sched.cfs_rq(cpu).h_nr_runnable < 2;
        if alone && (!due || self.cpus[cpu].group.is_some()) {
            return;
        }
        // A lazy reschedule reaches another CPU when that enters the kernel, and a kernel thread at its next tick.
        let remote = writer != cpu;
        let in_kernel = self.recording.is_kernel_thread(curr);
        let waits = (remote || in_kernel) && self.world.sched.resched_is_lazy();
        let flagged = due && !was_due;
        let heard = self.world.ear.decisions.iter().rev().find(|decision| answers_preemption(decision.reason)).copied();
        self.cpus[cpu].instead = None;
        let now = self.world.clocks[cpu];
        match &mut self.cpus[cpu].group {
            Some(group) => {
                // Several wake-ups are one decision about wake-ups; a tick and a wake-up are a kind of their own.
                let shared = if group.kind == kind || group.alone { kind } else { Kind::Shared };
                (group.last, group.kind, group.since, group.remote) = (now, shared, Ns::ZERO, remote);
                (group.unclear, group.alone) = (false, false);
                group.waits = waits || (group.waits && kind != Kind::TickPreempt);
                if flagged {
                    group.reason = heard;
                }
            }
            empty => {
                let (last, since, unclear) = (now, Ns::ZERO, false);
                let asked = Vec::new();
                *empty = Some(Group { at, last, kind, reason: heard, curr, since, unclear, waits, remote, alone, asked });
            }
        }
    }

    /// Whether an account of `runtime` is the schedule() that a question led to. It may as well be that the task reads
    /// its clock: always so after a mere account, and where the task does that now and then, or has just begun to run.
    /// Nothing tells them apart; then it is what the core expects. The last reads of a task that ends its job (`ends`)
    /// are no schedule() after other questions.
    pub(super) fn is_outcome(&mut self, cpu: CpuId, runtime: Ns, ends: bool) -> bool {
        let limit = self.patience.kept_ns;
        let due = self.world.sched.resched_due(cpu);
        let (reading, rows) = (&self.reading, &self.rows);
        let reads = |task: TaskId| reading.reads_clock[task.index()] || rows[task].ran_since_wakeup.0 < JUST_BEGUN_NS;
        self.cpus[cpu].group.as_mut().is_some_and(|group| {
            group.since += runtime;
            let unclear = group.kind == Kind::UpdatePreempt || reads(group.curr);
            let soon = group.since.0 <= limit;
            group.unclear |= unclear && soon;
            soon && if unclear { due } else { !ends }
        })
    }

    /// Before the next question: those that are too old to share its outcome had none, the task went on.
    /// So it did after an account of its own: a task that reads its clock again has returned to user mode.
    /// Time is that of the queue's clock, which `ahead` will move: records of a busy machine may be written late.
    pub(super) fn close_stale(&mut self, cpu: CpuId, ahead: Ns) {
        let at = self.world.clocks[cpu] + ahead;
        let limit = if self.is_unseen(cpu) { self.patience.kept_ns } else { self.patience.group_ns };
        let over =
            |group: &Group| (group.kind == Kind::UpdatePreempt && !group.remote) || at.saturating_since(group.last).0 > limit;
        if self.cpus[cpu].group.as_ref().is_some_and(|group| !group.waits && over(group)) {
            self.went_on(cpu);
        }
    }

    /// Whether the schedule() that is due would leave no record if it kept the running task.
    fn is_unseen(&self, cpu: CpuId) -> bool {
        let sched = &self.world.sched;
        // Where the clock was read since the last account of who runs, schedule() accounts him.
        let is_accounted = |task: TaskId| sched.accounted_until(task) >= self.world.clocks[cpu];
        !self.told.calls
            && sched.resched_due(cpu)
            && sched.skips_next_clock_update(cpu)
            && self.cpus[cpu].leaving.is_none()
            && (!self.told.clocks || self.curr(cpu).is_some_and(is_accounted))
    }

    /// Before the account with which the running task goes to sleep: a schedule() that was due came before that, and kept it.
    pub(super) fn schedule_unseen(&mut self, index: usize, cpu: CpuId) {
        let Some(curr) = self.curr(cpu).filter(|_| self.is_unseen(cpu) && self.sleeps_next(index).is_some()) else { return };
        let kept = self.ask_pick(cpu, curr) == Some(curr);
        self.world.sched.follow_need_resched(cpu, !kept);
        self.cpus[cpu].group.iter_mut().for_each(|group| group.unclear |= kept);
    }

    /// Each schedule() is told, and none came between the questions of `cpu`, after which no reschedule was due, and the next one.
    pub(super) fn had_no_outcome(&mut self, cpu: CpuId) {
        if let Some(group) = self.cpus[cpu].group.take().filter(|group| !group.alone) {
            self.bind_guesses(group.curr, &group.asked);
            self.verdict(cpu, &group, (false, None), false);
        }
    }

    /// The record shows no reschedule after the questions of `cpu`.
    pub(super) fn went_on(&mut self, cpu: CpuId) {
        let Some(group) = self.cpus[cpu].group.take() else { return };
        let due = self.world.sched.resched_due(cpu);
        if group.alone {
            if due {
                self.ask_pick(cpu, group.curr);
            }
            return;
        }
        if !due {
            if group.unclear {
                self.count_unclear(group.kind);
            } else {
                self.bind_guesses(group.curr, &group.asked);
            }
            return self.verdict(cpu, &group, (false, None), false);
        }
        if self.is_unseen(cpu) && self.ask_pick(cpu, group.curr) == Some(group.curr) {
            self.tally(cpu, group.kind, false, true);
            return self.count_unclear(group.kind);
        }
        self.verdict(cpu, &group, (false, None), true);
        self.world.sched.follow_need_resched(cpu, false);
    }

    /// The record shows a reschedule on `cpu`, which `kept` the task, or after which `next` runs.
    pub(super) fn rescheduled(&mut self, cpu: CpuId, kept: bool, next: Option<TaskId>) {
        let Some(group) = self.cpus[cpu].group.take() else {
            if self.world.sched.cfs_rq(cpu).h_nr_runnable > 1 {
                self.fact("reschedules that no recorded question explains (a yield, a call of schedule())");
            }
            return;
        };
        if group.alone {
            return;
        }
        let due = self.world.sched.resched_due(cpu);
        if group.unclear && kept {
            self.count_unclear(group.kind);
        }
        if due && !group.unclear {
            self.bind_guesses(group.curr, &group.asked);
        }
        self.verdict(cpu, &group, (true, next), due);
    }

    /// Questions of `cpu` whose outcome the record cannot show.
    pub(super) fn drop_group(&mut self, cpu: CpuId, why: &'static str) {
        if self.cpus[cpu].group.take().is_some_and(|group| !group.alone) {
            self.fact(why);
        }
    }

    /// The running task of `cpu` goes to sleep, or another class takes the CPU. If that comes so soon that no outcome of
    /// the questions could show before, the record fits both answers; else the task went on after them.
    pub(super) fn overtaken(&mut self, cpu: CpuId) {
        let (now, limit) = (self.world.clocks[cpu], self.patience.group_ns);
        let soon = |group: &mut Group| now.saturating_since(group.last).0 <= limit || group.waits;
        let Some(group) = self.cpus[cpu].group.take_if(soon) else { return self.went_on(cpu) };
        if group.alone {
            return;
        }
        let due = self.world.sched.resched_due(cpu);
        self.count_unclear(group.kind);
        self.verdict(cpu, &group, (due, None), due);
    }

    fn ask_pick(&mut self, cpu: CpuId, curr: TaskId) -> Option<TaskId> {
        let answer = self.world.call(cpu, cpu, |sched, cx| {
            let leaving = sched.schedule_begin(cx);
            sched.schedule_following(cx, leaving, Some(curr)).answer
        });
        self.hear_accounts(cpu);
        answer
    }

    fn count_unclear(&mut self, kind: Kind) {
        self.kinds.entry(kind).or_default().unclear += 1;
    }

    fn tally(&mut self, cpu: CpuId, kind: Kind, did: bool, agree: bool) {
        let is_told = self.is_told(cpu);
        let row = self.kinds.entry(kind).or_default();
        row.all.count(agree);
        if is_told {
            row.told.count(agree);
        }
        if did { row.did.count(agree) } else { row.did_not.count(agree) }
    }

    /// `recorded`: whether the kernel rescheduled, and whom it ran then.
    fn verdict(&mut self, cpu: CpuId, group: &Group, (recorded, next): (bool, Option<TaskId>), core: bool) {
        if recorded != core && group.kind == Kind::WakeupPreempt {
            let is_lesson = self.learn_from_wakeup(cpu, group.curr, &group.asked, next);
            self.follow_buddies(&group.asked, next);
            if is_lesson {
                self.kinds.entry(group.kind).or_default().lessons += 1;
                return;
            }
        }
        self.tally(cpu, group.kind, recorded, recorded == core);
        if recorded == core {
            return;
        }
        // Whom the core would run: the task that ran, or the first of the others.
        self.cpus[cpu].instead = Some(if core { self.next_in_line(cpu) } else { Some(group.curr) });
        self.mismatch(group.at, cpu, group.kind, (Choice::Resched(recorded), Choice::Resched(core)), group.reason);
    }

    /// The waiting task that the core's order puts first.
    fn next_in_line(&self, cpu: CpuId) -> Option<TaskId> {
        self.world.sched.queue_seats(cpu).into_iter().find(|seat| !seat.running).map(|seat| seat.task)
    }

    /// Compares a pick. `candidates` counts all that could have been picked.
    pub(super) fn picked(&mut self, at: Instant, cpu: CpuId, recorded: Option<TaskId>, followed: Followed, candidates: u32) {
        let core = followed.answer;
        self.cpus[cpu].instead = None;
        if candidates < 2 || self.recording.is_inferred(self.next) {
            return;
        }
        let agree = recorded == core;
        let is_told = self.is_told(cpu);
        let is_of_group =
            !agree && followed.moved_group && recorded.is_some_and(|recorded| self.learn_place_of_group(cpu, recorded));
        let is_lesson =
            is_of_group || !agree && recorded.zip(core).is_some_and(|(recorded, core)| self.learn_from_pick(cpu, recorded, core));
        let row = self.kinds.entry(Kind::Pick).or_default();
        if is_lesson {
            row.lessons += 1;
            return;
        }
        row.all.count(agree);
        if is_told {
            row.told.count(agree);
        }
        if !agree {
            if followed.moved_group {
                self.fact("picks after which a group was moved in virtual time to where the record has it");
            }
            self.cpus[cpu].instead = Some(core);
            let reason = self.world.ear.decisions.iter().rev().find(|heard| is_pick(heard.reason)).copied();
            self.mismatch(at, cpu, Kind::Pick, (Choice::Task(recorded), Choice::Task(core)), reason);
        }
    }

    fn mismatch(&mut self, at: Instant, cpu: CpuId, kind: Kind, sides: (Choice, Choice), reason: Option<Decision>) {
        if self.mismatches.len() >= self.keep {
            return;
        }
        let queue = self.world.sched.queue_seats(cpu);
        let unknown_lag = queue.iter().map(|seat| seat.task).filter(|&task| self.rows[task].unknown_past).collect();
        let (recorded, core) = sides;
        let runs = queue.iter().find(|seat| seat.running).map(|seat| seat.task);
        let kernel_mode = runs.filter(|&task| self.recording.is_kernel_thread(task));
        self.mismatches.push(Mismatch { at, cpu, kind, recorded, core, reason, queue, unknown_lag, kernel_mode });
    }
}

fn answers_preemption(reason: Reason) -> bool {
    use fairground_model::reason::Question;
    matches!(reason.question(), Question::TickPreempt | Question::WakeupPreempt)
}

fn is_pick(reason: Reason) -> bool {
    reason.question() == fairground_model::reason::Question::Pick
}
