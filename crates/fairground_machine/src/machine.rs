//! The machine: an ordered list of CPUs, how they share things, and how time passes on them.

use crate::cost::CostModel;
use crate::cpu::slowed;
pub use crate::cpu::{CAPACITY_SCALE, CpuSpec};
use crate::idle::{IdleGovernor, IdleState};
use fairground_model::machine_view::{CpuView, DomainLevels, RECLAIM_DISTANCE};
use fairground_model::{CostClass, FreqPolicy, MachineView, Mistakes, PageSize};
use fairground_stdx::time::NSEC_PER_SEC;
use fairground_stdx::{CpuId, CpuMask, Factor, Id, IndexVec, Ns};
use std::collections::BTreeMap;

/// The distance of a NUMA node to itself.
///
/// Kernel: topology.h LOCAL_DISTANCE, v4.12–
pub const LOCAL_DISTANCE: u32 = 10;

/// The distance of two NUMA nodes where the firmware does not say more.
///
/// Kernel: topology.h REMOTE_DISTANCE, v4.12–
pub const REMOTE_DISTANCE: u32 = 20;

/// The tick rates that kernels are built with.
///
/// Kernel: Kconfig.hz, v4.12–
pub const TICK_RATES: [u32; 4] = [100, 250, 300, 1000];

/// What the cache of a core holds unless a machine says otherwise, KiB: that of the server of the default price list.
pub const DEFAULT_CORE_CACHE_KIB: u32 = 2048;

/// The pages of a machine that says nothing of them: those of x86-64. An arm64 with base pages of 4 KiB has 64 KiB too.
pub const DEFAULT_PAGE_SIZES: [PageSize; 3] = [PageSize::K4, PageSize::M2, PageSize::G1];

/// How long a message from or to another machine is on the wire unless a machine says otherwise: half of a round trip of 50 us in one data
/// centre; a guess.
pub const DEFAULT_WIRE: Ns = Ns::from_us(25);

/// A machine that a simulation can run on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Machine {
    /// How reports call it.
    pub name: String,
    /// What it stands for, in one line.
    pub description: String,
    /// The CPUs in the order in which Linux numbers them.
    pub cpus: IndexVec<CpuId, CpuSpec>,
    /// Distance of each NUMA node to each, 10 on the diagonal.
    pub distances: Vec<Vec<u32>>,
    /// Nodes farther apart than this do not share wake-ups, forks and execs (node_reclaim_distance).
    pub reclaim_distance: u32,
    /// The levels of scheduling domains that the kernel was built with.
    pub levels: DomainLevels,
    /// Ticks per second as the kernel was configured (CONFIG_HZ).
    pub hz: u32,
    /// Length of one tick; 1/HZ unless set otherwise.
    pub tick: Ns,
    /// Whether interrupt time is taken out of the task clock (CONFIG_IRQ_TIME_ACCOUNTING).
    pub irq_time_accounting: bool,
    /// Whether an idle CPU stops its tick (CONFIG_NO_HZ_IDLE).
    pub nohz_idle: bool,
    /// A tick is late by 0 to `tick_jitter` − 1 ns; 0 = always on time.
    pub tick_jitter: Ns,
    /// Start value of the tick jitter's own linear congruential generator; none = a random stream of the run.
    pub tick_jitter_seed: Option<u32>,
    /// CPU n ticks n · `tick_offset` after CPU 0; 0 = all CPUs tick together.
    pub tick_offset: Ns,
    /// CPU 0 ticks so long after whole ticks of the clock (CLOCK_MONOTONIC), by which other timers go. From v4.19 to v6.3 it was
    /// another time with each boot; before and after it is 0, also in the stable kernels that have the repair.
    pub tick_phase: Ns,
    /// CPUs that change frequency together, with their operating points: all CPUs, or none.
    pub policies: Vec<FreqPolicy>,
    /// Whether the kernel knows how fast each CPU is at the moment: frequency invariance. If not it takes all for full speed.
    pub freq_invariant: bool,
    /// The idle states, shallowest first; none: one state, whose price is that of leaving idle.
    pub idle_states: Vec<IdleState>,
    /// Who chooses among them.
    pub idle_governor: IdleGovernor,
    /// Busy CPUs take turns, and this is how long a round of all of them lasts, as in an emulator that executes all CPUs
    /// on one thread: what a CPU does in the kernel waits for its turn, and others stand still meanwhile. 0 = all run at
    /// once. Programs that watch a clock, as those of recorded sets do, are not slower.
    pub round_of_turns: Ns,
    /// A search for an idle CPU finds all run queues as they are when it begins. Else it reads each at its own moment, so
    /// that two CPUs can race for an idle one.
    pub scan_atomic: bool,
    /// Throughput of a thread while another one of its core is busy, in percent of what it has alone; 100 = they do not
    /// disturb one another.
    pub smt_percent: u32,
    /// What a core's own cache holds, KiB: what tasks have there others can push out.
    pub core_cache_kib: u32,
    /// The sizes of pages that memory may have, the smallest first.
    pub page_sizes: Vec<PageSize>,
    /// The CPUs that its network device interrupts; `None` = all. Connections are spread over them.
    pub nic_cpus: Option<CpuMask>,
    /// How long a message from or to another machine is on the wire, switches included.
    pub wire: Ns,
    /// What kernel paths cost on this machine.
    pub costs: CostModel,
}

