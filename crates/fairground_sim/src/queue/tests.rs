//! The fast queue against the heap, and the order of events itself.

use super::*;
use fairground_stdx::{Id, Ns};
use proptest::prelude::*;

const CPUS: u32 = 5;
const TASKS: u32 = 12;

fn at(ns: u64) -> Instant {
    Instant::from_ns(ns)
}
fn cpu(number: u32) -> CpuId {
    CpuId::new(number)
}
fn task(row: u32) -> TimerId {
    TimerId::new(row)
}

/// One call of the engine; times are relative to the queue's clock.
#[derive(Clone, Debug)]
enum Call {
    Set(u32, Slot, Option<u64>),
    Hold(u32, u64),
    Step(u32, u64),
    Arm { cpu: u32, task: u32, hard: u64, slack: u64 },
    Cancel(u32),
    Advance,
}

/// Lengths from nothing to hours, so that every level of the wheel is used and ties are frequent.
fn length() -> impl Strategy<Value = u64> {
    prop_oneof![0..3u64, 0..70u64, 0..5_000u64, 0..2_000_000u64, 0..20_000_000_000_000u64, Just(4_000_000u64)]
}

fn call() -> impl Strategy<Value = Call> {
    let slot = prop::sample::select(Slot::ALL.to_vec());
    prop_oneof![
        2 => (0..CPUS, slot, prop::option::weighted(0.8, length())).prop_map(|(cpu, slot, at)| Call::Set(cpu, slot, at)),
        1 => (0..CPUS, length()).prop_map(|(cpu, until)| Call::Hold(cpu, until)),
        3 => (0..CPUS, length()).prop_map(|(cpu, length)| Call::Step(cpu, length)),
        4 => (0..CPUS, 0..TASKS, length(), length()).prop_map(|(cpu, task, hard, slack)| Call::Arm { cpu, task, hard, slack }),
        1 => (0..TASKS).prop_map(Call::Cancel),
        4 => Just(Call::Advance),
    ]
}

/// The earliest event of the CPUs beside each one: what comes first in a queue in which that one is silent.
fn first_of_others<Q: EventQueue>(queue: &mut Q) -> Vec<Instant> {
    (0..CPUS).map(|number| queue.first_of_others(cpu(number))).collect()
}

/// What came out: an event and, if it was an interrupt, the timers that it expired.
type Outcome = Option<(Instant, Class, CpuId, Vec<TimerId>)>;

/// Handles the next event by clearing what fired.
fn handle<Q: EventQueue>(queue: &mut Q) -> Outcome {
    let (now, class, cpu) = queue.advance()?;
    let mut expired = Vec::new();
    match class {
        Class::Segment => queue.set(cpu, Slot::Segment, None),
        Class::Tick => queue.set(cpu, Slot::Tick, None),
        Class::Irq => {
            if queue.get(cpu, Slot::Ipi).is_some_and(|ipi| ipi <= now) {
                queue.set(cpu, Slot::Ipi, None);
            }
            expired.extend(std::iter::from_fn(|| queue.expire_timer(cpu)));
        }
    }
    Some((now, class, cpu, expired))
}

fn apply<Q: EventQueue>(queue: &mut Q, call: &Call) -> Outcome {
    let now = queue.now().ns();
    match *call {
        Call::Set(number, slot, length) => queue.set(cpu(number), slot, length.map(|length| at(now + length))),
        Call::Hold(number, length) => queue.hold_irqs(cpu(number), at(now + length)),
        Call::Step(number, length) => queue.busy_for_a_step(cpu(number), at(now + length)),
        Call::Arm { cpu: number, task: row, hard, slack } => {
            queue.cancel_timer(task(row));
            let hard = now + hard;
            queue.arm_timer(cpu(number), task(row), at(hard.saturating_sub(slack)), at(hard));
        }
        Call::Cancel(row) => return queue.cancel_timer(task(row)).then(|| (queue.now(), Class::Irq, cpu(0), vec![task(row)])),
        Call::Advance => return handle(queue),
    }
    None
}

