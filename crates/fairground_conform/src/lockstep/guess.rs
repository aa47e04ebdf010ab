//! Places in virtual time that no record tells, learnt from the first decisions that depend on them.
//!
//! # The problem
//!
//! A task that slept when the record began has a place in virtual time that its first account tells, if virtual times are recorded.
//! Where they are not (from 6.8 on, and wherever run time is not recorded) that place is a guess: CFS takes the task for one
//! that slept long, EEVDF takes its lag as 0. Each decision about it may be wrong until it sleeps long, and each of these would
//! be counted against the rules.
//!
//! # The rule
//!
//! - A decision that differs, and would agree if a guess were another one, is a *lesson*: the guess moves. A
//!   lesson is no decision of the comparison: it is counted apart, neither as agreement nor as disagreement.
//! - It lies between what lessons and decisions that agreed allow. Where that is open to one side it moves a wake-up granularity, or half a request,
//!   further than it must, else half of the way to the other bound. It is moved at most [`LESSONS_MAX`] times; after that it stands,
//!   and what differs is a disagreement.
//! - Sleepers of CFS were placed at the end of their credit, so they can only be further on.
//! - Places on different queues cannot be compared: among tasks of a group that has no groups in it a lesson is taken as on the root queue of
//!   a system without groups. Where a group itself stood on a CPU no record tells
//!   either. The core moves it to where the record has it, and the first [`LESSONS_MAX`] of these moves per group and CPU are lessons.
//! - A guess ends when the core places the task without regard to its past: behind the floor by the credit (CFS), at the average
//!   (EEVDF).
//! - A decision in a queue with a guess *rests on it*. What agrees without these is counted beside the headline.

use super::Lockstep;
use fairground_model::Reason;
use fairground_sched::{QueueSeat, WakeupLead};
use fairground_stdx::{CpuId, TaskId};

/// A guess is moved so often at most.
const LESSONS_MAX: u8 = 8;
/// Further than any place of a task.
const FAR: i64 = 1 << 40;

/// A place in virtual time that was guessed.
#[derive(Clone, Copy)]
pub(super) struct Guess {
    /// How far the place may be moved back and on still.
    back: i64,
    on: i64,
    lessons: u8,
}

impl Guess {
    fn allows(&self, by: i64) -> bool {
        self.lessons < LESSONS_MAX && (-self.back..=self.on).contains(&by)
    }
}

/// A wakee that the core was asked about, with its lead at that moment.
#[derive(Clone, Copy)]
pub(super) struct Asked {
    pub(super) wakee: TaskId,
    pub(super) lead: Option<WakeupLead>,
}

