//! AF_UNIX streams: messages that a sender puts into the other socket in its own system call.

use crate::cpu::Then;
use crate::kernel::Next;
use crate::simulation::Simulation;
use crate::task::Want;
use fairground_model::{Op, Recorder, Section};
use fairground_stdx::{CpuId, SockId, TaskId};
use std::collections::VecDeque;

/// The write memory of a socket, bytes: room for 256 packets of 256 bytes.
///
/// Kernel: sock.h SK_WMEM_MAX, sysctl_wmem_default, v4.12–
const WMEM_DEFAULT: u64 = 212_992;
/// What the kernel keeps behind the bytes of a message, in the same piece of memory: skb_shared_info in whole lines.
const SKB_SHARED_INFO: u32 = 320;
/// What a message occupies beside that piece: its sk_buff in whole lines.
const SKB_OVERHEAD: u64 = 256;

/// What a message occupies of the sender's write memory, bytes. Memory comes in pieces of a power of two, and the smallest
/// that holds one byte is 512: 768 up to 192 bytes.
///
/// Kernel: skbuff.c __alloc_skb(), v4.12–
const fn truesize(bytes: u32) -> u64 {
    let piece = (bytes.next_multiple_of(64) + SKB_SHARED_INFO).next_power_of_two();
    piece as u64 + SKB_OVERHEAD
}

/// A message that waits.
#[derive(Clone, Copy, Debug)]
struct Skb {
    /// Bytes that were not received yet.
    left: u32,
    truesize: u64,
}

/// What lies in a socket, and who waits to send more to it.
#[derive(Clone, Debug, Default)]
pub(crate) struct UnixQueue {
    skbs: VecDeque<Skb>,
    /// Memory that is charged to the other socket until the messages are received.
    wmem: u64,
    /// The part of it whose messages are on their way out: free at the end of that.
    leaving: u64,
    senders: VecDeque<TaskId>,
}

impl UnixQueue {
    /// Takes a message in, if write memory is left: any message then.
    ///
    /// Kernel: sock.c sock_alloc_send_pskb(), v4.12–
    pub(super) fn queue(&mut self, bytes: u32) -> bool {
        let room = self.wmem < WMEM_DEFAULT;
        if room {
            self.wmem += truesize(bytes);
            self.skbs.push_back(Skb { left: bytes, truesize: truesize(bytes) });
        }
        room
    }
    /// Whether so many bytes are there.
    #[inline]
    pub(super) fn holds(&self, wanted: u32) -> bool {
        let mut missing = wanted;
        self.skbs.iter().any(|skb| {
            missing = missing.saturating_sub(skb.left);
            missing == 0
        })
    }
    /// Takes out what is there, at most `wanted` bytes; `None` = nothing is there. Its memory stays charged until [`UnixQueue::free`].
    ///
    /// Kernel: af_unix.c unix_stream_read_generic(), v4.12–
    pub(super) fn take(&mut self, wanted: u32) -> Option<(u32, u32)> {
        let mut missing = wanted;
        while let Some(skb) = self.skbs.front_mut().filter(|_| missing > 0) {
            let taken = skb.left.min(missing);
            missing -= taken;
            skb.left -= taken;
            if skb.left == 0 {
                self.leaving += skb.truesize;
                self.skbs.pop_front();
            }
        }
        (missing < wanted).then_some((wanted - missing, missing))
    }
    /// What was taken out is copied: its memory is free.
    ///
    /// Kernel: skbuff.c consume_skb(), sock.c sock_wfree(), v4.12–
    fn free(&mut self) {
        self.wmem -= std::mem::take(&mut self.leaving);
    }
    /// Whether senders are woken: at most a quarter of the write memory is in use.
    ///
    /// Kernel: af_unix.c unix_writable(), v4.12–
    fn is_writable(&self) -> bool {
        self.wmem << 2 <= WMEM_DEFAULT
    }
}

