//! Random states of machines, and what a model needs to know of them.

use super::super::{LbEnv, MigrationType};
use crate::topology::{CpuIdleType, SdFlags};
use crate::{Ctx, Profile, Sched};
use fairground_machine::Machine;
use fairground_model::{Digest, MachineView, Meter, NullSink, Recorder};
use fairground_stdx::{CpuId, Instant, Ns, RngStream, SdId, SgId, StreamKind, TaskId};

/// A CPU, as far as balance sees it.
#[derive(Clone, Debug)]
pub(super) struct PlainCpu {
    pub(super) number: u32,
    pub(super) nr_running: i128,
    pub(super) h_nr: i128,
    pub(super) idle: bool,
    /// load_avg, or runnable_load_avg of the older kernels.
    pub(super) load: i128,
    pub(super) older: [i128; 5],
    pub(super) util: i128,
    pub(super) runnable: i128,
    pub(super) orig: i128,
    pub(super) capacity: i128,
    pub(super) misfit: i128,
}

/// A group: the CPUs that are looked at, and what is known of all of it.
#[derive(Clone, Debug)]
pub(super) struct PlainGroup {
    pub(super) cpus: Vec<PlainCpu>,
    pub(super) capacity: i128,
    pub(super) min_capacity: i128,
    pub(super) max_capacity: i128,
    pub(super) weight: i128,
    pub(super) cores: i128,
    pub(super) smt: bool,
    pub(super) spreads: bool,
    pub(super) imbalance_flag: bool,
}

/// A domain with its groups, the local one first.
#[derive(Clone, Debug)]
pub(super) struct Plain {
    pub(super) groups: Vec<PlainGroup>,
    pub(super) dst: PlainCpu,
    pub(super) idle: CpuIdleType,
    pub(super) pct: i128,
    pub(super) imb_numa_nr: i128,
    pub(super) child_spreads: bool,
    pub(super) shares_llc: bool,
    pub(super) numa: bool,
    pub(super) asymmetric: bool,
    pub(super) busy_idx: usize,
    pub(super) idle_idx: usize,
}

/// The place of the busiest group in the ring, what is moved, how much, and from which CPU.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in super::super) struct Answer {
    pub(in super::super) group: usize,
    pub(in super::super) migration: MigrationType,
    pub(in super::super) imbalance: i128,
    pub(in super::super) queue: Option<u32>,
}

/// A balance about to be decided.
pub(in super::super) struct State {
    pub(in super::super) sched: Sched,
    machine: MachineView,
    env: LbEnv,
    rng: RngStream,
}

impl State {
    /// A random machine in a random state, and one of its domains.
    pub(super) fn random(kernel: &str, seed: u64) -> State {
        let mut rng = RngStream::new(seed, StreamKind::Vopr, 0);
        let machine = random_machine(&mut rng);
        let mut sched = Sched::new(Profile::parse(kernel).unwrap(), &machine);
        let cpus: Vec<CpuId> = sched.cpu_ids().collect();
        let busy = rng.below(4);
        for &cpu in &cpus {
            fill_cpu(&mut sched, &mut rng, cpu, busy);
        }
        refresh_capacities(&mut sched);
        let chains: Vec<SdId> = cpus.iter().flat_map(|&cpu| sched.topology.domains_of(cpu).collect::<Vec<_>>()).collect();
        for group in sched.topology.groups.iter_mut() {
            group.imbalance = rng.below(12) == 0;
        }
        let sd = chains[rng.below(chains.len() as u64) as usize];
        let domain = &sched.topology.domains[sd];
        let mut looked_at = domain.span;
        for cpu in domain.span.iter().filter(|&cpu| cpu != domain.cpu) {
            if rng.below(16) == 0 {
                looked_at.remove(cpu);
            }
        }
        let idle = [CpuIdleType::NotIdle, CpuIdleType::Idle, CpuIdleType::NewlyIdle][rng.below(3) as usize];
        let mut state = State::of(sched, machine, sd, idle);
        (state.env.cpus, state.rng) = (looked_at, rng);
        state
    }

    /// Some CPUs are in another random state from now on, and some groups marked or not.
    pub(super) fn change(&mut self) {
        let (sched, rng) = (&mut self.sched, &mut self.rng);
        let busy = rng.below(4);
        for cpu in sched.cpu_ids() {
            if rng.below(3) == 0 {
                sched.rqs[cpu].wake_list.clear();
                fill_cpu(sched, rng, cpu, busy);
                let marked = rng.below(12) == 0;
                if let Some(sd) = sched.topology.domains_of(cpu).last() {
                    let group = sched.topology.domains[sd].first_group;
                    sched.topology.groups[group].imbalance = marked;
                }
                sched.group_stats.cpu_changes(cpu);
            }
        }
        refresh_capacities(sched);
    }

