//! CFS of one CPU as naive lists: slow, and written from the rules alone. The core must make the same
//! decisions at the same instants and give every task the same virtual time, to the nanosecond.
//!
//! It knows hogs and tasks that run and sleep in turns, of policy SCHED_NORMAL, at exact ticks and
//! without prices. Virtual time counts from the queue's first minimum and does not wrap.

mod compare;
pub mod domains;
pub mod eevdf;
pub mod groups;
pub mod idle_sibling;
mod rules;

pub use compare::{Workload, compare};

use fairground_model::features::Feat;
use fairground_sched::Profile;
use fairground_sched::seam::MinVruntimeAtDequeue;
use rules::{Tunables, Weight, calc_delta, inverse_of_sum};

/// What can be compared with the core's records.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fact {
    /// The CPU changes hands.
    Switch {
        /// When.
        at: u64,
        /// Who leaves, `None` = idle.
        prev: Option<usize>,
        /// Who comes, `None` = idle.
        next: Option<usize>,
    },
    /// A task was charged.
    Ran {
        /// Who.
        task: usize,
        /// For how long.
        runtime: u64,
        /// Its virtual time afterwards.
        vruntime: i128,
    },
}

/// A task that runs and sleeps in turns; one without a sleep runs for ever.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Habit {
    /// Its nice value.
    pub nice: i8,
    /// When it is forked.
    pub start: u64,
    /// How long it runs in one go, ns.
    pub run: u64,
    /// How long it sleeps then.
    pub sleep: Option<u64>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    New,
    OnQueue,
    Asleep { until: u64 },
}

#[derive(Clone, Debug)]
struct Task {
    habit: Habit,
    weight: Weight,
    state: State,
    vruntime: i128,
    sum: u64,
    sum_at_pick: u64,
    charged_until: u64,
    /// What is left of the present burst; none if the next step is still to be asked for.
    left: Option<u64>,
    /// Whether the next step is to sleep.
    ran: bool,
}

/// The CPU with its queue.
#[derive(Clone, Debug)]
pub struct Reference {
    now: u64,
    tick: u64,
    next_tick: Option<u64>,
    tunables: Tunables,
    has: Switches,
    tasks: Vec<Task>,
    /// Who waits, in order of arrival.
    waiting: Vec<usize>,
    curr: Option<usize>,
    /// Since when the current task computes.
    since: u64,
    next_buddy: Option<usize>,
    last_buddy: Option<usize>,
    min_vruntime: i128,
    resched: bool,
    facts: Vec<Fact>,
}

/// The switches of the profile that matter here.
#[derive(Clone, Copy, Debug)]
struct Switches {
    gentle: bool,
    start_debit: bool,
    next_buddy: bool,
    last_buddy: bool,
    wakeup_preemption: bool,
    base_slice: bool,
    min_vruntime_after_sleep: bool,
}

impl Reference {
    /// A CPU that knows these tasks; none of them is forked yet.
    pub fn new(profile: &Profile, cpus: u32, tick: u64, habits: &[Habit]) -> Reference {
        let on = |feat| profile.feats.has(feat);
        let has = Switches {
            gentle: on(Feat::GENTLE_FAIR_SLEEPERS),
            start_debit: on(Feat::START_DEBIT),
            next_buddy: on(Feat::NEXT_BUDDY),
            last_buddy: on(Feat::LAST_BUDDY),
            wakeup_preemption: on(Feat::WAKEUP_PREEMPTION),
            base_slice: on(Feat::BASE_SLICE),
            min_vruntime_after_sleep: profile.min_vruntime_at_dequeue == MinVruntimeAtDequeue::UnlessSaveRestore,
        };
        let task = |&habit: &Habit| Task {
            habit,
            weight: Weight::of_nice(habit.nice),
            state: State::New,
            vruntime: 0,
            sum: 0,
            sum_at_pick: 0,
            charged_until: 0,
            left: None,
            ran: false,
        };
        Reference {
            now: 0,
            tick,
            next_tick: None,
            tunables: Tunables::of(profile, cpus),
            has,
            tasks: habits.iter().map(task).collect(),
            waiting: Vec::new(),
            curr: None,
            since: 0,
            next_buddy: None,
            last_buddy: None,
            min_vruntime: 0,
            resched: false,
            facts: Vec::new(),
        }
    }

