//! Sockets: who is woken, where packets are received, and what it costs.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test stops where it fails")]

use crate::common::{self, Build, Log, MS, free_machine, priced_machine, repeat, setup, sleep};
use fairground_model::{Instr, NullSink, Op, Section, SockKind, TaskSet, TraceEvent, WakeContext};
use fairground_sim::{Ending, Simulation, Stopped};
use fairground_stdx::{CpuId, SockId};
use proptest::prelude::*;

fn send(sock: SockId, bytes: u32) -> Instr {
    Instr::Send { sock, bytes }
}

fn recv(sock: SockId, bytes: u32) -> Instr {
    Instr::Recv { sock, bytes }
}

const ROUNDS: u64 = 1_000;

/// Request and response of one byte, [`ROUNDS`] times; the server waits first.
fn rr(kind: SockKind, cpus: [u32; 2], rounds: u64) -> TaskSet {
    let mut set = TaskSet::default();
    let [client, server] = set.connect(kind);
    set.pinned("server", cpus[0], vec![recv(server, 1), send(server, 1), repeat(rounds)]);
    set.pinned("client", cpus[1], vec![send(client, 1), recv(client, 1), repeat(rounds)]);
    set
}

/// Request and response on one CPU: two switches and two wake-ups a transaction, no move, no interrupt.
///
/// Model: 08 T13
#[test]
fn a_stacked_netperf_pair_switches_twice_a_transaction_and_never_moves() {
    for kind in [SockKind::Stream, SockKind::Datagram] {
        let (log, simulation, end) =
            Log::and_simulation(setup(priced_machine(2, "xeon-spr"), "v5.19", rr(kind, [0, 0], ROUNDS), 1_000 * MS));
        assert_eq!(end.ending, Ending::AllExited);
        let counts = simulation.counts();
        // Once from and once to idle besides, and the server's first sleep.
        assert!((2 * ROUNDS..=2 * ROUNDS + 3).contains(&counts.switches), "{counts:?}");
        assert_eq!((counts.wakeups, counts.migrations), (2 * ROUNDS, 0));
        // Interrupts ask the idle CPU to balance, once a tick at most; no transaction sends one.
        assert!(simulation.op_total(Op::IpiSend) <= counts.ticks, "{counts:?}");
        let switches =
            |row: &&(u64, CpuId, TraceEvent)| matches!(row.2, TraceEvent::SchedSwitch { .. }) && row.1 != common::cpu(0);
        assert_eq!(log.events.iter().filter(switches).count(), 0, "the other CPU stays idle");
        let woken = |row: &&(u64, CpuId, TraceEvent)| {
            matches!(row.2, TraceEvent::SchedWaking { context: WakeContext::Softirq, waker: Some(_), .. })
        };
        assert_eq!(log.events.iter().filter(woken).count() as u64, 2 * ROUNDS);
    }
}

#[test]
fn a_hop_costs_what_is_counted() {
    for (kind, ops) in
        [(SockKind::Stream, [Op::TcpSend1b, Op::SoftirqTcp1b]), (SockKind::Datagram, [Op::UdpSend1b, Op::SoftirqUdp1b])]
    {
        let set = || rr(kind, [0, 0], ROUNDS);
        let (_, simulation, _) = Log::and_simulation(setup(priced_machine(1, "unit"), "v5.19", set(), 1_000_000 * MS));
        assert_eq!(ops.map(|op| simulation.op_total(op)), [2 * ROUNDS; 2]);
        assert_eq!(simulation.op_total(Op::RecvCopy), 2 * ROUNDS);
        assert_eq!(simulation.op_total(Op::CopyKib), 0);
    }
}

#[test]
fn on_two_cpus_the_peer_is_woken_across() {
    for profile in ["v4.12", "v5.19", "v6.1", "v6.6", "v6.12", "v6.18"] {
        let (_, simulation, end) =
            Log::and_simulation(setup(priced_machine(2, "xeon-spr"), profile, rr(SockKind::Stream, [0, 1], ROUNDS), 1_000 * MS));
        assert_eq!(end.ending, Ending::AllExited, "{profile}");
        assert_eq!(simulation.counts().wakeups, 2 * ROUNDS, "{profile}");
        assert_eq!(simulation.counts().migrations, 0);
    }
}

