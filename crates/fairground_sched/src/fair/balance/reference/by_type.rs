//! The group-type form (from v5.5 on), written from docs/model/07-load-balance.md.

use super::state::{Answer, Plain, PlainCpu, PlainGroup};
use crate::fair::balance::MigrationType::{self, Load, Misfit, Task, Util};
use crate::topology::CpuIdleType;

const HAS_SPARE: u8 = 0;
const FULLY_BUSY: u8 = 1;
const MISFIT: u8 = 2;
const SMT_BALANCE: u8 = 3;
const IMBALANCED: u8 = 5;
const OVERLOADED: u8 = 6;

struct Sums {
    kind: u8,
    load: i128,
    util: i128,
    h_nr: i128,
    nr: i128,
    idle: i128,
    avg: i128,
    misfit: i128,
}

struct Era {
    /// v6.6 on.
    cores: bool,
    /// v6.0 on.
    since_6_0: bool,
    /// v5.18 on.
    imb_numa_nr: bool,
    /// v5.13 on.
    small_margin: bool,
    stops_above_mean: bool,
}

fn era(kernel: &str) -> Era {
    let new = ["v6.6", "v6.12", "v6.14", "v6.18"].contains(&kernel);
    Era {
        cores: new,
        since_6_0: new || kernel == "v6.1",
        imb_numa_nr: kernel != "v5.10",
        small_margin: kernel != "v5.10",
        stops_above_mean: kernel != "v5.19",
    }
}

fn reduced(p: &Plain, c: &PlainCpu) -> bool {
    c.capacity * p.pct < c.orig * 100
}

fn sums(p: &Plain, era: &Era, g: &PlainGroup, local: bool) -> Sums {
    let total = |read: &dyn Fn(&PlainCpu) -> i128| g.cpus.iter().map(read).sum::<i128>();
    let (load, util, runnable) = (total(&|c| c.load), total(&|c| c.util), total(&|c| c.runnable));
    let (h_nr, nr, idle) = (total(&|c| c.h_nr), total(&|c| c.nr_running), total(&|c| i128::from(c.idle)));
    let balancer_idle = p.idle != CpuIdleType::NotIdle;
    let mut misfit = 0;
    for c in g.cpus.iter().filter(|c| !c.idle && !local) {
        if p.asymmetric {
            misfit = misfit.max(c.misfit);
        } else if era.since_6_0 && balancer_idle && c.h_nr == 1 && reduced(p, c) {
            misfit = misfit.max(c.load);
        }
    }
    let has_capacity = nr < g.weight || (g.capacity * p.pct >= runnable * 100 && g.capacity * 100 > util * p.pct);
    let overloaded = nr > g.weight && (g.capacity * 100 < util * p.pct || g.capacity * p.pct < runnable * 100);
    let kind = match () {
        () if overloaded => OVERLOADED,
        () if g.imbalance_flag => IMBALANCED,
        () if era.cores && !local && balancer_idle && g.smt && h_nr > 1 => SMT_BALANCE,
        () if misfit > 0 => MISFIT,
        () if !has_capacity => FULLY_BUSY,
        () => HAS_SPARE,
    };
    let avg = if kind == OVERLOADED { load * 1024 / g.capacity } else { 0 };
    Sums { kind, load, util, h_nr, nr, idle, avg, misfit }
}

fn greater(a: i128, b: i128) -> bool {
    a * 1024 > b * 1078
}

fn picks(p: &Plain, era: &Era, all: &[Sums], best: Option<usize>, at: usize) -> bool {
    let (s, g) = (&all[at], &p.groups[at]);
    if s.h_nr == 0 {
        return false;
    }
    let l = &p.groups[0];
    let (can_help, is_bigger) = match era.small_margin {
        true => (greater(p.dst.capacity, g.max_capacity), greater(g.min_capacity, p.dst.capacity)),
        false => (l.max_capacity * 1024 > g.max_capacity * 1280, g.min_capacity * 1024 > l.min_capacity * 1280),
    };
    if s.kind == MISFIT && p.asymmetric && (!can_help || all[0].kind != HAS_SPARE) {
        return false;
    }
    let wins = match best {
        None => true,
        Some(best) if all[best].kind != s.kind => s.kind > all[best].kind,
        Some(best) => {
            let (b, b_smt) = (&all[best], p.groups[best].smt);
            let spare = if era.cores && b_smt != g.smt { !(g.smt && s.h_nr <= 1) } else { (-s.idle, s.nr) > (-b.idle, b.nr) };
            match s.kind {
                OVERLOADED => s.avg > b.avg,
                IMBALANCED => false,
                MISFIT if era.cores => s.misfit > b.misfit,
                MISFIT => s.misfit >= b.misfit,
                SMT_BALANCE if s.idle > 0 || b.idle > 0 => spare,
                HAS_SPARE => spare,
                _ => era.cores && !b_smt,
            }
        }
    };
    let same_type = s.kind == best.map_or(HAS_SPARE, |best| all[best].kind);
    wins && !(p.asymmetric && same_type && s.kind <= FULLY_BUSY && is_bigger)
}

/// Twice the tasks that are too many in the busiest group, by cores.
fn sibling_imbalance(p: &Plain, l: &Sums, b: &Sums, at: usize) -> i128 {
    let (lc, bc) = (p.groups[0].cores, p.groups[at].cores);
    if p.idle == CpuIdleType::NotIdle || b.nr == 0 {
        return 0;
    }
    if lc == bc {
        return (b.nr - l.nr).max(0);
    }
    let i = (lc * b.nr - bc * l.nr).max(0);
    let i = (2 * i + lc + bc) / (lc + bc);
    if i <= 1 && l.nr == 0 && b.nr > 1 { 2 } else { i }
}