    /// Everything that happens before `end`, and the last charge at it.
    pub fn run(mut self, end: u64) -> Vec<Fact> {
        // At one instant: forks, ends of bursts, wake-ups (and the reschedule that is due), the tick.
        while let Some((at, what)) = self.next_event().filter(|event| event.0 < end) {
            self.now = at;
            match what {
                Event::Fork(task) => self.fork(task),
                Event::BurstEnds => {
                    self.pause();
                    self.go_on(false);
                }
                Event::Interrupt => {
                    self.pause();
                    self.wake_all();
                    self.go_on(true);
                }
                Event::Tick => {
                    self.pause();
                    self.next_tick = Some(self.now + self.tick);
                    self.tick_of_curr();
                    self.go_on(true);
                }
            }
        }
        self.now = end;
        self.update_curr();
        self.facts
    }

    fn next_event(&self) -> Option<(u64, Event)> {
        let fork = |row: (usize, &Task)| (row.1.state == State::New).then_some((row.1.habit.start, Event::Fork(row.0)));
        let forks = self.tasks.iter().enumerate().filter_map(fork);
        let burst = self.curr.and_then(|task| self.tasks[task].left).and_then(|left| self.since.checked_add(left));
        let wakes = self.tasks.iter().filter_map(|task| match task.state {
            State::Asleep { until } => Some(until),
            _ => None,
        });
        let interrupt = if self.resched { Some(self.now) } else { wakes.min() };
        let events = forks
            .chain(burst.map(|at| (at, Event::BurstEnds)))
            .chain(interrupt.map(|at| (at, Event::Interrupt)))
            .chain(self.next_tick.map(|at| (at, Event::Tick)));
        events.min_by_key(|event| (event.0, event.1))
    }

    /// What the current task has computed is taken off its burst.
    fn pause(&mut self) {
        if let Some(task) = self.curr {
            let ran = self.now - self.since;
            self.tasks[task].left = self.tasks[task].left.map(|left| left - ran).filter(|&left| left > 0);
            self.since = self.now;
        }
    }

    /// Lets the current task take its next step. Who comes from the kernel `looks` at the flag first; between two stretches of
    /// user mode nobody does.
    fn go_on(&mut self, mut looks: bool) {
        loop {
            if looks && self.resched {
                self.schedule(false);
                continue;
            }
            let Some(curr) = self.curr else {
                self.next_tick = None;
                return;
            };
            self.next_tick = self.next_tick.or(Some((self.now / self.tick + 1) * self.tick));
            let task = &mut self.tasks[curr];
            match (task.left, task.ran, task.habit.sleep) {
                (Some(_), _, _) => {
                    self.since = self.now;
                    return;
                }
                (None, true, Some(sleep)) => {
                    task.ran = false;
                    // It is charged, and counts for the minimum, before it leaves the queue.
                    self.update_curr();
                    self.tasks[curr].state = State::Asleep { until: self.now + sleep };
                    self.schedule(true);
                    looks = true;
                }
                (None, _, _) => (task.left, task.ran) = (Some(task.habit.run), true),
            }
        }
    }