#[test]
fn large_messages_are_several_packets_and_receives() {
    let mut set = TaskSet::default();
    let [client, server] = set.connect(SockKind::Stream);
    let bytes = 150_000;
    set.pinned("server", 0, vec![recv(server, bytes), send(server, 10), repeat(10)]);
    set.pinned("client", 1, vec![send(client, bytes), recv(client, 10), repeat(10)]);
    let (_, simulation, end) = Log::and_simulation(setup(priced_machine(2, "xeon-spr"), "v5.19", set, 1_000 * MS));
    assert_eq!(end.ending, Ending::AllExited);
    // 150000 = 65483 + 65483 + 19034.
    assert_eq!(simulation.op_total(Op::SoftirqTcp1b), 10 * (3 + 1));
    // The reader is woken by the first packet and comes back for the others.
    assert!(simulation.op_total(Op::RecvCopy) > 2 * 10);
    assert_eq!(simulation.op_total(Op::CopyKib) / 10, 2 * (63 + 63 + 18));
}

#[test]
fn a_message_larger_than_a_page_costs_its_copies() {
    let took = |bytes| {
        let mut set = TaskSet::default();
        let [client, server] = set.connect(SockKind::Datagram);
        set.pinned("server", 0, vec![recv(server, bytes)]);
        set.pinned("client", 0, vec![sleep(MS), send(client, bytes)]);
        Log::and_simulation(setup(priced_machine(1, "xeon-spr"), "v5.19", set, 100 * MS)).2.at.ns()
    };
    assert_eq!(took(10 << 10) - took(1), 2 * 10 * 60);
}

#[test]
fn softirq_time_is_not_the_senders() {
    let mut set = TaskSet::default();
    let [client, _] = set.connect(SockKind::Datagram);
    let sender = set.pinned("sender", 0, vec![send(client, 1), repeat(100)]);
    let log = |accounting| {
        let mut machine = priced_machine(1, "xeon-spr");
        machine.irq_time_accounting = accounting;
        Log::of(setup(machine, "v5.19", set.clone(), 100 * MS)).runtime(sender)
    };
    // But for the interrupt that the start of the task was.
    let (softirqs, difference) = (100 * 750u64, log(false) - log(true));
    assert!(difference.abs_diff(softirqs) < 2_000, "{difference}");
}

#[test]
fn digests_repeat_and_do_not_depend_on_the_queue() {
    for profile in ["v5.19", "v6.12"] {
        let set = || rr(SockKind::Stream, [0, 1], 500);
        let digest = || Log::of(setup(priced_machine(2, "xeon-spr"), profile, set(), 100 * MS)).digest;
        let mut heap = Simulation::with_queue(
            fairground_sim::QueueKind::Heap,
            setup(priced_machine(2, "xeon-spr"), profile, set(), 100 * MS),
        )
        .unwrap();
        heap.run(&mut NullSink).unwrap();
        assert_eq!([digest(), digest()], [heap.digest(); 2]);
    }
}

#[test]
fn a_socket_that_nobody_reads_is_full_at_some_time() {
    let mut set = TaskSet::default();
    let [client, _] = set.connect(SockKind::Stream);
    set.task("flood", vec![send(client, 1 << 20), Instr::Jump { to: 0 }]);
    let mut simulation = Simulation::new(setup(priced_machine(1, "xeon-spr"), "v5.19", set, 1_000 * MS)).unwrap();
    let stopped = simulation.run(&mut NullSink).unwrap_err();
    assert!(matches!(&stopped, Stopped::PacketLost { full, .. } if full.contains("socket 1")), "{stopped}");
}

