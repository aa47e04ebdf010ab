//! How fast our rules run beside the kernel's own code under a driver that does nothing else:
//! `cargo run --release -p fairground --example bare_rate -- tree:NAME v6.12`
//!
//! The driver has no records, reasons, statistics or prices, and knows just hogs and sleepers. So this is what the rules of a kernel cost in C.
//! Ours is a run as users get it, with prices of zero. Counted is CPU time of this thread, making the machine included.

use fairground::run::{RunOptions, run};
use fairground_kcore::build::Store;
use fairground_kcore::{Fork, Hardware, IDLE, KernelCore, Kind, STOPPER, Wake, Why};
use fairground_model::NullSink;
use fairground_scenario::{Control, Overrides, Scenario};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::error::Error;

/// Pairs of each case.
const PAIRS: usize = 9;

/// Tasks on CPUs, which run and sleep for these times in ns; a sleep of 0: they never sleep.
struct Case {
    name: &'static str,
    cpus: u32,
    tasks: usize,
    run_ns: u64,
    sleep_ns: u64,
    length_ns: u64,
}

const CASES: &[Case] = &[
    Case { name: "3 hogs on 1 CPU", cpus: 1, tasks: 3, run_ns: u64::MAX, sleep_ns: 0, length_ns: 1_000_000_000_000 },
    Case { name: "10 sleepers on 4 CPUs", cpus: 4, tasks: 10, run_ns: 200_000, sleep_ns: 300_000, length_ns: 20_000_000_000 },
];

/// The times of the event that comes next: kinds in the order in which they come at one instant.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// The running task of a CPU has computed enough, if it still is the one with this count of switches.
    Ends {
        cpu: u32,
        switches: u64,
    },
    Wakes {
        task: u32,
        cpu: u32,
    },
    Timer {
        timer: u64,
        cpu: u32,
    },
    Tick {
        cpu: u32,
    },
}

#[derive(Clone, Default)]
struct Cpu {
    running: Option<u32>,
    since: u64,
    switches: u64,
    resched: bool,
    call: bool,
    softirqs: u64,
}

struct Bare<'a> {
    case: &'a Case,
    core: KernelCore,
    cpus: Vec<Cpu>,
    queue: BinaryHeap<Reverse<(u64, Event)>>,
    timers: BTreeMap<u64, u64>,
    /// The rows of tasks by their numbers in the core, and back.
    rows: Vec<u32>,
    numbers: Vec<u32>,
    left: Vec<u64>,
    /// CPUs with an interrupt on its way.
    interrupted: Vec<u32>,
    tick_ns: u64,
    now: u64,
    events: u64,
}

