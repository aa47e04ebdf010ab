//! A service in the making: how requests come, what they take, who serves them, on what machine, and what they must reach.

use crate::dice::Dice;
use std::fmt::Write as _;

/// A service with a goal.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Service {
    /// What is special about it.
    pub kind: &'static str,
    /// The seed of the draw.
    pub seed: u64,
    /// The scenario; its group `/service` has no limit.
    pub text: String,
    /// The percentile of the goal, thousandths.
    pub permille: u64,
    /// The goal in thousandths of what nearly all runs reach without a limit.
    pub goal_permille: u64,
}

/// What is special about a service.
pub struct Kind {
    /// Its name.
    pub name: &'static str,
    change: fn(&mut Draft, &mut Dice),
}

/// Kinds of services.
pub const KINDS: [Kind; 22] = [
    Kind { name: "poisson", change: |_, _| {} },
    Kind { name: "light", change: |draft, dice| draft.load_percent = dice.between(3, 15) },
    Kind { name: "busy-machine", change: |draft, dice| draft.load_percent = dice.between(65, 80) },
    Kind { name: "few-workers", change: |draft, _| draft.workers_per_cpu_percent = 150 },
    Kind { name: "many-workers", change: |draft, _| draft.workers_per_cpu_percent = 1600 },
    Kind { name: "short-requests", change: |draft, dice| draft.service_us = dice.between(200, 900) },
    Kind { name: "long-requests", change: |draft, dice| draft.service_us = dice.between(20_000, 60_000) },
    Kind { name: "constant", change: |draft, _| draft.spread = "spread = \"const\"".into() },
    Kind {
        name: "lognormal",
        change: |draft, dice| {
            draft.spread = format!("spread = \"lognormal\", cv-percent = {}", dice.between(50, 250));
        },
    },
    Kind {
        name: "pareto",
        change: |draft, dice| {
            // The smallest of a Pareto draw is a third to a half of its mean.
            draft.service_us = draft.service_us * 2 / 5;
            draft.spread = format!("spread = \"pareto\", alpha-percent = {}, service-max = \"200ms\"", dice.between(160, 220));
        },
    },
    Kind { name: "regular", change: |draft, _| draft.arrivals = "arrivals = \"fixed\"".into() },
    Kind {
        name: "batches",
        change: |draft, dice| {
            let batch = dice.between(3, 12);
            draft.batch = batch;
            draft.arrivals = format!("batch = {batch}, batch-sizes = \"{}\"", dice.one_of(&["fixed", "geometric"]));
        },
    },
    Kind {
        name: "mmpp",
        change: |draft, dice| {
            draft.rate_percent = 60;
            draft.bursts = Some((dice.between(3, 8), dice.between(300, 2_000), dice.between(50, 400)));
        },
    },
    Kind { name: "closed", change: |draft, dice| draft.think_ms = Some(dice.between(5, 60)) },
    Kind {
        name: "waits",
        change: |draft, dice| {
            draft.more.push(format!("waits = {}, wait = \"{}us\"", dice.between(1, 4), dice.between(300, 4_000)));
            draft.workers_per_cpu_percent = 1_000;
        },
    },
    Kind {
        name: "collector",
        change: |draft, dice| {
            let (threads, work) = (dice.between(2, 8), dice.between(30, 150));
            draft.more.push(format!("gc-threads = {threads}, gc-every = \"1s\", gc-work = \"{work}ms\""));
        },
    },
    Kind {
        name: "timers",
        change: |draft, dice| {
            draft.more.push(format!("timer-threads = {}, timer-every = \"10ms\", timer-work = \"100us\"", dice.between(2, 12)));
        },
    },
    Kind { name: "neighbours", change: |draft, dice| draft.neighbours = dice.between(1, draft.cpus) },
    Kind { name: "short-period", change: |draft, dice| draft.period_us = dice.one_of(&[10_000, 20_000, 50_000]) },
    Kind { name: "old-kernel", change: |draft, dice| draft.kernel = dice.one_of(&["4.20", "5.1"]) },
    Kind { name: "median", change: |draft, _| draft.permille = 500 },
    Kind { name: "out-of-reach", change: |draft, dice| draft.goal_permille = dice.between(300, 850) },
];