    /// The owner of the domain `sd` balances it.
    pub(in super::super) fn of(sched: Sched, machine: MachineView, sd: SdId, idle: CpuIdleType) -> State {
        let domain = &sched.topology.domains[sd];
        let env = LbEnv {
            sd,
            dst_cpu: domain.cpu,
            src_cpu: None,
            new_dst_cpu: None,
            idle,
            imbalance: 0,
            migration: MigrationType::Load,
            busiest_misfit: false,
            cpus: domain.span,
            all_pinned: false,
            some_pinned: false,
            dst_pinned: false,
            need_break: false,
            active: false,
            task_is_hot: false,
            loops: 0,
            loop_break: 0,
            loop_max: 0,
            tasks: Vec::new(),
        };
        State { sched, machine, env, rng: RngStream::new(0, StreamKind::Vopr, 0) }
    }

    /// What the scheduler decides.
    pub(in super::super) fn ask(&mut self) -> Option<Answer> {
        self.call(|sched, cx, env| {
            let group = sched.find_busiest_group(cx, env)?;
            let place = sched.topology.groups_of(env.sd).position(|other| other == group).unwrap();
            let queue = sched.find_busiest_queue(cx, env, group).map(CpuId::get);
            Some(Answer { group: place, migration: env.migration, imbalance: i128::from(env.imbalance), queue })
        })
    }

    /// By how many tasks the busiest group exceeds the local one, by its cores.
    pub(in super::super) fn sibling_excess(&mut self) -> i64 {
        self.call(|sched, cx, env| sched.sibling_excess_of(cx, env)).unwrap()
    }

    fn call<R>(&mut self, call: impl FnOnce(&mut Sched, &mut Ctx<'_, '_>, &mut LbEnv) -> R) -> R {
        let (mut digest, mut meter, mut requests, mut sink) = (Digest::default(), Meter::free(), Vec::new(), NullSink);
        let mut trace = Recorder::new(&mut digest, &mut sink);
        let (cpu, machine, requests) = (self.env.dst_cpu, &self.machine, &mut requests);
        let mut cx = Ctx {
            now: Instant::ZERO,
            cpu,
            jiffies: 0,
            until: Instant::MAX,
            switched: None,
            machine,
            meter: &mut meter,
            requests,
            trace: &mut trace,
        };
        call(&mut self.sched, &mut cx, &mut self.env)
    }

    pub(super) fn plain(&self) -> Plain {
        let topology = &self.sched.topology;
        let domain = &topology.domains[self.env.sd];
        let child = domain.child.map(|child| &topology.domains[child]);
        Plain {
            groups: topology.groups_of(self.env.sd).map(|group| self.plain_group(group)).collect(),
            dst: self.plain_cpu(self.env.dst_cpu),
            idle: self.env.idle,
            pct: i128::from(domain.imbalance_pct),
            imb_numa_nr: i128::from(domain.imb_numa_nr),
            child_spreads: child.is_some_and(|child| child.flags.has(SdFlags::PREFER_SIBLING)),
            shares_llc: domain.flags.has(SdFlags::SHARE_LLC),
            numa: domain.flags.has(SdFlags::NUMA),
            asymmetric: domain.flags.has(SdFlags::ASYM_CPUCAPACITY),
            busy_idx: domain.busy_idx as usize,
            idle_idx: domain.idle_idx as usize,
        }
    }

    fn plain_group(&self, group: SgId) -> PlainGroup {
        let row = &self.sched.topology.groups[group];
        let looked_at = row.span.iter().filter(|&cpu| self.env.cpus.contains(cpu));
        let capacities = || row.span.iter().map(|cpu| self.plain_cpu(cpu).capacity);
        let domain = &self.sched.topology.domains[self.env.sd];
        let flags = domain.local_flags.filter(|_| group == domain.first_group).unwrap_or(row.flags);
        PlainGroup {
            cpus: looked_at.map(|cpu| self.plain_cpu(cpu)).collect(),
            capacity: capacities().sum(),
            min_capacity: capacities().min().unwrap(),
            max_capacity: capacities().max().unwrap(),
            weight: row.span.weight() as i128,
            cores: i128::from(row.cores),
            smt: flags.has(SdFlags::SHARE_CPUCAPACITY),
            spreads: row.flags.has(SdFlags::PREFER_SIBLING),
            imbalance_flag: row.imbalance,
        }
    }