impl Bare<'_> {
    fn new<'a>(case: &'a Case, mut core: KernelCore) -> Result<Bare<'a>, Box<dyn Error>> {
        let tick_ns = 1_000_000_000 / u64::from(core.hz());
        let now = tick_ns << 20;
        core.boot(&Hardware::flat(case.cpus, now))?;
        let mut bare = Bare {
            case,
            core,
            cpus: vec![Cpu::default(); case.cpus as usize],
            queue: BinaryHeap::new(),
            timers: BTreeMap::new(),
            rows: Vec::new(),
            numbers: Vec::new(),
            left: vec![case.run_ns; case.tasks],
            interrupted: Vec::new(),
            tick_ns,
            now,
            events: 0,
        };
        for row in 0..case.tasks {
            let number = bare.core.fork(0, now, &Fork::default())?;
            bare.rows.resize(bare.rows.len().max(number as usize + 1), 0);
            bare.rows[number as usize] = row as u32;
            bare.numbers.push(number);
            bare.core.wake_up_new_task(0, now, number)?;
            bare.requests();
        }
        (0..case.cpus).for_each(|cpu| bare.queue.push(Reverse((now + tick_ns, Event::Tick { cpu }))));
        bare.leave(0)?;
        bare.interrupts()?;
        Ok(bare)
    }

    /// Ticks, switches and wake-ups until the end.
    fn run(mut self) -> Result<u64, Box<dyn Error>> {
        let end = self.now + self.case.length_ns;
        let ran = self.until(end);
        ran.map_err(|error| format!("{error}\nat {} ns of the core's time\n{}", self.now, self.core.log()))?;
        Ok(self.events)
    }

    fn until(&mut self, end: u64) -> Result<(), Box<dyn Error>> {
        while let Some(Reverse((at, event))) = self.queue.pop()
            && at < end
        {
            self.now = at;
            match event {
                Event::Ends { cpu, switches } => self.ends(cpu, switches)?,
                Event::Wakes { task, cpu } => self.wakes(task, cpu)?,
                Event::Timer { timer, cpu } => self.timer(timer, cpu)?,
                Event::Tick { cpu } => self.tick(cpu)?,
            }
            self.interrupts()?;
        }
        Ok(())
    }

    fn ends(&mut self, cpu: u32, switches: u64) -> Result<(), Box<dyn Error>> {
        let state = &self.cpus[cpu as usize];
        if let Some(task) = state.running.filter(|_| state.switches == switches) {
            self.left[task as usize] = self.case.run_ns;
            self.queue.push(Reverse((self.now + self.case.sleep_ns, Event::Wakes { task, cpu })));
            self.schedule(cpu, Why::Sleeps)?;
        }
        Ok(())
    }

    fn wakes(&mut self, task: u32, cpu: u32) -> Result<(), Box<dyn Error>> {
        self.events += 1;
        self.core.wake(cpu, self.now, self.numbers[task as usize], Wake::Timer)?;
        self.requests();
        self.leave(cpu)
    }

    fn timer(&mut self, timer: u64, cpu: u32) -> Result<(), Box<dyn Error>> {
        if self.timers.get(&timer) == Some(&self.now) {
            self.timers.remove(&timer);
            self.core.timer(cpu, self.now, timer as u32)?;
            self.requests();
            self.leave(cpu)?;
        }
        Ok(())
    }

    fn tick(&mut self, cpu: u32) -> Result<(), Box<dyn Error>> {
        self.events += 1;
        if cpu == 0 {
            self.core.count_jiffies(self.now, 1)?;
        }
        self.core.tick(cpu, self.now)?;
        self.requests();
        self.queue.push(Reverse((self.now + self.tick_ns, Event::Tick { cpu })));
        self.leave(cpu)
    }

    /// The interrupts that CPUs have sent, at once.
    fn interrupts(&mut self) -> Result<(), Box<dyn Error>> {
        while let Some(cpu) = self.interrupted.pop() {
            let state = &mut self.cpus[cpu as usize];
            let (resched, call) = (std::mem::take(&mut state.resched), std::mem::take(&mut state.call));
            for resched in [false, true].into_iter().filter(|&kind| if kind { resched } else { call }) {
                self.core.ipi(cpu, self.now, resched)?;
                self.requests();
            }
            self.leave(cpu)?;
        }
        Ok(())
    }

    /// The way out of an interrupt: softirqs first, then the scheduler if it was asked for.
    fn leave(&mut self, cpu: u32) -> Result<(), Box<dyn Error>> {
        while self.cpus[cpu as usize].softirqs != 0 {
            let number = self.cpus[cpu as usize].softirqs.trailing_zeros();
            self.cpus[cpu as usize].softirqs &= !(1 << number);
            self.core.softirq(cpu, self.now, number)?;
            self.requests();
        }
        let must_schedule = self.core.flags(cpu).is_some_and(|flags| flags.must_schedule());
        if must_schedule { self.schedule(cpu, Why::Preempted) } else { Ok(()) }
    }

    fn schedule(&mut self, cpu: u32, why: Why) -> Result<(), Box<dyn Error>> {
        let state = &self.cpus[cpu as usize];
        if let Some(task) = state.running.filter(|_| why == Why::Preempted) {
            self.left[task as usize] = self.left[task as usize].saturating_sub(self.now - state.since);
        }
        let mut next = self.core.schedule(cpu, self.now, why)?;
        self.requests();
        while next == STOPPER {
            next = self.core.stopper(cpu, self.now)?;
            self.requests();
        }
        let running = (next != IDLE).then(|| self.rows[next as usize]);
        let state = &mut self.cpus[cpu as usize];
        (state.running, state.since, state.switches) = (running, self.now, state.switches + 1);
        let switches = state.switches;
        if let Some(task) = running.filter(|_| self.case.sleep_ns > 0) {
            self.queue.push(Reverse((self.now + self.left[task as usize], Event::Ends { cpu, switches })));
        }
        Ok(())
    }

    /// Notes what the last call has asked for.
    fn requests(&mut self) {
        for request in self.core.requests() {
            let cpu = &mut self.cpus[request.cpu as usize];
            match request.kind() {
                Some(kind @ (Kind::Resched | Kind::Call)) => {
                    if kind == Kind::Resched {
                        cpu.resched = true
                    } else {
                        cpu.call = true
                    }
                    self.interrupted.push(request.cpu);
                }
                Some(Kind::Softirq) => cpu.softirqs |= 1 << request.a,
                Some(Kind::Timer) => {
                    let due = request.b.max(self.now);
                    self.timers.insert(request.a, due);
                    self.queue.push(Reverse((due, Event::Timer { timer: request.a, cpu: request.cpu })));
                }
                Some(Kind::Untimer) => drop(self.timers.remove(&request.a)),
                Some(Kind::Switch) => self.events += 1,
                _ => {}
            }
        }
    }
}