/// Everything that the interface shows, as text.
fn view<Q: EventQueue>(queue: &Q) -> String {
    let slots: Vec<_> = (0..CPUS).flat_map(|number| Slot::ALL.map(|slot| queue.get(cpu(number), slot))).collect();
    let timers: Vec<_> = (0..CPUS).map(|number| queue.first_timer(cpu(number))).collect();
    let late: Vec<_> = (0..CPUS).map(|number| queue.irq_is_late(cpu(number))).collect();
    format!("{:?}", (queue.now(), queue.peek(), slots, timers, late))
}

fn drain<Q: EventQueue>(mut queue: Q) -> Vec<Outcome> {
    std::iter::from_fn(|| handle(&mut queue).map(Some)).collect()
}

proptest! {
    #[test]
    fn both_queues_show_the_same_after_every_call(calls in prop::collection::vec(call(), 1..120)) {
        let mut fast = FastQueue::new(CPUS as usize, TASKS as usize);
        let mut heap = HeapQueue::new(CPUS as usize, TASKS as usize);
        for call in &calls {
            prop_assert_eq!(apply(&mut fast, call), apply(&mut heap, call));
            prop_assert_eq!(view(&fast), view(&heap));
            prop_assert_eq!(first_of_others(&mut fast), first_of_others(&mut heap));
            let others = first_of_others(&mut fast);
            if let Some((at, cpu, first)) = fast.clone().advance_to_step(Instant::MAX) {
                prop_assert_eq!(Some((at, Class::Segment, cpu)), heap.peek());
                prop_assert_eq!(first, others[cpu.index()]);
            }
        }
        let clone = fast.clone();
        prop_assert_eq!(drain(fast), drain(heap.clone()));
        prop_assert_eq!(drain(clone), drain(heap));
    }

    #[test]
    fn the_order_of_setting_does_not_matter(
        slots in prop::collection::btree_map((0..CPUS, 0..3usize), length(), 0..12),
        timers in prop::collection::btree_map(0..TASKS, (0..CPUS, length()), 0..12),
        shuffle in any::<prop::sample::Index>(),
    ) {
        let mut calls: Vec<Call> =
            slots.into_iter().map(|((cpu, slot), length)| Call::Set(cpu, Slot::ALL[slot], Some(length))).collect();
        calls.extend(timers.into_iter().map(|(task, (cpu, hard))| Call::Arm { cpu, task, hard, slack: 0 }));
        let expected = calls.iter().fold(HeapQueue::new(CPUS as usize, TASKS as usize), |mut queue, call| {
            apply(&mut queue, call);
            queue
        });
        let start = if calls.is_empty() { 0 } else { shuffle.index(calls.len()) };
        calls.rotate_left(start);
        calls.reverse();
        let mut fast = FastQueue::new(CPUS as usize, TASKS as usize);
        calls.iter().for_each(|call| {
            apply(&mut fast, call);
        });
        prop_assert_eq!(drain(fast), drain(expected));
    }
}

/// At one ns: segments of all CPUs, then interrupts, then ticks, each by CPU number.
fn same_instant_goes_by_class_then_cpu<Q: EventQueue>() {
    let mut queue = Q::new(3, 2);
    for number in (0..3).rev() {
        queue.set(cpu(number), Slot::Tick, Some(at(7)));
        queue.set(cpu(number), Slot::Segment, Some(at(7)));
    }
    queue.set(cpu(2), Slot::Ipi, Some(at(7)));
    queue.arm_timer(cpu(1), task(0), at(7), at(7));
    let order: Vec<_> = drain(queue).into_iter().flatten().map(|(_, class, cpu, _)| (class, cpu.get())).collect();
    use Class::{Irq, Segment, Tick};
    assert_eq!(order, [(Segment, 0), (Segment, 1), (Segment, 2), (Irq, 1), (Irq, 2), (Tick, 0), (Tick, 1), (Tick, 2)]);
}

#[test]
fn the_order_at_one_instant_is_the_contract() {
    same_instant_goes_by_class_then_cpu::<FastQueue>();
    same_instant_goes_by_class_then_cpu::<HeapQueue>();
}

