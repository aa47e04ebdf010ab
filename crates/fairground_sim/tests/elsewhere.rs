//! Tasks of another machine: when messages come, who is interrupted for them, and what cannot be done there.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test stops where it fails")]

use crate::common::{self, Build, Log, MS, US, free_machine, priced_machine, repeat, setup, sleep, work};
use fairground_machine::Machine;
use fairground_model::{Instr, MarkerUnit, Mistakes, NullSink, Op, SockKind, TaskSet, TraceEvent, WakeContext};
use fairground_sim::{Ending, QueueKind, Setup, Simulation, Stopped};
use fairground_stdx::{CpuMask, Instant, Ns, SockId, TaskId};

const WIRE: u64 = 25 * US;

fn send(sock: SockId) -> Instr {
    Instr::Send { sock, bytes: 100 }
}
fn recv(sock: SockId) -> Instr {
    Instr::Recv { sock, bytes: 100 }
}

/// A machine whose CPU 0 is interrupted.
fn machine(mut machine: Machine) -> Machine {
    (machine.nic_cpus, machine.wire) = (Some(CpuMask::only(common::cpu(0))), Ns(WIRE));
    machine
}

fn there(set: &mut TaskSet, name: &str, code: Vec<Instr>) -> TaskId {
    let task = set.task(name, code);
    set.tasks[task].elsewhere = true;
    task
}

/// A client there asks `rounds` times, and computes 5 us before each; the server on CPU `on` computes 10 us for each answer.
fn asked(rounds: u64, on: u32) -> TaskSet {
    let mut set = TaskSet::default();
    let answers = set.marker("answers");
    set.markers[answers].unit = MarkerUnit::Ns;
    let [client, server] = set.connect(SockKind::Stream);
    set.pinned("server", on, vec![recv(server), work(10 * US), send(server), repeat(rounds)]);
    let ask = vec![
        work(5 * US),
        Instr::Now { reg: 0 },
        send(client),
        recv(client),
        Instr::MarkSince { marker: answers, reg: 0 },
        repeat(rounds),
    ];
    there(&mut set, "client", ask);
    set
}

fn marks(log: &Log) -> Vec<(u64, u64)> {
    let mark = |row: &(u64, _, TraceEvent)| match row.2 {
        TraceEvent::Marker { value, .. } => Some((row.0, value)),
        _ => None,
    };
    log.events.iter().filter_map(mark).collect()
}

/// Model: 08 T15
#[test]
fn an_answer_takes_two_ways_over_the_wire() {
    let (log, _, end) = Log::and_simulation(setup(machine(free_machine(2, 250)), "v6.12", asked(3, 1), 10 * MS));
    // From one answer to the next: 5 us there, and 25, 10 and 25 us.
    assert_eq!(marks(&log), [65, 130, 195].map(|at| (at * US, 60 * US)));
    assert_eq!((end.ending, end.at), (Ending::AllExited, Instant::from_ns(195 * US)));
}

#[test]
fn the_cpu_of_the_ring_wakes_the_reader_in_a_softirq() {
    let (log, simulation, _) =
        Log::and_simulation(setup(machine(priced_machine(2, "xeon-spr")), "v6.12", asked(100, 1), 50 * MS));
    let wakings = || {
        log.events.iter().filter_map(|row| match row.2 {
            TraceEvent::SchedWaking { waker, context, task, .. } if task == TaskId::new(0) => Some((row.1, waker, context)),
            _ => None,
        })
    };
    // The server sleeps before the first request, so each one wakes it.
    assert_eq!(wakings().count(), 100);
    assert!(wakings().all(|row| row == (common::cpu(0), None, WakeContext::Softirq)), "CPU 0 idles, and has nobody else");
    assert_eq!([Op::TcpSend1b, Op::SoftirqTcp1b].map(|op| simulation.op_total(op)), [100, 100], "what happens there is free");
    let booked = |name: &str| simulation.kernel_time(common::cpu(0)).find(|row| row.0.name() == name).unwrap().1;
    assert_eq!(booked("device_interrupt"), 100);
    assert_eq!(booked("net_rx_softirq"), 100);
}

