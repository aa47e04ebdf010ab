//! When softirqs go on where they are, and when their thread takes over.

use crate::net::Packet;
use crate::simulation::{Setup, Simulation};
use fairground_machine::{CostModel, Machine};
use fairground_model::{Instr, Mode, Op, Program, Section, Sink, SockKind, TaskSet, TaskSpec, TraceEvent, WakeContext};
use fairground_sched::Profile;
use fairground_stdx::{CpuId, Instant, Ns, SockId, TaskId};

const CPU: CpuId = CpuId::new(0);
const SENDER: TaskId = TaskId::new(0);
const MS: u64 = 1_000_000;

/// What happened, as far as the tests ask.
#[derive(Debug, PartialEq, Eq, Clone, Copy)]
enum Seen {
    /// So many packets were received in a row.
    Received(u32),
    /// A task was woken from a softirq that had borrowed the context of another.
    Woken(TaskId, Option<TaskId>),
    /// A task got the CPU.
    Runs(TaskId),
}

#[derive(Default)]
struct Watch(Vec<Seen>);

impl Sink for Watch {
    fn record(&mut self, _at: Instant, _cpu: CpuId, event: &TraceEvent) {
        let seen = match *event {
            TraceEvent::KernelSection { section: Section::NetRxSoftirq, .. } => {
                if let Some(Seen::Received(count)) = self.0.last_mut() {
                    *count += 1;
                    return;
                }
                Seen::Received(1)
            }
            TraceEvent::SchedWaking { task, waker, context: WakeContext::Softirq, .. } => Seen::Woken(task, waker),
            TraceEvent::SchedSwitch { next: Some(next), .. } => Seen::Runs(next),
            _ => return,
        };
        self.0.push(seen);
    }
    fn wants_samples(&self) -> bool {
        true
    }
}

/// A stream: the sender's socket, and the other end.
fn stream(set: &mut TaskSet) -> [SockId; 2] {
    set.connect(SockKind::Stream)
}

fn task(set: &mut TaskSet, nice: i8, code: Vec<Instr>) -> TaskId {
    let program = set.programs.push(Program::from(code));
    set.tasks.push(TaskSpec { nice, timer_slack: Ns::ZERO, ..TaskSpec::new(format!("task{}", set.tasks.len()), program) })
}

const NAP: Instr = Instr::Sleep { time: Ns(MS) };

/// Sends one byte a little after 1 ms: everybody else waits by then, and no interrupt comes shortly before.
fn sends_late(client: SockId) -> Vec<Instr> {
    vec![NAP, Instr::Run { work: Ns(MS / 10), mode: Mode::User }, Instr::Send { sock: client, bytes: 1 }, NAP]
}

/// A little before that.
const SHORTLY_BEFORE: Instant = Instant::from_ns(MS + MS / 20);

/// One CPU on which only the receiving of a packet takes time, shortly before the sender sends, when `waiting` packets for
/// `to` come into its backlog.
fn build(profile: &str, set: TaskSet, packet_ns: u64, to: SockId, waiting: u32) -> Simulation {
    build_with(Profile::parse(profile).unwrap(), set, packet_ns, to, waiting)
}

fn build_with(profile: Profile, set: TaskSet, packet_ns: u64, to: SockId, waiting: u32) -> Simulation {
    let mut machine = Machine::preset("smp-1").unwrap();
    (machine.hz, machine.tick) = (1000, Ns(MS));
    machine.costs = CostModel::preset("zero").unwrap();
    machine.costs.prices_ps[Op::SoftirqTcp1b as usize] = packet_ns * 1000;
    let setup = Setup { machine, profile, tasks: set, seed: 1, duration: Ns(1_000 * MS), paranoid: true };
    let mut simulation = Simulation::new(setup).unwrap();
    simulation.run_until(SHORTLY_BEFORE, &mut fairground_model::NullSink).unwrap();
    for _ in 0..waiting {
        simulation.softirqs[CPU].backlog.push(Packet { to, bytes: 1 }).unwrap();
    }
    simulation.softirqs[CPU].raise_net_rx();
    simulation
}

fn watch(simulation: &mut Simulation) -> Vec<Seen> {
    let mut watch = Watch::default();
    simulation.run(&mut watch).unwrap();
    watch.0
}

#[test]
fn ten_rounds_of_sixty_four_packets_then_the_thread() {
    for profile in ["v5.19", "v6.12"] {
        let mut set = TaskSet::default();
        let [client, server] = stream(&mut set);
        task(&mut set, 0, sends_late(client));
        let thread = TaskId::new(1);
        let mut simulation = build(profile, set, 1, server, 700);
        let seen = watch(&mut simulation);
        let expected = [Seen::Received(640), Seen::Woken(thread, Some(SENDER)), Seen::Runs(thread), Seen::Received(61)];
        assert_eq!(seen[..4], expected, "{profile}");
    }
}

