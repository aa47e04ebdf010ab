//! One socket: what it has received, and who waits for that.

use super::unix::UnixQueue;
use fairground_model::{SockKind, SockSpec};
use fairground_stdx::{SockId, TaskId};
use std::collections::VecDeque;

/// The largest receive buffer of a TCP connection, bytes (the last number of tcp_rmem).
///
/// Kernel: tcp.c tcp_init(), v4.12–
const TCP_RMEM_MAX: u64 = 6 << 20;
/// The receive buffer of another socket, bytes: room for 256 packets of 256 bytes.
///
/// Kernel: sock.h SK_RMEM_MAX, sysctl_rmem_default, v4.12–
const RMEM_DEFAULT: u64 = 212_992;
/// What a datagram occupies of it beside its bytes.
const TRUESIZE: u64 = 768;

/// Datagrams for which there is room from the beginning.
const ROOM: usize = 4;

/// A socket of a run.
#[derive(Clone, Debug)]
pub(crate) struct Socket {
    spec: SockSpec,
    /// It is one of another machine.
    elsewhere: bool,
    /// Bytes of the receive buffer that are in use.
    rmem: u64,
    /// The sizes of datagrams that wait, oldest first.
    datagrams: VecDeque<u32>,
    /// Who sleeps until something comes.
    reader: Option<TaskId>,
    /// The messages of an AF_UNIX stream.
    pub(super) unix: UnixQueue,
}

impl Socket {
    pub(crate) fn new(spec: &SockSpec, elsewhere: bool) -> Socket {
        Socket {
            spec: *spec,
            elsewhere,
            rmem: 0,
            datagrams: VecDeque::with_capacity(ROOM),
            reader: None,
            unix: UnixQueue::default(),
        }
    }
    pub(crate) fn kind(&self) -> SockKind {
        self.spec.kind
    }
    pub(crate) fn is_elsewhere(&self) -> bool {
        self.elsewhere
    }
    pub(crate) fn peer(&self) -> SockId {
        self.spec.peer
    }
    /// Takes a packet or a message in, if there is room. A buffer that is not full takes any.
    pub(crate) fn queue(&mut self, bytes: u32) -> bool {
        let (limit, size) = match self.spec.kind {
            SockKind::Unix => return self.unix.queue(bytes),
            SockKind::Stream => (TCP_RMEM_MAX, u64::from(bytes)),
            SockKind::Datagram => (RMEM_DEFAULT, u64::from(bytes) + TRUESIZE),
        };
        if self.rmem > limit {
            return false;
        }
        self.rmem += size;
        if self.spec.kind == SockKind::Datagram {
            self.datagrams.push_back(bytes);
        }
        true
    }
    /// Whether a receive of `wanted` bytes finds all of them.
    #[inline]
    pub(crate) fn holds(&self, wanted: u32) -> bool {
        match self.spec.kind {
            SockKind::Stream => self.rmem >= u64::from(wanted),
            SockKind::Datagram => !self.datagrams.is_empty(),
            SockKind::Unix => self.unix.holds(wanted),
        }
    }
    /// Takes out what is there, at most `wanted` bytes; also returns how many are missing then. `None` = nothing is there.
    pub(crate) fn take(&mut self, wanted: u32) -> Option<(u32, u32)> {
        match self.spec.kind {
            SockKind::Stream => {
                let taken = self.rmem.min(u64::from(wanted)) as u32;
                self.rmem -= u64::from(taken);
                (taken > 0).then_some((taken, wanted - taken))
            }
            SockKind::Datagram => {
                let bytes = self.datagrams.pop_front()?;
                self.rmem -= u64::from(bytes) + TRUESIZE;
                Some((bytes.min(wanted), 0))
            }
            SockKind::Unix => self.unix.take(wanted),
        }
    }
    pub(crate) fn wait(&mut self, task: TaskId) {
        self.reader = Some(task);
    }
    /// Whom to wake for what has come.
    pub(crate) fn take_reader(&mut self) -> Option<TaskId> {
        self.reader.take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn socket(kind: SockKind) -> Socket {
        Socket::new(&SockSpec { kind, peer: SockId::new(0) }, false)
    }

    #[test]
    fn a_stream_gives_what_it_has() {
        let mut stream = socket(SockKind::Stream);
        assert_eq!(stream.take(10), None);
        assert!(stream.queue(7) && stream.queue(8));
        assert_eq!([10, 10].map(|wanted| stream.take(wanted)), [Some((10, 0)), Some((5, 5))]);
    }

    #[test]
    fn a_datagram_is_one_message_whatever_is_asked_for() {
        let mut socket = socket(SockKind::Datagram);
        assert!(socket.queue(7) && socket.queue(8));
        assert_eq!([10, 3, 1].map(|wanted| socket.take(wanted)), [Some((7, 0)), Some((3, 0)), None]);
    }

    #[test]
    fn buffers_end() {
        let mut datagrams = socket(SockKind::Datagram);
        // 212992 / 769 = 276.97: the 277th leaves it over its limit.
        assert_eq!((0..1000).take_while(|_| datagrams.queue(1)).count(), 277);
        let mut stream = socket(SockKind::Stream);
        assert_eq!((0..1000).take_while(|_| stream.queue(1 << 16)).count(), 97);
    }
}