/// What this thread has spent on CPUs, in ns.
fn cpu_ns() -> Result<u64, Box<dyn Error>> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat")?;
    Ok(text.split_whitespace().next().ok_or("no schedstat")?.parse()?)
}

/// Events per microsecond of the kernel's code.
fn theirs(case: &Case, tree: &str) -> Result<f64, Box<dyn Error>> {
    let named = Store::of_user()?.named(tree)?;
    let begun = cpu_ns()?;
    let events = Bare::new(case, KernelCore::load(&named.library, Some(&named.identity))?)?.run()?;
    Ok(events as f64 * 1000.0 / (cpu_ns()? - begun) as f64)
}

/// Events per microsecond of a run by our rules.
fn ours(case: &Case, rules: &str, hz: u32) -> Result<f64, Box<dyn Error>> {
    let Case { cpus, tasks, run_ns, sleep_ns, length_ns, .. } = case;
    let what = if *sleep_ns == 0 { "hog = true".into() } else { format!("do = [\"run {run_ns}ns\", \"sleep {sleep_ns}ns\"]") };
    let text = format!(
        "duration = \"{length_ns}ns\"\n[machine]\ncores = {cpus}\nhz = {hz}\ncosts = \"zero\"\nnohz_idle = false\n\
         [[workload]]\ntasks = [{{ name = \"t\", count = {tasks}, {what} }}]\n"
    );
    let overrides = Overrides { profile: Some(rules.to_string()), ..Overrides::default() };
    let begun = cpu_ns()?;
    let scenario = Scenario::parse("case", &text, "".as_ref(), &overrides).map_err(|error| error.to_string())?;
    let outcome = run(&scenario, &RunOptions::default(), &mut NullSink, Control::none()).map_err(|error| error.to_string())?;
    Ok(outcome.counts.events() as f64 * 1000.0 / (cpu_ns()? - begun) as f64)
}

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [tree, rules] = &words[..] else { return Err("usage: bare_rate tree:NAME v6.12".into()) };
    let tree = tree.strip_prefix("tree:").ok_or("the first word is tree:NAME")?;
    let hz = {
        let named = Store::of_user()?.named(tree)?;
        KernelCore::load(&named.library, Some(&named.identity))?.hz()
    };
    println!(
        "| case | {rules}, M/s | tree:{tree} alone, M/s | ratio | least | most |\n| --- | ---: | ---: | ---: | ---: | ---: |"
    );
    for case in CASES {
        let mut pairs = Vec::new();
        for _ in 0..PAIRS {
            let (ours, theirs) = (ours(case, rules, hz)?, theirs(case, tree)?);
            pairs.push((ours / theirs, ours, theirs));
        }
        pairs.sort_by(|a, b| a.0.total_cmp(&b.0));
        let (ratio, ours, theirs) = pairs[PAIRS / 2];
        let (least, most) = (pairs[0].0, pairs[PAIRS - 1].0);
        println!("| {} | {ours:.2} | {theirs:.2} | {ratio:.2} | {least:.2} | {most:.2} |", case.name);
    }
    Ok(())
}
