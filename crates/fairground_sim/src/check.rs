//! What must hold before a run begins: after that the engine relies on it.

use crate::faults::check_pools;
use crate::frequency::check_frequencies;
use crate::net::check_elsewhere;
use crate::noise::check_noise;
use crate::slice_ext::check_slice_extensions;
use fairground_machine::Machine;
use fairground_model::{Change, Instr, LockKind, LockMode, LockSpec, Mistakes, PAGE_SIZE, Start, TaskSet, TimedChange};
use fairground_sched::Profile;
use fairground_sched::seam::CacheAware;
use fairground_stdx::{CpuMask, IndexVec, Instant, Ns, SockId, TaskId};
use std::ops::RangeInclusive;

/// The nice values that there are.
const NICE: RangeInclusive<i8> = -20..=19;

/// Finds what a machine cannot run; returns the CPUs that each task may use.
pub(crate) fn check(
    machine: &Machine,
    profile: &Profile,
    set: &TaskSet,
    duration: Ns,
) -> Result<IndexVec<TaskId, CpuMask>, Mistakes> {
    let mut mistakes = Mistakes::default();
    if Instant::ZERO.ns() + duration.0 > Instant::MAX.ns() {
        mistakes.whole(
            format!("a duration of {duration} is too long"),
            format!("A run lasts at most {} (about 13 days).", Ns(Instant::MAX.ns())),
        );
    }
    let online = CpuMask::first_n(machine.cpus.len());
    let mut allowed = IndexVec::new();
    for spec in set.tasks.iter() {
        let cpus = spec.affinity.map_or(online, |cpus| cpus.and(&online));
        if cpus.is_empty() {
            mistakes.whole(
                format!("task `{}` has no CPU to run on: it may use {} only", spec.name, spec.affinity.unwrap_or(CpuMask::EMPTY)),
                format!("The machine has CPUs {online}."),
            );
        }
        if spec.first_cpu.is_some_and(|cpu| !cpus.contains(cpu)) {
            mistakes
                .whole(format!("task `{}` starts on a CPU that it may not use", spec.name), format!("It may use CPUs {cpus}."));
        }
        if !NICE.contains(&spec.nice) {
            mistakes.whole(format!("task `{}` has nice {}", spec.name, spec.nice), "Nice values go from -20 to 19.");
        }
        allowed.push(cpus);
    }
    check_clamps(set, profile, &mut mistakes);
    check_slices(set, profile, &mut mistakes);
    check_processes(machine, profile, set, &mut mistakes);
    check_limits(set, &mut mistakes);
    check_changes(set, profile, &online, &mut mistakes);
    check_frequencies(machine, set, &mut mistakes);
    check_forks(set, &mut mistakes);
    check_pipes(set, &mut mistakes);
    check_pools(machine, set, &mut mistakes);
    check_slice_extensions(set, profile, &mut mistakes);
    check_locks(set, &mut mistakes);
    check_sockets(set, &mut mistakes);
    check_elsewhere(machine, set, &mut mistakes);
    check_noise(&set.noise, &online, &mut mistakes);
    mistakes.or(allowed)
}

