//! What makes a machine a possible one.

mod place;
mod policies;

pub use place::{Place, Problem};

use crate::machine::{CAPACITY_SCALE, CpuSpec, LOCAL_DISTANCE, Machine, TICK_RATES};
use fairground_model::Mistakes;
use fairground_stdx::time::NSEC_PER_SEC;
use fairground_stdx::{CpuId, CpuMask, Ns};
use std::collections::BTreeMap;

/// The most CPUs that a machine can have.
pub const MAX_CPUS: usize = CpuMask::CAPACITY;
/// The most NUMA nodes that Linux can be built for (CONFIG_NODES_SHIFT 10).
pub const MAX_NODES: usize = 1024;
/// The largest distance of two nodes; the firmware's next value means "no way there".
const MAX_DISTANCE: u32 = 254;

/// Where the distances stand, or what they follow from.
const DISTANCES: Place = Place::Keys(&["distances", "nodes", "cpu"]);

impl Machine {
    /// All mistakes in the description: see [`problems`].
    pub fn validate(&self) -> Result<(), Mistakes> {
        let mut mistakes = Mistakes::default();
        for problem in problems(self) {
            mistakes.whole(problem.message, problem.hint);
        }
        mistakes.or(())
    }
}

/// Everything that is wrong with `machine`.
pub fn problems(machine: &Machine) -> Vec<Problem> {
    let mut found = Found(Vec::new());
    found.count(machine);
    if (1..=MAX_CPUS).contains(&machine.cpus.len()) {
        found.numbers(machine);
        found.nesting(machine);
        found.smt_capacity(machine);
        found.distances(machine);
        found.levels(machine);
        policies::problems(machine, &mut found.0);
    }
    found.ticks(machine);
    found.0
}

struct Found(Vec<Problem>);

impl Found {
    fn add(&mut self, place: Place, message: impl Into<String>, hint: impl Into<String>) {
        self.0.push(Problem { place, message: message.into(), hint: hint.into() });
    }

    fn count(&mut self, machine: &Machine) {
        if machine.cpus.is_empty() {
            self.add(Place::CPUS, "a machine without CPUs", "Give it at least one CPU.");
        } else if machine.cpus.len() > MAX_CPUS {
            let message = format!("a machine of {} CPUs", machine.cpus.len());
            self.add(Place::CPUS, message, format!("At most {MAX_CPUS} CPUs can be simulated."));
        }
    }

    fn numbers(&mut self, machine: &Machine) {
        self.capacities(machine, Place::CAPACITY, ("capacity", |cpu| cpu.capacity));
        self.capacities(machine, Place::Keys(&["freq_capacity", "cpu", "preset"]), ("freq_capacity", |cpu| cpu.freq_capacity));
        for (id, cpu) in machine.cpus.iter_enumerated() {
            if cpu.clock_ahead.ns() > machine.tick.ns().saturating_mul(2) {
                let message = format!("the clock of CPU {id} is {} ahead", cpu.clock_ahead);
                self.add(Place::Cpu(id), message, "The kernel's clocks are at most two ticks apart.");
            }
            if cpu.node as usize >= machine.distances.len() {
                let message = format!("CPU {id} is on node {}, which the distance matrix does not have", cpu.node);
                self.add(Place::Cpu(id), message, format!("The matrix has {} rows.", machine.distances.len()));
            }
        }
    }

    /// Each value that is no capacity is told once, with the CPUs that have it.
    fn capacities(&mut self, machine: &Machine, place: Place, (name, of): (&str, fn(&CpuSpec) -> u32)) {
        let groups = machine.groups(of);
        for (capacity, cpus) in groups.iter().filter(|(capacity, _)| !(1..=CAPACITY_SCALE).contains(*capacity)) {
            let who = if cpus.weight() == 1 { format!("CPU {cpus} has") } else { format!("CPUs {cpus} have") };
            let hint = "A capacity lies in 1..=1024; 1024 is the biggest CPU at its highest frequency.";
            self.add(place, format!("{who} {name} {capacity}"), hint);
        }
    }