pub(super) fn decide_by_type(kernel: &str, p: &Plain) -> Option<Answer> {
    let era = era(kernel);
    let all: Vec<Sums> = p.groups.iter().enumerate().map(|(at, g)| sums(p, &era, g, at == 0)).collect();
    let mut best = None;
    for at in 1..all.len() {
        if picks(p, &era, &all, best, at) {
            best = Some(at);
        }
    }
    let at = best?;
    let (l, b) = (&all[0], &all[at]);
    let mean = all.iter().map(|s| s.load).sum::<i128>() * 1024 / p.groups.iter().map(|g| g.capacity).sum::<i128>();
    let prefer_sibling = if era.cores { p.groups[at].spreads } else { p.child_spreads };
    let excess = if era.cores { sibling_imbalance(p, l, b, at) } else { b.nr - l.nr };
    let balancer_idle = p.idle != CpuIdleType::NotIdle;
    let forced = [MISFIT, IMBALANCED].contains(&b.kind);
    if !forced {
        if l.kind > b.kind {
            return None;
        }
        if l.kind == OVERLOADED && (l.avg >= b.avg || l.avg >= mean || 100 * b.avg <= p.pct * l.avg) {
            return None;
        }
        let spread = prefer_sibling && l.kind == HAS_SPARE && excess > 1;
        if !spread && b.kind != OVERLOADED {
            if !balancer_idle {
                return None;
            }
            let smt_relief = b.kind == SMT_BALANCE && p.groups[0].smt != p.groups[at].smt;
            let hole = p.groups[at].weight > 1 && l.idle <= b.idle + 1;
            if !smt_relief && (hole || b.h_nr == 1) {
                return None;
            }
        }
    }
    let (migration, imbalance) = imbalance(p, &era, (l, b, at), mean, prefer_sibling);
    let queue = queue(p, kernel, &p.groups[at], migration, imbalance);
    (imbalance != 0).then_some(Answer { group: at, migration, imbalance, queue })
}

fn imbalance(p: &Plain, era: &Era, (l, b, at): (&Sums, &Sums, usize), mean: i128, prefer_sibling: bool) -> (MigrationType, i128) {
    let (local, busiest) = (&p.groups[0], &p.groups[at]);
    match b.kind {
        MISFIT if p.asymmetric => return (Misfit, 1),
        MISFIT => return (Load, b.misfit),
        SMT_BALANCE | IMBALANCED => return (Task, 1),
        _ => {}
    }
    if l.kind == HAS_SPARE {
        if b.kind > FULLY_BUSY && !p.shares_llc {
            let spare = local.capacity.max(l.util) - l.util;
            return if spare == 0 && p.idle != CpuIdleType::NotIdle { (Task, 1) } else { (Util, spare) };
        }
        let difference = match busiest.weight == 1 || prefer_sibling {
            true if era.cores => sibling_imbalance(p, l, b, at),
            true => (b.nr - l.nr).max(0),
            // Of unsigned numbers of 32 bits.
            false => (l.idle - b.idle).rem_euclid(1 << 32),
        };
        let adjust = |i: i128| if l.nr < p.imb_numa_nr && i <= 2 { 0 } else { i };
        let half = difference / 2;
        let moved = match p.numa {
            false => half,
            true if !era.imb_numa_nr => {
                if b.nr <= 2 {
                    0
                } else {
                    half
                }
            }
            true if era.since_6_0 => adjust(difference) / 2,
            true => adjust(half),
        };
        return (Task, moved);
    }
    let mut l_avg = l.avg;
    if l.kind < OVERLOADED {
        l_avg = l.load * 1024 / local.capacity;
        if l_avg >= b.avg || (era.stops_above_mean && l_avg >= mean) {
            return (Load, 0);
        }
    }
    // In the kernel a negative difference is a very large one.
    let large = |difference: i128, capacity: i128| if difference < 0 { i128::MAX } else { difference * capacity };
    (Load, large(b.avg - mean, busiest.capacity).min(large(mean - l_avg, local.capacity)) / 1024)
}

fn queue(p: &Plain, kernel: &str, g: &PlainGroup, migration: MigrationType, imbalance: i128) -> Option<u32> {
    let boosted = ["v6.6", "v6.12", "v6.14", "v6.18"].contains(&kernel);
    let mut best: Option<(u32, i128, i128)> = None;
    for c in &g.cpus {
        let smaller = if era(kernel).small_margin { greater(p.dst.capacity, c.capacity) } else { p.dst.capacity >= c.capacity };
        if c.h_nr == 0 || (p.asymmetric && c.h_nr == 1 && !smaller) {
            continue;
        }
        let value = match migration {
            Load if c.h_nr == 1 && c.load > imbalance && !reduced(p, c) => continue,
            Util if c.h_nr == 1 => continue,
            Load => c.load,
            Util if boosted => c.util.max(c.runnable).min(c.orig),
            Util => c.util,
            Task => c.h_nr,
            Misfit => c.misfit,
        };
        let per = if migration == Load { c.capacity } else { 1 };
        let (_, highest, highest_per) = best.unwrap_or((0, 0, 1));
        if value * highest_per > highest * per {
            best = Some((c.number, value, per));
        }
    }
    best.map(|best| best.0)
}
