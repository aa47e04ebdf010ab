//! Tasks of another machine: clients of a server here. Each has a CPU of its own there, and what the kernel does there takes no time.
//!
//! ```text
//!  elsewhere                          here
//!  send ── wire ──► ring of a CPU ── interrupt, NET_RX ──► socket, reader woken
//!  reader goes on ◄── wire ── transmit path of a system call
//! ```
//!
//! What happens there happens between two events of the machine here, as what is scripted does.

use super::{Packet, STREAM_PACKET_MAX};
use crate::ending::Stopped;
use crate::simulation::{STEPS_AT_ONE_INSTANT, Simulation};
use crate::timers::Timer;
use fairground_machine::Machine;
use fairground_model::{Instr, Mistakes, Recorder, SockKind, Start, Step, Surroundings, TaskSet, TraceEvent};
use fairground_stdx::{CpuId, CpuMask, Instant, Ns, SockId, TaskId};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The CPU under which its measurements stand in records: it has none here.
const NO_CPU: CpuId = CpuId::new(0);

/// What happens there. At one instant packets arrive first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Event {
    /// A packet has come to a socket.
    Arrives { sock: SockId, bytes: u32 },
    /// A task goes on: it starts, or has computed or slept long enough.
    GoesOn(TaskId),
}

/// The other machine.
#[derive(Clone, Debug)]
pub(crate) struct Elsewhere {
    events: BinaryHeap<Reverse<(Instant, Event)>>,
    /// What the receive of a task lacks, if it waits for that.
    lacks: Vec<(TaskId, u32)>,
    /// The CPUs here whose rings packets come to, in order.
    rings: Vec<CpuId>,
    /// How long a packet is on the wire.
    wire: Ns,
}

impl Elsewhere {
    /// The other machine of a set: its tasks start as it says.
    pub(crate) fn new(set: &TaskSet, machine: &Machine) -> Elsewhere {
        let all = CpuMask::first_n(machine.cpus.len());
        let rings = machine.nic_cpus.map_or(all, |cpus| cpus.and(&all));
        let starts = set.tasks.iter_enumerated().filter(|row| row.1.elsewhere).filter_map(|(task, spec)| match spec.start {
            Start::At(at) => Some(Reverse((at, Event::GoesOn(task)))),
            Start::Forked | Start::Asleep => None,
        });
        Elsewhere { events: starts.collect(), lacks: Vec::new(), rings: rings.iter().collect(), wire: machine.wire }
    }

    /// When the next thing happens there.
    #[inline]
    pub(crate) fn next(&self) -> Option<Instant> {
        self.events.peek().map(|row| row.0.0)
    }

    /// The CPU whose ring packets of a connection come to: a hash of it, as receive-side scaling has it.
    fn ring_of(&self, sock: SockId) -> CpuId {
        let hash = u64::from(sock.get()).wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
        self.rings[(hash % self.rings.len() as u64) as usize]
    }
}

/// Finds what tasks of another machine cannot do, and what nobody there can be reached by.
pub(crate) fn check_elsewhere(machine: &Machine, set: &TaskSet, mistakes: &mut Mistakes) {
    let elsewhere = set.elsewhere();
    for task in set.tasks.iter() {
        let code = &set.programs[task.program].code;
        if !task.elsewhere {
            if let Some(sock) = code.iter().filter_map(Instr::socket).find(|&sock| elsewhere[sock]) {
                mistakes.whole(
                    format!("task `{}` uses socket {sock}, which is one of another machine", task.name),
                    "Let it use the other end of the connection.",
                );
            }
            continue;
        }
        if task.start == Start::Forked || !code.iter().all(Instr::is_possible_elsewhere) {
            mistakes.whole(
                format!("task `{}` of another machine does what is not modelled there", task.name),
                "It may compute, sleep, wait for devices, use sockets and measure; it is forked by nobody.",
            );
        }
        let sockets = || code.iter().filter_map(Instr::socket);
        if let Some(sock) = sockets().find(|&sock| !set.socks[sock].kind.is_inet() || elsewhere[set.socks[sock].peer]) {
            mistakes.whole(
                format!("socket {sock} of task `{}` does not lead from another machine to this one", task.name),
                "Let it use one end of a TCP or UDP connection, and a task here the other one.",
            );
        }
    }
    if let Some(cpus) = machine.nic_cpus.filter(|cpus| !cpus.intersects(&CpuMask::first_n(machine.cpus.len()))) {
        mistakes.whole(
            format!("the network device interrupts CPUs {cpus}, and the machine has none of them"),
            format!("It has CPUs {}; its key `nic_cpus` says which are interrupted.", CpuMask::first_n(machine.cpus.len())),
        );
    }
}