/// What a draw decides before it becomes text.
struct Draft {
    cpus: u64,
    /// CPU time asked for, percent of the CPUs.
    load_percent: u64,
    service_us: u64,
    workers_per_cpu_percent: u64,
    spread: String,
    arrivals: String,
    batch: u64,
    /// Share of requests that come in the calm state, percent of the rate.
    rate_percent: u64,
    /// How many times faster requests come in bursts; mean lengths of both states, ms.
    bursts: Option<(u64, u64, u64)>,
    think_ms: Option<u64>,
    more: Vec<String>,
    neighbours: u64,
    period_us: u64,
    kernel: &'static str,
    permille: u64,
    goal_permille: u64,
    /// The first seed of its runs.
    runs_from: u64,
}

/// The service of a kind and a seed.
pub fn draw(kind: &Kind, seed: u64) -> Service {
    let dice = &mut Dice::new(seed, kind.name);
    let mut draft = Draft {
        cpus: dice.one_of(&[2, 4, 6, 8, 12, 16]),
        load_percent: dice.between(12, 55),
        service_us: dice.between(1_000, 20_000),
        workers_per_cpu_percent: dice.between(300, 900),
        spread: "spread = \"exponential\"".into(),
        arrivals: "arrivals = \"poisson\"".into(),
        batch: 1,
        rate_percent: 100,
        bursts: None,
        think_ms: None,
        more: Vec::new(),
        neighbours: 0,
        period_us: 100_000,
        kernel: dice.one_of(&["5.10", "6.1", "6.6", "6.12", "6.18"]),
        permille: dice.one_of(&[900, 950, 990, 990, 990]),
        goal_permille: dice.one_of(&[1_100, 1_150, 1_250, 1_400, 1_600, 2_000, 3_000]),
        runs_from: 0,
    };
    (kind.change)(&mut draft, dice);
    // Its own: services of two kinds whose requests come by the same law would have the same requests with the same seeds, and err together.
    draft.runs_from = dice.between(1, RUNS_FROM_MOST);
    Service { kind: kind.name, seed, text: draft.text(), permille: draft.permille, goal_permille: draft.goal_permille }
}

/// So many are far apart for some hundred services, each of which takes some thousand.
const RUNS_FROM_MOST: u64 = 1 << 40;
/// Requests of a run, about.
const REQUESTS: u64 = 3_000;

impl Draft {
    fn text(&self) -> String {
        let Draft { cpus, service_us, runs_from, .. } = *self;
        let load = cpus * self.load_percent;
        // CPU time asked for is batch x service / every.
        let every_us = (service_us * 100 * self.batch / load.max(1)).max(20) * 100 / self.rate_percent;
        let duration_ms = (REQUESTS / self.batch * every_us / 1_000).clamp(4_000, 20_000);
        let workers = (load * self.workers_per_cpu_percent).div_ceil(10_000).max(2);
        let mut args = format!(
            "service = \"{service_us}us\", {}, workers = {workers}, cpus = \"0-{}\", client-cpus = \"{cpus}\"",
            self.spread,
            cpus - 1
        );
        let _ = match (self.think_ms, self.bursts) {
            (Some(think_ms), _) => {
                // A client asks once per think time and service.
                let clients = (load * (think_ms * 1_000 + service_us)).div_ceil(100 * service_us).max(1);
                write!(args, ", arrivals = \"closed\", clients = {clients}, think = \"{think_ms}ms\"")
            }
            (None, Some((faster, calm_ms, burst_ms))) => write!(
                args,
                ", arrivals = \"mmpp\", every = \"{every_us}us\", burst-every = \"{}us\", calm-length = \"{calm_ms}ms\", burst-length = \"{burst_ms}ms\"",
                every_us / faster
            ),
            (None, None) => write!(args, ", {}, every = \"{every_us}us\"", self.arrivals),
        };
        self.more.iter().for_each(|more| args += &format!(", {more}"));
        let mut text = format!(
            "seed     = {runs_from}\nduration = \"{duration_ms}ms\"\nwindow   = {{ from = \"500ms\", to = \"{duration_ms}ms\" }}\n\n\
             [machine]\npreset = \"smp-{}\"\n\n[profile]\nkernel = \"{}\"\n\n\
             [[group]]\npath = \"/service\"\n\"cpu.max\" = \"max {}\"\n\n\
             [[workload]]\nname  = \"service\"\ngroup = \"/service\"\nargs  = {{ {args} }}\n",
            cpus + 1,
            self.kernel,
            self.period_us,
        );
        if self.neighbours > 0 {
            let n = self.neighbours;
            let _ = write!(
                text,
                "\n[[group]]\npath = \"/other\"\n\n[[workload]]\ngroup = \"/other\"\n\
                 tasks = [{{ name = \"other\", count = {n}, do = [\"run 3ms\", \"sleep 5ms\"], cpus = \"0-{}\" }}]\n",
                cpus - 1
            );
        }
        text
    }
}