/// Slack lets one interrupt serve timers that could wait longer, but never past one that cannot fire yet.
#[test]
fn an_interrupt_takes_timers_by_hard_expiry_until_a_soft_one_lies_ahead() {
    let mut queue = FastQueue::new(1, 4);
    queue.arm_timer(cpu(0), task(3), at(90), at(100));
    queue.arm_timer(cpu(0), task(2), at(100), at(150));
    queue.arm_timer(cpu(0), task(1), at(101), at(151));
    queue.arm_timer(cpu(0), task(0), at(50), at(152));
    assert_eq!(handle(&mut queue), Some((at(100), Class::Irq, cpu(0), vec![task(3), task(2)])));
    assert_eq!(handle(&mut queue), Some((at(151), Class::Irq, cpu(0), vec![task(1), task(0)])));
    assert_eq!(handle(&mut queue), None);
}

#[test]
fn equal_hard_expiry_goes_by_task_row() {
    let mut queue = FastQueue::new(1, 100);
    for row in (0..100).map(|i| i * 37 % 100) {
        queue.arm_timer(cpu(0), task(row), at(5_000_000), at(5_000_000));
    }
    assert!(queue.cancel_timer(task(50)) && !queue.cancel_timer(task(50)));
    let expected: Vec<_> = (0..100).filter(|&row| row != 50).map(task).collect();
    assert_eq!(handle(&mut queue), Some((at(5_000_000), Class::Irq, cpu(0), expected)));
}

#[test]
fn interrupts_held_back_come_together_and_in_order() {
    let mut queue = FastQueue::new(2, 1);
    queue.set(cpu(0), Slot::Tick, Some(at(10)));
    queue.set(cpu(0), Slot::Segment, Some(at(30)));
    queue.arm_timer(cpu(0), task(0), at(20), at(20));
    queue.hold_irqs(cpu(0), at(30));
    queue.set(cpu(1), Slot::Tick, Some(at(15)));
    let order: Vec<_> = drain(queue).into_iter().flatten().map(|(now, class, cpu, _)| (now.ns(), class, cpu.get())).collect();
    assert_eq!(order, [(15, Class::Tick, 1), (30, Class::Segment, 0), (30, Class::Irq, 0), (30, Class::Tick, 0)]);
}

#[test]
fn keys_hold_the_last_instant_and_the_last_cpu() {
    let mut queue = FastQueue::new(CpuMask::CAPACITY, 1);
    queue.set(cpu(1023), Slot::Tick, Some(Instant::MAX));
    assert_eq!(queue.peek(), Some((Instant::MAX, Class::Tick, cpu(1023))));
    queue.arm_timer(cpu(0), task(0), Instant::MAX, Instant::MAX);
    assert_eq!(queue.peek(), Some((Instant::MAX, Class::Irq, cpu(0))));
}

#[test]
fn what_is_due_after_the_longest_run_never_comes() {
    let after = Instant::MAX + Ns(1);
    let mut queue = FastQueue::new(1, 1);
    queue.set(cpu(0), Slot::Tick, Some(at(10)));
    queue.set(cpu(0), Slot::Segment, Some(after));
    assert_eq!(queue.advance().map(|event| event.0), Some(at(10)));
    queue.set(cpu(0), Slot::Tick, Some(after));
    assert_eq!(queue.peek(), None);
}

#[test]
#[should_panic(expected = "an event at 9 ns is set when the clock shows 10 ns")]
fn setting_an_event_in_the_past_stops_the_run() {
    let mut queue = FastQueue::new(1, 1);
    queue.set(cpu(0), Slot::Tick, Some(at(10)));
    queue.advance();
    queue.set(cpu(0), Slot::Segment, Some(at(9)));
}

#[test]
#[should_panic(expected = "armed twice")]
fn a_second_timer_of_a_task_stops_the_run() {
    let mut queue = FastQueue::new(1, 1);
    queue.arm_timer(cpu(0), task(0), at(1), at(1));
    queue.arm_timer(cpu(0), task(0), at(2), at(2));
}
