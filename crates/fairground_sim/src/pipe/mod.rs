//! Pipes: bounded queues of messages with sleeping readers and writers.

mod pages;

use crate::cpu::Then;
use crate::kernel::Next;
use crate::simulation::Simulation;
use fairground_model::{MessageAct, MessageEvent, Op, PipeSpec, Recorder, Section};
use fairground_sched::seam::PipeWakeup;
use fairground_stdx::{CpuId, Instant, PipeId, TaskId};
use pages::Pages;
use std::collections::VecDeque;

/// One pipe.
#[derive(Clone, Debug)]
pub(crate) struct Pipe {
    capacity: usize,
    /// Where its messages lie, if they have a size.
    pages: Option<Pages>,
    /// Whether wake-ups at its ends are synchronous.
    pub(crate) sync: bool,
    /// Messages with the instants at which they were written.
    messages: VecDeque<(u64, Instant)>,
    /// How many were read.
    read: u64,
    readers: VecDeque<TaskId>,
    writers: VecDeque<TaskId>,
    /// Who waits for a message that somebody else may read.
    pollers: VecDeque<TaskId>,
}

/// Who is woken at the end of a write or read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Wakes {
    /// Who waits for messages.
    pub(crate) readers: bool,
    /// Who waits for room.
    pub(crate) writers: bool,
}

impl Pipe {
    pub(crate) fn new(spec: &PipeSpec) -> Pipe {
        let capacity = spec.capacity.max(1) as usize;
        Pipe {
            capacity,
            pages: spec.bytes.map(|bytes| Pages::new(capacity, bytes)),
            sync: spec.sync,
            messages: VecDeque::with_capacity(capacity.min(64)),
            read: 0,
            readers: VecDeque::with_capacity(2),
            writers: VecDeque::with_capacity(2),
            pollers: VecDeque::new(),
        }
    }
    /// Takes a message in and says whom to wake for it; `None`: there is no room.
    fn write(&mut self, value: u64, now: Instant, slept: bool, rule: PipeWakeup) -> Option<Wakes> {
        let was_empty = self.messages.is_empty();
        let room = match &mut self.pages {
            None => self.messages.len() < self.capacity,
            Some(pages) => pages.write(slept),
        };
        if !room {
            return None;
        }
        let wakes = match &self.pages {
            None => Wakes { readers: true, writers: false },
            Some(pages) => {
                Wakes { readers: rule.after_write(was_empty), writers: slept && !rule.wakes_all() && !pages.is_full() }
            }
        };
        self.messages.push_back((value, now));
        Some(wakes)
    }
    /// Gives the oldest message out and says whom to wake for that; `None`: there is none.
    fn read(&mut self, slept: bool, rule: PipeWakeup) -> Option<(u64, Instant, Wakes)> {
        let (value, written) = self.messages.pop_front()?;
        self.read += 1;
        let wakes = match &mut self.pages {
            None => Wakes { readers: false, writers: true },
            Some(pages) => {
                let was_full = pages.is_full();
                let freed = pages.read();
                let more = !self.messages.is_empty();
                Wakes { readers: slept && !rule.wakes_all() && more, writers: rule.after_read(was_full, freed) }
            }
        };
        Some((value, written, wakes))
    }
    /// The messages that nobody has read: their numbers in the order in which they were written, and when that was.
    fn unread(&self) -> impl Iterator<Item = (u64, Instant)> {
        self.messages.iter().zip(1..).map(|(&(_, written), place)| (self.read + place, written))
    }
    /// Whether a wake-up is that of a queue of messages without a size, in which it is for one task at the other end.
    fn wakes_one(&self) -> bool {
        self.pages.is_none() && self.pollers.is_empty()
    }
    /// The reader to wake after a write.
    pub(crate) fn next_reader(&mut self) -> Option<TaskId> {
        self.readers.pop_front()
    }
    /// The writer to wake after a read.
    pub(crate) fn next_writer(&mut self) -> Option<TaskId> {
        self.writers.pop_front()
    }
    /// Whom a wake-up reaches, in this order. Who polls queued in front of those before; who reads or writes did so where
    /// all are woken, and behind them where one is.
    ///
    /// Kernel: wait.c prepare_to_wait(), prepare_to_wait_event(), select.c __pollwait(), v4.12–
    fn take_waiters(&mut self, wakes: Wakes, rule: PipeWakeup, wake_q: &mut VecDeque<TaskId>) {
        let all = self.pages.is_some() && rule.wakes_all();
        if wakes.readers {
            wake_q.extend(self.pollers.drain(..).rev());
        }
        if all && (wakes.readers || wakes.writers) {
            wake_q.extend(self.readers.drain(..).rev());
            wake_q.extend(self.writers.drain(..).rev());
            return;
        }
        if wakes.readers {
            wake_q.extend(self.readers.pop_front());
        }
        if wakes.writers {
            wake_q.extend(self.writers.pop_front());
        }
    }
}

