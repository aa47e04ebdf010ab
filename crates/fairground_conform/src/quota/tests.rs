//! Small recordings of quota made by hand.

use super::{Below, Quota, QuotaOutcome, QuotaSetup, Seen, replay};
use crate::outcome::Tally;
use crate::recording::Recording;
use fairground_model::{CpuMax, MachineView, PrevState, QuotaCall, QuotaProbe, Sink, TaskInfo, TraceEvent};
use fairground_sched::Profile;
use fairground_stdx::{CpuId, Instant, Ns, TaskId};

const US: u64 = 1_000;
const MS: u64 = 1_000_000;

/// One task on each CPU, whose queue has the CPU's number; times in ns.
#[derive(Default)]
struct Tape {
    recording: Recording,
    probes: Vec<QuotaProbe>,
}

impl Tape {
    fn new(cpus: u32) -> Tape {
        let mut tape = Tape::default();
        for row in 0..cpus {
            let info = TaskInfo { name: format!("h{row}"), pid: 100 + row, prio: 120 };
            tape.recording.task(TaskId::new(row), &info);
            tape.runs(0, row);
        }
        tape
    }
    fn event(&mut self, at: u64, cpu: u32, event: TraceEvent) {
        self.recording.record(Instant::from_ns(at), CpuId::new(cpu), &event);
    }
    fn probe(&mut self, at: u64, cpu: u32, call: QuotaCall) {
        self.probes.push(QuotaProbe { at: Instant::from_ns(at), cpu: CpuId::new(cpu), call });
    }
    fn switch(&mut self, at: u64, cpu: u32, prev: Option<u32>, prev_state: PrevState, next: Option<u32>) {
        let (prev, next) = (prev.map(TaskId::new), next.map(TaskId::new));
        self.event(at, cpu, TraceEvent::SchedSwitch { prev, prev_state, next });
    }
    fn runs(&mut self, at: u64, cpu: u32) {
        self.switch(at, cpu, None, PrevState::Running, Some(cpu));
    }
    fn sleeps(&mut self, at: u64, cpu: u32) {
        self.switch(at, cpu, Some(cpu), PrevState::Sleeping, None);
    }
    fn ran(&mut self, at: u64, cpu: u32, runtime: u64) {
        let (task, runtime) = (TaskId::new(cpu), Ns(runtime));
        self.event(at, cpu, TraceEvent::SchedStatRuntime { task, runtime, vruntime: None });
    }
    fn throttle(&mut self, at: u64, cpu: u32, remaining: i64) {
        self.probe(at, cpu, QuotaCall::Throttle { queue: cpu, remaining, current: 100 + cpu });
    }
    /// The period timer of CPU 0 fires and releases a queue.
    fn refill(&mut self, at: u64, releases: u32) {
        self.probe(at, 0, QuotaCall::PeriodTimer);
        self.hand_out(at + US, releases);
    }
    fn hand_out(&mut self, at: u64, releases: u32) {
        self.probe(at, 0, QuotaCall::DistributeBegins);
        self.probe(at + US, 0, QuotaCall::Unthrottle { queue: releases, remaining: 1 });
        self.probe(at + 2 * US, 0, QuotaCall::DistributeEnds);
    }
    fn replay(&self, kernel: &str, quota: u64) -> QuotaOutcome {
        self.replay_above(kernel, quota, Vec::new())
    }
    fn replay_above(&self, kernel: &str, quota: u64, below: Vec<Below>) -> QuotaOutcome {
        let cpus = self.recording.tasks.len();
        let setup = QuotaSetup {
            below,
            profile: Profile::parse(kernel).expect("a modelled kernel"),
            machine: MachineView::flat(cpus, Ns(4 * MS)),
            limit: CpuMax { quota: Some(Ns(quota)), period: Ns(100 * MS), burst: Ns::ZERO },
            members: self.recording.tasks.ids().collect(),
            joined: Instant::ZERO,
            judged: Instant::ZERO,
            keep: 10,
        };
        replay(&self.recording, &self.probes, &setup)
    }
}

fn tally(agree: u64, decisions: u64) -> Tally {
    Tally { decisions, agree }
}

const KERNELS: [&str; 4] = ["v5.10", "v6.1", "v6.12", "v6.18"];

