//! The cases of the batteries: a machine and what runs on it, one for each thing that schedulers are judged by.
//!
//! What a machine or a run lacks under one of the two profiles is left out by name, not by hand.

/// How thorough a verdict is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Battery {
    /// Small machines and short runs: minutes.
    #[default]
    Quick,
    /// More machines, up to 384 CPUs, and longer runs: an hour.
    Full,
}

impl Battery {
    /// The battery of that name.
    pub fn by_name(name: &str) -> Option<Battery> {
        match name {
            "quick" => Some(Battery::Quick),
            "full" => Some(Battery::Full),
            _ => None,
        }
    }
    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Battery::Quick => "quick",
            Battery::Full => "full",
        }
    }
    /// The number of pairs of runs for each case: the fewest that decide something for a handful of metrics.
    pub(super) const fn pairs(self) -> u64 {
        match self {
            Battery::Quick => 8,
            Battery::Full => 12,
        }
    }
    /// Its cases.
    pub(super) fn cases(self) -> Vec<Case> {
        let machines = |case: &Case| -> &'static [&'static str] {
            match self {
                Battery::Quick => case.quick,
                Battery::Full => case.full,
            }
        };
        let with = |case: &'static Case| machines(case).iter().map(move |&machine| Case { machine, ..*case });
        CASES.iter().flat_map(with).collect()
    }
}

/// A case: what runs, and on which machine.
#[derive(Clone, Copy, Debug)]
pub(super) struct Case {
    /// What it is called in the verdict.
    pub(super) name: &'static str,
    /// Its machine; set from the lists below.
    pub(super) machine: &'static str,
    quick: &'static [&'static str],
    full: &'static [&'static str],
    duration: &'static str,
    /// The rest of the scenario.
    text: &'static str,
}

impl Case {
    /// The scenario as a file; both sides bring their own profile.
    pub(super) fn scenario(&self) -> String {
        let Case { name, machine, duration, text, .. } = self;
        format!(
            "title = \"{name} on {machine}\"\nduration = \"{duration}\"\nmachine = {{ preset = \"{machine}\" }}\n\
             profile = {{ kernel = \"{}\" }}\n{text}\n",
            fairground_sched::Profile::DEFAULT
        )
    }
}

const fn case(
    name: &'static str,
    quick: &'static [&'static str],
    full: &'static [&'static str],
    duration: &'static str,
    text: &'static str,
) -> Case {
    Case { name, machine: "", quick, full, duration, text }
}

const CASES: &[Case] = &[
    case(
        "hackbench",
        &["smp-4"],
        &["smp-8", "llc112", "epyc-9654-2s"],
        "300ms",
        "[[workload]]\nname = \"hackbench\"\nargs = { groups = 2, fds = 8, loops = 1000000, warmup = \"50ms\", measure = \"200ms\" }",
    ),
    case(
        "netperf",
        &["smp-4"],
        &["smp-8", "llc112"],
        "400ms",
        "[[workload]]\nname = \"netperf\"\nargs = { instances = 2, testlen = 1 }",
    ),
    case(
        "tbench",
        &["smp-4"],
        &["smp-8", "llc112"],
        "400ms",
        "[[workload]]\nname = \"tbench\"\nargs = { clients = 2, timelimit = 1, warmup = 0 }",
    ),
    case("schbench", &["smp-4"], &["smp-4", "box12"], "1s", "[[workload]]\nname = \"schbench\"\nargs = { threads = 6 }"),
    case("pipe", &["smp-2"], &["smp-2", "box12", "spr-2x56"], "300ms", "[[workload]]\nname = \"sched_pipe\""),
    case(
        "press",
        &["smp-4"],
        &["box12", "lap8"],
        "2s",
        "[[workload]]\nname = \"press\"\nargs = { cpus = \"0-3\", processes = 12, every = \"500ms\", work = \"60ms\" }",
    ),
    case(
        "mixed",
        &["smp-4", "lap8"],
        &["smp-1", "lap8", "box12", "spr-2x56"],
        "1s",
        "[[workload]]\ntasks = [\n\
         { name = \"hog\", hog = true, count = 4 },\n\
         { name = \"short\", do = [\"run 100us..1ms\", \"sleep 1ms..5ms\"], count = 6 },\n\
         { name = \"frame\", do = [\"run 2ms..4ms\", \"sleep 10ms..16ms\"], count = 2 },\n]",
    ),
    case(
        "quota",
        &["smp-4"],
        &["smp-8", "box12"],
        "1s",
        "[[group]]\npath = \"/limited\"\n\"cpu.max\" = \"150000 100000\"\n[[workload]]\ngroup = \"/limited\"\ntasks = [\n\
         { name = \"worker\", do = [\"run 1ms..4ms\", \"sleep 1ms..3ms\"], count = 6 },\n]",
    ),
    case(
        "service",
        &[],
        &["box12"],
        "2s",
        "[[workload]]\nname = \"service\"\nargs = { every = \"5ms\", service = \"10ms\", workers = 8, cpus = \"0-7\", client-cpus = \"8\" }",
    ),
    case(
        "cyclictest",
        &[],
        &["smp-4", "lap8"],
        "1s",
        "[[workload]]\nname = \"cyclictest\"\nargs = { threads = 4, priority = 80 }\n\
         [[workload]]\ntasks = [{ name = \"hog\", hog = true, count = 6 }]",
    ),
    case(
        "phone",
        &["sm8150"],
        &["sm8150", "juno-r0"],
        "1s",
        "[[workload]]\ntasks = [\n\
         { name = \"render\", do = [\"run 2ms..5ms\", \"sleep 11ms..14ms\"], mm = 1 },\n\
         { name = \"compose\", do = [\"run 2ms..5ms\", \"sleep 11ms..14ms\"], mm = 2 },\n\
         { name = \"mail\", do = [\"run 3ms..9ms\", \"sleep 20ms..60ms\"], mm = 3 },\n\
         { name = \"photos\", do = [\"run 3ms..9ms\", \"sleep 20ms..60ms\"], mm = 4 },\n\
         { name = \"music\", do = [\"run 3ms..9ms\", \"sleep 20ms..60ms\"], mm = 5 },\n\
         { name = \"index\", do = [\"run 3ms..9ms\", \"sleep 20ms..60ms\"], mm = 6 },\n]",
    ),
];