#[test]
fn after_two_milliseconds_no_round_begins() {
    let mut set = TaskSet::default();
    let [client, server] = stream(&mut set);
    task(&mut set, 0, sends_late(client));
    // A tick each ms: a round of 64 packets ends behind two of them, one of 63 us does not.
    let counts = |packet_ns| {
        let seen = watch(&mut build("v5.19", set.clone(), packet_ns, server, 300));
        seen.into_iter().filter_map(|seen| if let Seen::Received(count) = seen { Some(count) } else { None }).collect::<Vec<_>>()
    };
    assert_eq!(counts(100_000)[0], 64);
    assert_eq!(counts(1_000)[0], 301);
}

/// A reader that preempts the sender: the round is ended, the rest is left.
fn urgent_reader(profile: &str) -> Vec<Seen> {
    urgent_reader_of(Profile::parse(profile).unwrap(), false)
}

fn urgent_reader_of(profile: Profile, reader_sends: bool) -> Vec<Seen> {
    let mut set = TaskSet::default();
    let [client, server] = stream(&mut set);
    let [other, _] = stream(&mut set);
    task(&mut set, 19, sends_late(client));
    let mut code = vec![Instr::Recv { sock: server, bytes: 1 }];
    if reader_sends {
        code.push(Instr::Send { sock: other, bytes: 1 });
    }
    code.push(Instr::Run { work: Ns(MS), mode: Mode::User });
    task(&mut set, -20, code);
    watch(&mut build_with(profile, set, 1, server, 100))
}

#[test]
fn a_reschedule_ends_what_is_served_with_its_round() {
    let (reader, thread) = (TaskId::new(1), TaskId::new(2));
    for profile in ["v4.12", "v5.19"] {
        let seen = urgent_reader(profile);
        let woken = seen.iter().position(|&seen| seen == Seen::Woken(reader, Some(SENDER))).unwrap();
        let expected =
            [Seen::Received(63), Seen::Woken(thread, Some(SENDER)), Seen::Runs(reader), Seen::Runs(thread), Seen::Received(37)];
        assert_eq!(seen[woken + 1..woken + 6], expected, "{profile}");
    }
}

#[test]
fn while_the_thread_wants_to_run_packets_wait_up_to_v6_4() {
    let received_by_reader = |handover| {
        let (reader, thread) = (TaskId::new(1), TaskId::new(2));
        let seen = urgent_reader_of(Profile::parse("v5.19").unwrap().with_seam("softirq_handover", handover).unwrap(), true);
        let at = seen.iter().rposition(|&seen| seen == Seen::Runs(reader)).unwrap();
        let inline = if let Seen::Received(count) = seen[at + 1] { count } else { 0 };
        // What it did not receive is received by the thread.
        let thread_at = seen.iter().position(|&seen| seen == Seen::Runs(thread)).unwrap();
        let rest = if let Some(Seen::Received(count)) = seen.get(thread_at + 1) { *count } else { 0 };
        (inline, rest)
    };
    assert_eq!(received_by_reader("thread"), (0, 38));
    assert_eq!(received_by_reader("inline"), (38, 0));
}

#[test]
fn ticks_come_between_packets() {
    let mut set = TaskSet::default();
    let [client, server] = stream(&mut set);
    task(&mut set, 0, sends_late(client));
    // 51 packets of 100 us in one round.
    let mut simulation = build("v5.19", set, 100_000, server, 50);
    simulation.run(&mut fairground_model::NullSink).unwrap();
    // From 1.1 ms to 6.2 ms, then a nap of 1 ms without ticks.
    assert_eq!((simulation.now().ns(), simulation.counts().ticks), (72 * 100_000, 5));
}

#[test]
fn the_thread_gives_way_between_its_rounds_and_sleeps_when_nothing_is_left() {
    let mut set = TaskSet::default();
    let [client, server] = stream(&mut set);
    let mut code = sends_late(client);
    code.push(Instr::Run { work: Ns(200 * MS), mode: Mode::User });
    task(&mut set, 0, code);
    let thread = TaskId::new(1);
    let mut simulation = build("v5.19", set, 100_000, server, 900);
    let seen = watch(&mut simulation);
    // 90 ms of packets beside 200 ms of work: both run in turn, and packets are received by the thread alone.
    let turns = seen.iter().filter(|&&seen| seen == Seen::Runs(thread)).count();
    assert!(turns > 3, "{seen:?}");
    assert!(!simulation.sched.is_task_running(thread));
    assert_eq!(simulation.op_total(Op::SoftirqTcp1b), 901);
}