/// Two calls a round, each of them one stretch of the kernel: what is received is there at entry.
#[test]
fn what_is_there_is_received_in_one_stretch() {
    for kind in [SockKind::Stream, SockKind::Datagram, SockKind::Unix] {
        let mut set = TaskSet::default();
        let [out, back] = set.connect(kind);
        set.pinned("alone", 0, vec![send(out, 100), send(out, 100), recv(back, 100), recv(back, 100), repeat(100)]);
        let (_, simulation, end) = Log::and_simulation(setup(priced_machine(1, "xeon-spr"), "v5.19", set, 1_000 * MS));
        assert_eq!(end.ending, Ending::AllExited);
        let calls = simulation.kernel_time(common::cpu(0)).find(|row| row.0 == Section::Syscall).unwrap().1;
        // The last is the end of the task.
        assert_eq!((simulation.op_total(Op::Syscall), calls), (400, 401), "{kind:?}");
        assert_eq!(simulation.op_total(Op::RecvBlock), 0);
    }
}

/// Each operation takes 1 us: the receiver enters at 4 ms and looks 1 us later; a message takes 2 us to be there.
#[test]
fn what_comes_during_the_entry_of_a_receive_is_found() {
    let sleeps = |sent_at: u64| {
        let mut set = TaskSet::default();
        let [out, back] = set.connect(SockKind::Unix);
        let after = |ns, then: Instr| common::busy_until(ns).into_iter().chain([then]).collect();
        set.pinned("reader", 0, after(4 * MS, recv(back, 1)));
        set.pinned("writer", 1, after(sent_at, send(out, 1)));
        let mut machine = priced_machine(2, "unit");
        (machine.hz, machine.tick) = (100, fairground_stdx::Ns(10 * MS));
        Log::and_simulation(setup(machine, "v5.19", set, 1_000 * MS)).1.op_total(Op::RecvBlock)
    };
    let before = |ns| 4 * MS - ns;
    assert_eq!([2_500, 1_500, 500].map(|ns| sleeps(before(ns))), [0, 0, 1]);
}

#[test]
fn bad_sockets_are_refused_all_at_once() {
    let mut set = TaskSet::default();
    let [a, b] = set.connect(SockKind::Datagram);
    set.task("nothing", vec![send(a, 0), recv(b, 1)]);
    set.task("much", vec![send(a, 65_508), recv(b, 1)]);
    set.at(MS, fairground_model::Change::Hotplug { cpu: common::cpu(1), online: false });
    let mistakes = Simulation::new(setup(free_machine(2, 1000), "v5.19", set, MS)).err().unwrap();
    assert_eq!(mistakes.0.len(), 4, "{mistakes}");
}

/// The operations of one hop of request and response whose two tasks share a CPU: send, receive the packet, wake the other,
/// go back and receive, find nothing, sleep, switch, take the data.
fn hop(kind: SockKind) -> Vec<(Op, u64)> {
    let protocol = match kind {
        SockKind::Stream => [(Op::TcpSend1b, 1), (Op::SoftirqTcp1b, 1)],
        SockKind::Datagram => [(Op::UdpSend1b, 1), (Op::SoftirqUdp1b, 1)],
        SockKind::Unix => [(Op::UnixOp, 1), (Op::UnixOp, 1)],
    };
    let rest = [
        (Op::Syscall, 2),
        (Op::TtwuBase, 1),
        (Op::LockFree, 1),
        (Op::Enqueue, 1),
        (Op::RecvBlock, 1),
        (Op::Dequeue, 1),
        (Op::PickSwitch, 1),
        (Op::MmSwitch, 1),
        (Op::RecvCopy, 1),
        // The clock of the run queue: as the wakee is queued, as the waker leaves (for the dequeue, the pick and the switch).
        (Op::PeltScale, 4),
    ];
    protocol.into_iter().chain(rest).collect()
}

