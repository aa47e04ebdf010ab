//! A bare engine for a kernel's core: a queue of events, ticks on every CPU, tasks that compute and sleep, no prices.
//!
//! Events at the same nanosecond come in the order of our own engine: ends of computing, interrupts, ticks; each by CPU.
//! Within an interrupt: other CPUs, the kernel's timers, then those of tasks by their row.

use fairground_kcore::{CallError, Fork, Hardware, IDLE, KernelCore, Kind, Wake, Why};
use std::collections::BTreeMap;

/// Ticks of 4 ms.
pub(crate) const TICK_NS: u64 = 4_000_000;
/// The core boots at a time that is a multiple of the tick and of a period of load tracking, 2^20 ns: the queues, which have
/// decayed since 0, are then at the start of a period, as in a run that begins at 0.
pub(crate) const BOOT_NS: u64 = 4096 * TICK_NS;

/// A task that computes and sleeps by turns, or computes for ever.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Job {
    pub(crate) nice: i8,
    pub(crate) run_ns: u64,
    /// 0: it never sleeps.
    pub(crate) sleep_ns: u64,
}

/// A switch, with the averages of both tasks after it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Switch {
    pub(crate) at_ns: u64,
    pub(crate) cpu: u32,
    pub(crate) prev: Option<u32>,
    pub(crate) next: Option<u32>,
    pub(crate) prev_numbers: (u64, u64),
    pub(crate) next_numbers: (u64, u64),
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Class {
    Segment,
    Irq,
    Tick,
}

#[derive(Clone, Default)]
struct Cpu {
    /// The row of the running task, and since when it computes.
    running: Option<u32>,
    since: u64,
    resched: bool,
    call: bool,
    softirqs: Vec<u32>,
}

#[derive(Clone)]
struct Task {
    job: Job,
    left: u64,
    /// The CPU whose timer wakes it, and when.
    wakes: Option<(u32, u64)>,
}

#[derive(Clone)]
pub(crate) struct Driver {
    pub(crate) core: KernelCore,
    cpus: Vec<Cpu>,
    tasks: Vec<Task>,
    /// Row of a task by its number in the core.
    rows: BTreeMap<u64, u32>,
    numbers: Vec<u32>,
    /// The kernel's own timers: CPU and due time.
    timers: BTreeMap<u64, (u32, u64)>,
    next_tick: u64,
    ticked: usize,
    now: u64,
    pub(crate) switches: Vec<Switch>,
    /// Each wake-up: when, who, and on which CPU.
    pub(crate) wakeups: Vec<(u64, u32, u32)>,
}

impl Driver {
    pub(crate) fn new(mut core: KernelCore, cpus: u32) -> Driver {
        core.boot(&Hardware::flat(cpus, BOOT_NS)).unwrap();
        Driver {
            core,
            cpus: (0..cpus).map(|_| Cpu::default()).collect(),
            tasks: Vec::new(),
            rows: BTreeMap::new(),
            numbers: Vec::new(),
            timers: BTreeMap::new(),
            next_tick: BOOT_NS + TICK_NS,
            ticked: 0,
            now: BOOT_NS,
            switches: Vec::new(),
            wakeups: Vec::new(),
        }
    }

    /// All tasks start at time 0, made by the idle task of CPU 0.
    pub(crate) fn start(&mut self, jobs: &[Job]) {
        for (row, &job) in jobs.iter().enumerate() {
            let how = Fork { name: format!("t{row}"), nice: job.nice.into(), ..Fork::default() };
            let task = self.core.fork(0, self.now, &how).unwrap();
            self.rows.insert(task.into(), row as u32);
            self.numbers.push(task);
            self.tasks.push(Task { job, left: job.run_ns, wakes: None });
            self.core.wake_up_new_task(0, self.now, task).unwrap();
            self.take_requests(0);
        }
        for cpu in 0..self.cpus.len() as u32 {
            self.cpus[cpu as usize].resched |= self.must_schedule(cpu);
        }
    }

    pub(crate) fn run(&mut self, length_ns: u64) {
        while let Some((at, class, cpu)) = self.next_event() {
            if at >= BOOT_NS + length_ns {
                break;
            }
            self.now = at;
            match class {
                Class::Segment => self.segment_ends(cpu),
                Class::Irq => self.interrupt(cpu),
                Class::Tick => self.tick(cpu),
            }
        }
    }

    fn next_event(&self) -> Option<(u64, Class, u32)> {
        let mut first: Option<(u64, Class, u32)> = None;
        let mut offer = |event| first = Some(first.map_or(event, |other: (u64, Class, u32)| other.min(event)));
        for (number, cpu) in self.cpus.iter().enumerate() {
            let number = number as u32;
            if let Some(row) = cpu.running {
                let task = &self.tasks[row as usize];
                if task.job.sleep_ns > 0 {
                    offer((cpu.since + task.left, Class::Segment, number));
                }
            }
            if cpu.resched || cpu.call {
                offer((self.now, Class::Irq, number));
            }
        }
        self.tasks.iter().filter_map(|task| task.wakes).for_each(|(cpu, at)| offer((at, Class::Irq, cpu)));
        self.timers.values().for_each(|&(cpu, at)| offer((at.max(self.now), Class::Irq, cpu)));
        offer((self.next_tick, Class::Tick, self.ticked as u32));
        first
    }

