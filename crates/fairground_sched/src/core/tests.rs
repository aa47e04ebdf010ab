//! How a wake-up is queued, and the wake list.

use crate::rt::RtRq;
use crate::task::TaskState;
use crate::{Ctx, Profile, Request, Sched, WakeFlags, Waking};
use fairground_model::features::{Feat, FeatWrite};
use fairground_model::{
    Digest, MachineView, Meter, Op, Policy, PrevState, Recorder, RtPriority, Sink, TaskSpec, TraceEvent, WakeContext,
};
use fairground_stdx::{CpuId, CpuMask, Instant, Ns, ProgramId, TaskId};

const FLAGS: WakeFlags = WakeFlags { sync: false, context: WakeContext::Task };

/// The CPU of each wake-up, and the task.
#[derive(Default)]
struct Wakeups(Vec<(CpuId, TaskId)>);

impl Sink for Wakeups {
    fn record(&mut self, _at: Instant, cpu: CpuId, event: &TraceEvent) {
        if let TraceEvent::SchedWakeup { task, .. } = event {
            self.0.push((cpu, *task));
        }
    }
}

/// CPUs 0 to 3 share a cache, and 4 to 7 do.
struct Bench {
    sched: Sched,
    view: MachineView,
    meter: Meter,
    requests: Vec<Request>,
    wakeups: Wakeups,
}

fn cpu(number: u32) -> CpuId {
    CpuId::new(number)
}

impl Bench {
    fn new(kernel: &str) -> Bench {
        let mut view = MachineView::flat(8, Ns::from_ms(1));
        for number in 0..8 {
            let llc = if number < 4 { "0-3" } else { "4-7" };
            view.cpus[cpu(number)].llc = CpuMask::parse_list(llc).unwrap();
        }
        let sched = Sched::new(Profile::parse(kernel).unwrap(), &view);
        Bench { sched, view, meter: Meter::free(), requests: Vec::new(), wakeups: Wakeups::default() }
    }

    fn on<R>(&mut self, this: u32, call: impl FnOnce(&mut Sched, &mut Ctx<'_, '_>) -> R) -> R {
        let mut digest = Digest::default();
        let mut trace = Recorder::new(&mut digest, &mut self.wakeups);
        let (machine, meter, requests) = (&self.view, &mut self.meter, &mut self.requests);
        let now = Instant::from_ns(1_000_000);
        call(
            &mut self.sched,
            &mut Ctx {
                now,
                cpu: cpu(this),
                jiffies: 1,
                until: Instant::MAX,
                switched: None,
                machine,
                meter,
                requests,
                trace: &mut trace,
            },
        )
    }

    /// A task that runs on `number`, or waits there.
    fn queued(&mut self, number: u32) -> TaskId {
        let task = self.sched.add_task(&TaskSpec::new("task", ProgramId::new(0)), CpuMask::first_n(8));
        self.on(number, |sched, cx| {
            sched.sched_fork(cx, None, task);
            sched.wake_up_new_task(cx, task, Some(cx.cpu));
            if sched.rq(cx.cpu).curr.is_none() {
                sched.schedule(cx);
            }
        });
        task
    }

    /// A task that ran on `number` and sleeps; its CPU may still be switching away from it.
    fn asleep(&mut self, number: u32, on_cpu: bool) -> TaskId {
        let task = self.queued(number);
        self.on(number, |sched, cx| {
            sched.set_current_state(cx.cpu, PrevState::Sleeping);
            let leaving = sched.schedule_start(cx);
            sched.schedule_finish(cx, leaving);
            if !on_cpu {
                sched.finish_task_switch(task);
            }
        });
        self.requests.clear();
        task
    }

    /// Whether a waker on `this` leaves a sleeper of `target` to that CPU.
    fn is_left_to(&mut self, target: u32, this: u32) -> bool {
        let task = self.asleep(target, false);
        self.on(this, |sched, cx| {
            sched.ttwu_select(cx, task, FLAGS);
            sched.ttwu_queue(cx, task, cpu(target));
            sched.ttwu_pending(cpu(target))
        })
    }
}

