//! Taking one delay apart.
//!
//! ```text
//! delay = sum over everybody else who ran on the task's CPU meanwhile + kernel time there + time in which nobody ran
//!
//! of somebody's time R, who was d behind the waiting task in virtual time when they met:
//!   a turn           the first min(R, slice)
//!   order            what of the rest d explains beyond a slice: min(R - turn, max(0, d - slice))
//!   late end         the rest: a slice that did not end when it was used up
//!
//! turns beyond the fair share of others on a CPU are queue length (imbalance);
//! order is sleeper placement where one of the two has woken since they last ran side by side, else late ticks
//! ```
//!
//! Every nanosecond of the delay is in exactly one part.

use super::Delay;
use fairground_model::{Sink, TraceEvent};
use fairground_sim::{Flow, Simulation, Stopped};
use fairground_stdx::{CpuId, Instant, Ns, TaskId};

/// A part of a delay.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Part {
    /// One slice for each of the others that a balanced CPU has: nobody can avoid that.
    Turns,
    /// Slices of others beyond those: the CPU had more tasks than its share.
    QueueLength,
    /// Slices that ended late, and the disorder that this left.
    TickLateness,
    /// Others ran ahead because a wake-up placed them, or the waiting task, where it did.
    SleeperPlacement,
    /// The kernel itself ran: ticks, switches, wake-ups, balance.
    KernelTime,
    /// Nobody ran.
    Idle,
}

impl Part {
    /// All parts in the order of tables.
    pub(crate) const ALL: [Part; 6] =
        [Part::Turns, Part::QueueLength, Part::TickLateness, Part::SleeperPlacement, Part::KernelTime, Part::Idle];
    /// The name in tables.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Part::Turns => "turns",
            Part::QueueLength => "queue_length",
            Part::TickLateness => "tick_lateness",
            Part::SleeperPlacement => "sleeper_placement",
            Part::KernelTime => "kernel_time",
            Part::Idle => "idle",
        }
    }
}

/// A delay in its parts.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Split {
    parts: [Ns; Part::ALL.len()],
}

impl Split {
    /// How long a part was.
    pub(crate) fn of(&self, part: Part) -> Ns {
        self.parts[part as usize]
    }
    /// All parts together: the delay.
    pub(crate) fn total(&self) -> Ns {
        Ns(self.parts.iter().map(|part| part.0).sum())
    }
    /// The largest part; of equal ones the first.
    pub(crate) fn largest(&self) -> Part {
        let mut largest = Part::Turns;
        for part in Part::ALL {
            if self.of(part) > self.of(largest) {
                largest = part;
            }
        }
        largest
    }
    fn add(&mut self, part: Part, length: u64) {
        self.parts[part as usize] += Ns(length);
    }
}

/// Takes `delay` apart. `simulation` is the same run, not yet beyond the beginning of the delay; `fair_others` is how
/// many others a CPU has if all are spread evenly.
pub(crate) fn split(mut simulation: Simulation, delay: &Delay, fair_others: usize) -> Result<Split, Stopped> {
    simulation.run_until(delay.since + Ns(1), &mut fairground_model::NullSink)?;
    let mut records = Records::default();
    let mut stay = Stay::new(&simulation, delay, delay.since);
    let mut split = Split::default();
    while simulation.now() < delay.until {
        let flow = simulation.step(&mut records)?;
        for (at, cpu, event) in records.0.drain(..) {
            stay.record(at, cpu, &event);
        }
        let cpu = simulation.sched().task(delay.task).cpu;
        if cpu != stay.cpu {
            stay.end(simulation.now().min(delay.until), fair_others, &mut split);
            stay = Stay::new(&simulation, delay, simulation.now());
        }
        stay.meet(&simulation, delay);
        if flow == Flow::Done {
            break;
        }
    }
    stay.end(delay.until, fair_others, &mut split);
    Ok(split)
}

/// The records of one step.
#[derive(Default)]
struct Records(Vec<(Instant, CpuId, TraceEvent)>);

impl Sink for Records {
    fn record(&mut self, at: Instant, cpu: CpuId, event: &TraceEvent) {
        self.0.push((at, cpu, *event));
    }
    fn wants_samples(&self) -> bool {
        true
    }
}

/// Somebody else on the waiting task's CPU.
struct Other {
    task: TaskId,
    /// How far it was behind the waiting task in virtual time when they met, and its slice then.
    behind_ns: u64,
    slice_ns: u64,
    /// Whether it came while the other was waiting.
    came: bool,
    ran_ns: u64,
}