    /// Cores lie in clusters, clusters in LLCs, LLCs in packages; packages in nodes or nodes in packages.
    fn nesting(&mut self, machine: &Machine) {
        self.inside(machine, ("core", |cpu| Some(cpu.core)), ("cluster", |cpu| cpu.cluster));
        self.inside(machine, ("core", |cpu| Some(cpu.core)), ("last-level cache", |cpu| Some(cpu.llc)));
        self.inside(machine, ("core", |cpu| Some(cpu.core)), ("node", |cpu| Some(cpu.node)));
        self.inside(machine, ("cluster", |cpu| cpu.cluster), ("last-level cache", |cpu| Some(cpu.llc)));
        self.inside(machine, ("last-level cache", |cpu| Some(cpu.llc)), ("package", |cpu| Some(cpu.package)));
        let (package, node): (Part, Part) = (("package", |cpu| Some(cpu.package)), ("node", |cpu| Some(cpu.node)));
        if let (Some((id, message)), Some(_)) = (split(machine, package, node), split(machine, node, package)) {
            let hint = "Either packages lie within nodes or nodes lie within packages, all over the machine.";
            self.add(Place::Cpu(id), message, hint);
        }
    }

    fn inside(&mut self, machine: &Machine, inner: Part, outer: Part) {
        if let Some((id, message)) = split(machine, inner, outer) {
            let hint = format!("All CPUs of one {} belong to one {}.", inner.0, outer.0);
            self.add(Place::Cpu(id), message, hint);
        }
    }

    fn smt_capacity(&mut self, machine: &Machine) {
        let first = machine.cpus.iter().next().map(|cpu| cpu.capacity);
        let equal = machine.cpus.iter().all(|cpu| Some(cpu.capacity) == first);
        let siblings = machine.groups(|cpu| cpu.core).values().any(|core| core.weight() > 1);
        if siblings && !equal {
            let message = "SMT together with CPUs of different capacity is not modelled yet";
            self.add(Place::CAPACITY, message, "Use one thread per core, or one capacity for all CPUs.");
        }
    }

    fn distances(&mut self, machine: &Machine) {
        let rows = &machine.distances;
        if rows.len() > MAX_NODES {
            let message = format!("the distance matrix has {} rows", rows.len());
            self.add(DISTANCES, message, format!("A machine has at most {MAX_NODES} NUMA nodes."));
            return;
        }
        if let Some(row) = rows.iter().find(|row| row.len() != rows.len()) {
            let message = format!("the distance matrix has {} rows but a row of {} columns", rows.len(), row.len());
            self.add(DISTANCES, message, "It has one row and one column per NUMA node.");
            return;
        }
        for (from, row) in rows.iter().enumerate() {
            for (to, &distance) in row.iter().enumerate() {
                if from == to && distance != LOCAL_DISTANCE {
                    let message = format!("the distance of node {from} to itself is {distance}");
                    self.add(DISTANCES, message, "The diagonal of the matrix is 10.");
                } else if !(LOCAL_DISTANCE..=MAX_DISTANCE).contains(&distance) {
                    let message = format!("the distance from node {from} to node {to} is {distance}");
                    self.add(DISTANCES, message, "A distance lies in 10..=254; 10 is local, 20 twice as far.");
                } else if from < to && distance != rows[to][from] {
                    let message = format!("from node {from} to node {to} it is {distance}, back it is {}", rows[to][from]);
                    self.add(DISTANCES, message, "The distance matrix is symmetric.");
                }
            }
        }
    }

    /// Without NUMA there is one node.
    fn levels(&mut self, machine: &Machine) {
        if machine.reclaim_distance < LOCAL_DISTANCE || machine.reclaim_distance > MAX_DISTANCE {
            let message = format!("reclaim_distance = {}", machine.reclaim_distance);
            self.add(Place::Keys(&["reclaim_distance"]), message, "A distance lies in 10..=254; kernels have 30, on AMD Zen 32.");
        }
        let nodes = machine.groups(|cpu| cpu.node).len();
        if !machine.levels.numa && nodes > 1 {
            let message = format!("a kernel without NUMA on a machine of {nodes} nodes");
            self.add(Place::Keys(&["numa", "nodes", "cpu"]), message, "Leave `numa = false` out, or put all CPUs on one node.");
        }
    }