/// Model: 06 T12
#[test]
fn wake_ups_from_another_cache_are_queued_on_the_target_and_from_v6_1_on_those_of_idle_cpus() {
    // Whether the target queues the wake-up: an idle CPU of the same cache, a busy one of it, idle and busy of another.
    let matrix = [
        ("v4.12", [false, false, true, true]),
        ("v4.20", [false, false, true, true]),
        ("v5.1", [false, false, true, true]),
        ("v5.10", [false, false, true, true]),
        ("v5.19", [false, false, true, true]),
        ("v6.1", [true, false, true, true]),
        ("v6.6", [true, false, true, true]),
        ("v6.18", [true, false, true, true]),
    ];
    for (kernel, expected) in matrix {
        for (case, expected) in expected.into_iter().enumerate() {
            let mut bench = Bench::new(kernel);
            let target = if case < 2 { 2 } else { 6 };
            if case % 2 == 1 {
                // The sleeper leaves before another task takes its CPU.
                let task = bench.asleep(target, false);
                bench.queued(target);
                bench.requests.clear();
                let left = bench.on(0, |sched, cx| {
                    sched.ttwu_select(cx, task, FLAGS);
                    sched.ttwu_queue(cx, task, cpu(target));
                    sched.ttwu_pending(cpu(target))
                });
                assert_eq!(left, expected, "{kernel}, case {case}");
            } else {
                assert_eq!(bench.is_left_to(target, 0), expected, "{kernel}, case {case}");
            }
        }
        let mut off = Bench::new(kernel);
        off.sched.set_feature(FeatWrite { feat: Feat::TTWU_QUEUE, on: false });
        assert!(!off.is_left_to(2, 0) && !off.is_left_to(6, 0), "{kernel}: direct without the switch");
        assert!(!Bench::new(kernel).is_left_to(2, 2), "{kernel}: a CPU leaves nothing to itself");
    }
}

/// A wakee that is still on its CPU is left to it from v5.8 on, without a choice; before, and if the rule is not met, the
/// waker waits.
///
/// Model: 06 T12
#[test]
fn a_wakee_still_on_its_cpu_is_left_to_it_from_v5_8_on() {
    for (kernel, alone, beside_one, other_cache) in [
        ("v4.20", Waking::OnCpu, Waking::OnCpu, Waking::OnCpu),
        ("v5.19", Waking::OnWakeList, Waking::OnWakeList, Waking::OnWakeList),
        ("v6.1", Waking::OnWakeList, Waking::OnCpu, Waking::OnWakeList),
    ] {
        for (waiting, this, expected) in [(0, 0, alone), (1, 0, beside_one), (0, 4, other_cache)] {
            let mut bench = Bench::new(kernel);
            let task = bench.asleep(2, true);
            for _ in 0..waiting {
                bench.queued(2);
            }
            let looks = bench.meter.total(Op::ScanCpu);
            let waking = bench.on(this, |sched, cx| sched.ttwu_select(cx, task, FLAGS));
            assert_eq!(waking, expected, "{kernel}, {waiting} wait, woken from {this}");
            assert_eq!(bench.meter.total(Op::ScanCpu), looks, "no CPU was searched for");
            assert_eq!(bench.sched.task(task).state, TaskState::Waking);
            bench.sched.finish_task_switch(task);
            if waking == Waking::OnCpu {
                let Waking::Selected(target) = bench.on(this, |sched, cx| sched.ttwu_off_cpu(cx, task, FLAGS)) else {
                    panic!("it is chosen at once")
                };
                bench.on(this, |sched, cx| sched.ttwu_queue(cx, task, target));
            }
            let cpu_of_task = bench.sched.task(task).cpu;
            bench.on(cpu_of_task.get(), |sched, cx| sched.sched_ttwu_pending(cx));
            assert_eq!(bench.sched.task(task).state, TaskState::Queued);
            assert!(bench.sched.check().is_ok());
        }
    }
}