/// Finds changes in mid-run that this machine or this kernel cannot make.
fn check_changes(set: &TaskSet, profile: &Profile, online: &CpuMask, mistakes: &mut Mistakes) {
    let mut profile = profile.clone();
    let (all, mut online) = (online, *online);
    for timed in &set.changes {
        let at = Ns(timed.at.ns());
        match &timed.change {
            Change::Hotplug { cpu, .. } if !all.contains(*cpu) => {
                mistakes
                    .whole(format!("the hotplug of CPU {cpu} at {at} cannot be done"), format!("The machine has CPUs {all}."));
            }
            Change::Watchdog { cpu } if !all.contains(*cpu) => {
                mistakes
                    .whole(format!("the watchdog of CPU {cpu} at {at} cannot be run"), format!("The machine has CPUs {all}."));
            }
            Change::Hotplug { cpu, online: true } => online.insert(*cpu),
            Change::Hotplug { cpu, online: false } if online == CpuMask::only(*cpu) => mistakes.whole(
                format!("at {at} CPU {cpu}, the last one on line, would go off line (EBUSY)"),
                "Leave one CPU on line at any time.",
            ),
            Change::Hotplug { cpu, online: false } => online.remove(*cpu),
            Change::Affinity { task, cpus } if !cpus.intersects(&online) => mistakes.whole(
                format!("the change of affinity of task `{}` at {at} leaves it no CPU", set.tasks[*task].name),
                format!("CPUs {online} are on line then."),
            ),
            Change::FreqCapacity { cpu, freq_capacity } if !all.contains(*cpu) || !(1..=1024).contains(freq_capacity) => mistakes
                .whole(
                    format!("the change of frequency of CPU {cpu} to {freq_capacity}/1024 at {at} cannot be made"),
                    format!("The machine has CPUs {all}; a frequency is 1 to 1024 of 1024."),
                ),
            Change::Pressure { cpu, lost } if !all.contains(*cpu) || *lost > 1023 => mistakes.whole(
                format!("the loss of {lost}/1024 of the capacity of CPU {cpu} at {at} cannot be"),
                format!("The machine has CPUs {all}; a loss is 0 to 1023 of 1024."),
            ),
            Change::Pressure { .. } if !profile.pressure.is_tracked() => mistakes.whole(
                format!("the change at {at}: profile `{}` knows no thermal pressure", profile.name),
                "Kernels have it from v5.7 on.",
            ),
            Change::Nice { task, nice } if !NICE.contains(nice) => mistakes.whole(
                format!("the change at {at} gives task `{}` nice {nice}", set.tasks[*task].name),
                "Nice values go from -20 to 19.",
            ),
            Change::Feature(write) => match profile.clone().with_switch(*write) {
                Ok(changed) => profile = changed,
                Err(error) => mistakes.whole(format!("the change at {at}: {}", error.message), error.hint),
            },
            _ => {}
        }
    }
}

/// Finds processes whose threads the kernel would draw to one of the caches of a node.
fn check_processes(machine: &Machine, profile: &Profile, set: &TaskSet, mistakes: &mut Mistakes) {
    if profile.cache_aware == CacheAware::Absent {
        return;
    }
    let pairs = machine.cpus.iter().flat_map(|one| machine.cpus.iter().map(move |other| (one, other)));
    let several = pairs.into_iter().any(|(one, other)| one.node == other.node && one.llc != other.llc);
    let mut threads: Vec<(u32, &str)> =
        set.tasks.iter().filter(|task| !task.kthread).map(|task| (task.mm, task.name.as_str())).collect();
    threads.sort_unstable_by_key(|thread| thread.0);
    let process = threads.windows(2).find(|two| two[0].0 == two[1].0).filter(|_| several);
    if let Some(two) = process {
        mistakes.whole(
            format!(
                "`{}` and `{}` are threads of one process on a machine with several last-level caches in a node: cache-aware \
                 balancing of profile `{}` is not modelled yet",
                two[0].1, two[1].1, profile.name
            ),
            "Give each task an `mm` of its own, or set the seam `cache_aware` to `absent` (a kernel built without it).",
        );
    }
}

/// Finds slices of tasks' own where the kernel knows none.
fn check_slices(set: &TaskSet, profile: &Profile, mistakes: &mut Mistakes) {
    if profile.task_slice.is_custom() {
        return;
    }
    if let Some(&(task, _)) = set.slices().first() {
        mistakes.whole(
            format!("task `{}` asks for a slice of its own, and profile `{}` knows none", set.tasks[task].name, profile.name),
            "Kernels have them from v6.12 on (sched_runtime of sched_setattr).",
        );
    }
}

/// Finds utilization clamps where the kernel knows none, and those that it refuses.
fn check_clamps(set: &TaskSet, profile: &Profile, mistakes: &mut Mistakes) {
    if let Some(task) = set.asks_for_clamp().filter(|_| !profile.uclamp.has_tasks()) {
        mistakes.whole(
            format!("task `{}` asks for a utilization clamp, and profile `{}` knows none", set.tasks[task].name, profile.name),
            "Kernels have them from v5.3 on (sched_util_min and sched_util_max of sched_setattr).",
        );
    }
    if let Some(group) = set.clamped_group().filter(|_| !profile.uclamp.has_groups()) {
        mistakes.whole(
            format!("group `{group}` has utilization clamps, and profile `{}` knows none of groups", profile.name),
            "Kernels have cpu.uclamp.min and cpu.uclamp.max from v5.4 on.",
        );
    }
    for task in set.tasks.iter().filter(|task| !task.clamp.is_valid()) {
        mistakes.whole(
            format!("task `{}` asks for utilization clamps that it may not have (EINVAL)", task.name),
            "Each is 0 to 1024, and the least is not above the most.",
        );
    }
    let (min, max) = profile.tunables.util_clamps();
    if min > max {
        mistakes.whole(
            format!("sched_util_clamp_min, {min}, is above sched_util_clamp_max, {max} (EINVAL)"),
            "It is 1024 where nothing is said: set both.",
        );
    }
}

