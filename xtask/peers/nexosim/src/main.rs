//! The two cases of the comparison in NeXosim: a model per CPU that schedules its own events, on one thread.
//!
//! `nexosim_peer CASE MILLISECONDS` prints how many events were carried out: ticks, switches and wake-ups.

use nexosim::model::{Context, Model, schedulable};
use nexosim::ports::{EventSource, Output, SinkState, event_queue};
use nexosim::simulation::{Mailbox, SimInit};
use nexosim::time::MonotonicTime;
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;

const TICK: Duration = Duration::from_millis(1);
/// Ticks that a hog runs before another one may run.
const SLICE_TICKS: u32 = 3;
const SLEEP: Duration = Duration::from_micros(100);

/// A linear congruential generator, so that all peers draw the same times.
#[derive(Serialize, Deserialize, Clone, Copy)]
struct Random(u64);

impl Random {
    fn work(&mut self) -> Duration {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        Duration::from_micros(50 + (self.0 >> 33) % 101)
    }
}

/// A CPU with its run queue in order of virtual time, in microseconds.
#[derive(Serialize, Deserialize)]
struct Cpu {
    /// The count of events, sent at the end.
    count: Output<u64>,
    events: u64,
    queue: BinaryHeap<Reverse<(u64, usize)>>,
    running: Option<(u64, usize)>,
    ran: u32,
    /// What the tasks draw their times from; none for hogs.
    randoms: Vec<Random>,
}

#[Model]
impl Cpu {
    fn new(tasks: usize, sleepers: Option<Vec<u64>>) -> Self {
        let randoms = sleepers.unwrap_or_default().into_iter().map(|seed| Random(seed * 2 + 1)).collect();
        let queue = (0..tasks).map(|task| Reverse((0, task))).collect();
        Self { count: Output::default(), events: 0, queue, running: None, ran: 0, randoms }
    }

    async fn start(&mut self, _: (), cx: &Context<Self>) {
        self.pick(cx);
        cx.schedule_periodic_event(TICK, TICK, schedulable!(Self::tick), ()).expect("invariant: a delay is above zero");
    }

    /// Takes the leftmost entity.
    fn pick(&mut self, cx: &Context<Self>) {
        self.running = self.queue.pop().map(|Reverse(row)| row);
        self.ran = 0;
        self.events += 1;
        if let Some((_, task)) = self.running
            && let Some(random) = self.randoms.get_mut(task)
        {
            let work = random.work();
            let us = work.as_micros() as u64;
            cx.schedule_event(work, schedulable!(Self::sleep), (task, us)).expect("invariant: a delay is above zero");
        }
    }

    #[nexosim(schedulable)]
    async fn tick(&mut self, _: (), cx: &Context<Self>) {
        let Some((vruntime, task)) = self.running else { return };
        self.events += 1;
        if !self.randoms.is_empty() {
            return;
        }
        let vruntime = vruntime + TICK.as_micros() as u64;
        self.running = Some((vruntime, task));
        self.ran += 1;
        let next = self.queue.peek().is_some_and(|Reverse((next, _))| *next < vruntime);
        if self.ran >= SLICE_TICKS && next {
            self.queue.push(Reverse((vruntime, task)));
            self.pick(cx);
        }
    }

    /// The running task sleeps after so many microseconds of work.
    #[nexosim(schedulable)]
    async fn sleep(&mut self, (task, us): (usize, u64), cx: &Context<Self>) {
        let vruntime = self.running.map_or(0, |row| row.0) + us;
        cx.schedule_event(SLEEP, schedulable!(Self::wake), (task, vruntime)).expect("invariant: a delay is above zero");
        self.pick(cx);
    }

    #[nexosim(schedulable)]
    async fn wake(&mut self, (task, vruntime): (usize, u64), cx: &Context<Self>) {
        self.events += 1;
        self.queue.push(Reverse((vruntime, task)));
        if self.running.is_none() {
            self.pick(cx);
        }
    }

    async fn report(&mut self) {
        self.count.send(self.events).await;
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [case, ms] = &words[..] else { return Err("usage: nexosim_peer CASE MILLISECONDS".into()) };
    let (cpus, tasks, sleep) = match case.as_str() {
        "hogs-2x10" => (2, 10, false),
        "sleepers-112x224" => (112, 224, true),
        other => return Err(format!("no case {other}").into()),
    };
    let mut bench = SimInit::with_num_threads(1);
    let (sink, mut counts) = event_queue(SinkState::Enabled);
    let (mut start, mut report) = (EventSource::new(), EventSource::new());
    for cpu in 0..cpus {
        let mine: Vec<u64> = (cpu..tasks).step_by(cpus).map(|task| task as u64).collect();
        let mailbox = Mailbox::new();
        let mut model = Cpu::new(mine.len(), sleep.then_some(mine));
        model.count.connect_sink(sink.clone());
        start = start.connect(Cpu::start, &mailbox);
        report = report.connect(Cpu::report, &mailbox);
        bench = bench.add_model(model, mailbox, &format!("cpu{cpu}"));
    }
    let (start, report) = (start.register(&mut bench), report.register(&mut bench));
    let mut simulation = bench.init(MonotonicTime::EPOCH)?;
    simulation.process_event(&start, ())?;
    simulation.step_until(Duration::from_millis(ms.parse()?))?;
    simulation.process_event(&report, ())?;
    let events: u64 = std::iter::from_fn(|| nexosim::ports::EventSinkReader::try_read(&mut counts)).sum();
    println!("{events}");
    Ok(())
}
