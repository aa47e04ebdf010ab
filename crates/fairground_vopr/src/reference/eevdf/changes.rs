//! What is changed from outside: nice, policy, slice and the CPU that a task may use.

use super::machine::{Reference, granted, weight_of};
use super::queue::{Fair, Leave};
use super::workload::{Change, What};
use fairground_model::Policy;

impl Reference {
    pub(super) fn change(&mut self, change: Change) {
        let task = change.task;
        match change.what {
            What::Nice(nice) => self.set_nice(self.tasks[task].cpu, task, nice),
            What::Slice(slice) => self.set_slice(self.tasks[task].cpu, task, slice),
            What::Move(cpu) => self.pin(task, cpu),
        }
    }

    pub(super) fn set_nice(&mut self, cpu: usize, task: usize, nice: i8) {
        let old = std::mem::replace(&mut self.tasks[task].nice, nice);
        if old == nice {
            return;
        }
        let weight = weight_of(self.tasks[task].habit.policy, nice);
        self.change_off_queue(cpu, task, |fair| fair.reweight(task, weight));
        if self.fair.on_queue(cpu).len() == 1 {
            // It is alone: there is nobody to give way to.
        } else if self.fair.queues[cpu].curr == Some(task) {
            self.cpus[cpu].resched |= nice > old;
        } else if self.fair.entities[task].on_rq {
            self.check_preempt(cpu, task, false);
        }
    }

    /// Another policy is another weight, but no other priority: nobody is preempted by it. Where tasks can have slices of their own, the
    /// same policy asked for again takes a task without one off its queue too: it asks for no slice, which is never the one it has.
    pub(super) fn set_policy(&mut self, cpu: usize, task: usize, policy: Policy) {
        let asks_for_slice = policy != Policy::Idle && self.fair.kernel.has_own_slices && !self.fair.entities[task].own_slice;
        if std::mem::replace(&mut self.tasks[task].habit.policy, policy) != policy || asks_for_slice {
            let weight = weight_of(policy, self.tasks[task].nice);
            self.change_off_queue(cpu, task, |fair| fair.reweight(task, weight));
        }
    }

    /// The next requests are of another length, or again of that of all; the present one stays as long as it is. What
    /// is asked for and is so already changes nothing.
    pub(super) fn set_slice(&mut self, cpu: usize, task: usize, slice: Option<u64>) {
        if !self.fair.kernel.has_own_slices || slice == Some(self.fair.entities[task].slice) {
            return;
        }
        let wanted = granted(slice, &self.setting);
        self.change_off_queue(cpu, task, |fair| {
            (fair.entities[task].slice, fair.entities[task].own_slice) = (wanted, slice.is_some());
        });
    }

    /// Takes a task off its queue for the time of a change; if it ran it goes on, as a rule under a new protection.
    fn change_off_queue(&mut self, cpu: usize, task: usize, change: impl FnOnce(&mut Fair)) {
        let queued = self.fair.entities[task].on_rq;
        let running = self.fair.queues[cpu].curr == Some(task);
        let protection = self.fair.entities[task].protection;
        if queued {
            self.dequeue(task, Leave::Restore);
        }
        if running {
            self.fair.put_prev(cpu);
        }
        change(&mut self.fair);
        if queued {
            self.enqueue(task, cpu, false);
        }
        if running {
            self.set_next(cpu, task);
            if self.fair.kernel.keeps_protection {
                self.fair.entities[task].protection = protection;
            }
        }
    }

    /// A task may use another CPU only. It is placed anew for that where it is, and then moves.
    fn pin(&mut self, task: usize, target: usize) {
        if std::mem::replace(&mut self.tasks[task].pinned, target) == target {
            return;
        }
        let cpu = self.tasks[task].cpu;
        self.change_off_queue(cpu, task, |_| ());
        let running = self.fair.queues[cpu].curr == Some(task);
        self.tasks[task].moves = running && cpu != target;
        if running {
            self.cpus[cpu].resched |= cpu != target;
        } else if self.fair.entities[task].on_rq && cpu != target {
            self.dequeue(task, Leave::Move);
            self.enqueue(task, target, false);
            self.check_preempt(target, task, false);
        }
    }
}