    fn segment_ends(&mut self, cpu: u32) {
        let row = self.cpus[cpu as usize].running.unwrap() as usize;
        let due = self.now + self.tasks[row].job.sleep_ns;
        self.tasks[row].left = self.tasks[row].job.run_ns;
        self.tasks[row].wakes = Some((cpu, due));
        self.schedule(cpu, Why::Sleeps);
    }

    fn interrupt(&mut self, cpu: u32) {
        let state = &mut self.cpus[cpu as usize];
        let (resched, call) = (std::mem::take(&mut state.resched), std::mem::take(&mut state.call));
        if call {
            self.core.ipi(cpu, self.now, false).unwrap();
            self.take_requests(cpu);
        }
        if resched {
            self.core.ipi(cpu, self.now, true).unwrap();
            self.take_requests(cpu);
        }
        let due: Vec<u64> = self.timers.iter().filter(|(_, row)| row.0 == cpu && row.1 <= self.now).map(|row| *row.0).collect();
        for timer in due {
            self.timers.remove(&timer);
            self.core.timer(cpu, self.now, timer as u32).unwrap();
            self.take_requests(cpu);
        }
        for row in 0..self.tasks.len() {
            if self.tasks[row].wakes.is_some_and(|(on, at)| on == cpu && at <= self.now) {
                self.tasks[row].wakes = None;
                let to = self.core.wake(cpu, self.now, self.numbers[row], Wake::Timer).unwrap().cpu;
                self.wakeups.push((self.now - BOOT_NS, row as u32, to));
                self.take_requests(cpu);
            }
        }
        self.leave(cpu);
    }

    fn tick(&mut self, cpu: u32) {
        if cpu == 0 {
            self.core.count_jiffies(self.now, 1).unwrap();
        }
        self.core.tick(cpu, self.now).unwrap();
        self.take_requests(cpu);
        self.ticked += 1;
        if self.ticked == self.cpus.len() {
            (self.ticked, self.next_tick) = (0, self.next_tick + TICK_NS);
        }
        self.leave(cpu);
    }

    /// The way out of an interrupt: softirqs first, then the scheduler if it was asked for.
    fn leave(&mut self, cpu: u32) {
        while let Some(number) = self.cpus[cpu as usize].softirqs.pop() {
            self.core.softirq(cpu, self.now, number).unwrap();
            self.take_requests(cpu);
        }
        if self.must_schedule(cpu) {
            self.schedule(cpu, Why::Preempted);
        }
    }

    fn must_schedule(&self, cpu: u32) -> bool {
        self.core.cpu(cpu).unwrap().need_resched != 0
    }

    fn schedule(&mut self, cpu: u32, why: Why) {
        if let Some(row) = self.cpus[cpu as usize].running {
            let state = &self.cpus[cpu as usize];
            if why == Why::Preempted {
                let ran = self.now - state.since;
                self.tasks[row as usize].left = self.tasks[row as usize].left.saturating_sub(ran);
            }
        }
        let next = match self.core.schedule(cpu, self.now, why) {
            Ok(next) => next,
            Err(CallError::Stopped(stop)) => panic!("at {} ns on CPU {cpu}: {stop}\n{}", self.now - BOOT_NS, self.core.log()),
            Err(other) => panic!("at {} ns on CPU {cpu}: {other}", self.now - BOOT_NS),
        };
        let state = &mut self.cpus[cpu as usize];
        state.running = if next == IDLE { None } else { Some(self.rows[&next]) };
        state.since = self.now;
        self.take_requests(cpu);
    }

    fn numbers_of(&self, row: Option<u32>) -> (u64, u64) {
        row.map_or((0, 0), |row| {
            let view = self.core.task(self.numbers[row as usize]).unwrap();
            (view.vruntime, view.util_avg)
        })
    }

    fn take_requests(&mut self, by: u32) {
        for request in self.core.requests().to_vec() {
            let cpu = &mut self.cpus[request.cpu as usize];
            match request.kind().unwrap() {
                Kind::Resched => cpu.resched = true,
                Kind::Call => cpu.call = true,
                // A softirq is pending or not: raised twice it runs once.
                Kind::Softirq if cpu.softirqs.contains(&(request.a as u32)) => {}
                Kind::Softirq => cpu.softirqs.push(request.a as u32),
                Kind::Timer => drop(self.timers.insert(request.a, (request.cpu, request.b))),
                Kind::Untimer => drop(self.timers.remove(&request.a)),
                Kind::Move => {}
                Kind::Switch => {
                    let row = |number: u64| (number != IDLE).then(|| self.rows[&number]);
                    let (prev, next) = (row(request.a), row(request.b));
                    self.switches.push(Switch {
                        at_ns: request.time_ns - BOOT_NS,
                        cpu: request.cpu,
                        prev,
                        next,
                        prev_numbers: self.numbers_of(prev),
                        next_numbers: self.numbers_of(next),
                    });
                }
                other => panic!("CPU {by} asks for {other:?} at {} ns:\n{}", self.now - BOOT_NS, self.core.log()),
            }
        }
    }
}