    fn ticks(&mut self, machine: &Machine) {
        if !TICK_RATES.contains(&machine.hz) {
            self.add(Place::Keys(&["hz"]), format!("hz = {}", machine.hz), "A kernel has HZ 100, 250, 300 or 1000.");
        }
        if machine.tick.ns() == 0 || machine.tick.ns() > NSEC_PER_SEC {
            self.add(Place::Keys(&["tick", "hz"]), format!("a tick of {}", machine.tick), "A tick lasts from 1ns to 1s.");
            return;
        }
        if machine.tick_jitter >= machine.tick {
            let message =
                format!("ticks are late by up to {}, but the next one is due after {}", machine.tick_jitter, machine.tick);
            self.add(Place::Keys(&["tick_jitter"]), message, "The jitter is shorter than a tick.");
        }
        if machine.tick_phase >= machine.tick {
            let message = format!("ticks that fall {} after whole ticks", machine.tick_phase);
            self.add(Place::Keys(&["tick_phase"]), message, "The phase is shorter than a tick.");
        }
        let last = machine.tick_offset.ns().checked_mul((machine.cpus.len() as u64).saturating_sub(1));
        if last.is_none_or(|last| last >= machine.tick.ns()) {
            let message = format!("with {} between neighbours the last CPU ticks a whole tick late", machine.tick_offset);
            self.add(
                Place::Keys(&["tick_offset", "skew_tick"]),
                message,
                "CPU n ticks n times this after CPU 0; keep the last below one tick.",
            );
        }
        let round = machine.round_of_turns;
        if round > machine.tick || (round != Ns::ZERO && round < Ns(machine.cpus.len() as u64)) {
            let message = format!("CPUs take turns in rounds of {round}");
            self.add(
                Place::Keys(&["round_of_turns"]),
                message,
                "A round has at least 1ns for each CPU and lasts no longer than a tick.",
            );
        }
        if !(1..=100).contains(&machine.smt_percent) {
            let message = format!("smt_percent = {}", machine.smt_percent);
            self.add(
                Place::Keys(&["smt_percent"]),
                message,
                "A thread beside a busy one of its core has 1 to 100 percent of its throughput.",
            );
        }
    }
}

