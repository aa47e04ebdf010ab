//! What the price lists come to: hops of pipes and sockets, on one CPU and across two.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test stops where it fails")]

use crate::common::{Build, Log, MS, priced_machine, repeat, setup, work};
use fairground_machine::{Machine, machine_file};
use fairground_model::{Instr, Op, SockKind, TaskSet, cgroup};
use fairground_sim::Ending;
use fairground_stdx::{Ns, PipeId, TaskId};

/// Two processes that pass a message to and fro, so many times, in a group of that path.
fn ping_pong(cpus: [u32; 2], rounds: u64, think_ns: u64, group: &str) -> TaskSet {
    let mut set = TaskSet::default();
    let (there, back) = (set.pipe(1), set.pipe(1));
    let write = |pipe: PipeId| Instr::Write { pipe, value: None };
    let read = |pipe: PipeId| Instr::Read { pipe, into: 0 };
    // What is computed lies between a message that came and the next one that goes.
    let think = || if think_ns == 0 { Vec::new() } else { vec![work(think_ns)] };
    let pong = [vec![read(there)], think(), vec![write(back), repeat(rounds)]].concat();
    let ping = [vec![write(there), read(back)], think(), vec![repeat(rounds)]].concat();
    for ((name, code), number) in [("pong", pong), ("ping", ping)].into_iter().zip(cpus) {
        let task = set.pinned(name, number, code);
        set.tasks[task].mm = task.get();
    }
    if !group.is_empty() {
        let group = cgroup::make(&mut set.groups, group);
        set.tasks.iter_mut().for_each(|task| task.group = Some(group));
    }
    set
}

/// One tick in ten milliseconds, none of which comes in while a run lasts that is shorter.
fn rarely_ticking(mut machine: Machine) -> Machine {
    (machine.hz, machine.tick) = (100, Ns(10 * MS));
    machine
}

/// How long a hop lasts, in picoseconds: so that beginning and end do not count, from the difference of two runs.
fn hop_ps(machine: &Machine, profile: &str, set: impl Fn(u64) -> TaskSet) -> u64 {
    let end = |rounds| {
        let log = Log::of(setup(machine.clone(), profile, set(rounds), 100 * MS));
        [0, 1].map(|row| log.exit_of(TaskId::new(row)).expect("both end")).into_iter().max().unwrap()
    };
    let (short, long) = (20, 170);
    (end(long) - end(short)) * 1_000 / (2 * (long - short))
}

const KERNELS: [&str; 5] = ["v4.12", "v4.20", "v5.19", "v6.1", "v6.12"];

/// Nothing takes time but what tasks compute.
///
/// Model: 09 T01
#[test]
fn without_prices_only_computing_takes_time() {
    for kernel in KERNELS {
        for cpus in [[0, 0], [0, 1]] {
            let end = |think| {
                let set = ping_pong(cpus, 1_000, think, "/a/b");
                let (_, simulation, end) = Log::and_simulation(setup(priced_machine(2, "zero"), kernel, set, 100 * MS));
                assert_eq!(end.ending, Ending::AllExited);
                assert!(simulation.counts().wakeups >= 1_998, "{kernel}: {:?}", simulation.counts());
                end.at.ns()
            };
            assert_eq!([end(0), end(1_000)], [0, 2_000_000], "{kernel} {cpus:?}");
        }
    }
}

/// Two hops make a round trip. The scheduler puts the two processes on two CPUs of the eight, as it did where the prices were fitted:
/// 59,648, 55,570 and 52,100 a second in groups nested 0, 1 and 2 deep, within 2 %.
///
/// Model: 09 T03
#[test]
fn perf_bench_pipe_makes_the_published_round_trips_on_hikey() {
    let machine = rarely_ticking(Machine::preset("hikey").unwrap());
    for (group, published) in [("", 59_648), ("/a", 55_570), ("/a/b", 52_100)] {
        let hop = hop_ps(&machine, "v4.20", |rounds| anywhere(ping_pong([0, 0], rounds, 0, group)));
        let per_second = 1_000_000_000_000 / (2 * hop);
        assert!((published * 98..=published * 102).contains(&(per_second * 100)), "{group}: {per_second}");
    }
}

/// On one CPU a hop takes two thirds of that: nobody has to leave idle, and no interrupt is sent.
#[test]
fn a_hop_on_one_cpu_of_the_board_takes_less() {
    let machine = rarely_ticking(priced_machine(1, "a53"));
    let hop = hop_ps(&machine, "v4.20", |rounds| ping_pong([0, 0], rounds, 0, ""));
    assert!((4_500_000..=6_000_000).contains(&hop), "{hop} ps");
}