    fn on_queue(&self) -> impl Iterator<Item = usize> + '_ {
        let running = self.curr.filter(|&task| self.tasks[task].state == State::OnQueue);
        self.waiting.iter().copied().chain(running)
    }

    fn leftmost(&self) -> Option<usize> {
        self.waiting.iter().copied().min_by_key(|&task| self.tasks[task].vruntime)
    }

    fn update_curr(&mut self) {
        let Some(curr) = self.curr else { return };
        let task = &mut self.tasks[curr];
        let runtime = self.now - task.charged_until;
        if runtime == 0 {
            return;
        }
        task.charged_until = self.now;
        task.sum += runtime;
        task.vruntime += i128::from(task.weight.virtual_time(runtime));
        self.facts.push(Fact::Ran { task: curr, runtime, vruntime: task.vruntime });
        self.update_min_vruntime();
    }

    fn update_min_vruntime(&mut self) {
        if let Some(least) = self.on_queue().map(|task| self.tasks[task].vruntime).min() {
            self.min_vruntime = self.min_vruntime.max(least);
        }
    }

    /// The slice of a task, which is counted as one more if it is not on the queue.
    fn slice(&self, task: usize) -> u64 {
        let (mut count, mut sum) = (0, 0);
        let others = self.on_queue().filter(|&other| other != task);
        for one in others.chain([task]) {
            count += 1;
            sum += self.tasks[one].weight.weight;
        }
        let period = self.tunables.period(count);
        let slice = calc_delta(period, self.tasks[task].weight.weight, inverse_of_sum(sum));
        if self.has.base_slice { slice.max(self.tunables.min_granularity) } else { slice }
    }

    fn fork(&mut self, task: usize) {
        let mut debit = 0;
        if self.has.start_debit {
            debit = self.tasks[task].weight.virtual_time(self.slice(task));
        }
        self.update_curr();
        self.tasks[task].vruntime = self.min_vruntime + i128::from(debit);
        self.enqueue(task);
        self.check_preempt(task, true);
    }

    fn enqueue(&mut self, task: usize) {
        self.tasks[task].state = State::OnQueue;
        self.waiting.push(task);
    }

    fn wake_all(&mut self) {
        let due = |task: &Task| match task.state {
            State::Asleep { until } if until <= self.now => Some(until),
            _ => None,
        };
        let mut sleepers: Vec<(u64, usize)> =
            self.tasks.iter().enumerate().filter_map(|(row, task)| Some((due(task)?, row))).collect();
        sleepers.sort_unstable();
        for (_, task) in sleepers {
            self.update_curr();
            let credit = self.tunables.latency >> u32::from(self.has.gentle);
            let place = self.min_vruntime - i128::from(credit);
            self.tasks[task].vruntime = self.tasks[task].vruntime.max(place);
            self.enqueue(task);
            self.check_preempt(task, false);
        }
    }

    fn check_preempt(&mut self, wakee: usize, fork: bool) {
        let Some(curr) = self.curr else {
            self.resched = true;
            return;
        };
        let scale = self.on_queue().count() as u64 >= self.tunables.nr_latency;
        let marked = self.has.next_buddy && scale && !fork;
        if marked {
            self.next_buddy = Some(wakee);
        }
        if self.resched || !self.has.wakeup_preemption {
            return;
        }
        self.update_curr();
        if self.leads_enough(wakee, curr) {
            self.next_buddy = Some(wakee);
            self.resched = true;
            if self.has.last_buddy && scale {
                self.last_buddy = Some(curr);
            }
        }
    }

    /// Whether `task` is before `than` by more than the granularity at its own weight.
    fn leads_enough(&self, task: usize, than: usize) -> bool {
        let lead = self.tasks[than].vruntime - self.tasks[task].vruntime;
        lead > i128::from(self.tasks[task].weight.virtual_time(self.tunables.wakeup_granularity))
    }

    fn clear_buddies(&mut self, task: usize) {
        for mark in [&mut self.next_buddy, &mut self.last_buddy] {
            mark.take_if(|marked| *marked == task);
        }
    }

    fn tick_of_curr(&mut self) {
        let Some(curr) = self.curr else { return };
        self.update_curr();
        let Some(first) = self.leftmost() else { return };
        let (slice, ran) = (self.slice(curr), self.tasks[curr].sum - self.tasks[curr].sum_at_pick);
        let ahead = self.tasks[curr].vruntime - self.tasks[first].vruntime;
        if ran > slice {
            self.resched = true;
            self.clear_buddies(curr);
        } else if ran >= self.tunables.min_granularity && ahead > i128::from(slice) {
            self.resched = true;
        }
    }

    fn schedule(&mut self, sleeps: bool) {
        self.resched = false;
        let prev = self.curr;
        self.update_curr();
        if let Some(task) = prev.filter(|_| sleeps) {
            self.clear_buddies(task);
            if self.has.min_vruntime_after_sleep {
                self.update_min_vruntime();
            }
        }
        let next = self.pick();
        if next == prev {
            return;
        }
        if let Some(task) = prev.filter(|_| !sleeps) {
            self.waiting.push(task);
        }
        if let Some(task) = next {
            self.clear_buddies(task);
            self.waiting.retain(|&other| other != task);
            let row = &mut self.tasks[task];
            (row.charged_until, row.sum_at_pick) = (self.now, row.sum);
        }
        self.curr = next;
        self.facts.push(Fact::Switch { at: self.now, prev, next });
    }

    fn pick(&self) -> Option<usize> {
        let running = self.curr.filter(|&task| self.tasks[task].state == State::OnQueue);
        let left = match (self.leftmost(), running) {
            (Some(left), Some(curr)) if self.tasks[curr].vruntime < self.tasks[left].vruntime => curr,
            (Some(left), _) => left,
            (None, running) => return running,
        };
        let mut best = left;
        for buddy in [self.last_buddy, self.next_buddy].into_iter().flatten() {
            if !self.leads_enough(left, buddy) {
                best = buddy;
            }
        }
        Some(best)
    }
}

/// What comes next; in this order at one instant.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Event {
    Fork(usize),
    BurstEnds,
    Interrupt,
    Tick,
}
