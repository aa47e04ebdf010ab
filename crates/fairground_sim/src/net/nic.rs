//! Packets from another machine: the receive ring that a CPU serves for its network device.

use super::Packet;
use fairground_stdx::Instant;
use std::collections::VecDeque;

/// The packets that a ring holds: one more is lost. As many as drivers have unless told otherwise.
const RING: usize = 1024;
/// Packets for which there is room from the beginning.
const ROOM: usize = 64;

/// A ring: packets on the wire and packets that have come, oldest first.
#[derive(Clone, Debug, Default)]
pub(crate) struct RxRing {
    packets: VecDeque<(Instant, Packet)>,
    /// It is polled (NAPI_STATE_SCHED): the device does not interrupt.
    scheduled: bool,
}

impl RxRing {
    /// An empty ring that need not grow soon.
    pub(crate) fn with_room() -> RxRing {
        RxRing { packets: VecDeque::with_capacity(ROOM), scheduled: false }
    }

    /// A packet is sent and will have come at `arrives`, not before any other. Returns whether the device is to interrupt then: `None` =
    /// there is no room for it.
    pub(crate) fn push(&mut self, now: Instant, arrives: Instant, packet: Packet) -> Option<bool> {
        let come = self.packets.partition_point(|row| row.0 <= now);
        if come >= RING {
            return None;
        }
        self.packets.push_back((arrives, packet));
        Some(!self.scheduled && self.packets.len() == 1)
    }

    /// The device interrupts: the ring is polled from now on.
    ///
    /// Kernel: dev.c napi_schedule(), v4.12–
    pub(crate) fn schedule(&mut self) {
        self.scheduled = true;
    }

    /// The next packet that has come, as long as the ring is polled.
    pub(crate) fn poll(&mut self, now: Instant) -> Option<Packet> {
        let come = self.scheduled && self.packets.front().is_some_and(|row| row.0 <= now);
        if come { self.packets.pop_front().map(|row| row.1) } else { None }
    }

    /// Nothing has come: the ring is polled no longer. Returns when the device interrupts next.
    ///
    /// Kernel: dev.c napi_complete_done(), v4.12–
    pub(crate) fn complete(&mut self) -> Option<Instant> {
        let was_polled = std::mem::take(&mut self.scheduled);
        self.packets.front().filter(|_| was_polled).map(|row| row.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairground_stdx::{Ns, SockId};

    fn packet(bytes: u32) -> Packet {
        Packet { to: SockId::new(0), bytes }
    }
    fn at(ns: u64) -> Instant {
        Instant::from_ns(ns)
    }

    #[test]
    fn the_first_packet_interrupts_and_those_that_come_while_the_ring_is_polled_do_not() {
        let mut ring = RxRing::with_room();
        assert_eq!([10, 20, 90].map(|ns| ring.push(at(0), at(ns), packet(ns as u32))), [Some(true), Some(false), Some(false)]);
        assert_eq!(ring.poll(at(15)), None, "the device has not interrupted yet");
        ring.schedule();
        assert_eq!([15, 15, 25, 25].map(|ns| ring.poll(at(ns))), [Some(packet(10)), None, Some(packet(20)), None]);
        assert_eq!(ring.push(at(25), at(95), packet(95)), Some(false));
        assert_eq!(ring.complete(), Some(at(90)), "for what is on the wire");
        assert_eq!((ring.complete(), ring.poll(at(99))), (None, None), "that is not polled");
        ring.schedule();
        assert_eq!([99, 99, 99].map(|ns| ring.poll(at(ns))), [Some(packet(90)), Some(packet(95)), None]);
        assert_eq!(ring.complete(), None);
        assert_eq!(ring.push(at(99), at(100), packet(1)), Some(true));
    }

    #[test]
    fn packets_on_the_wire_take_no_room() {
        let mut ring = RxRing::with_room();
        let arrives = at(50);
        assert!((0..2 * RING).all(|_| ring.push(at(0), arrives, packet(1)).is_some()));
        assert_eq!(ring.push(arrives, arrives + Ns(50), packet(1)), None);
    }
}
