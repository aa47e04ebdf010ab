//! Packets on their way through the loopback interface: the queues of one CPU.

use fairground_stdx::SockId;
use std::collections::VecDeque;

/// The longest queue to which a packet is still added.
///
/// Kernel: dev.c netdev_max_backlog, v4.12–
const NETDEV_MAX_BACKLOG: usize = 1000;

/// A packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Packet {
    /// The socket that it goes to.
    pub(crate) to: SockId,
    /// Bytes of the message that it carries.
    pub(crate) bytes: u32,
}

/// The packets that wait on one CPU: those that came, and those that are being received.
#[derive(Clone, Debug, Default)]
pub(crate) struct Backlog {
    input_pkt_queue: VecDeque<Packet>,
    process_queue: VecDeque<Packet>,
    /// It is on the list of queues that NET_RX goes through (NAPI_STATE_SCHED).
    scheduled: bool,
}

/// Packets for which there is room from the beginning.
const ROOM: usize = 64;

impl Backlog {
    /// An empty backlog that need not grow soon.
    pub(crate) fn with_room() -> Backlog {
        let queue = || VecDeque::with_capacity(ROOM);
        Backlog { input_pkt_queue: queue(), process_queue: queue(), scheduled: false }
    }

    /// Adds a packet, if there is room for it; whether NET_RX must be raised.
    ///
    /// Kernel: dev.c enqueue_to_backlog(), v4.12–
    pub(crate) fn push(&mut self, packet: Packet) -> Option<bool> {
        if self.input_pkt_queue.len() > NETDEV_MAX_BACKLOG {
            return None;
        }
        self.input_pkt_queue.push_back(packet);
        Some(!std::mem::replace(&mut self.scheduled, true))
    }

    /// Takes the next packet out. Without one the queue leaves the list of NET_RX.
    ///
    /// Kernel: dev.c process_backlog(), v4.12–
    pub(crate) fn pop(&mut self) -> Option<Packet> {
        if self.process_queue.is_empty() {
            std::mem::swap(&mut self.process_queue, &mut self.input_pkt_queue);
        }
        let packet = self.process_queue.pop_front();
        self.scheduled = packet.is_some();
        packet
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(bytes: u32) -> Packet {
        Packet { to: SockId::new(0), bytes }
    }

    #[test]
    fn packets_come_out_in_order_and_only_the_first_raises() {
        let mut backlog = Backlog::default();
        assert_eq!([1, 2].map(|bytes| backlog.push(packet(bytes))), [Some(true), Some(false)]);
        assert_eq!(backlog.pop(), Some(packet(1)));
        assert_eq!(backlog.push(packet(3)), Some(false), "it is on the list still");
        assert_eq!([0; 3].map(|_| backlog.pop()), [Some(packet(2)), Some(packet(3)), None]);
        assert_eq!(backlog.push(packet(4)), Some(true));
    }

    #[test]
    fn one_more_than_a_thousand_fit_beside_those_that_are_being_received() {
        let mut backlog = Backlog::default();
        assert!((0..=1000).all(|bytes| backlog.push(packet(bytes)).is_some()));
        assert_eq!(backlog.push(packet(0)), None);
        backlog.pop();
        assert!((0..=1000).all(|bytes| backlog.push(packet(bytes)).is_some()));
        assert_eq!(backlog.push(packet(0)), None);
    }
}