impl Simulation {
    /// A message goes into the other socket, or the sender waits for memory.
    ///
    /// Kernel: af_unix.c unix_stream_sendmsg(), sock.c sock_def_readable(), v4.12–
    #[inline(never)]
    pub(crate) fn unix_send(&mut self, rec: &mut Recorder<'_>, cpu: CpuId, sock: SockId, bytes: u32) -> Next {
        let to = self.socks[sock].peer();
        let other = &mut self.socks[to];
        if !other.queue(bytes) {
            let task = self.sched.rq(cpu).curr.expect("invariant: a task is in its system call");
            other.unix.senders.push_back(task);
            return self.sleep_in(cpu, task, Then::UnixSend { sock, bytes });
        }
        let reader = other.take_reader();
        self.wake_waiter(rec, cpu, reader, true)
    }

    /// Messages were received: who waits for memory is woken if little of it is in use, all of them and the last to wait
    /// first. The program calls again for what is missing.
    ///
    /// Kernel: af_unix.c unix_write_space(), sock.c sock_wait_for_wmem(), v4.12–
    #[inline(never)]
    pub(crate) fn unix_write_space(&mut self, rec: &mut Recorder<'_>, cpu: CpuId, sock: SockId, left: u32) -> Next {
        let unix = &mut self.socks[sock].unix;
        unix.free();
        if !unix.senders.is_empty() && unix.is_writable() {
            self.cpus[cpu].wake_q.extend(unix.senders.drain(..).rev());
        }
        if left == 0 {
            return self.wake_up_q(rec, cpu, true);
        }
        let task = self.sched.rq(cpu).curr.expect("invariant: a task is in its system call");
        self.tasks[task].want = Want::Retry(Then::SockRecv { sock, left });
        self.cpus[cpu].meter.count(Op::Syscall);
        self.pay(cpu, Section::Syscall, Then::WakeUpQ { sync: true })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fill(bytes: u32) -> (UnixQueue, usize) {
        let mut queue = UnixQueue::default();
        let count = (0..1000).take_while(|_| queue.queue(bytes)).count();
        (queue, count)
    }

    /// As measured on Linux 6.18: messages to a socket pair that nobody reads.
    #[test]
    fn as_many_messages_fit_as_in_the_kernel() {
        let sizes = [1, 100, 192, 193, 704, 705, 1728, 1729, 3776];
        assert_eq!(sizes.map(|bytes| fill(bytes).1), [278, 278, 278, 167, 167, 93, 93, 49, 49]);
    }

    /// Measured too: poll says that such a socket is writable when 69 messages are left.
    #[test]
    fn senders_are_woken_at_a_quarter() {
        let (mut queue, count) = fill(100);
        let mut receive = || {
            let writable = queue.is_writable();
            let taken = queue.take(100);
            queue.free();
            !writable && taken.is_some()
        };
        let read = (0..count).take_while(|_| receive()).count();
        assert_eq!(count - read, 69);
    }

    #[test]
    fn a_receive_takes_bytes_of_several_messages() {
        let mut queue = UnixQueue::default();
        assert!(queue.queue(100) && queue.queue(50));
        assert_eq!([120, 20, 20, 20].map(|wanted| queue.take(wanted)), [Some((120, 0)), Some((20, 0)), Some((10, 10)), None]);
        assert_eq!(queue.wmem, 2 * 768, "until it is copied");
        queue.free();
        assert_eq!(queue.wmem, 0);
    }

    #[test]
    fn bytes_of_several_messages_are_there_together() {
        let mut queue = UnixQueue::default();
        assert!(!queue.holds(1));
        assert!(queue.queue(100) && queue.queue(50));
        assert_eq!([1, 100, 101, 150, 151].map(|wanted| queue.holds(wanted)), [true, true, true, true, false]);
        queue.take(120);
        assert_eq!([30, 31].map(|wanted| queue.holds(wanted)), [true, false]);
    }
}