/// 10 ms: a slice and 4 ms of debt at the first tick, the last millisecond at the third; 2.03 ms of debt when it is throttled.
fn hog(wrong_by: i64) -> Tape {
    let mut tape = Tape::new(1);
    (1..=3).for_each(|tick| tape.ran(tick * 4 * MS, 0, 4 * MS));
    tape.ran(12 * MS + 30 * US, 0, 30 * US);
    tape.throttle(12 * MS + 31 * US, 0, -2_030_000 + wrong_by);
    tape.switch(12 * MS + 35 * US, 0, Some(0), PrevState::Running, None);
    tape.refill(100 * MS, 0);
    tape.runs(100 * MS + 10 * US, 0);
    tape.ran(104 * MS, 0, 9 * MS);
    tape
}

#[test]
fn debts_are_exact_to_the_nanosecond() {
    for kernel in KERNELS {
        let outcome = hog(0).replay(kernel, 10 * MS);
        assert_eq!([Quota::Throttle, Quota::Unthrottle, Quota::PeriodTimer].map(|what| outcome.of(what)), [tally(1, 1); 3]);
        assert_eq!((outcome.races, outcome.found_runtime, outcome.overdue, outcome.misses.len()), (0, 0, 0, 0), "{kernel}");
    }
}

#[test]
fn a_nanosecond_that_differs_is_told_and_followed() {
    for kernel in KERNELS {
        let outcome = hog(-1).replay(kernel, 10 * MS);
        assert_eq!([Quota::Throttle, Quota::Unthrottle].map(|what| outcome.of(what)), [tally(0, 1), tally(1, 1)]);
        let miss = outcome.misses[0];
        assert_eq!((miss.recorded, miss.core, miss.pool), (Seen::Left(-2_030_001), Seen::Left(-2_030_000), 0));
        assert_eq!((miss.at.ns(), miss.cpu.get(), miss.what), (12 * MS + 31 * US, 0, Quota::Throttle));
    }
}

#[test]
fn a_timer_that_hands_out_nothing_where_somebody_waits_differs() {
    let mut tape = hog(0);
    tape.probes.retain(|probe| matches!(probe.call, QuotaCall::Throttle { .. } | QuotaCall::PeriodTimer));
    let outcome = tape.replay("v6.12", 10 * MS);
    assert_eq!(outcome.of(Quota::PeriodTimer), tally(0, 1));
    assert_eq!(outcome.misses[0].recorded, Seen::HandsOut(false));
}

/// Both took a slice as they came, which leaves 7 ms, and want 6 ms each at the same time. The second in the record got all of it, as what follows shows.
#[test]
fn who_asked_first_is_taken_from_the_outcome_but_not_the_amounts() {
    let race = |second_got: i64| {
        let mut tape = Tape::new(2);
        tape.ran(4 * MS, 0, 6 * MS);
        tape.ran(4 * MS + 2 * US, 1, 6 * MS);
        tape.ran(4 * MS + 10 * US, 0, 10 * US);
        tape.throttle(4 * MS + 11 * US, 0, -10_000);
        tape.ran(8 * MS, 1, 8 * MS);
        tape.throttle(8 * MS + US, 1, second_got - 9 * MS as i64);
        tape.replay("v6.12", 17 * MS)
    };
    let told = race(6 * MS as i64);
    assert_eq!((told.of(Quota::Throttle), told.races), (tally(2, 2), 1));
    let more = race(6 * MS as i64 + 5);
    assert_eq!(more.of(Quota::Throttle), tally(1, 2), "that much was never there");
}

/// Two sleepers give back 8 ms while a third queue waits.
fn slack(handed_out: bool) -> QuotaOutcome {
    let mut tape = Tape::new(3);
    (0..3).for_each(|cpu| tape.ran(4 * MS + u64::from(cpu) * 50 * US, cpu, US));
    tape.ran(8 * MS, 2, 5 * MS);
    tape.throttle(8 * MS + US, 2, -1_000);
    tape.sleeps(9 * MS, 0);
    tape.sleeps(9 * MS + 100 * US, 1);
    if handed_out {
        tape.hand_out(14 * MS + 150 * US, 2);
    }
    tape.refill(100 * MS, 2);
    if handed_out {
        // Nobody waits any more.
        tape.probes.truncate(tape.probes.len() - 3);
    }
    tape.replay("v6.1", 15 * MS)
}