impl Simulation {
    /// The messages of all pipes that nobody has read so far: pipe, number in it from 1 on, and when it was written.
    pub fn unread_messages(&self) -> impl Iterator<Item = (PipeId, u64, Instant)> {
        self.pipes.iter_enumerated().flat_map(|(pipe, row)| row.unread().map(move |(number, written)| (pipe, number, written)))
    }

    /// Kernel: pipe.c pipe_write(), v4.12–
    #[inline(never)]
    pub(crate) fn pipe_write(&mut self, cpu: CpuId, pipe: PipeId, value: u64, slept: bool) -> Next {
        let task = self.sched.rq(cpu).curr.expect("invariant: a task is in its system call");
        let rule = self.sched.profile().pipe_wakeup;
        let end = &mut self.pipes[pipe];
        let Some(wakes) = end.write(value, self.now, slept, rule) else {
            end.writers.push_back(task);
            return self.sleep_in(cpu, task, Then::PipeWrite { pipe, value, slept: true });
        };
        let then = if end.wakes_one() { Then::WakeReader(pipe) } else { Then::PipeWake(pipe, wakes) };
        self.go_on(cpu, then)
    }

    /// Kernel: pipe.c pipe_read(), v4.12–
    #[inline(never)]
    pub(crate) fn pipe_read(&mut self, rec: &mut Recorder<'_>, cpu: CpuId, pipe: PipeId, into: u8, slept: bool) -> Next {
        let task = self.sched.rq(cpu).curr.expect("invariant: a task is in its system call");
        let rule = self.sched.profile().pipe_wakeup;
        let now = self.now;
        let mut tell = |act| rec.message(now, &MessageEvent { pipe, task, act });
        if !slept {
            tell(MessageAct::Asks);
        }
        let end = &mut self.pipes[pipe];
        let Some((value, written, wakes)) = end.read(slept, rule) else {
            end.readers.push_back(task);
            return self.sleep_in(cpu, task, Then::PipeRead { pipe, into, slept: true });
        };
        tell(MessageAct::Has { number: end.read, written, slept });
        let then = if end.wakes_one() { Then::WakeWriter(pipe) } else { Then::PipeWake(pipe, wakes) };
        self.tasks[task].frame.set(into, value);
        self.cpus[cpu].meter.count(Op::PipeOp);
        self.pay(cpu, Section::Syscall, then)
    }

    /// Kernel: pipe.c pipe_poll(), select.c do_poll(), v4.12–
    #[inline(never)]
    pub(crate) fn pipe_poll(&mut self, cpu: CpuId, pipe: PipeId) -> Next {
        if !self.pipes[pipe].messages.is_empty() {
            return self.pay(cpu, Section::Syscall, Then::Resume);
        }
        let task = self.sched.rq(cpu).curr.expect("invariant: a task is in its system call");
        self.pipes[pipe].pollers.push_back(task);
        self.sleep_in(cpu, task, Then::PipePoll(pipe))
    }

    /// The end of a read or write of a pipe: whom it wakes is woken, one after the other.
    ///
    /// Kernel: wait.c __wake_up_sync_key(), v4.12–
    #[inline(never)]
    pub(crate) fn pipe_wake(&mut self, cpu: CpuId, pipe: PipeId, wakes: Wakes) -> Next {
        let rule = self.sched.profile().pipe_wakeup;
        let end = &mut self.pipes[pipe];
        end.take_waiters(wakes, rule, &mut self.cpus[cpu].wake_q);
        let sync = end.sync;
        self.go_on(cpu, Then::WakeUpQ { sync })
    }
}