impl Machine {
    /// A machine of these CPUs with a kernel's defaults: HZ 250, no jitter, interrupt time accounted,
    /// ticks stopped in idle, prices `xeon-spr`.
    pub fn new(name: impl Into<String>, cpus: IndexVec<CpuId, CpuSpec>, distances: Vec<Vec<u32>>) -> Machine {
        let hz = 250;
        Machine {
            name: name.into(),
            description: String::new(),
            cpus,
            distances,
            reclaim_distance: RECLAIM_DISTANCE,
            levels: DomainLevels::default(),
            hz,
            tick: tick_of(hz),
            irq_time_accounting: true,
            nohz_idle: true,
            tick_jitter: Ns::ZERO,
            tick_jitter_seed: None,
            tick_offset: Ns::ZERO,
            tick_phase: Ns::ZERO,
            policies: Vec::new(),
            freq_invariant: true,
            idle_states: Vec::new(),
            idle_governor: IdleGovernor::default(),
            round_of_turns: Ns::ZERO,
            scan_atomic: false,
            smt_percent: 100,
            core_cache_kib: DEFAULT_CORE_CACHE_KIB,
            page_sizes: DEFAULT_PAGE_SIZES.to_vec(),
            nic_cpus: None,
            wire: DEFAULT_WIRE,
            costs: CostModel::default(),
        }
    }
    /// Whether a package holds several nodes. Its CPUs are then no domain of their own.
    ///
    /// Kernel: smpboot.c build_sched_topology(), v4.12–
    pub fn has_nodes_in_package(&self) -> bool {
        let mut homes: BTreeMap<u32, u32> = BTreeMap::new();
        self.cpus.iter().any(|cpu| *homes.entry(cpu.package).or_insert(cpu.node) != cpu.node)
    }