/// Model: 08 T15
///
/// While the ring is polled the device is silent: a burst is one interrupt.
#[test]
fn a_burst_interrupts_once() {
    let mut set = TaskSet::default();
    let [client, server] = set.connect(SockKind::Datagram);
    set.pinned("server", 1, vec![recv(server), repeat(50)]);
    there(&mut set, "client", vec![send(client), repeat(50)]);
    let (_, simulation, end) = Log::and_simulation(setup(machine(priced_machine(2, "unit")), "v6.12", set, 1_000 * MS));
    assert_eq!(end.ending, Ending::AllExited);
    let interrupts = simulation.kernel_time(common::cpu(0)).find(|row| row.0.name() == "device_interrupt").unwrap().1;
    assert_eq!((interrupts, simulation.op_total(Op::SoftirqUdp1b)), (1, 50));
}

/// What interrupts a busy CPU takes its time from the task there.
#[test]
fn a_busy_cpu_is_interrupted() {
    let took = |with: bool| {
        let mut set = asked(if with { 100 } else { 1 }, 1);
        set.pinned("hog", 0, vec![work(20 * MS)]);
        let (log, _, _) = Log::and_simulation(setup(machine(priced_machine(2, "xeon-spr")), "v6.12", set, 100 * MS));
        let exits =
            |row: &&(u64, _, TraceEvent)| matches!(row.2, TraceEvent::SchedProcessExit { task } if task == TaskId::new(2));
        log.events.iter().find(exits).unwrap().0
    };
    let each = (took(true) - took(false)) / 99;
    // ipi_body 350 ns, softirq_tcp_1b 1100 ns and the wake-up.
    assert!((1450..3500).contains(&each), "{each} ns");
}

/// Messages larger than a packet come in parts.
#[test]
fn large_messages_are_several_packets() {
    let mut set = TaskSet::default();
    let [client, server] = set.connect(SockKind::Stream);
    let large = 200_000;
    set.pinned("server", 1, vec![Instr::Recv { sock: server, bytes: large }, Instr::Send { sock: server, bytes: large }]);
    there(&mut set, "client", vec![Instr::Send { sock: client, bytes: large }, Instr::Recv { sock: client, bytes: large }]);
    let (_, simulation, end) = Log::and_simulation(setup(machine(priced_machine(2, "xeon-spr")), "v6.12", set, 100 * MS));
    assert_eq!(end.ending, Ending::AllExited);
    assert_eq!([Op::TcpSend1b, Op::SoftirqTcp1b].map(|op| simulation.op_total(op)), [4, 4], "200000 / 65483 = 3.05");
}

/// Many connections are spread over the rings.
#[test]
fn connections_are_spread_over_the_rings() {
    let mut set = TaskSet::default();
    for row in 0..64 {
        let [client, server] = set.connect(SockKind::Stream);
        set.task(&format!("server-{row}"), vec![recv(server), send(server), repeat(20)]);
        there(&mut set, &format!("client-{row}"), vec![send(client), recv(client), repeat(20)]);
    }
    let mut machine = priced_machine(8, "xeon-spr");
    machine.nic_cpus = Some(CpuMask::first_n(4));
    let (_, simulation, end) = Log::and_simulation(setup(machine, "v6.12", set, 100 * MS));
    assert_eq!(end.ending, Ending::AllExited);
    let packets: Vec<u64> = (0..8)
        .map(|cpu| simulation.kernel_time(common::cpu(cpu)).find(|row| row.0.name() == "net_rx_softirq").unwrap().1)
        .collect();
    assert!(packets[..4].iter().all(|&count| (200..=440).contains(&count)), "{packets:?}");
    assert_eq!(packets[4..], [0; 4]);
}

