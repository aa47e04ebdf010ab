//! Sockets of the loopback interface, and the kernel threads that come with them.
//!
//! ```text
//!  sender's CPU                                                          reader's CPU
//!  send ─ copy ─ output ─ backlog of this CPU ─┐
//!                                              └─ NET_RX softirq ─ input ─ socket of the peer ─ wake-up ─ recv ─ copy
//! ```

use crate::program::{Instr, Program};
use crate::task_set::{Start, TaskSet, TaskSpec};
use fairground_stdx::{CpuId, CpuMask, Id, SockId};

/// What a socket carries.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SockKind {
    /// A TCP connection: a stream of bytes. [`Instr::Recv`] is the loop that programs make around `recv`: each call takes
    /// what is there, up to what is still missing; one that finds nothing sleeps until the next packet.
    Stream,
    /// UDP, connected: each message is one datagram, and [`Instr::Recv`] takes one.
    Datagram,
    /// An AF_UNIX stream: a message goes from the sender's memory into the other socket in the sender's system call. Who
    /// sends when the write memory of the socket is used up sleeps until little of it is.
    Unix,
}

/// One socket. What is sent into it comes out of its peer. One task reads from it; any number may send.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SockSpec {
    /// What it carries.
    pub kind: SockKind,
    /// The other end.
    pub peer: SockId,
}

/// The most that a message to a stream may hold, bytes.
pub const STREAM_BYTES_MAX: u32 = 1 << 20;
/// The most that a datagram may hold, bytes: an IP packet of 65535 bytes less 20 of its header and 8 of UDP's.
pub const DATAGRAM_BYTES_MAX: u32 = 65_507;

/// The most that a message to an AF_UNIX stream may hold, bytes: what lies in one piece, a page less 320 for the data that
/// the kernel keeps behind it. More would be sent in parts.
///
/// Kernel: skbuff.h SKB_MAX_HEAD(0) with 64-byte lines, v4.12–
pub const UNIX_BYTES_MAX: u32 = 3776;

impl SockKind {
    /// Whether its messages are packets of the loopback interface.
    pub const fn is_inet(self) -> bool {
        matches!(self, SockKind::Stream | SockKind::Datagram)
    }
    /// The most that one message may hold, bytes.
    pub const fn bytes_max(self) -> u32 {
        match self {
            SockKind::Stream => STREAM_BYTES_MAX,
            SockKind::Datagram => DATAGRAM_BYTES_MAX,
            SockKind::Unix => UNIX_BYTES_MAX,
        }
    }
}

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

    /// Adds the thread `ksoftirqd/N` of each CPU, if the set has sockets with packets and they are not there yet: without
    /// packets nothing is ever left to them.
    ///
    /// Kernel: softirq.c spawn_ksoftirqd(), v4.12–
    pub fn add_ksoftirqd(&mut self, cpus: usize) {
        if !self.sends_packets() || !self.ksoftirqd.is_empty() {
            return;
        }
        let program = self.programs.push(Program { code: vec![Instr::ServeSoftirqs, Instr::Jump { to: 0 }] });
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
        set.programs.push(Program { code: vec![Instr::Send { sock: client, bytes: 1 }, Instr::Recv { sock: server, bytes: 1 }] });
        set.append(set.clone());
        let peers: Vec<u32> = set.socks.iter().map(|sock| sock.peer.get()).collect();
        assert_eq!(peers, [1, 0, 3, 2]);
        let second = &set.programs.iter().last().map(|program| program.code.clone());
        let expected = [Instr::Send { sock: SockId::new(2), bytes: 1 }, Instr::Recv { sock: SockId::new(3), bytes: 1 }];
        assert_eq!(second.as_deref(), Some(&expected[..]));
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