    /// The machine as the scheduler sees it.
    pub fn view(&self) -> MachineView {
        let cores = self.groups(|cpu| cpu.core);
        let llcs = self.groups(|cpu| cpu.llc);
        let clusters: BTreeMap<Option<u32>, CpuMask> = self.cpus.iter_enumerated().fold(BTreeMap::new(), |mut map, (id, cpu)| {
            map.entry(cpu.cluster).or_insert(CpuMask::EMPTY).insert(id);
            map
        });
        let cpus = self.cpus.iter_enumerated().map(|(id, cpu)| CpuView {
            capacity: cpu.capacity,
            freq_capacity: self.known_freq_capacity(id),
            policy: self.policies.iter().position(|policy| policy.cpus.contains(id)),
            smt: cores[&cpu.core],
            cluster: cpu.cluster.map(|_| clusters[&cpu.cluster]),
            llc: llcs[&cpu.llc],
            package: cpu.package,
            node: cpu.node,
            clock_ahead: cpu.clock_ahead,
        });
        MachineView {
            cpus: cpus.collect(),
            online: CpuMask::first_n(self.cpus.len()),
            distances: self.distances.clone(),
            reclaim_distance: self.reclaim_distance,
            levels: self.levels,
            tick: self.tick,
            irq_time_accounting: self.irq_time_accounting,
            policies: self.policies.clone(),
            freq_invariant: self.freq_invariant,
        }
    }
    /// Sets the frequencies with which a run begins, as the governors say.
    pub fn start_governors(&mut self) {
        for policy in &self.policies {
            for cpu in policy.cpus.iter() {
                self.cpus[cpu].freq_capacity = policy.start_share(self.cpus[cpu].freq_capacity);
            }
        }
    }
    /// What the kernel takes for the share of the highest frequency at which a CPU runs.
    ///
    /// Kernel: topology.h arch_scale_freq_capacity(), v4.12–
    pub fn known_freq_capacity(&self, cpu: CpuId) -> u32 {
        if self.freq_invariant { self.cpus[cpu].freq_capacity } else { CAPACITY_SCALE }
    }
    /// The CPUs of each value of `key`: cores, caches, packages, nodes.
    pub fn groups(&self, key: impl Fn(&CpuSpec) -> u32) -> BTreeMap<u32, CpuMask> {
        let mut groups: BTreeMap<u32, CpuMask> = BTreeMap::new();
        for (id, cpu) in self.cpus.iter_enumerated() {
            groups.entry(key(cpu)).or_insert(CpuMask::EMPTY).insert(id);
        }
        groups
    }
    /// The offset between the ticks of neighbouring CPUs under `skew_tick=1`: half a tick over all CPUs.
    ///
    /// Kernel: tick-sched.c tick_setup_sched_timer(), v4.12–
    pub fn skewed_tick_offset(&self) -> Ns {
        Ns(self.tick.ns() / 2 / (self.cpus.len() as u64).max(1))
    }
    /// The time that `amount` of full-speed CPU work takes on `cpu`, which has its core for itself or not.
    pub fn work_lasts(&self, cpu: CpuId, amount: Ns, shared: bool) -> Ns {
        let alone = self.cpus[cpu].at_speed(amount.0);
        Ns(if shared { slowed(alone, self.smt_percent) } else { alone })
    }
    /// The full-speed CPU work that `cpu`, which has its core for itself or not, does in `time`; rounded down.
    pub fn work_done(&self, cpu: CpuId, time: Ns, shared: bool) -> Ns {
        let spec = &self.cpus[cpu];
        let speed = u128::from(spec.capacity) * u128::from(spec.freq_capacity);
        // 1024 · 1024 = 2^20 is full speed.
        let alone = u128::from(time.0) * speed;
        Ns(match shared {
            true => (alone * u128::from(self.smt_percent) / 100) >> 20,
            false => alone >> 20,
        } as u64)
    }
    /// The machine with more CPUs of the same kinds: each new one is the twin of one that is there, under the same caches and in the
    /// same node, and the twins of the threads of a core are one core. They are numbered behind those that are there, in their order.
    pub fn with_cpus(&self, count: usize) -> Machine {
        let mut machine = self.clone();
        let own = self.cpus.len();
        let cores = self.cpus.iter().map(|cpu| cpu.core + 1).max().unwrap_or(0);
        for cpu in own..count {
            let (twin, round) = (CpuId::from_index(cpu % own), (cpu / own) as u32);
            let core = self.cpus[twin].core + round * cores;
            machine.cpus.push(CpuSpec { core, ..self.cpus[twin].clone() });
            for policy in machine.policies.iter_mut().filter(|policy| policy.cpus.contains(twin)) {
                policy.cpus.insert(CpuId::from_index(cpu));
            }
        }
        machine
    }
    /// Multiplies what a class costs here: its prices, and for exits from idle also the time that each state takes to leave.
    /// What the table of states says of them stays, as governor and scheduler go by that.
    pub fn scale_class(&mut self, class: CostClass, factor: Factor, why: &str) -> Result<(), Mistakes> {
        self.costs.scale(class.ops(), factor, why)?;
        if class == CostClass::IdleExit {
            self.idle_states.iter_mut().for_each(|state| state.exit_time = Ns(factor.times(state.exit_time.0)));
        }
        Ok(())
    }
    /// How long after whole ticks of the clock this CPU's ticks fall.
    pub fn tick_offset_of(&self, cpu: CpuId) -> Ns {
        Ns(self.tick_phase.ns() + self.tick_offset.ns() * u64::from(cpu.get()))
    }
}

