//! Sockets of the loopback interface.
//!
//! ```text
//!  sender's CPU                                                          reader's CPU
//!  send ─ copy ─ output ─ backlog of this CPU ─┐
//!                                              └─ NET_RX softirq ─ input ─ socket of the peer ─ wake-up ─ recv ─ copy
//! ```

use fairground_stdx::SockId;

/// What a socket carries.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SockKind {
    /// A TCP connection: a stream of bytes. [`crate::Instr::Recv`] is the loop that programs make around `recv`: each call takes
    /// what is there, up to what is still missing; one that finds nothing sleeps until the next packet.
    Stream,
    /// UDP, connected: each message is one datagram, and [`crate::Instr::Recv`] takes one.
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
