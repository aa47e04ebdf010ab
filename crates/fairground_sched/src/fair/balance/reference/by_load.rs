//! The load-based form (up to v5.4), written from docs/model/07-load-balance.md.

use super::state::{Answer, Plain, PlainCpu, PlainGroup};
use crate::fair::balance::MigrationType;
use crate::topology::CpuIdleType;

const OTHER: u8 = 0;
const MISFIT: u8 = 1;
const IMBALANCED: u8 = 2;
const OVERLOADED: u8 = 3;

struct Sums {
    load: i128,
    util: i128,
    nr: i128,
    weighted: i128,
    idle: i128,
    capacity: i128,
    weight: i128,
    avg: i128,
    lpt: i128,
    misfit: i128,
    no_capacity: bool,
    kind: u8,
}

fn kind(no_capacity: bool, flag: bool, misfit: i128) -> u8 {
    match () {
        () if no_capacity => OVERLOADED,
        () if flag => IMBALANCED,
        () if misfit > 0 => MISFIT,
        () => OTHER,
    }
}

fn sums(kernel: &str, p: &Plain, g: &PlainGroup, local: bool) -> Sums {
    let index = match p.idle {
        CpuIdleType::NotIdle => p.busy_idx,
        CpuIdleType::Idle => p.idle_idx,
        CpuIdleType::NewlyIdle => 0,
    };
    let biased = |c: &PlainCpu| match () {
        () if index == 0 || kernel != "v4.12" => c.load,
        () if local => c.load.max(c.older[index - 1]),
        () => c.load.min(c.older[index - 1]),
    };
    let total = |read: &dyn Fn(&PlainCpu) -> i128| g.cpus.iter().map(read).sum::<i128>();
    let (load, util, weighted) = (total(&biased), total(&|c| c.util), total(&|c| c.load));
    let (nr, idle) = (total(&|c| c.h_nr), total(&|c| i128::from(c.idle)));
    let misfit = match kernel != "v4.12" && p.asymmetric {
        true => g.cpus.iter().map(|c| c.misfit).max().unwrap_or(0),
        false => 0,
    };
    let no_capacity = nr > g.weight && g.capacity * 100 < util * p.pct;
    let (avg, lpt) = (load * 1024 / g.capacity, if nr > 0 { weighted / nr } else { 0 });
    let kind = kind(no_capacity, g.imbalance_flag, misfit);
    Sums { load, util, nr, weighted, idle, capacity: g.capacity, weight: g.weight, avg, lpt, misfit, no_capacity, kind }
}

fn has_capacity(p: &Plain, s: &Sums) -> bool {
    s.nr < s.weight || s.capacity * 100 > s.util * p.pct
}

fn clearly_smaller(a: i128, b: i128) -> bool {
    a * 1280 < b * 1024
}

fn picks(p: &Plain, local: &Sums, best: Option<&Sums>, s: &Sums, g: &PlainGroup) -> bool {
    let l = &p.groups[0];
    if s.kind == MISFIT && !(clearly_smaller(g.max_capacity, l.max_capacity) && has_capacity(p, local)) {
        return false;
    }
    let (best_kind, best_avg, best_misfit) = best.map_or((OTHER, 0, 0), |b| (b.kind, b.avg, b.misfit));
    if s.kind != best_kind {
        return s.kind > best_kind;
    }
    let bigger_cpus = p.asymmetric && s.nr <= s.weight && clearly_smaller(l.min_capacity, g.min_capacity);
    let smaller_misfit = p.asymmetric && s.kind == MISFIT && s.misfit < best_misfit;
    s.avg > best_avg && !bigger_cpus && !smaller_misfit
}