/// How long a transaction lasts, and what was counted in it, in a run that ticks so rarely that none comes in between.
fn transaction(prices: &str, kind: SockKind) -> (u64, Vec<(Op, u64)>) {
    let run = |rounds| {
        let mut set = rr(kind, [0, 0], rounds);
        set.tasks[fairground_stdx::TaskId::new(0)].mm = 1;
        let mut machine = priced_machine(1, prices);
        (machine.hz, machine.tick) = (100, fairground_stdx::Ns(10 * MS));
        let (_, simulation, end) = Log::and_simulation(setup(machine, "v5.19", set, 1_000_000 * MS));
        let counts = Op::ALL.iter().map(|&op| (op, simulation.op_total(op))).collect::<Vec<_>>();
        (end.at.ns(), counts)
    };
    let ((short, few), (long, many)) = (run(20), run(120));
    let counts = few.into_iter().zip(many).map(|((op, few), (_, many))| (op, (many - few) / 100));
    ((long - short) / 100, counts.filter(|row| row.1 > 0).collect())
}

/// A transaction is exactly the sum of its listed steps.
///
/// Model: 09 T02
#[test]
fn a_transaction_lasts_the_sum_of_its_listed_steps() {
    for kind in [SockKind::Stream, SockKind::Datagram] {
        let (lasts, counted) = transaction("unit", kind);
        let mut listed: Vec<(Op, u64)> = hop(kind).into_iter().map(|(op, count)| (op, 2 * count)).collect();
        listed.sort_by_key(|row| row.0 as usize);
        assert_eq!(counted, listed);
        assert_eq!(lasts, listed.iter().map(|row| row.1 * 1_000).sum::<u64>());
    }
}

/// Between 3.7 and 4.8 us, by the prices of a current server.
#[test]
fn a_hop_alone_on_its_core_takes_about_four_microseconds() {
    let (lasts, _) = transaction("xeon-spr", SockKind::Stream);
    assert!((3_700..=4_800).contains(&(lasts / 2)), "{} ns", lasts / 2);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    /// Random connections on random machines under every check: all transactions end, twice and continued from a clone to
    /// the same digest.
    #[test]
    fn random_connections_end_under_all_checks(
        profile in prop::sample::select(vec!["v4.12", "v4.20", "v5.10", "v5.19", "v6.1", "v6.6", "v6.12", "v6.18"]),
        prices in prop::sample::select(vec!["zero", "unit", "xeon-spr", "icount"]),
        cpus in 1usize..5,
        accounting: bool,
        pairs in prop::collection::vec((any::<bool>(), 1u32..40_000, 1u32..200_000, 1u64..40, 0u64..50_000), 1..6),
        hogs in 0usize..3,
    ) {
        let set = || {
            let mut set = TaskSet::default();
            for (row, &(stream, request, response, rounds, think)) in pairs.iter().enumerate() {
                let (kind, response) = if stream { (SockKind::Stream, response) } else { (SockKind::Datagram, response % 60_000 + 1) };
                let [client, server] = set.connect(kind);
                let think = common::work(think);
                set.task(&format!("server{row}"), vec![recv(server, request), think.clone(), send(server, response), repeat(rounds)]);
                set.task(&format!("client{row}"), vec![send(client, request), recv(client, response), think, sleep(1_000), repeat(rounds)]);
            }
            for row in 0..hogs {
                set.task(&format!("hog{row}"), vec![common::work(20 * MS)]);
            }
            set
        };
        let build = || {
            let mut machine = priced_machine(cpus, prices);
            machine.irq_time_accounting = accounting;
            Simulation::new(setup(machine, profile, set(), 100_000 * MS)).unwrap()
        };
        let mut whole = build();
        prop_assert_eq!(whole.run(&mut NullSink).unwrap().ending, Ending::AllExited);
        let mut first = build();
        first.run_until(fairground_stdx::Instant::from_ns(5 * MS), &mut NullSink).unwrap();
        let mut clone = first.clone();
        first.run(&mut NullSink).unwrap();
        clone.run(&mut NullSink).unwrap();
        prop_assert_eq!([first.digest(), clone.digest()], [whole.digest(); 2]);
    }
}
