//! Connections of a task set, and the kernel threads that come with them.

use crate::program::{Instr, Program};
use crate::socket::{SockKind, SockSpec};
use crate::task_set::{Start, TaskSet, TaskSpec};
use fairground_stdx::{CpuId, CpuMask, Id, IndexVec, SockId};

impl TaskSet {
    /// Two sockets that are connected.
    pub fn connect(&mut self, kind: SockKind) -> [SockId; 2] {
        let first = SockId::from_index(self.socks.len());
        let second = SockId::new(first.get() + 1);
        [self.socks.push(SockSpec { kind, peer: second }), self.socks.push(SockSpec { kind, peer: first })]
    }

    /// Whether it has sockets whose messages are packets.
    pub fn sends_packets(&self) -> bool {
        self.socks.iter().any(|sock| sock.kind.is_inet())
    }

    /// Which sockets are of another machine: a task there sends into them, or receives from them.
    pub fn elsewhere(&self) -> IndexVec<SockId, bool> {
        let mut elsewhere: IndexVec<SockId, bool> = self.socks.iter().map(|_| false).collect();
        for task in self.tasks.iter().filter(|task| task.elsewhere) {
            self.programs[task.program].code.iter().filter_map(Instr::socket).for_each(|sock| elsewhere[sock] = true);
        }
        elsewhere
    }

    /// Adds the thread `ksoftirqd/N` of each CPU, if the set has sockets with packets and they are not there yet: without
    /// packets nothing is ever left to them.
    ///
    /// Kernel: softirq.c spawn_ksoftirqd(), v4.12–
    pub fn add_ksoftirqd(&mut self, cpus: usize) {
        if !self.sends_packets() || !self.ksoftirqd.is_empty() {
            return;
        }
        let program = self.programs.push(Program::from(vec![Instr::ServeSoftirqs, Instr::Jump { to: 0 }]));
        let mm = self.tasks.iter().map(|task| task.mm + 1).max().unwrap_or(0);
        for cpu in (0..cpus).map(CpuId::from_index) {
            let spec = TaskSpec::new(format!("ksoftirqd/{cpu}"), program);
            let only = (Some(CpuMask::only(cpu)), Some(cpu));
            let thread = TaskSpec {
                affinity: only.0,
                first_cpu: only.1,
                start: Start::Asleep,
                kthread: true,
                measured: false,
                mm,
                ..spec
            };
            let thread = self.tasks.push(thread);
            self.ksoftirqd.push(thread);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_stay_connected_when_sets_are_joined() {
        let mut set = TaskSet::default();
        let [client, server] = set.connect(SockKind::Stream);
        set.programs.push(Program::from(vec![Instr::Send { sock: client, bytes: 1 }, Instr::Recv { sock: server, bytes: 1 }]));
        set.append(set.clone());
        let peers: Vec<u32> = set.socks.iter().map(|sock| sock.peer.get()).collect();
        assert_eq!(peers, [1, 0, 3, 2]);
        let second = &set.programs.iter().last().map(|program| program.code.clone());
        let expected = [Instr::Send { sock: SockId::new(2), bytes: 1 }, Instr::Recv { sock: SockId::new(3), bytes: 1 }];
        assert_eq!(second.as_deref().map(Vec::as_slice), Some(&expected[..]));
    }

    #[test]
    fn threads_come_with_sockets_and_only_once() {
        let mut set = TaskSet::default();
        set.add_ksoftirqd(2);
        set.connect(SockKind::Unix);
        set.add_ksoftirqd(2);
        assert!(set.tasks.is_empty());
        set.connect(SockKind::Datagram);
        set.add_ksoftirqd(2);
        set.add_ksoftirqd(2);
        let names: Vec<&str> = set.tasks.iter().map(|task| task.name.as_str()).collect();
        assert_eq!(names, ["ksoftirqd/0", "ksoftirqd/1"]);
    }
}