#[test]
fn what_sleepers_give_back_is_handed_out_five_milliseconds_later() {
    let outcome = slack(true);
    assert_eq!(Quota::ALL.map(|what| outcome.of(what)), [tally(1, 1); 4], "{:?}", outcome.misses);
    let missed = slack(false);
    assert_eq!(missed.of(Quota::SlackTimer), tally(0, 1));
}

#[test]
fn a_queue_may_be_throttled_as_its_first_task_comes() {
    let mut tape = Tape::new(2);
    tape.ran(4 * MS, 0, 10 * MS);
    tape.sleeps(4 * MS + US, 0);
    tape.ran(4 * MS + 50 * US, 1, 10 * MS);
    tape.throttle(4 * MS + 60 * US, 1, -10 * MS as i64);
    // Woken by CPU 1, which writes the probe.
    tape.probe(5 * MS, 1, QuotaCall::Throttle { queue: 0, remaining: -5 * MS as i64, current: 0 });
    tape.event(5 * MS + US, 1, TraceEvent::SchedWakeup { task: TaskId::new(0), target_cpu: CpuId::new(0) });
    tape.throttle(200 * MS, 0, 0);
    let outcome = tape.replay("v6.12", 5 * MS);
    assert_eq!(outcome.of(Quota::Throttle), tally(2, 3), "{:?}", outcome.misses);
    assert_eq!(outcome.misses[0].core, Seen::LeftThrottled(-5 * MS as i64));
}

#[test]
fn a_record_that_makes_no_sense_is_counted_and_never_stops() {
    let mut tape = Tape::new(2);
    for at in (1..60).map(|step| step * MS) {
        tape.throttle(at, (at / MS % 2) as u32, i64::from((at / MS % 7) as i32) - 3);
        tape.ran(at + US, 0, 3 * MS);
        tape.hand_out(at + 2 * US, 1);
        tape.refill(at + 10 * US, (at / MS % 3) as u32);
        tape.sleeps(at + 20 * US, 1);
    }
    tape.probe(61 * MS, 9, QuotaCall::PeriodTimer);
    for kernel in KERNELS {
        let outcome = tape.replay(kernel, 5 * MS);
        assert!(outcome.of(Quota::Throttle).decisions == 59 && !outcome.misses.is_empty());
    }
}

/// Two CPUs of a group of 12 ms. The task of CPU 0 is in a group below that is throttled at 6 ms: all but 1 ms of what the group above has
/// there goes back, and CPU 1 takes it at 10 ms. That is charged 20 us more by the time of its throttle than its task.
#[test]
fn who_is_throttled_below_gives_back_above() {
    for kernel in KERNELS {
        let mut tape = Tape::new(1);
        tape.recording.task(TaskId::new(1), &TaskInfo { name: "h1".to_string(), pid: 101, prio: 120 });
        tape.ran(4 * MS, 0, 4 * MS);
        tape.ran(6 * MS, 0, 2 * MS);
        tape.switch(6 * MS + 3 * US, 0, Some(0), PrevState::Running, None);
        tape.runs(10 * MS, 1);
        tape.ran(18 * MS, 1, 8 * MS);
        tape.throttle(18 * MS + 10 * US, 1, -3_020_000);
        tape.ran(18 * MS + 20 * US, 1, 20 * US);
        let mut below = Tape::default();
        below.probe(6 * MS + US, 0, QuotaCall::Throttle { queue: 9, remaining: -1, current: 100 });
        let outcome = |tape: &Tape, below: &[QuotaProbe]| {
            let below = Below { members: vec![TaskId::new(0)], probes: below.to_vec() };
            tape.replay_above(kernel, 12 * MS, vec![below]).of(Quota::Throttle)
        };
        let by_tasks = kernel == "v6.18";
        assert_eq!(outcome(&tape, &below.probes), tally(u64::from(!by_tasks), 1), "{kernel}");
        tape.probes.insert(
            0,
            QuotaProbe { at: Instant::from_ns(6 * MS + 2 * US), cpu: CpuId::new(0), call: QuotaCall::ThrottleWork { task: 100 } },
        );
        assert_eq!(outcome(&tape, &below.probes), tally(1, 1), "{kernel}: in 6.18 a task leaves by itself");
    }
}