pub(super) fn decide_by_load(kernel: &str, p: &Plain) -> Option<Answer> {
    let old = kernel == "v4.12";
    let mut all: Vec<Sums> = p.groups.iter().enumerate().map(|(at, g)| sums(kernel, p, g, at == 0)).collect();
    let mut best: Option<usize> = None;
    for at in 1..all.len() {
        if p.child_spreads && has_capacity(p, &all[0]) && all[at].nr > all[0].nr + 1 {
            (all[at].no_capacity, all[at].kind) = (true, OVERLOADED);
        }
        if picks(p, &all[0], best.map(|best| &all[best]), &all[at], &p.groups[at]) {
            best = Some(at);
        }
    }
    let at = best?;
    let (l, b) = (&all[0], &all[at]);
    if b.nr == 0 {
        return None;
    }
    let mean = 1024 * all.iter().map(|s| s.load).sum::<i128>() / all.iter().map(|s| s.capacity).sum::<i128>();
    let fills = if old { p.idle == CpuIdleType::NewlyIdle } else { p.idle != CpuIdleType::NotIdle };
    let forced = b.kind == IMBALANCED || b.kind == MISFIT || (fills && has_capacity(p, l) && b.no_capacity);
    if !forced {
        if l.avg >= b.avg || l.avg >= mean {
            return None;
        }
        let balanced = match p.idle {
            CpuIdleType::Idle => b.kind != OVERLOADED && l.idle <= b.idle + 1,
            _ => 100 * b.avg <= p.pct * l.avg,
        };
        if balanced {
            return None;
        }
    }
    let imbalance = imbalance(p, l, b, mean);
    if imbalance == 0 && !old {
        return None;
    }
    let queue = queue(p, &p.groups[at], imbalance, !old, b.kind == MISFIT);
    Some(Answer { group: at, migration: MigrationType::Load, imbalance, queue })
}

fn imbalance(p: &Plain, l: &Sums, b: &Sums, mean: i128) -> i128 {
    let lpt = if b.kind == IMBALANCED { b.lpt.min(mean) } else { b.lpt };
    if b.kind != MISFIT && (b.avg <= mean || l.avg >= mean) {
        return small(p, l, b, lpt, 0);
    }
    let tasks = b.nr * 1024;
    let above = match b.kind == OVERLOADED && l.kind == OVERLOADED && tasks > b.capacity {
        true => (tasks - b.capacity) * 1024 / b.capacity,
        false => i128::MAX,
    };
    // In the kernel a negative difference is a very large one; it wraps when it is multiplied.
    let wrapped = |difference: i128, capacity: i128| i128::from((difference as u64).wrapping_mul(capacity as u64));
    let pull = i128::from((b.avg - mean) as u64).min(above);
    let even = wrapped(pull, b.capacity).min(wrapped(mean - l.avg, l.capacity)) / 1024;
    let even = if b.kind == MISFIT { even.max(b.misfit) } else { even };
    if even < lpt { small(p, l, b, lpt, even) } else { even }
}

fn small(p: &Plain, l: &Sums, b: &Sums, b_lpt: i128, imbalance: i128) -> i128 {
    let dst = &p.dst;
    let l_lpt = match l.nr {
        0 if dst.h_nr > 0 => dst.load / dst.h_nr,
        0 => 0,
        _ => l.weighted / l.nr,
    };
    let n = if l.nr != 0 && b_lpt > l_lpt { 1 } else { 2 };
    let sb = b_lpt * 1024 / b.capacity;
    if b.avg + sb >= l.avg + sb * n {
        return b_lpt;
    }
    let now = (b.capacity * b_lpt.min(b.avg) + l.capacity * l_lpt.min(l.avg)) / 1024;
    let left = if b.avg > sb { b.capacity * b_lpt.min(b.avg - sb) } else { 0 };
    let t = match b.avg * b.capacity < b_lpt * 1024 {
        true => b.avg * b.capacity / l.capacity,
        false => b_lpt * 1024 / l.capacity,
    };
    let after = (left + l.capacity * l_lpt.min(l.avg + t)) / 1024;
    if after > now { b_lpt } else { imbalance }
}

fn queue(p: &Plain, g: &PlainGroup, imbalance: i128, asymmetry_counts: bool, by_misfit: bool) -> Option<u32> {
    let mut best: Option<(u32, i128, i128)> = None;
    for c in &g.cpus {
        let too_much = c.nr_running == 1 && c.load > imbalance && c.capacity * p.pct >= c.orig * 100;
        let bigger = asymmetry_counts && p.asymmetric && c.nr_running == 1 && p.dst.capacity < c.capacity;
        if !by_misfit && (too_much || bigger) {
            continue;
        }
        let (value, per) = if by_misfit { (c.misfit, 1) } else { (c.load, c.capacity) };
        let (_, highest, highest_per) = best.unwrap_or((0, 0, 1));
        if value * highest_per > highest * per {
            best = Some((c.number, value, per));
        }
    }
    best.map(|best| best.0)
}