    fn plain_cpu(&self, cpu: CpuId) -> PlainCpu {
        let (rq, avg, cfs) = (self.sched.rq(cpu), self.sched.cfs_avg(cpu), self.sched.cfs_rq(cpu));
        let profile = self.sched.profile();
        let orig = i128::from(self.sched.topology.capacity_orig[cpu]);
        let irq = i128::from(rq.avg_irq.util_avg);
        let old = profile.base < fairground_model::version::v(5, 5);
        let load = if old { avg.runnable_avg } else { avg.load_avg };
        PlainCpu {
            number: cpu.get(),
            nr_running: i128::from(rq.nr_running),
            h_nr: i128::from(if profile.base < fairground_model::version::v(6, 14) {
                cfs.h_nr_running
            } else {
                cfs.h_nr_runnable
            }),
            idle: rq.curr.is_none() && rq.nr_running == 0 && rq.wake_list.is_empty(),
            load: i128::from(load),
            older: rq.lb.cpu_load.map(i128::from),
            util: i128::from(avg.util_avg.max(avg.util_est.enqueued)).min(orig),
            runnable: i128::from(avg.runnable_avg),
            orig,
            capacity: if profile.base == fairground_model::version::v(4, 12) {
                orig
            } else {
                (orig * (orig - irq) / orig).max(1)
            },
            misfit: i128::from(rq.lb.misfit_task_load),
        }
    }
}

/// Cores of two threads, clusters, caches, nodes, CPUs of two sizes, or all alike.
fn random_machine(rng: &mut RngStream) -> MachineView {
    let preset = |name| Machine::preset(name).unwrap().view();
    let mut flat = MachineView::flat(8, Ns(4_000_000));
    match rng.below(6) {
        0 => flat,
        1 => preset("lap8"),
        2 => preset("hikey"),
        3 => preset("vm8-nollc"),
        4 => {
            for cpu in 0..4 {
                flat.cpus[CpuId::new(cpu)].capacity = 446;
            }
            flat
        }
        _ => {
            flat.distances = vec![vec![10, 21], vec![21, 10]];
            for cpu in 0..8 {
                let node = cpu / 4;
                let row = &mut flat.cpus[CpuId::new(cpu)];
                (row.node, row.package) = (node, node);
                row.llc = (node * 4..node * 4 + 4).map(CpuId::new).collect();
            }
            flat
        }
    }
}

/// The capacities of all groups follow from those of their CPUs, the smallest domains first.
fn refresh_capacities(sched: &mut Sched) {
    let cpus: Vec<CpuId> = sched.cpu_ids().collect();
    let top = cpus.iter().map(|&cpu| sched.topology.domains_of(cpu).count()).max().unwrap_or(0);
    for place in 0..top {
        for &cpu in &cpus {
            let sd = sched.topology.domains_of(cpu).nth(place);
            if let Some(sd) = sd {
                sched.update_group_capacity(0, sd);
            }
        }
    }
}

/// A CPU gets tasks and averages that need not fit each other: all that is asked is the arithmetic.
fn fill_cpu(sched: &mut Sched, rng: &mut RngStream, cpu: CpuId, busy: u64) {
    let cfs = sched.rqs[cpu].cfs;
    let tasks = if rng.below(4) < busy { rng.below(2 + busy) } else { 0 } as u32;
    let delayed = if tasks > 0 { rng.below(u64::from(tasks) + 1) * rng.below(2) } else { 0 } as u32;
    let rq = &mut sched.rqs[cpu];
    rq.nr_running = tasks + u32::from(rng.below(20) == 0);
    rq.curr = (tasks > delayed).then(|| TaskId::new(0));
    if rng.below(20) == 0 {
        rq.wake_list.push(TaskId::new(1));
    }
    rq.avg_irq.util_avg = if rng.below(6) == 0 { rng.below(500) as u32 } else { 0 };
    rq.lb.misfit_task_load = if tasks > 0 && rng.below(4) == 0 { rng.below(1500) } else { 0 };
    rq.lb.cpu_load = std::array::from_fn(|_| rng.below(3000));
    (sched.cfs_rqs[cfs].h_nr_running, sched.cfs_rqs[cfs].h_nr_runnable) = (tasks, tasks - delayed);
    let avg = &mut sched.pelt_cfs[cfs];
    let scale = u64::from(tasks) * 1024;
    avg.load_avg = rng.below(scale + 200);
    avg.runnable_avg = rng.below(scale + 100);
    avg.util_avg = rng.below(if tasks > 0 { 1100 } else { 300 }) as u32;
    avg.util_est.enqueued =
        if sched.profile.base >= fairground_model::version::v(4, 17) { rng.below(scale / 2 + 1) as u32 } else { 0 };
}
