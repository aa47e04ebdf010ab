//! Pipes: bounded queues of messages with sleeping readers and writers.

use fairground_model::PipeSpec;
use fairground_stdx::TaskId;
use std::collections::VecDeque;

/// One pipe. Waiters are woken in the order in which they came, one per message.
#[derive(Clone, Debug)]
pub(crate) struct Pipe {
    capacity: usize,
    /// Whether wake-ups at its ends are synchronous.
    pub(crate) sync: bool,
    messages: VecDeque<u64>,
    readers: VecDeque<TaskId>,
    writers: VecDeque<TaskId>,
}

impl Pipe {
    pub(crate) fn new(spec: &PipeSpec) -> Pipe {
        let capacity = spec.capacity.max(1) as usize;
        Pipe {
            capacity,
            sync: spec.sync,
            messages: VecDeque::with_capacity(capacity.min(64)),
            readers: VecDeque::with_capacity(2),
            writers: VecDeque::with_capacity(2),
        }
    }
    /// Takes a message in, unless the pipe is full.
    pub(crate) fn push(&mut self, value: u64) -> bool {
        let room = self.messages.len() < self.capacity;
        if room {
            self.messages.push_back(value);
        }
        room
    }
    /// Gives the oldest message out.
    pub(crate) fn pop(&mut self) -> Option<u64> {
        self.messages.pop_front()
    }
    pub(crate) fn wait_to_read(&mut self, task: TaskId) {
        self.readers.push_back(task);
    }
    pub(crate) fn wait_to_write(&mut self, task: TaskId) {
        self.writers.push_back(task);
    }
    /// The reader to wake after a write.
    pub(crate) fn next_reader(&mut self) -> Option<TaskId> {
        self.readers.pop_front()
    }
    /// The writer to wake after a read.
    pub(crate) fn next_writer(&mut self) -> Option<TaskId> {
        self.writers.pop_front()
    }
}
