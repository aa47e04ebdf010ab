//! The changes of `[[at]]` held against the tasks, groups and CPUs that there are then.

use crate::check::autogroups::Autogroups;
use crate::check::group_states::GroupStates;
use crate::check::{clamps, group_life, slices};
use crate::nouns::at::{Act, At, from_text};
use crate::nouns::cgroup::{self, GroupAct};
use crate::text::fields::Spanned;
use fairground_model::cgroup::nice_to_shares;
use fairground_model::{Change, Mistakes, TaskSet, TimedChange};
use fairground_sched::profile::Profile;
use fairground_stdx::{CpuId, CpuMask, Instant, Ns, TaskId, nearest};
use std::ops::Range;
/// A change at or after the end would never be made.
pub(crate) fn check_times(rows: &[Spanned<At>], duration: Ns, m: &mut Mistakes) {
    for row in rows.iter().filter(|row| row.value.time >= duration) {
        let message = format!("`{}` at {} is never done: the run ends at {duration}", row.value.act, row.value.time);
        m.at(row.span.clone(), message, "Choose an earlier time or a longer duration.");
    }
}

/// The changes that a `do` string asks for at an instant; all that is wrong with it otherwise.
pub(crate) fn changes_of(
    text: &str,
    at: Instant,
    tasks: &TaskSet,
    (autogroups, states): (&Autogroups, &mut GroupStates),
    online: &CpuMask,
    profile: &Profile,
) -> Result<Vec<TimedChange>, Mistakes> {
    let act = from_text(text).map_err(|(message, hint)| Mistakes::one(message, hint))?;
    let mut m = Mistakes::default();
    let row = Spanned { value: At { time: Ns(at.ns()), act }, span: 0..0 };
    let mut changes = resolve(&[row], tasks, (autogroups, states), online, Some(profile), &mut m);
    changes.iter_mut().for_each(|timed| autogroups.apply_to_change(&mut timed.change));
    m.or(changes)
}

/// The changes for the tasks that bear the names; a name that no task bears is a mistake, and so is a feature
/// that the kernel does not have. `states` are the groups before the first of the changes, and then after the last.
pub(crate) fn resolve(
    rows: &[Spanned<At>],
    tasks: &TaskSet,
    (autogroups, states): (&Autogroups, &mut GroupStates),
    online: &CpuMask,
    profile: Option<&Profile>,
    m: &mut Mistakes,
) -> Vec<TimedChange> {
    let mut changes = Vec::new();
    check_online(rows, online, m);
    group_life::check(rows, tasks, m);
    clamps::check_changes(rows, tasks, profile, m);
    let mut writes = states.write(rows, m);
    let groups = cgroup::paths(&tasks.groups);
    for (place, Spanned { value: At { time, act }, span }) in rows.iter().enumerate() {
        let mut push = |change| changes.push(TimedChange { at: Instant::from_ns(time.0), change });
        match act {
            Act::Nice(task, nice) => {
                named(task, tasks, span, m).into_iter().for_each(|task| push(Change::Nice { task, nice: *nice }));
            }
            Act::Affinity(task, cpus) => {
                named(task, tasks, span, m).into_iter().for_each(|task| push(Change::Affinity { task, cpus: *cpus }));
            }
            Act::Policy(task, policy) => {
                let refused = policy.deadline().zip(profile).and_then(|(params, profile)| profile.check_dl_params(&params).err());
                if let Some(why) = refused {
                    m.at(span.clone(), why.to_string(), why.hint());
                }
                named(task, tasks, span, m).into_iter().for_each(|task| push(Change::Policy { task, policy: *policy }));
            }
            Act::Slice(task, slice) => {
                if let Some(profile) = profile.filter(|profile| !profile.task_slice.is_custom()) {
                    let (message, hint) = slices::unknown(task, profile);
                    m.at(span.clone(), message, hint);
                }
                named(task, tasks, span, m).into_iter().for_each(|task| push(Change::Slice { task, slice: *slice }));
            }
            Act::Clamp(task, clamp) => {
                named(task, tasks, span, m).into_iter().for_each(|task| push(Change::Clamp { task, clamp: *clamp }));
            }
            Act::Feature(write) => {
                if let Some(Err(wrong)) = profile.map(|profile| profile.clone().with_switch(*write)) {
                    m.at(span.clone(), wrong.message, wrong.hint);
                }
                push(Change::Feature(*write));
            }
            Act::Frequency(cpus, share) => {
                if !cpus.is_subset(online) {
                    m.at(span.clone(), format!("CPUs {cpus} do not all exist"), format!("The machine has the CPUs {online}."));
                }
                cpus.and(online).iter().for_each(|cpu: CpuId| push(Change::FreqCapacity { cpu, freq_capacity: *share }));
            }
            Act::Governor(cpus, governor) => {
                if !cpus.is_subset(online) {
                    m.at(span.clone(), format!("CPUs {cpus} do not all exist"), format!("The machine has the CPUs {online}."));
                }
                cpus.and(online).iter().for_each(|cpu: CpuId| push(Change::Governor { cpu, governor: *governor }));
            }
            Act::Thermal(cpus, lost) => {
                if !cpus.is_subset(online) {
                    m.at(span.clone(), format!("CPUs {cpus} do not all exist"), format!("The machine has the CPUs {online}."));
                }
                if let Some(profile) = profile.filter(|profile| !profile.pressure.is_tracked()) {
                    let message = format!("profile `{}` knows no thermal pressure", profile.name);
                    m.at(span.clone(), message, "Kernels have it from v5.7 on: choose such a profile, or leave the change out.");
                }
                cpus.and(online).iter().for_each(|cpu: CpuId| push(Change::Pressure { cpu, lost: *lost }));
            }
            Act::Hotplug(cpus, to) => {
                cpus.and(online).iter().for_each(|cpu: CpuId| push(Change::Hotplug { cpu, online: *to }));
            }
            Act::Group(GroupAct::Move(path, task)) => {
                let tasks = named(task, tasks, span, m);
                if let Some(group) = m.keep(cgroup::find(path, &groups), span) {
                    tasks.into_iter().for_each(|task| push(Change::Group { task, group }));
                }
            }
            Act::Group(GroupAct::Write(path, _)) => {
                m.keep(cgroup::find(path, &groups), span);
                writes.remove(&place).into_iter().for_each(push);
            }
            Act::Group(GroupAct::Remove(path)) => {
                let group = m.keep(cgroup::find(path, &groups), span).flatten();
                group.into_iter().for_each(|group| push(Change::RemoveGroup { group }));
            }
            Act::AutogroupNice(session, nice) => {
                let group = m.keep(autogroups.of_session(session), span).flatten();
                group.into_iter().for_each(|group| push(Change::Shares { group, shares: nice_to_shares(*nice) }));
            }
            Act::Watchdog(cpus) => cpus.and(online).iter().for_each(|cpu: CpuId| push(Change::Watchdog { cpu })),
        }
    }
    changes.sort_by_key(|change| change.at);
    changes
}