/// A way to part the machine, with its name.
type Part = (&'static str, fn(&CpuSpec) -> Option<u32>);

/// The first CPU whose `inner` part reaches into two `outer` parts, with the sentence that says so.
fn split(machine: &Machine, inner: Part, outer: Part) -> Option<(CpuId, String)> {
    let mut seen: BTreeMap<u32, Option<u32>> = BTreeMap::new();
    for (id, cpu) in machine.cpus.iter_enumerated() {
        let Some(part) = inner.1(cpu) else { continue };
        let whole = outer.1(cpu);
        let first = *seen.entry(part).or_insert(whole);
        if first != whole {
            let name = |id: Option<u32>| id.map_or(format!("no {}", outer.0), |id| format!("{} {id}", outer.0));
            return Some((id, format!("{} {part} reaches into {} and, with CPU {id}, {}", inner.0, name(first), name(whole))));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairground_stdx::Ns;

    fn messages(machine: &Machine) -> Vec<String> {
        problems(machine).into_iter().map(|problem| problem.message).collect()
    }
    fn changed(name: &str, change: impl FnOnce(&mut Machine)) -> Vec<String> {
        let mut machine = Machine::preset(name).unwrap();
        change(&mut machine);
        messages(&machine)
    }

    #[test]
    fn counts_have_limits() {
        assert_eq!(changed("smp-4", |m| m.cpus = Default::default()), ["a machine without CPUs"]);
        let many = |m: &mut Machine| m.cpus = (0..5000).map(|_| m.cpus[CpuId::new(0)].clone()).collect();
        assert_eq!(changed("smp-4", many), ["a machine of 5000 CPUs"]);
    }

    #[test]
    fn parts_nest() {
        let core = |m: &mut Machine| m.cpus[CpuId::new(5)].core = 0;
        assert_eq!(changed("hikey", core), ["core 0 reaches into last-level cache 0 and, with CPU 5, last-level cache 1"]);
        let package = |m: &mut Machine| m.cpus[CpuId::new(2)].package = 1;
        assert_eq!(changed("hikey", package), ["last-level cache 0 reaches into package 0 and, with CPU 2, package 1"]);
        let cluster = |m: &mut Machine| m.cpus[CpuId::new(1)].cluster = Some(3);
        assert_eq!(changed("hikey", cluster), [""; 0]);
        let cluster = |m: &mut Machine| m.cpus[CpuId::new(1)].cluster = Some(3);
        assert_eq!(changed("lap8", cluster), ["core 1 reaches into cluster 3 and, with CPU 5, no cluster"]);
    }

    #[test]
    fn nodes_and_packages_nest_one_way_or_the_other() {
        let sub_numa = |m: &mut Machine| {
            m.distances = vec![vec![10, 12], vec![12, 10]];
            (2..4).for_each(|cpu| m.cpus[CpuId::new(cpu)].node = 1);
        };
        assert_eq!(changed("smp-4", sub_numa), [""; 0]);
        let crossing = |m: &mut Machine| {
            m.distances = vec![vec![10, 12], vec![12, 10]];
            for (cpu, package, node) in [(0, 0, 0), (1, 0, 1), (2, 1, 0), (3, 1, 1)] {
                let spec = &mut m.cpus[CpuId::new(cpu)];
                (spec.package, spec.node, spec.llc) = (package, node, package);
            }
        };
        assert_eq!(changed("smp-4", crossing), ["package 0 reaches into node 0 and, with CPU 1, node 1"]);
    }

    #[test]
    fn capacities_and_smt() {
        let big = |m: &mut Machine| m.cpus[CpuId::new(1)].capacity = 1025;
        assert_eq!(changed("smp-2", big), ["CPU 1 has capacity 1025"]);
        let stopped = |m: &mut Machine| m.cpus[CpuId::new(1)].freq_capacity = 0;
        assert_eq!(changed("smp-2", stopped), ["CPU 1 has freq_capacity 0"]);
        let mixed = |m: &mut Machine| m.cpus[CpuId::new(1)].capacity = 446;
        assert_eq!(changed("lap8", mixed), ["SMT together with CPUs of different capacity is not modelled yet"]);
    }

    #[test]
    fn distances_are_a_symmetric_matrix() {
        let set = |rows: &[&[u32]]| {
            let rows: Vec<Vec<u32>> = rows.iter().map(|row| row.to_vec()).collect();
            changed("spr-2x56", move |m| m.distances = rows)
        };
        assert_eq!(set(&[&[10, 21], &[21, 10]]), [""; 0]);
        assert_eq!(set(&[&[10, 21], &[22, 10]]), ["from node 0 to node 1 it is 21, back it is 22"]);
        assert_eq!(set(&[&[11, 21], &[21, 10]]), ["the distance of node 0 to itself is 11"]);
        assert_eq!(set(&[&[10, 21], &[21]]), ["the distance matrix has 2 rows but a row of 1 columns"]);
        assert_eq!(set(&[&[10, 9], &[9, 10]]).len(), 2);
        assert_eq!(set(&vec![[10].as_slice(); 2000]), ["the distance matrix has 2000 rows"]);
        assert_eq!(set(&[&[10]]).len(), 112, "each CPU of the second node");
    }

    #[test]
    fn ticks_are_possible() {
        assert_eq!(changed("smp-2", |m| m.hz = 999), ["hz = 999"]);
        assert_eq!(changed("smp-2", |m| m.tick = Ns(0)), ["a tick of 0ns"]);
        assert_eq!(changed("smp-2", |m| m.tick_jitter = Ns::from_ms(4)).len(), 1);
        assert_eq!(changed("smp-2", |m| m.tick_offset = Ns::from_ms(4)).len(), 1);
        assert_eq!(changed("smp-2", |m| m.tick_offset = Ns::from_ms(3)).len(), 0);
        assert_eq!(changed("smp-3", |m| m.tick_offset = Ns(u64::MAX)).len(), 1);
        assert_eq!(changed("smp-2", |m| m.tick_phase = Ns::from_ms(4)), ["ticks that fall 4ms after whole ticks"]);
        assert_eq!(changed("smp-2", |m| m.tick_phase = Ns(3_999_999)).len(), 0);
        let ahead = |m: &mut Machine| m.cpus[CpuId::new(1)].clock_ahead = Ns(8_000_001);
        assert_eq!(changed("smp-2", ahead), ["the clock of CPU 1 is 8000001ns ahead"]);
        assert_eq!(changed("smp-3", |m| m.round_of_turns = Ns::from_us(100)).len(), 0);
        assert_eq!(changed("smp-3", |m| m.round_of_turns = Ns(2)), ["CPUs take turns in rounds of 2ns"]);
        assert_eq!([0, 101].map(|percent| changed("smp-3", |m| m.smt_percent = percent).len()), [1, 1]);
        assert_eq!(changed("smp-3", |m| m.round_of_turns = Ns(u64::MAX)).len(), 1);
    }
}
