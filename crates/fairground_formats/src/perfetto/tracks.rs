//! The tracks of a Perfetto trace beside those that the viewer makes of scheduling events.

use crate::export::Shown;
use crate::perfetto::proto::{CounterUnit, TrackDescriptor, thread_descriptor};
use crate::perfetto::wire::Message;
use fairground_stdx::{CpuId, LockId, MarkerId, TaskId};

/// A track. Its number in the file is made of the kind (bits 56–63) and its ids.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Track {
    /// Heading over the tracks of a CPU.
    Cpu(CpuId),
    /// Instants of the decisions made on a CPU.
    Decisions(CpuId),
    /// Slices of kernel sections on a CPU.
    Kernel(CpuId),
    /// Counter: runnable tasks of a CPU.
    NrRunning(CpuId),
    /// Counter: util_avg of a CPU's root queue.
    CpuUtil(CpuId),
    /// Counter: load_avg of a CPU's root queue.
    CpuLoad(CpuId),
    /// A thread: the parent of its counters.
    Thread(TaskId),
    /// Counter: util_avg of a task.
    TaskUtil(TaskId),
    /// Counter: vruntime of a task.
    Vruntime(TaskId),
    /// Counter: values of a marker made by a task.
    Marker(TaskId, MarkerId),
    /// A lock: heading over its tracks.
    Lock(LockId),
    /// Counter: tasks that go on with a lock.
    LockHolders(LockId),
    /// Counter: tasks that wait for a lock.
    LockWaiters(LockId),
    /// Slices of a task's waits for a lock and its holds.
    LockUser(LockId, TaskId),
}

impl Track {
    pub(super) fn uuid(self) -> u64 {
        let (kind, id, sub) = match self {
            Track::Cpu(cpu) => (1, cpu.get(), 0),
            Track::Decisions(cpu) => (2, cpu.get(), 0),
            Track::Kernel(cpu) => (3, cpu.get(), 0),
            Track::NrRunning(cpu) => (4, cpu.get(), 0),
            Track::CpuUtil(cpu) => (5, cpu.get(), 0),
            Track::CpuLoad(cpu) => (6, cpu.get(), 0),
            Track::Thread(task) => (16, task.get(), 0),
            Track::TaskUtil(task) => (17, task.get(), 0),
            Track::Vruntime(task) => (18, task.get(), 0),
            Track::Marker(task, marker) => (19, task.get(), marker.get()),
            Track::Lock(lock) => (32, lock.get(), 0),
            Track::LockHolders(lock) => (33, lock.get(), 0),
            Track::LockWaiters(lock) => (34, lock.get(), 0),
            Track::LockUser(lock, task) => (35, task.get(), lock.get()),
        };
        // A row number has 32 bits; the 24 between it and the kind are left for markers and locks.
        kind << 56 | u64::from(sub & 0xff_ffff) << 32 | u64::from(id)
    }
    /// The track above it.
    pub(super) fn parent(self) -> Option<Track> {
        match self {
            Track::Cpu(_) | Track::Thread(_) | Track::Lock(_) => None,
            Track::LockHolders(lock) | Track::LockWaiters(lock) | Track::LockUser(lock, _) => Some(Track::Lock(lock)),
            Track::Decisions(cpu) | Track::Kernel(cpu) | Track::NrRunning(cpu) | Track::CpuUtil(cpu) | Track::CpuLoad(cpu) => {
                Some(Track::Cpu(cpu))
            }
            Track::TaskUtil(task) | Track::Vruntime(task) | Track::Marker(task, _) => Some(Track::Thread(task)),
        }
    }
    /// What introduces it. `name` is the marker's or CPU's name where the kind has none of its own.
    pub(super) fn descriptor(self, name: &str, unit: CounterUnit, shown: Option<Shown<'_>>) -> Message {
        let descriptor = TrackDescriptor {
            uuid: self.uuid(),
            parent_uuid: self.parent().map(Track::uuid),
            name: shown.is_none().then_some(name),
            thread: shown.map(|task| thread_descriptor(task.pid, task.name)),
            counter: self.is_counter().then_some(unit),
        };
        descriptor.message()
    }
    fn is_counter(self) -> bool {
        let heading = matches!(self, Track::Cpu(_) | Track::Thread(_) | Track::Lock(_));
        !heading && !matches!(self, Track::Decisions(_) | Track::Kernel(_) | Track::LockUser(..))
    }
}
