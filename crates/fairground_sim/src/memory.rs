//! Memory that tasks share, and who waits for it: asleep on a futex, or computing in a loop that looks at a word.

use crate::cpu::{AfterWake, Doing, Then};
use crate::kernel::Next;
use crate::queue::Slot;
use crate::simulation::Simulation;
use crate::task::Want;
use fairground_model::{Mode, PrevState, Recorder, WakeContext};
use fairground_sched::WakeFlags;
use fairground_stdx::{CpuId, IndexVec, Ns, TaskId, WordId};
use std::collections::VecDeque;

/// The shared words of a run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Memory {
    /// What each word holds.
    pub(crate) words: IndexVec<WordId, u64>,
    /// Who sleeps on each word, first come first.
    waiters: IndexVec<WordId, VecDeque<TaskId>>,
    /// Who computes until a word no longer holds a value.
    spinners: Vec<(TaskId, WordId, u64)>,
}

impl Memory {
    /// Memory that nobody waits for yet.
    pub(crate) fn new(words: IndexVec<WordId, u64>) -> Memory {
        let waiters = words.iter().map(|_| VecDeque::new()).collect();
        Memory { words, waiters, spinners: Vec::new() }
    }
    /// `task` begins to look at a word in a loop.
    pub(crate) fn spin(&mut self, task: TaskId, word: WordId, value: u64) {
        self.spinners.push((task, word, value));
    }
    /// Whether `task` still has to go round, if it does so at all.
    pub(crate) fn spins(&self, task: TaskId) -> bool {
        self.spinners.iter().any(|&(spinner, word, value)| spinner == task && self.words[word] == value)
    }
    /// `task` has left its loop.
    pub(crate) fn leave(&mut self, task: TaskId) {
        self.spinners.retain(|row| row.0 != task);
    }
}

impl Simulation {
    /// A program has perhaps written: whoever computes until one of its words changes sees it now. One that is
    /// interrupted or not on a CPU sees it when it goes on.
    pub(crate) fn show_writes(&mut self) {
        for row in 0..self.memory.spinners.len() {
            let (task, word, value) = self.memory.spinners[row];
            let cpu = self.sched.task(task).cpu;
            let looks = self.sched.rq(cpu).curr == Some(task) && self.cpus[cpu].doing == Doing::Compute;
            let looks = looks && self.tasks[task].refill == Ns::ZERO;
            if looks && self.memory.words[word] != value {
                // A tick takes its time whatever happens.
                let at = self.queue.irqs_held_until(cpu).max(self.now);
                self.queue.set(cpu, Slot::Segment, Some(at));
            }
        }
    }

    /// The body of FUTEX_WAIT: looks once more, then sleeps.
    ///
    /// Kernel: futex.c futex_wait_setup(), futex_wait_queue_me(), futex/waitwake.c from v5.16, v4.12–
    #[inline(never)]
    pub(crate) fn futex_wait(&mut self, cpu: CpuId, word: WordId, value: u64) -> Next {
        if self.memory.words[word] != value {
            return self.go_on(cpu, Then::Resume);
        }
        let task = self.sched.rq(cpu).curr.expect("invariant: a task is in its system call");
        self.memory.waiters[word].push_back(task);
        self.sched.set_current_state(cpu, PrevState::Sleeping);
        self.go_on(cpu, Then::Schedule)
    }

    /// The body of FUTEX_WAKE: takes the first waiters off the word; they are woken when its lock is free again.
    ///
    /// Kernel: futex.c futex_wake(), futex/waitwake.c from v5.16, v4.12–
    #[inline(never)]
    pub(crate) fn futex_wake(&mut self, cpu: CpuId, word: WordId, count: u32) -> Next {
        let waiters = &mut self.memory.waiters[word];
        let woken = waiters.len().min(count as usize);
        self.cpus[cpu].wake_q.extend(waiters.drain(..woken));
        self.go_on(cpu, Then::WakeUpQ { sync: false })
    }

    /// Wakes the tasks that a system call has collected, one after the other. Interrupts come between them, but the list is
    /// the CPU's, so the task stays.
    ///
    /// Kernel: core.c wake_up_q(), wait.c __wake_up_common(), v4.12–
    #[inline(never)]
    pub(crate) fn wake_up_q(&mut self, rec: &mut Recorder<'_>, cpu: CpuId, sync: bool) -> Next {
        let flags = WakeFlags { sync, context: WakeContext::Task };
        if self.queue.irq_is_late(cpu)
            && let Some(task) = self.sched.rq(cpu).curr
        {
            let row = &mut self.tasks[task];
            (row.want, row.mode) = (Want::Retry(Then::WakeUpQ { sync }), Mode::NoPreempt);
            return self.enable_irqs(cpu);
        }
        match self.cpus[cpu].wake_q.pop_front() {
            Some(wakee) => self.wake(rec, cpu, wakee, flags, AfterWake::WakeUpQ { sync }),
            None => self.syscall_ends(rec, cpu),
        }
    }
}