/// One interrupt for the whole list; the target queues it, oldest first (up to v5.7 newest first), and records it.
///
/// Model: 06 T12
#[test]
fn one_interrupt_wakes_the_whole_list_in_order() {
    for (kernel, newest_first) in [("v4.12", true), ("v5.19", false), ("v6.12", false)] {
        let mut bench = Bench::new(kernel);
        let tasks = [4, 5, 6].map(|number| bench.asleep(number, false));
        bench.wakeups.0.clear();
        for task in tasks {
            bench.on(0, |sched, cx| {
                sched.ttwu_select(cx, task, FLAGS);
                sched.ttwu_queue(cx, task, cpu(7));
            });
        }
        let at = Instant::from_ns(1_000_000);
        assert_eq!(bench.requests, [Request::WakeListIpi { cpu: cpu(7), at }], "{kernel}");
        assert!(bench.wakeups.0.is_empty());
        assert_eq!(tasks.map(|task| bench.sched.task(task).cpu), [cpu(7); 3], "the waker moves them");
        bench.on(7, |sched, cx| sched.sched_ttwu_pending(cx));
        let mut order = tasks.map(|task| (cpu(7), task));
        if newest_first {
            order.reverse();
        }
        assert_eq!(bench.wakeups.0, order, "{kernel}");
        let rq = bench.sched.rq(cpu(7));
        assert!(rq.need_resched && rq.nr_running == 3 && !bench.sched.ttwu_pending(cpu(7)));
        assert!(bench.sched.check().is_ok());
    }
}

/// Nobody interrupts a CPU that polls its flag in idle.
#[test]
fn a_polling_cpu_needs_no_interrupt() {
    for (polling, sent) in [(true, 0), (false, 1)] {
        let mut bench = Bench::new("v6.1");
        bench.sched.sched_idle_set_state(cpu(6), Ns::from_us(2), polling);
        let task = bench.asleep(5, false);
        let before = bench.meter.total(Op::IpiSend);
        bench.on(0, |sched, cx| {
            sched.ttwu_select(cx, task, FLAGS);
            sched.ttwu_queue(cx, task, cpu(6));
        });
        assert_eq!(bench.meter.total(Op::IpiSend) - before, sent);
        assert!(matches!(bench.requests[..], [Request::WakeListIpi { .. }]), "its engine is told all the same");
    }
}

/// A push asks the target for a schedule() and no more: whether that may do without a look at the clock a wake-up says.
#[test]
fn a_pushed_task_leaves_the_clock_of_its_target_to_be_read_up_to_v6_19() {
    for (kernel, skips) in [("v6.12", false), ("v6.18", false), ("v7.2", true)] {
        pushes(kernel, skips);
    }
}

fn pushes(kernel: &str, skips: bool) {
    let mut bench = Bench::new(kernel);
    let fifo = Policy::Fifo(RtPriority::MIN);
    let (fair, rt) = (bench.queued(1), bench.queued(0));
    bench.on(0, |sched, cx| {
        sched.sched_setscheduler(cx, rt, fifo).unwrap();
        let waits = sched.add_task(&TaskSpec { policy: fifo, ..TaskSpec::new("waits", ProgramId::new(0)) }, CpuMask::first_n(2));
        sched.sched_fork(cx, None, waits);
        sched.wake_up_new_task(cx, waits, Some(cpu(0)));
        sched.push_tasks::<RtRq>(cx, cpu(0));
        assert_eq!((sched.task(waits).cpu, sched.rqs[cpu(1)].curr, sched.rqs[cpu(1)].need_resched), (cpu(1), Some(fair), true));
        assert_eq!(sched.rqs[cpu(1)].clock_skip.requested, skips, "{kernel}");
    });
}