/// Goes through the changes in order of time, with the CPUs that are on line: of `all` one always is, and a task is
/// never asked to run on none that is.
fn check_online(rows: &[Spanned<At>], all: &CpuMask, m: &mut Mistakes) {
    let mut in_time: Vec<&Spanned<At>> = rows.iter().collect();
    in_time.sort_by_key(|row| row.value.time);
    let mut online = *all;
    for Spanned { value: At { time, act }, span } in in_time {
        match act {
            Act::Hotplug(cpus, _) | Act::Watchdog(cpus) if !cpus.is_subset(all) => {
                m.at(span.clone(), format!("CPUs {cpus} do not all exist"), format!("The machine has the CPUs {all}."));
            }
            Act::Hotplug(cpus, true) => online = online.or(cpus),
            Act::Hotplug(cpus, false) => {
                let left: CpuMask = online.iter().filter(|cpu| !cpus.contains(*cpu)).collect();
                if left.is_empty() {
                    let message = format!("at {time} the last CPU would go off line (EBUSY)");
                    m.at(span.clone(), message, format!("Just before the CPUs {online} are on line; leave one of them."));
                } else {
                    online = left;
                }
            }
            Act::Affinity(task, cpus) if !cpus.intersects(all) => {
                m.at(span.clone(), format!("`{task}` would have no allowed CPU"), format!("The machine has the CPUs {all}."));
            }
            Act::Affinity(task, cpus) if !cpus.intersects(&online) => {
                let message = format!("none of the CPUs {cpus} for `{task}` is on line at {time} (EINVAL)");
                m.at(span.clone(), message, format!("The CPUs {online} are on line then."));
            }
            _ => {}
        }
    }
}

fn named(name: &str, tasks: &TaskSet, span: &Range<usize>, m: &mut Mistakes) -> Vec<TaskId> {
    let found: Vec<TaskId> = tasks.tasks.iter_enumerated().filter(|row| row.1.name == name).map(|row| row.0).collect();
    if found.is_empty() {
        // A set may hold thousands of names; those of the first dozen tasks show how they look.
        let names: Vec<&str> = tasks.tasks.iter().map(|task| task.name.as_str()).collect();
        let hint = match nearest::nearest(name, names.iter().copied()) {
            Some(near) => format!("Did you mean `{near}`?"),
            None => format!("Tasks: {}.", names.iter().take(12).map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")),
        };
        m.at(span.clone(), format!("no task is called `{name}`"), hint);
    }
    found
}
