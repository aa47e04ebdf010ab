//! What the tests of this crate share: a printer of task sets, their invariants, a slow interpreter.

use fairground_model::{Frame, Instr, Program, Start, Step, Surroundings, TaskSet};
use fairground_stdx::{CpuId, Id, IndexVec, Instant, RngStream, StreamKind};
use std::fmt::Write;
use std::path::Path;

/// The task set as text: one line per task, one per instruction.
pub(crate) fn dump(set: &TaskSet) -> String {
    let mut out = String::new();
    for (id, group) in set.groups.iter_enumerated() {
        writeln!(out, "group {id} {} below {:?} shares {} idle {}", group.name, group.parent, group.shares, group.idle).unwrap();
    }
    for task in set.tasks.iter() {
        let affinity = task.affinity.map_or("all".into(), |cpus| cpus.to_string());
        writeln!(
            out,
            "task {} {:?} nice {}{} cpus {affinity} program {} start {:?} slack {} mm {}{}{}{}",
            task.name,
            task.policy,
            task.nice,
            task.slice.map_or(String::new(), |slice| format!(" slice {slice}")),
            task.program,
            task.start,
            task.timer_slack,
            task.mm,
            if task.working_set_kib > 0 { format!(" works on {}KiB", task.working_set_kib) } else { String::new() },
            task.first_cpu.map_or(String::new(), |cpu| format!(" first {cpu}")),
            if task.measured { "" } else { " helper" },
        )
        .unwrap();
    }
    for (id, program) in set.programs.iter_enumerated() {
        writeln!(out, "program {id}").unwrap();
        program.code.iter().enumerate().for_each(|(at, instr)| writeln!(out, "  {at} {instr:?}").unwrap());
    }
    set.pipes.iter_enumerated().for_each(|(id, pipe)| {
        let each = pipe.bytes.map_or(String::new(), |bytes| format!(" pages of messages of {bytes} bytes"));
        writeln!(out, "pipe {id} holds {}{each}", pipe.capacity).unwrap();
    });
    set.socks.iter_enumerated().for_each(|(id, sock)| writeln!(out, "socket {id} {:?} to {}", sock.kind, sock.peer).unwrap());
    set.locks.iter_enumerated().for_each(|(id, lock)| writeln!(out, "lock {id} {} {}", lock.kind.name(), lock.name).unwrap());
    set.words.iter_enumerated().for_each(|(id, word)| writeln!(out, "word {id} holds {word}").unwrap());
    set.markers
        .iter_enumerated()
        .for_each(|(id, marker)| writeln!(out, "marker {id} {} {:?}", marker.name, marker.unit).unwrap());
    out
}

/// Asserts what the engine relies on: every id exists, every jump lands, forked tasks are forked once.
pub(crate) fn check(set: &TaskSet) {
    let mut forks = vec![0; set.tasks.len()];
    for task in set.tasks.iter() {
        let program = &set.programs[task.program];
        for instr in &program.code {
            if let Some(to) = instr.target() {
                assert!((to as usize) < program.code.len(), "jump to {to}");
            }
            match instr {
                Instr::Write { pipe, .. } | Instr::Read { pipe, .. } | Instr::Poll { pipe } => {
                    assert!(pipe.index() < set.pipes.len())
                }
                Instr::Send { sock, bytes } | Instr::Recv { sock, bytes } => {
                    assert!((1..=set.socks[*sock].kind.bytes_max()).contains(bytes));
                }
                Instr::Load { word, .. }
                | Instr::Store { word, .. }
                | Instr::Spin { word, .. }
                | Instr::FutexWait { word, .. }
                | Instr::FutexWake { word, .. } => assert!(word.first.index() < set.words.len()),
                Instr::Lock { lock, .. } | Instr::Unlock { lock } | Instr::Downgrade { lock } => {
                    assert!(lock.index() < set.locks.len())
                }
                Instr::SetGroup { group } => assert!(group.is_none_or(|group| group.index() < set.groups.len())),
                Instr::Fork { task } => forks[task.index()] += 1,
                Instr::MarkSince { marker, .. } | Instr::MarkBetween { marker, .. } | Instr::MarkValue { marker, .. } => {
                    assert!(marker.index() < set.markers.len());
                }
                _ => {}
            }
        }
    }
    for (task, forks) in set.tasks.iter().zip(forks) {
        assert_eq!(forks, usize::from(task.start == Start::Forked), "{}", task.name);
        assert!((-20..=19).contains(&task.nice));
        assert!(task.group.is_none_or(|group| group.index() < set.groups.len()));
        assert!(task.affinity.is_none_or(|cpus| !cpus.is_empty()));
    }
}

/// More words than any workload of the tests has: all 0, for a program that runs by itself.
const WORDS: usize = 1 << 16;

/// The first steps of a program on a machine of its own: runs take their time, sleeps end on time.
pub(crate) fn steps(program: &Program, count: usize) -> Vec<(u64, Step)> {
    let (mut frame, mut now) = (Frame::new(), 0);
    let mut rng = RngStream::new(1, StreamKind::TaskBehavior, 0);
    let mut words = IndexVec::filled(0, WORDS);
    let mut out = Vec::new();
    while out.len() < count {
        let around = &mut Surroundings { now: Instant::from_ns(now), cpu: CpuId::new(0), rng: &mut rng, words: &mut words };
        let step = frame.next(program, around);
        out.push((now, step));
        match step {
            Step::Run { work, .. } => now += work.0,
            Step::RunTime { time, .. } | Step::SleepFor(time) | Step::Io(time) => now += time.0,
            Step::RunUntil { at } | Step::SleepUntil(at) => now = now.max(at.ns()),
            // Alone on its CPU, but for its sleeps: nobody looks at the clock across one.
            Step::Read { into, .. } | Step::ThreadClock { into: Some(into) } => frame.set(into, now),
            Step::Exit | Step::Stuck => break,
            _ => {}
        }
    }
    out
}

/// The text in a zstd file.
pub(crate) fn unzip(path: &Path) -> String {
    let mut file = std::fs::File::open(path).unwrap();
    let mut text = String::new();
    std::io::Read::read_to_string(&mut ruzstd::decoding::StreamingDecoder::new(&mut file).unwrap(), &mut text).unwrap();
    text
}