/// Updates of averages scale what they add up to v5.0, clocks scale their time with the series: here those that move while no CPU
/// idles. Each level of groups has an entity and a queue more, which are updated at an enqueue and at a dequeue.
#[test]
fn a_scaled_clock_multiplies_no_more_the_deeper_groups_are() {
    let machine = rarely_ticking(Machine::preset("hikey").unwrap());
    let scalings = |kernel, group| {
        let set = anywhere(ping_pong([0, 0], 1_000, 0, group));
        let (_, simulation, _) = Log::and_simulation(setup(machine.clone(), kernel, set, 100 * MS));
        simulation.time_spent().ops[Op::PeltScale as usize].count / 2_000
    };
    for (group, contributions) in [("", 6), ("/a", 10), ("/a/b", 14)] {
        assert_eq!([scalings("v4.20", group), scalings("v4.20+clock-pelt", group)], [contributions, 2], "{group}");
    }
}

/// The same tasks, bound to no CPU.
fn anywhere(mut set: TaskSet) -> TaskSet {
    set.tasks.iter_mut().for_each(|task| task.affinity = None);
    set
}

/// On one CPU a hop takes 2.93 us within 3 %, across two 18.9 us within 5 %. Where EEVDF picks, the reader is awake more often when
/// it is written to, and a hop on one CPU takes less.
///
/// Model: 09 T04
#[test]
fn a_pipe_hop_in_a_guest_takes_3_us_on_one_cpu_and_19_us_across_two() {
    for kernel in ["v4.20", "v5.19", "v6.1"] {
        let machine = rarely_ticking(priced_machine(2, "kvm-guest"));
        let hop = |cpus| hop_ps(&machine, kernel, |rounds| ping_pong(cpus, rounds, 0, "")) / 1_000;
        let (pinned, across) = (hop([0, 0]), hop([0, 1]));
        assert!((2_842..=3_018).contains(&pinned), "{kernel}: {pinned} ns");
        assert!((17_955..=19_845).contains(&across), "{kernel}: {across} ns");
    }
}

/// Requests and responses of one byte between two processes on CPU 0.
fn tcp_rr(rounds: u64) -> TaskSet {
    let mut set = TaskSet::default();
    let [client, server] = set.connect(SockKind::Stream);
    let [send, recv] = [|sock| Instr::Send { sock, bytes: 1 }, |sock| Instr::Recv { sock, bytes: 1 }];
    set.pinned("server", 0, vec![recv(server), send(server), repeat(rounds)]);
    let task = set.pinned("client", 0, vec![send(client), recv(client), repeat(rounds)]);
    set.tasks[task].mm = 1;
    set
}

/// A hop of TCP_RR in ns on a core of two threads with these prices, the other thread idle or busy.
fn tcp_hop(costs: &str, beside: bool, freq_capacity: u32) -> u64 {
    let mut machine = machine_file::parse(&format!("cores = 1\nthreads = 2\nsmt_percent = 62\n[costs]\n{costs}")).unwrap();
    machine.cpus.iter_mut().for_each(|cpu| cpu.freq_capacity = freq_capacity);
    let set = |rounds| {
        let mut set = tcp_rr(rounds);
        if beside {
            set.pinned("hog", 1, vec![work(u64::MAX)]);
        }
        set
    };
    hop_ps(&rarely_ticking(machine), "v5.19", set) / 1_000
}

/// 0.85 of the highest frequency.
const ALL_CORES_BUSY: u32 = 870;

/// Alone on its core a hop takes 3.7 to 4.8 us. Beside a busy sibling at a lower frequency it takes that over 0.62 over 0.85. The
/// worked example's 7 to 9 us are a sum without `recv_copy`, so that price is taken off before the comparison.
///
/// With the worked example's factor of 2.4 that is 18 to 22 us. The factor of `sis-util-box` is 3: it was read off how often the
/// unpatched kernel searched. The hop is what that factor makes of it, locks apart.
///
/// Model: 09 T05
#[test]
fn a_tcp_hop_on_a_xeon_takes_4_us_alone_and_twice_that_beside_a_busy_sibling() {
    let spr = "preset = \"xeon-spr\"";
    let loaded = |costs: &str| tcp_hop(costs, true, ALL_CORES_BUSY);
    let alone = tcp_hop(spr, false, 1024);
    assert!((3_700..=4_800).contains(&alone), "{alone} ns");
    let beside = loaded(spr);
    assert!(beside.abs_diff(alone * 100 * 1024 / (62 * u64::from(ALL_CORES_BUSY))) <= 3, "{beside} ns");
    let recv_copy = 350 * 100 * 1024 / (62 * u64::from(ALL_CORES_BUSY));
    assert!((7_000..=9_000).contains(&(beside - recv_copy)), "{beside} ns, {recv_copy} of them for the copy");

    let classes = ["syscall", "socket", "network", "wakeup", "enqueue", "switch"].map(|class| format!("{class} = 2.4"));
    let calibrated = loaded(&format!("{spr}\nscale = {{ {} }}", classes.join(", ")));
    assert!((18_000..=22_000).contains(&calibrated), "{calibrated} ns");
    let (ours, lock) = (loaded("preset = \"sis-util-box\""), 20 * 100 * 1024 / (62 * u64::from(ALL_CORES_BUSY)));
    assert!(ours.abs_diff(3 * (beside - lock) + lock) <= 30, "{ours} ns");
}