/// The part of a delay that was spent on one CPU.
struct Stay {
    cpu: CpuId,
    since: Instant,
    /// Whether the waiting task was placed here: it woke, or came from another CPU.
    placed: bool,
    running: Option<TaskId>,
    running_since: Instant,
    others: Vec<Other>,
    kernel_ns: u64,
    idle_ns: u64,
    /// Kernel time since the running task got the CPU, which is no part of its turn.
    kernel_in_turn_ns: u64,
    kernel_until: Instant,
}

impl Stay {
    fn new(simulation: &Simulation, delay: &Delay, since: Instant) -> Stay {
        let cpu = simulation.sched().task(delay.task).cpu;
        let mut stay = Stay {
            cpu,
            since,
            placed: delay.woken || since > delay.since,
            running: simulation.sched().rq(cpu).curr,
            running_since: since,
            others: Vec::new(),
            kernel_ns: 0,
            idle_ns: 0,
            kernel_in_turn_ns: 0,
            kernel_until: since,
        };
        stay.meet(simulation, delay);
        stay.others.iter_mut().for_each(|other| other.came = false);
        stay
    }

    /// Whoever is on the queue for the first time is compared with the waiting task.
    fn meet(&mut self, simulation: &Simulation, delay: &Delay) {
        let sched = simulation.sched();
        let seats = sched.queue_seats(self.cpu);
        let Some(own) = seats.iter().find(|seat| seat.task == delay.task).map(|seat| seat.vruntime) else { return };
        for seat in seats.iter().filter(|seat| seat.task != delay.task) {
            if self.others.iter().all(|other| other.task != seat.task) {
                // The running one has run on since its last account.
                let since_account = match seat.running {
                    true => simulation.now().saturating_since(sched.accounted_until(seat.task)).0,
                    false => 0,
                };
                let behind = own.since(seat.vruntime) - since_account as i64;
                self.others.push(Other {
                    task: seat.task,
                    behind_ns: u64::try_from(behind).unwrap_or(0),
                    slice_ns: sched.sched_slice_of(seat.task).0,
                    came: true,
                    ran_ns: 0,
                });
            }
        }
    }

    fn record(&mut self, at: Instant, cpu: CpuId, event: &TraceEvent) {
        if cpu != self.cpu {
            return;
        }
        match *event {
            TraceEvent::SchedSwitch { next, .. } => {
                self.turn_ends(at);
                self.running = next;
            }
            TraceEvent::KernelSection { took, .. } => {
                // Sections of one CPU follow one another; one that began before the stay counts from its beginning.
                let from = at.max(self.kernel_until);
                self.kernel_until = (at + took).max(self.kernel_until);
                self.kernel_in_turn_ns += self.kernel_until.saturating_since(from).0;
            }
            _ => {}
        }
    }

    fn turn_ends(&mut self, at: Instant) {
        let length = at.saturating_since(self.running_since).0;
        // A section may reach beyond the switch: what does not fit is the next turn's.
        let kernel = self.kernel_in_turn_ns.min(length);
        self.kernel_in_turn_ns -= kernel;
        self.kernel_ns += kernel;
        let own = length - kernel;
        match self.running.and_then(|task| self.others.iter_mut().find(|other| other.task == task)) {
            Some(other) => other.ran_ns += own,
            None => self.idle_ns += own,
        }
        self.running_since = at;
    }

    fn end(&mut self, at: Instant, fair_others: usize, split: &mut Split) {
        self.turn_ends(at.max(self.since));
        let mut turns = Vec::new();
        for other in &self.others {
            let turn = other.ran_ns.min(other.slice_ns);
            let order = (other.ran_ns - turn).min(other.behind_ns.saturating_sub(other.slice_ns));
            let placed = self.placed || other.came;
            split.add(if placed { Part::SleeperPlacement } else { Part::TickLateness }, order);
            split.add(Part::TickLateness, other.ran_ns - turn - order);
            turns.push(turn);
        }
        turns.sort_unstable_by(|a, b| b.cmp(a));
        let fair: u64 = turns.iter().take(fair_others).sum();
        split.add(Part::Turns, fair);
        split.add(Part::QueueLength, turns.iter().sum::<u64>() - fair);
        split.add(Part::KernelTime, self.kernel_ns);
        split.add(Part::Idle, self.idle_ns);
    }
}
