//! The event loop does not allocate once its tables have their size.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test stops where it fails")]

mod common;

use common::{Build, MS, US, hogs, priced_machine, setup, sleep, work};
use fairground_model::{Instr, NullSink, SockKind, TaskSet};
use fairground_sim::Simulation;
use fairground_stdx::Instant;
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};
use std::alloc::System;

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// Allocations of a run from `warm_ms` to its end, and the events in that time.
fn allocations(profile: &str, tasks: TaskSet, cpus: usize, warm_ms: u64) -> (usize, u64) {
    let mut setup = setup(priced_machine(cpus, "xeon-spr"), profile, tasks, 1_000 * MS);
    setup.paranoid = false;
    let mut simulation = Simulation::new(setup).unwrap();
    simulation.run_until(Instant::from_ns(warm_ms * MS), &mut NullSink).unwrap();
    let before = simulation.counts().events();
    let region = Region::new(ALLOCATOR);
    simulation.run_until(Instant::MAX, &mut NullSink).unwrap();
    let change = region.change();
    (change.allocations + change.reallocations, simulation.counts().events() - before)
}

/// A program without a harness, as the count is of the whole process.
fn main() {
    for profile in ["v5.19", "v6.6", "v6.12", "v6.18"] {
        let (count, events) = allocations(profile, hogs(&[0, 0, 0, 0, 0, 5, 5, -5, 0, 19]), 2, 100);
        assert!(events > 1_000, "{profile}: hogs: {events} events");
        assert_eq!(count, 0, "{profile}: hogs: {events} events");
        // A queue grows when more tasks than ever before meet on its CPU, which may take a while.
        let (count, events) = allocations(profile, pipes_and_sleepers(), 3, 500);
        assert!(events > 10_000, "{profile}: pipes and sleepers: {events} events");
        assert_eq!(count, 0, "{profile}: pipes and sleepers: {events} events");
        let (count, events) = allocations(profile, connections(), 3, 900);
        assert!(events > 10_000, "{profile}: connections: {events} events");
        assert_eq!(count, 0, "{profile}: connections: {events} events");
    }
    let (count, events) = allocations("v6.18", hogs(&[0; 300]), 2, 400);
    assert_eq!(count, 0, "a long queue: {events} events");
}

fn connections() -> TaskSet {
    let mut set = TaskSet::default();
    for kind in [SockKind::Stream, SockKind::Datagram, SockKind::Stream, SockKind::Datagram] {
        let [client, server] = set.connect(kind);
        for (name, sock, first) in [("client", client, true), ("server", server, false)] {
            let (send, recv) = (Instr::Send { sock, bytes: 10 }, Instr::Recv { sock, bytes: 10 });
            let [one, other] = if first { [send, recv] } else { [recv, send] };
            set.task(name, vec![one, other, Instr::Jump { to: 0 }]);
        }
    }
    set
}

fn pipes_and_sleepers() -> TaskSet {
    let mut pipes = TaskSet::default();
    let (ping, pong) = (pipes.pipe(1), pipes.pipe(1));
    let write = |pipe| Instr::Write { pipe, value: None };
    let read = |pipe| Instr::Read { pipe, into: 0 };
    pipes.task("ping", vec![write(ping), read(pong), Instr::Jump { to: 0 }]);
    pipes.task("pong", vec![read(ping), write(pong), Instr::Jump { to: 0 }]);
    for row in 0..6 {
        pipes.task("sleeper", vec![work((100 + row) * US), sleep((300 + 7 * row) * US), Instr::Jump { to: 0 }]);
    }
    pipes
}
