//! Random CPU cgroups: who is in them, who moves, and what is written to their files in mid-run.

use crate::dice::Dice;
use fairground_model::cgroup::{DEFAULT_WEIGHT, SHARES, WEIGHTS, weight_to_shares};
use fairground_model::{Change, CpuMax, Instr, Start, TaskGroupSpec, TaskSet, TimedChange};
use fairground_sched::Profile;
use fairground_stdx::{Id, Instant, Ns, TaskId, TgId};

/// Most levels below the root.
const MAX_DEPTH: usize = 4;

/// Puts some tasks of some cases into a small tree of groups. At most one group is removed; nobody is ever in it.
pub(crate) fn groups(dice: &mut Dice, profile: &Profile, duration: Ns, set: &mut TaskSet) {
    if !dice.once_in(3) {
        return;
    }
    let idles = profile.group_idle.has_file();
    let limits = dice.once_in(2);
    for row in 0..dice.between(1, 8) {
        let above = dice.index(set.groups.len() + 1).checked_sub(1).map(TgId::from_index);
        let parent = above.filter(|&group| depth(set, group) < MAX_DEPTH);
        let path = format!("{}/g{row}", parent.map_or("", |parent| &set.groups[parent].name));
        let mut group = TaskGroupSpec::new(path, parent);
        group.idle = idles && dice.once_in(6);
        // The weight of an idle group is never looked at.
        if !group.idle {
            group.shares = some_shares(dice, limits);
        }
        if limits && dice.once_in(2) {
            group.limit = some_limit(dice, profile.refill.has_file());
        }
        set.groups.push(group);
    }
    // The last has no group in it.
    let spare = dice.once_in(2).then(|| TgId::from_index(set.groups.len() - 1));
    let homes: Vec<TgId> = set.groups.ids().filter(|&group| Some(group) != spare).collect();
    for task in set.tasks.iter_mut().filter(|task| !task.kthread && task.start != Start::Forked) {
        task.group = some_group(dice, &homes);
    }
    for instr in set.programs.iter_mut().flat_map(|program| &mut program.code) {
        if matches!(instr, Instr::Yield | Instr::SetTimerSlack { .. }) && dice.once_in(2) {
            *instr = Instr::SetGroup { group: some_group(dice, &homes) };
        }
    }
    changes(dice, duration, &homes, Files { idles, limits }, set);
    if let Some(group) = spare {
        let at = Instant::from_ns(dice.between(0, duration.0 - 1));
        set.changes.push(TimedChange { at, change: Change::RemoveGroup { group } });
    }
    set.changes.sort_by_key(|timed| timed.at);
}

/// Which files groups have.
#[derive(Clone, Copy)]
struct Files {
    idles: bool,
    limits: bool,
}

/// Levels from the root to a group: 1 for those right below it.
fn depth(set: &TaskSet, group: TgId) -> usize {
    1 + set.groups[group].parent.map_or(0, |parent| depth(set, parent))
}

fn some_group(dice: &mut Dice, homes: &[TgId]) -> Option<TgId> {
    if homes.is_empty() || dice.once_in(4) { None } else { Some(dice.pick(homes)) }
}

/// A weight of any size, the smallest and the largest among them. Beside limits it is one that cgroup v2 has: v1 refuses some limits.
fn some_shares(dice: &mut Dice, limits: bool) -> u64 {
    match if limits { 3 + dice.index(3) } else { dice.index(6) } {
        0 => *SHARES.start(),
        1 => *SHARES.end(),
        2 => dice.time(*SHARES.start(), *SHARES.end()),
        3 => weight_to_shares(DEFAULT_WEIGHT),
        4 => weight_to_shares(dice.pick(&[*WEIGHTS.start(), *WEIGHTS.end()])),
        _ => weight_to_shares(dice.time(*WEIGHTS.start(), *WEIGHTS.end())),
    }
}

/// A quota of a small part of a CPU or of several, in short periods and in long ones; the smallest that there are among them.
fn some_limit(dice: &mut Dice, bursts: bool) -> CpuMax {
    let period = match dice.index(4) {
        0 => CpuMax::LEAST,
        1 => Ns::from_us(dice.between(1_000, 20_000)),
        2 => CpuMax::DEFAULT_PERIOD,
        _ => Ns::from_us(dice.between(1_000, 1_000_000)),
    };
    let quota = match dice.index(3) {
        0 => CpuMax::LEAST,
        1 => period,
        _ => Ns::from_us(dice.between(1_000, 1_000 + 2 * period.0 / 1_000)),
    };
    let burst = if bursts && dice.once_in(3) { Ns::from_us(dice.between(0, quota.0 / 1_000)) } else { Ns::ZERO };
    CpuMax { quota: Some(quota), period, burst }
}

/// Tasks move, weights change, groups become idle and ordinary again.
fn changes(dice: &mut Dice, duration: Ns, homes: &[TgId], files: Files, set: &mut TaskSet) {
    let mut times: Vec<u64> = (0..dice.between(0, 8)).map(|_| dice.between(0, duration.0 - 1)).collect();
    times.sort_unstable();
    let mut limit: Vec<CpuMax> = set.groups.iter().map(|group| group.limit).collect();
    let mut idle: Vec<bool> = set.groups.iter().map(|group| group.idle).collect();
    for at in times {
        let task = TaskId::from_index(dice.index(set.tasks.len()));
        let group = if homes.is_empty() { None } else { Some(dice.pick(homes)) };
        let change = match (dice.index(6), group) {
            (0, Some(group)) if !idle[group.index()] => Change::Shares { group, shares: some_shares(dice, files.limits) },
            (1, Some(group)) if files.idles => {
                idle[group.index()] ^= true;
                Change::GroupIdle { group, idle: idle[group.index()] }
            }
            (2, Some(group)) if files.limits => {
                // One write: what may be saved stays, and no quota is below it.
                let now = limit[group.index()];
                let other = CpuMax { burst: now.burst, ..some_limit(dice, false) };
                let limit_now = if dice.once_in(4) || other.check().is_err() { CpuMax { quota: None, ..now } } else { other };
                limit[group.index()] = limit_now;
                Change::CpuMax { group, limit: limit_now }
            }
            _ if set.tasks[task].kthread => continue,
            _ => Change::Group { task, group: some_group(dice, homes) },
        };
        set.changes.push(TimedChange { at: Instant::from_ns(at), change });
    }
}