impl Simulation {
    /// A packet leaves for the other machine.
    pub(crate) fn transmit_elsewhere(&mut self, sock: SockId, bytes: u32) {
        let arrives = self.now + self.elsewhere.wire;
        self.happens_elsewhere(arrives, Event::Arrives { sock, bytes });
    }

    fn happens_elsewhere(&mut self, at: Instant, event: Event) {
        if at <= Instant::MAX {
            self.elsewhere.events.push(Reverse((at, event)));
            // The loop over events of the CPUs stops there.
            self.horizon = self.horizon.min(at);
        }
    }

    /// Carries out the next thing that happens on the other machine.
    pub(crate) fn run_elsewhere(&mut self, rec: &mut Recorder<'_>) {
        let Some(Reverse((_, event))) = self.elsewhere.events.pop() else { return };
        match event {
            Event::Arrives { sock, bytes } => {
                if !self.socks[sock].queue(bytes) {
                    let full = format!("the receive buffer of socket {sock}, on the other machine,");
                    self.stop(Stopped::PacketLost { full, at: self.now });
                } else if let Some(reader) = self.socks[sock].take_reader() {
                    let row = self.elsewhere.lacks.iter().position(|row| row.0 == reader);
                    let (_, left) = self.elsewhere.lacks.swap_remove(row.expect("invariant: a reader lacks something"));
                    if self.receives_elsewhere(reader, sock, left) {
                        self.goes_on_elsewhere(rec, reader);
                    }
                }
            }
            Event::GoesOn(task) => self.goes_on_elsewhere(rec, task),
        }
    }

    /// Takes what is there; whether that is all. Else the task waits for the rest.
    fn receives_elsewhere(&mut self, task: TaskId, sock: SockId, mut left: u32) -> bool {
        while let Some((_, missing)) = self.socks[sock].take(left) {
            if missing == 0 {
                return true;
            }
            left = missing;
        }
        self.socks[sock].wait(task);
        self.elsewhere.lacks.push((task, left));
        false
    }

    /// Runs a task up to where it has to wait.
    fn goes_on_elsewhere(&mut self, rec: &mut Recorder<'_>, task: TaskId) {
        for _ in 0..STEPS_AT_ONE_INSTANT {
            let row = &mut self.tasks[task];
            let mut around = Surroundings { now: self.now, cpu: NO_CPU, rng: &mut row.rng, words: &mut self.memory.words };
            let step = row.frame.next(&self.programs[row.program], &mut around);
            let until = match step {
                Step::Run { work: time, .. } | Step::RunTime { time, .. } | Step::SleepFor(time) | Step::Io(time) => {
                    Instant::from_ns(self.now.ns().saturating_add(time.0))
                }
                Step::RunUntil { at } | Step::SleepUntil(at) => at,
                Step::Send { sock, bytes } => {
                    if !self.sends_from_elsewhere(sock, bytes) {
                        return;
                    }
                    continue;
                }
                Step::Recv { sock, bytes } => match self.receives_elsewhere(task, sock, bytes) {
                    true => continue,
                    false => return,
                },
                Step::Mark { marker, value } => {
                    rec.record(self.now, NO_CPU, TraceEvent::Marker { task, marker, value });
                    continue;
                }
                Step::Exit => {
                    self.live_tasks -= 1;
                    self.over = self.live_tasks == 0;
                    return;
                }
                // The check before the run lets nothing else through.
                _ => break,
            };
            if until > self.now {
                return self.happens_elsewhere(until, Event::GoesOn(task));
            }
        }
        self.stop(Stopped::NoProgress { task: self.tasks[task].info.name.clone(), at: self.now });
    }

    /// The packets of a message are on the wire. False: one of them is lost, and the run ends.
    fn sends_from_elsewhere(&mut self, sock: SockId, bytes: u32) -> bool {
        let packet_max = if self.socks[sock].kind() == SockKind::Stream { STREAM_PACKET_MAX } else { bytes };
        let (to, cpu) = (self.socks[sock].peer(), self.elsewhere.ring_of(sock));
        let arrives = self.now + self.elsewhere.wire;
        let mut left = bytes;
        while left > 0 {
            let bytes = left.min(packet_max);
            left -= bytes;
            match self.softirqs[cpu].ring.push(self.now, arrives, Packet { to, bytes }) {
                Some(true) => self.arm_timer_at(cpu, Timer::Nic(cpu), arrives),
                Some(false) => {}
                None => {
                    self.stop(Stopped::PacketLost { full: format!("the receive ring of CPU {cpu}"), at: self.now });
                    return false;
                }
            }
        }
        true
    }
}
