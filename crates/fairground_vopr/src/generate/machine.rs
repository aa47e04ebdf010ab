//! Machines of every shape that the scheduler can tell apart, most of them small.

use crate::dice::Dice;
use fairground_machine::machine::{LOCAL_DISTANCE, TICK_RATES, tick_of};
use fairground_machine::{CostModel, CpuSpec, Machine, Numbering, Regular};
use fairground_stdx::{CpuId, IndexVec, Ns};

pub(crate) fn machine(dice: &mut Dice) -> Machine {
    let mut cpus = shape(dice).cpus();
    holes(dice, &mut cpus);
    speeds(dice, &mut cpus);
    let nodes = cpus.iter().map(|cpu| cpu.node as usize + 1).max().unwrap_or(1);
    let mut machine = Machine::new("random", cpus, distances(dice, nodes));
    machine.hz = dice.pick(&TICK_RATES);
    machine.tick = tick_of(machine.hz);
    machine.tick_jitter = Ns(dice.pick(&[0, 0, 1, 10_000, 300_000]));
    machine.tick_jitter_seed = dice.once_in(2).then(|| dice.between(0, 1 << 20) as u32);
    machine.tick_offset = dice.pick(&[Ns(0), Ns(0), Ns(777), machine.skewed_tick_offset()]);
    machine.irq_time_accounting = dice.once_in(2);
    machine.nohz_idle = !dice.once_in(4);
    let prices = dice.pick(&["zero", "zero", "unit", "xeon-spr"]);
    machine.costs = CostModel::preset(prices).expect("invariant: a price list that comes with us");
    if prices != "zero" {
        machine.smt_percent = dice.pick(&[100, 62]);
    }
    machine
}

/// Most machines have at most this many CPUs, some a few more, very few are big.
const SMALL: u64 = 8;
const MEDIUM: u64 = 16;
const BIG: u64 = 64;

/// A nesting of levels with as many CPUs as fit.
pub(super) fn shape(dice: &mut Dice) -> Regular {
    let most = match dice.index(40) {
        0 => BIG,
        1..6 => MEDIUM,
        _ => SMALL,
    };
    let mut left = dice.between(1, most) as u32;
    let mut level = |dice: &mut Dice, most: u64| {
        let parts = dice.between(1, most.min(u64::from(left))) as u32;
        left /= parts;
        parts
    };
    let threads = level(dice, 2);
    let (sockets, nodes) = (level(dice, 2), level(dice, 2));
    let llcs = level(dice, 3);
    let clusters = dice.once_in(4).then(|| level(dice, 3));
    let cores = left;
    let numbering = dice.pick(&[Numbering::ThreadMajor, Numbering::Adjacent]);
    Regular { sockets, nodes, llcs, clusters, cores, threads, numbering, ..Regular::default() }
}

/// Some machines lack CPUs in places: firmware hides them, or they are broken.
fn holes(dice: &mut Dice, cpus: &mut IndexVec<CpuId, CpuSpec>) {
    if dice.once_in(4) {
        let kept: Vec<CpuSpec> = cpus.iter().filter(|_| !dice.once_in(4)).cloned().collect();
        if !kept.is_empty() {
            *cpus = kept.into_iter().collect();
        }
    }
}

/// Capacities that differ by cache or by CPU, but not between threads of a core; and frequencies.
fn speeds(dice: &mut Dice, cpus: &mut IndexVec<CpuId, CpuSpec>) {
    let mut cores: Vec<u32> = cpus.iter().map(|cpu| cpu.core).collect();
    cores.sort_unstable();
    let has_threads = cores.windows(2).any(|pair| pair[0] == pair[1]);
    let kind = dice.index(6);
    let little = dice.pick(&[446, 512, 1]);
    for cpu in cpus.iter_mut() {
        match kind {
            0 if !has_threads => cpu.capacity = dice.pick(&[1024, 1024, 512, 446, 1]),
            1 if !has_threads => cpu.capacity = if cpu.llc % 2 == 0 { 1024 } else { little },
            _ => {}
        }
        cpu.freq_capacity = dice.pick(&[1024, 1024, 1024, 1024, 700, 100]);
    }
}

/// One distance between all nodes, or several: near and far ones, which overlap if they form a ring.
fn distances(dice: &mut Dice, nodes: usize) -> Vec<Vec<u32>> {
    let far = dice.pick(&[20, 21, 32, 40]);
    let ring = dice.once_in(2);
    let step = dice.pick(&[0, 5, 11]);
    let between = |from: usize, to: usize| {
        let direct = from.abs_diff(to);
        let hops = if ring { direct.min(nodes - direct) } else { direct };
        if hops == 0 { LOCAL_DISTANCE } else { far + step * (hops as u32 - 1) }
    };
    (0..nodes).map(|from| (0..nodes).map(|to| between(from, to)).collect()).collect()
}