impl Lockstep<'_> {
    /// The place of `task` is a guess from now on. `at_end_of_credit`: it can only be further on.
    pub(super) fn guess(&mut self, task: TaskId, at_end_of_credit: bool) {
        if self.learns {
            let back = if at_end_of_credit { 0 } else { FAR };
            self.rows[task].guess = Some(Guess { back, on: FAR, lessons: 0 });
        }
    }

    /// The core has just placed `task`, which it knew: without regard to its past?
    pub(super) fn end_guess_if_placed(&mut self, task: TaskId) {
        let forgets = |reason: Reason| matches!(reason, Reason::PlaceSleeperCredit | Reason::PlaceAverage);
        if self.rows[task].guess.is_some() && self.world.ear.decisions.iter().any(|heard| forgets(heard.reason)) {
            self.rows[task].guess = None;
        }
    }

    /// Whether what is decided on `cpu` rests on no guess.
    pub(super) fn is_told(&self, cpu: CpuId) -> bool {
        self.learns && self.world.sched.queue_seats(cpu).iter().all(|seat| self.rows[seat.task].guess.is_none())
    }

    fn allows(&self, task: TaskId, by: i64) -> bool {
        self.rows[task].guess.is_some_and(|guess| guess.allows(by))
    }

    /// Moves a guess by `least` and, as `least` is but a bound, by some of `spread` more.
    fn move_guess(&mut self, task: TaskId, least: i64, spread: i64) {
        let Some(guess) = &mut self.rows[task].guess else { return };
        guess.lessons += 1;
        let room = if least < 0 { guess.back + least } else { guess.on - least };
        let more = if room > FAR / 2 { spread } else { room / 2 };
        let by = match least < 0 {
            true => {
                (guess.back, guess.on) = (room - more, more);
                least - more
            }
            false => {
                (guess.back, guess.on) = (more, room - more);
                least + more
            }
        };
        self.world.sched.follow_vruntime(task, by);
    }

    /// `recorded` got `cpu` where the core would have taken another one. Whether that is a lesson.
    pub(super) fn learn_from_pick(&mut self, cpu: CpuId, recorded: TaskId, core: TaskId) -> bool {
        self.learns && self.are_on_one_queue(cpu, recorded, core) && self.put_first(cpu, recorded)
    }

    /// A group was moved in virtual time, so that `recorded` is right on `cpu`. Whether that is a lesson.
    pub(super) fn learn_place_of_group(&mut self, cpu: CpuId, recorded: TaskId) -> bool {
        let group = self.world.sched.task(recorded).group;
        let lessons = self.lessons_of_groups.entry((cpu, group)).or_default();
        if !self.learns || *lessons >= LESSONS_MAX {
            return false;
        }
        *lessons += 1;
        true
    }

    /// Whether anybody on `cpu` is in a group: places on different queues cannot be compared.
    fn is_grouped(&self, cpu: CpuId) -> bool {
        self.world.sched.queue_seats(cpu).iter().any(|seat| self.world.sched.task(seat.task).group.is_some())
    }

    /// Whether two tasks of `cpu` compete on one queue, on which there is nobody but tasks: that of a group that both are in, or the root
    /// queue where nobody is in a group.
    fn are_on_one_queue(&self, cpu: CpuId, one: TaskId, other: TaskId) -> bool {
        let (group, of_other) = (self.world.sched.task(one).group, self.world.sched.task(other).group);
        let has_groups = |group| self.groups_above.contains(&group);
        match group {
            Some(group) => Some(group) == of_other && !has_groups(group),
            None => !self.is_grouped(cpu),
        }
    }

    /// The seats of the queue on which `task` competes.
    fn seats_beside(&self, cpu: CpuId, task: TaskId) -> Vec<QueueSeat> {
        let group = self.world.sched.task(task).group;
        let mut seats = self.world.sched.queue_seats(cpu);
        seats.retain(|seat| self.world.sched.task(seat.task).group == group);
        seats
    }

    fn seat(&self, cpu: CpuId, task: TaskId) -> Option<QueueSeat> {
        self.world.sched.queue_seats(cpu).into_iter().find(|seat| seat.task == task)
    }

    /// Moves guesses so that `first` is the first in line.
    fn put_first(&mut self, cpu: CpuId, first: TaskId) -> bool {
        let Some(mut seat) = self.seat(cpu, first) else { return false };
        let mut moves = Vec::new();
        let missing =
            seat.request.filter(|request| !request.eligible).map_or(0, |request| self.weighted(cpu, &seat, request.lag));
        let mut back = missing;
        let before = self.seats_beside(cpu, first);
        let ahead = |other: &QueueSeat, seat: &QueueSeat, back: i64| place(seat).since(place(other)) + back;
        let others = before.iter().filter(|other| other.task != first && !other.delayed);
        let others: Vec<&QueueSeat> = others.filter(|other| other.request.is_none_or(|request| request.eligible)).collect();
        // Those whose place is known stay: the first one has to be before them.
        for other in &others {
            let by = ahead(other, &seat, back) + 1;
            if by > 0 && !self.allows(other.task, by) {
                back -= by;
            }
        }
        if back < 0 {
            if !self.allows(first, back) {
                return false;
            }
            moves.push((first, back));
            seat.vruntime = seat.vruntime.plus(back as u64);
        }
        for other in others {
            let by = ahead(other, &seat, if seat.request.is_some() { back } else { 0 }) + 1;
            if by > 0 {
                if !self.allows(other.task, by) {
                    return false;
                }
                moves.push((other.task, by));
            }
        }
        let is_lesson = !moves.is_empty();
        // In EEVDF at the bound itself the next turns would fall either way: half a request further they do not.
        let spread = seat.request.map_or(0, |request| request.deadline.since(seat.vruntime).max(0) / 2);
        moves.into_iter().for_each(|(task, by)| self.move_guess(task, by, spread));
        is_lesson
    }

    /// How far an entity must go back until it is eligible: it takes the average along by its share of the weight.
    fn weighted(&self, cpu: CpuId, seat: &QueueSeat, lag: i64) -> i64 {
        let total = match self.world.sched.task(seat.task).group {
            None => self.world.sched.queue_weight(cpu).max(1),
            Some(_) => self.seats_beside(cpu, seat.task).iter().map(|seat| seat.weight).sum::<u64>().max(1),
        };
        let rest = total.saturating_sub(seat.weight).max(1);
        (i128::from(lag) * i128::from(total) / i128::from(rest)).clamp(-i128::from(FAR), 0) as i64 - 1
    }

    /// The record shows whether a wake-up preempted `curr`, and the core answered otherwise. Whether that is a lesson.
    pub(super) fn learn_from_wakeup(&mut self, cpu: CpuId, curr: TaskId, asked: &[Asked], next: Option<TaskId>) -> bool {
        if !self.learns || !asked.iter().all(|asked| self.are_on_one_queue(cpu, curr, asked.wakee)) {
            return false;
        }
        match next {
            Some(next) => {
                let Some(asked) = asked.iter().find(|asked| asked.wakee == next) else { return false };
                match asked.lead {
                    Some(WakeupLead { lead, granularity }) => {
                        self.part((curr, next), granularity as i64 + 1 - lead, granularity as i64)
                    }
                    None => self.put_first(cpu, next),
                }
            }
            None => {
                let mut is_lesson = false;
                for asked in asked {
                    match asked.lead {
                        Some(WakeupLead { lead, granularity }) if lead > granularity as i64 => {
                            if !self.part((asked.wakee, curr), lead - granularity as i64, granularity as i64) {
                                return false;
                            }
                            is_lesson = true;
                        }
                        Some(_) => {}
                        None => return self.put_first(cpu, curr),
                    }
                }
                is_lesson
            }
        }
    }

    /// The record shows that a wake-up preempted for the sake of `next`, or that none did: the core prefers nobody else at the next pick.
    pub(super) fn follow_buddies(&mut self, asked: &[Asked], next: Option<TaskId>) {
        for asked in asked.iter().filter(|_| self.learns) {
            let did = next == Some(asked.wakee);
            if did || next.is_none() {
                self.world.sched.follow_wakeup_preemption(asked.wakee, did);
            }
        }
    }

    /// Puts `on` further on by so much, or `back` back.
    fn part(&mut self, (on, back): (TaskId, TaskId), by: i64, spread: i64) -> bool {
        if by <= 0 {
            return false;
        }
        for (task, by) in [(on, by), (back, -by)] {
            if self.allows(task, by) {
                self.move_guess(task, by, spread);
                return true;
            }
        }
        false
    }

    /// Record and core agree on whether wake-ups preempted `curr`: one guess may not be moved across that.
    pub(super) fn bind_guesses(&mut self, curr: TaskId, asked: &[Asked]) {
        if !self.learns {
            return;
        }
        for &Asked { wakee, lead } in asked {
            let Some(WakeupLead { lead, granularity }) = lead else { continue };
            let slack = lead - granularity as i64;
            let (not_back, not_on, most) = if slack > 0 { (curr, wakee, slack - 1) } else { (wakee, curr, -slack) };
            let is_guess = |task: TaskId| self.rows[task].guess.is_some();
            // Of two guesses either may move.
            match (is_guess(not_back), is_guess(not_on)) {
                (true, false) => self.rows[not_back].guess.iter_mut().for_each(|guess| guess.back = guess.back.min(most)),
                (false, true) => self.rows[not_on].guess.iter_mut().for_each(|guess| guess.on = guess.on.min(most)),
                _ => {}
            }
        }
    }
}

/// What puts one entity before another: its deadline, in CFS its virtual time.
fn place(seat: &QueueSeat) -> fairground_stdx::Vruntime {
    seat.request.map_or(seat.vruntime, |request| request.deadline)
}