fn busy(kind: QueueKind) -> Simulation {
    let mut set = asked(200, 1);
    set.append(asked(100, 0));
    set.pinned("hog", 0, vec![work(1 << 40)]);
    Simulation::with_queue(kind, setup(machine(priced_machine(2, "xeon-spr")), "v6.12", set, 20 * MS)).unwrap()
}

/// Pauses, single events, copies and another queue change nothing.
#[test]
fn a_run_is_the_same_however_it_is_gone_through() {
    let mut whole = busy(QueueKind::Fast);
    whole.run(&mut NullSink).unwrap();
    let mut heap = busy(QueueKind::Heap);
    heap.run(&mut NullSink).unwrap();
    let mut parts = busy(QueueKind::Fast);
    for us in 1..3_000 {
        parts.run_until(Instant::from_ns(us * 777), &mut NullSink).unwrap();
    }
    let mut copy = parts.clone();
    copy.run(&mut NullSink).unwrap();
    for _ in 0..1_000 {
        parts.step(&mut NullSink).unwrap();
    }
    parts.run(&mut NullSink).unwrap();
    assert_eq!([heap.digest(), copy.digest(), parts.digest()], [whole.digest(); 3]);
}

fn refused(change: impl Fn(&mut Setup)) -> Mistakes {
    let mut setup = setup(machine(free_machine(2, 250)), "v6.12", asked(1, 1), 10 * MS);
    change(&mut setup);
    Simulation::new(setup).err().unwrap()
}

#[test]
fn what_another_machine_cannot_do_is_refused() {
    let says = |change: &dyn Fn(&mut Setup)| refused(change).to_string();
    let code = |setup: &mut Setup, instr: Instr| setup.tasks.programs.iter_mut().last().unwrap().code[0] = instr;
    let odd = says(&|setup| code(setup, Instr::Yield));
    assert!(odd.contains("task `client` of another machine does what is not modelled there"), "{odd}");
    let unix = says(&|setup| setup.tasks.socks.iter_mut().for_each(|sock| sock.kind = SockKind::Unix));
    assert!(unix.contains("does not lead from another machine to this one"), "{unix}");
    let both = says(&|setup| setup.tasks.tasks.iter_mut().for_each(|task| task.elsewhere = true));
    assert!(both.contains("does not lead from another machine"), "{both}");
    let mine = says(&|setup| {
        let program = setup.tasks.tasks[TaskId::new(1)].program;
        setup.tasks.programs[program].code.push(send(SockId::new(1)));
    });
    assert!(mine.contains("task `server` uses socket 1, which is one of another machine"), "{mine}");
    let cpus = says(&|setup| setup.machine.nic_cpus = CpuMask::parse_list("7"));
    assert!(cpus.contains("interrupts CPUs 7, and the machine has none of them"), "{cpus}");
}

/// Nobody reads: what comes fills the buffer, and the run says so. What never waits is told as a loop.
#[test]
fn lost_packets_and_endless_loops_are_told() {
    let flood = |code: Vec<Instr>| {
        let mut set = TaskSet::default();
        let [client, server] = set.connect(SockKind::Datagram);
        set.pinned("server", 1, vec![sleep(1_000 * MS), recv(server)]);
        let mut code = code;
        if code.is_empty() {
            code = vec![work(10 * US), send(client), Instr::Jump { to: 0 }];
        }
        there(&mut set, "client", code);
        Simulation::new(setup(machine(free_machine(2, 250)), "v6.12", set, 500 * MS)).unwrap().run(&mut NullSink).unwrap_err()
    };
    assert!(matches!(flood(Vec::new()), Stopped::PacketLost { .. }));
    let endless = vec![Instr::Now { reg: 0 }, Instr::SleepUntil { reg: 0 }, Instr::Jump { to: 0 }];
    assert!(matches!(flood(endless), Stopped::NoProgress { .. }));
}