/// Finds limits that no group may have: one mistake for each group.
fn check_limits(set: &TaskSet, mistakes: &mut Mistakes) {
    let changes = set.changes.iter().filter_map(|timed| match timed.change {
        Change::CpuMax { group, limit } => Some((group, limit)),
        _ => None,
    });
    let mut limits: Vec<_> = set.groups.iter_enumerated().map(|row| (row.0, row.1.limit)).chain(changes).collect();
    limits.sort_by_key(|row| row.0);
    limits.retain(|row| row.1.check().is_err());
    limits.dedup_by_key(|row| row.0);
    for (group, limit) in limits {
        let Err(refused) = limit.check() else { continue };
        let (message, hint) = refused.sentences();
        mistakes.whole(format!("group `{}`: {message}", set.groups[group].name), hint);
    }
}

/// Finds forks of tasks that are started by somebody else.
fn check_forks(set: &TaskSet, mistakes: &mut Mistakes) {
    for instr in set.programs.iter().flat_map(|program| &program.code) {
        if let Instr::Fork { task } = instr
            && set.tasks[*task].start != Start::Forked
        {
            mistakes.whole(
                format!("task `{}` is forked, but also starts by itself", set.tasks[*task].name),
                "A task that another one forks has no time of its own at which it starts.",
            );
        }
    }
}

/// Finds locks that are taken to read and have no readers.
fn check_locks(set: &TaskSet, mistakes: &mut Mistakes) {
    for LockSpec { name, kind, .. } in set.locks.iter() {
        if let LockKind::Spin(spec) = kind
            && let Some(wrong) = spec.wrong()
        {
            mistakes.whole(
                format!("lock `{name}`: {wrong}"),
                "A round, the rounds and the sleeps are longer than 0, and the first is not above the second.",
            );
        }
    }
    for (_, spec) in set.tasks.iter_enumerated() {
        for instr in &set.programs[spec.program].code {
            let Instr::Lock { lock, mode: LockMode::Read } = *instr else { continue };
            let LockSpec { name, kind, .. } = &set.locks[lock];
            if !kind.has_readers() {
                mistakes.whole(
                    format!("task `{}` reads under lock `{name}`, which is a {}", spec.name, kind.name()),
                    "Only rwsem and percpu-rwsem have readers.",
                );
            }
        }
    }
}

/// Finds messages that no page of a pipe holds.
fn check_pipes(set: &TaskSet, mistakes: &mut Mistakes) {
    for (pipe, spec) in set.pipes.iter_enumerated() {
        if let Some(bytes) = spec.bytes.filter(|bytes| !(1..=PAGE_SIZE).contains(bytes)) {
            mistakes.whole(
                format!("pipe {pipe} has messages of {bytes} bytes"),
                format!("A message has 1 to {PAGE_SIZE} bytes, so that it fits into a page."),
            );
        }
    }
}

/// Finds messages that no socket carries, sockets that more than one task reads, and CPUs that go off line with packets.
fn check_sockets(set: &TaskSet, mistakes: &mut Mistakes) {
    let mut readers: IndexVec<SockId, Option<TaskId>> = set.socks.iter().map(|_| None).collect();
    for (task, spec) in set.tasks.iter_enumerated() {
        for instr in &set.programs[spec.program].code {
            let (Instr::Send { sock, bytes } | Instr::Recv { sock, bytes }) = *instr else { continue };
            let most = set.socks[sock].kind.bytes_max();
            if !(1..=most).contains(&bytes) {
                let what = if matches!(instr, Instr::Send { .. }) { "sends" } else { "receives" };
                mistakes.whole(
                    format!("task `{}` {what} {bytes} bytes at a time", spec.name),
                    format!("A message of socket {sock} has 1 to {most} bytes."),
                );
            }
            if matches!(instr, Instr::Recv { .. }) && readers[sock].replace(task).is_some_and(|other| other != task) {
                mistakes.whole(
                    format!("task `{}` reads from socket {sock}, and another task does too", spec.name),
                    "Give each reader a connection of its own.",
                );
            }
        }
    }
    let offline = |timed: &&TimedChange| matches!(timed.change, Change::Hotplug { online: false, .. });
    if let Some(timed) = set.changes.iter().find(offline).filter(|_| set.sends_packets()) {
        mistakes.whole(
            format!("at {} a CPU goes off line in a run with packets", Ns(timed.at.ns())),
            "What becomes of the packets that wait there is not modelled.",
        );
    }
}
