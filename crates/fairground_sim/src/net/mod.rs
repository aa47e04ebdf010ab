//! Sockets. The loopback interface: what is sent on a CPU waits in that CPU's backlog and is received there, in a softirq.
//! What another machine sends comes to the ring of a CPU, which an interrupt tells of it (`elsewhere`).
//!
//! A packet is sent and received in one go, in the context of the sender, unless the softirq is left to its thread; then
//! it waits in the backlog. The peer is woken from the softirq, with the hint that the waker will sleep soon.

mod backlog;
mod elsewhere;
mod nic;
mod socket;
mod unix;

pub(crate) use backlog::{Backlog, Packet};
pub(crate) use elsewhere::{Elsewhere, check_elsewhere};
pub(crate) use nic::RxRing;
pub(crate) use socket::Socket;

use crate::cpu::{AfterWake, Then};
use crate::ending::Stopped;
use crate::kernel::Next;
use crate::simulation::Simulation;
use crate::softirq::Server;
use fairground_model::{Op, Recorder, Section, SockKind, WakeContext};
use fairground_sched::WakeFlags;
use fairground_stdx::{CpuId, SockId};

/// What a packet of a stream carries at most, bytes: an IP packet of 65535 less the headers of IP and TCP, 20 each, and
/// TCP's time stamps, 12.
const STREAM_PACKET_MAX: u32 = 65_483;

/// Whole KiB of a message: the first bytes are part of the price of sending or receiving.
const fn kib(bytes: u32) -> u64 {
    (bytes >> 10) as u64
}

/// The operations of a packet's two halves; of a message of an AF_UNIX stream those of sending and receiving it.
const fn ops(kind: SockKind) -> (Op, Op) {
    match kind {
        SockKind::Stream => (Op::TcpSend1b, Op::SoftirqTcp1b),
        SockKind::Datagram => (Op::UdpSend1b, Op::SoftirqUdp1b),
        SockKind::Unix => (Op::UnixOp, Op::UnixOp),
    }
}

impl Simulation {
    /// The way of a message's next packet through the protocol; `left` bytes of the message are not sent yet.
    ///
    /// Kernel: tcp.c tcp_sendmsg(), udp.c udp_sendmsg(), v4.12–
    #[inline(never)]
    pub(crate) fn sock_send(&mut self, cpu: CpuId, sock: SockId, left: u32) -> Next {
        let kind = self.socks[sock].kind();
        let bytes = match kind {
            SockKind::Stream => left.min(STREAM_PACKET_MAX),
            SockKind::Datagram | SockKind::Unix => left,
        };
        let meter = &mut self.cpus[cpu].meter;
        meter.count(ops(kind).0);
        meter.count_n(Op::CopyKib, kib(bytes));
        let then = match kind.is_inet() {
            true => Then::NetTransmit { sock, bytes, left: left - bytes },
            false => Then::UnixSend { sock, bytes },
        };
        self.pay(cpu, Section::Syscall, then)
    }

    /// The packet goes into the backlog, or to the other machine. Bottom halves are on again then: a softirq that is raised runs, unless
    /// its thread is to.
    ///
    /// Kernel: loopback.c loopback_xmit(), dev.c enqueue_to_backlog(), softirq.c __local_bh_enable_ip(), v4.12–
    #[inline(never)]
    pub(crate) fn net_transmit(&mut self, cpu: CpuId, sock: SockId, bytes: u32, left: u32) -> Next {
        let (row, to) = (&mut self.softirqs[cpu], self.socks[sock].peer());
        if self.socks[to].is_elsewhere() {
            self.transmit_elsewhere(to, bytes);
        } else {
            let Some(schedules) = row.backlog.push(Packet { to, bytes }) else {
                return self.stop(Stopped::PacketLost { full: format!("the backlog of CPU {cpu}"), at: self.now });
            };
            if schedules {
                row.raise_net_rx();
            }
        }
        let then = if left > 0 { Then::SockSend { sock, left } } else { Then::Resume };
        match self.serves_softirqs(cpu) {
            true => self.begin_softirqs(cpu, Server::Task(then)),
            false => self.go_on(cpu, then),
        }
    }

    /// The way of a packet from the backlog to its socket.
    ///
    /// Kernel: dev.c __netif_receive_skb(), tcp_ipv4.c tcp_v4_rcv(), udp.c udp_rcv(), v4.12–
    pub(crate) fn receive_packet(&mut self, cpu: CpuId, packet: Packet) -> Next {
        self.cpus[cpu].meter.count(ops(self.socks[packet.to].kind()).1);
        self.pay(cpu, Section::NetRxSoftirq, Then::NetReceive(packet))
    }

    /// The packet is in its socket: who waits for that is woken.
    ///
    /// Kernel: sock.c sock_def_readable(), v4.12–
    #[inline(never)]
    pub(crate) fn net_receive(&mut self, rec: &mut Recorder<'_>, cpu: CpuId, packet: Packet) -> Next {
        let sock = &mut self.socks[packet.to];
        if !sock.queue(packet.bytes) {
            let full = format!("the receive buffer of socket {}", packet.to);
            return self.stop(Stopped::PacketLost { full, at: self.now });
        }
        match sock.take_reader() {
            Some(reader) => {
                let flags = WakeFlags { sync: true, context: WakeContext::Softirq };
                self.wake(rec, cpu, reader, flags, AfterWake::Softirq)
            }
            None => self.go_on(cpu, Then::Softirq),
        }
    }

    /// The body of a receive: takes what is there, or sleeps. The program calls again for what is missing.
    ///
    /// Kernel: tcp.c tcp_recvmsg(), udp.c udp_recvmsg(), af_unix.c unix_stream_recvmsg(), v4.12–
    #[inline(never)]
    pub(crate) fn sock_recv(&mut self, cpu: CpuId, sock: SockId, left: u32) -> Next {
        let Some((taken, missing)) = self.socks[sock].take(left) else {
            let task = self.sched.rq(cpu).curr.expect("invariant: a task is in its system call");
            self.socks[sock].wait(task);
            return self.sleep_in(cpu, task, Then::SockRecv { sock, left });
        };
        let kind = self.socks[sock].kind();
        let meter = &mut self.cpus[cpu].meter;
        meter.count(if kind.is_inet() { Op::RecvCopy } else { ops(kind).1 });
        meter.count_n(Op::CopyKib, kib(taken));
        match missing {
            left if !kind.is_inet() => self.pay(cpu, Section::Syscall, Then::UnixWriteSpace { sock, left }),
            0 => self.pay(cpu, Section::Syscall, Then::Resume),
            left => self.syscall(cpu, Then::SockRecv { sock, left }),
        }
    }
}