/// One tick at `hz` ticks per second, to the nearest nanosecond.
///
/// Kernel: jiffies.h TICK_NSEC, v4.12–
pub fn tick_of(hz: u32) -> Ns {
    let hz = u64::from(hz.max(1));
    Ns((NSEC_PER_SEC + hz / 2) / hz)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_rounded_as_the_kernel_does() {
        let ticks: Vec<u64> = TICK_RATES.iter().map(|&hz| tick_of(hz).ns()).collect();
        assert_eq!(ticks, [10_000_000, 4_000_000, 3_333_333, 1_000_000]);
    }

    /// 62 % of the throughput: 100 / 62 of the time.
    #[test]
    fn work_takes_longer_beside_a_busy_sibling() {
        let mut machine = Machine::preset("llc112").unwrap();
        let cpu = CpuId::new(0);
        assert_eq!(machine.smt_percent, 62);
        assert_eq!([false, true].map(|shared| machine.work_lasts(cpu, Ns(1_000), shared).0), [1_000, 1_613]);
        assert_eq!([false, true].map(|shared| machine.work_done(cpu, Ns(1_613), shared).0), [1_613, 1_000]);
        machine.cpus[cpu].freq_capacity = 512;
        assert_eq!(machine.work_lasts(cpu, Ns(1_000), true).0, 3_226);
        assert_eq!(machine.work_done(cpu, Ns(3_226), true).0, 1_000);
    }

    #[test]
    fn more_cpus_are_twins_of_those_that_are_there() {
        for preset in ["smp-3", "lap8", "hikey", "spr-2x56", "sm8150"] {
            let machine = Machine::preset(preset).unwrap();
            let twice = machine.with_cpus(2 * machine.cpus.len());
            assert!(twice.validate().is_ok(), "{preset}");
            let (before, after) = (machine.view(), twice.view());
            assert_eq!(after.cpus.len(), 2 * before.cpus.len());
            for (cpu, spec) in before.cpus.iter_enumerated() {
                let twin = &after.cpus[CpuId::from_index(before.cpus.len() + cpu.index())];
                assert_eq!(
                    (after.cpus[cpu].smt, twin.smt.weight()),
                    (spec.smt, spec.smt.weight()),
                    "{preset}: cores keep their threads"
                );
                assert_eq!((twin.capacity, twin.node, twin.llc), (spec.capacity, spec.node, after.cpus[cpu].llc));
                assert_eq!(twin.llc.weight(), 2 * spec.llc.weight(), "{preset}: the cache is shared");
            }
            assert_eq!(machine.with_cpus(machine.cpus.len()), machine);
        }
    }

    #[test]
    fn a_package_of_several_nodes_is_told_from_one_per_node() {
        let mut machine = Machine::preset("spr-2x56").unwrap();
        assert!(!machine.has_nodes_in_package());
        machine.cpus.iter_mut().for_each(|cpu| cpu.package = 0);
        assert!(machine.has_nodes_in_package());
    }

    #[test]
    fn the_view_knows_siblings_and_caches() {
        let view = Machine::preset("spr-2x56").unwrap().view();
        let cpu = |id| &view.cpus[CpuId::new(id)];
        assert_eq!((view.cpus.len(), view.online.weight()), (224, 224));
        assert_eq!(cpu(0).smt.to_string(), "0,112");
        assert_eq!(cpu(0).llc.to_string(), "0-55,112-167");
        assert_eq!(cpu(223).llc.to_string(), "56-111,168-223");
        assert_eq!(view.tick, Ns::from_ms(4));
    }

    #[test]
    fn skewed_ticks_spread_over_half_a_tick() {
        let mut machine = Machine::preset("smp-4").unwrap();
        assert_eq!(machine.skewed_tick_offset(), Ns(500_000));
        machine.tick_offset = machine.skewed_tick_offset();
        assert_eq!(machine.tick_offset_of(CpuId::new(3)), Ns(1_500_000));
    }
}
