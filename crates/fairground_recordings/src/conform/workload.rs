//! What a set's `workload.txt` tells that its trace does not: switched features, the CPUs that tasks may use, and their groups.
//!
//! It is read leniently: a workload that cannot be run can still be compared.

use fairground_model::cgroup::weight_to_shares;
use fairground_model::{CpuMax, DEFAULT_SHARES, TaskGroupSpec, TaskInfo};
use fairground_stdx::{CpuMask, IndexVec, Ns, TaskId, TgId};
use fairground_workload::recorded::unrolled;
use std::path::Path;

/// The text of a set's folder with its loops written out; empty if there is none.
pub(super) fn read(folder: &Path) -> String {
    unrolled(&std::fs::read_to_string(folder.join("workload.txt")).unwrap_or_default())
}

/// The commands of a text, by words.
fn commands(text: &str) -> impl Iterator<Item = Vec<&str>> {
    let lines = text.lines().map(|line| line.split('#').next().unwrap_or_default());
    lines.flat_map(|line| line.split(';')).map(|command| command.split_whitespace().collect())
}

/// Features that the guest's shell switched, as debugfs spells them.
pub(super) fn features(text: &str) -> Vec<String> {
    commands(text).filter_map(|words| Some(words.strip_prefix(&["feat"])?.first()?.to_string())).collect()
}

/// Tasks that the workload binds, by name, with their CPUs: `NAME:nice:MASK` of a hog, `NAME:run:period:nice:MASK` of a
/// periodic task.
fn bound_names(text: &str) -> Vec<(&str, CpuMask)> {
    let mut bound = Vec::new();
    for words in commands(text) {
        let place = match words.as_slice() {
            ["wl", "hog", ..] => 2,
            ["wl", "periodic", ..] => 4,
            _ => continue,
        };
        let tasks = words.iter().filter_map(|word| word.strip_prefix("tasks=")).flat_map(|tasks| tasks.split(','));
        for task in tasks {
            let fields: Vec<&str> = task.split(':').collect();
            let mask = fields.get(place).and_then(|mask| CpuMask::parse_hex(mask)).filter(|mask| !mask.is_empty());
            bound.extend(fields.first().copied().zip(mask));
        }
    }
    bound
}

/// The groups that the workload makes, with the tasks that go to them by name. Of a `msg` that is the `wl`, which all its tasks
/// are forked by afterwards.
pub(super) fn groups(text: &str, tasks: &IndexVec<TaskId, TaskInfo>) -> (IndexVec<TgId, TaskGroupSpec>, Vec<(TaskId, TgId)>) {
    let mut groups: IndexVec<TgId, TaskGroupSpec> = IndexVec::new();
    let mut members = Vec::new();
    let row = |groups: &IndexVec<TgId, TaskGroupSpec>, path: &str| {
        groups.iter_enumerated().find(|row| row.1.name == path).map(|row| row.0)
    };
    for words in commands(text) {
        match words.as_slice() {
            ["mk", name, weight, ..] => {
                let path = format!("/{name}");
                let parent = fairground_model::cgroup::parent(&path).and_then(|parent| row(&groups, parent));
                let shares = weight.parse().map_or(DEFAULT_SHARES, weight_to_shares);
                groups.push(TaskGroupSpec { shares, ..TaskGroupSpec::new(path, parent) });
            }
            ["wl", kind, options @ ..] => {
                let value = |key: &str| options.iter().find_map(|word| word.strip_prefix(key)).unwrap_or_default();
                let paths: Vec<&str> = value("cg=").split(',').filter_map(|path| path.strip_prefix("/cg")).collect();
                let names: Vec<&str> = match *kind {
                    "msg" => vec!["wl"],
                    _ => value("tasks=").split(',').filter_map(|task| task.split(':').next()).collect(),
                };
                for (name, path) in names.into_iter().zip(paths.into_iter().cycle()) {
                    let task = tasks.iter_enumerated().find(|row| row.1.name == name).map(|row| row.0);
                    members.extend(task.zip(row(&groups, path)));
                }
            }
            _ => {}
        }
    }
    (groups, members)
}

/// Which groups of a workload have a quota.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Limits {
    /// These, by their row, with their names.
    Groups(Vec<(TgId, String, CpuMax)>),
    /// Groups are made in a way that is not read.
    Unknown,
}

/// The limits that the workload gives to its groups: `mk NAME WEIGHT 'QUOTA PERIOD'`.
pub(super) fn limits(text: &str) -> Limits {
    let in_loop = text.lines().any(|line| line.contains("while") && line.contains("mk "));
    if in_loop || commands(text).any(|words| words.first() == Some(&"cgroup")) {
        return Limits::Unknown;
    }
    let mut limits = Vec::new();
    let made = commands(text).filter(|words| words.first() == Some(&"mk"));
    for (row, words) in made.enumerate() {
        let us = |place: usize| words.get(place)?.trim_matches(['\'', '"']).parse::<u64>().ok().map(Ns::from_us);
        if let (Some(name), Some(quota)) = (words.get(1), us(3)) {
            let limit = CpuMax { quota: Some(quota), period: us(4).unwrap_or(CpuMax::DEFAULT_PERIOD), burst: Ns::ZERO };
            if limit.check().is_err() {
                return Limits::Unknown;
            }
            limits.push((TgId::new(row as u32), format!("/{name}"), limit));
        }
    }
    Limits::Groups(limits)
}

/// Whether the workload does to groups what is not modelled yet, or was not understood.
pub(super) fn is_beyond(text: &str) -> bool {
    let has_quota = |words: &[&str]| matches!(words, ["mk", _, _, quota, ..] if !quota.contains("max"));
    text.lines().any(|line| line.contains("while"))
        || commands(text).any(|words| has_quota(&words) || words.first() == Some(&"cgroup"))
}

/// The tasks of a recording that its workload binds.
pub(super) fn allowed(text: &str, tasks: &IndexVec<TaskId, TaskInfo>) -> Vec<(TaskId, CpuMask)> {
    let names = bound_names(text);
    let of = |info: &TaskInfo| names.iter().find(|row| row.0 == info.name).map(|row| row.1);
    tasks.iter_enumerated().filter_map(|(task, info)| Some((task, of(info)?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn features_and_bound_tasks_are_read_whatever_else_is_there() {
        let text = "feat NO_SIS_UTIL; feat NO_SIS_PROP\ncgon; mk A 100\nwl hog tasks=h0:0:2,h1:0 dur=3000 cg=/cg/A\n\
                    wl periodic tasks=p0:4000:16000:0:4 &\n";
        assert_eq!(features(text), ["NO_SIS_UTIL", "NO_SIS_PROP"]);
        let tasks = ["wl", "h0", "h1", "h2"].map(|name| TaskInfo { name: name.into(), pid: 1, prio: 120 });
        let grouped = "cgon; mk A 100; mk A/1 300\nwl hog tasks=h0:0:2,h1:0,h2:0 cg=/cg/A,/cg/A/1\nrmcg\n";
        let (groups, members) = super::groups(grouped, &tasks.into_iter().collect());
        assert_eq!(
            groups.iter().map(|group| (group.name.as_str(), group.shares)).collect::<Vec<_>>(),
            [("/A", 1024), ("/A/1", 3072)]
        );
        assert_eq!(groups[TgId::new(1)].parent, Some(TgId::new(0)));
        let places: Vec<(u32, u32)> = members.iter().map(|row| (row.0.get(), row.1.get())).collect();
        assert_eq!(places, [(1, 0), (2, 1), (3, 0)]);
        assert!(!is_beyond(text) && !is_beyond(grouped) && is_beyond("mk A 100 '50000 100000'") && is_beyond("cgroup v1"));
        let ms = |quota, period| CpuMax { quota: Some(Ns::from_ms(quota)), period: Ns::from_ms(period), burst: Ns::ZERO };
        assert_eq!(
            limits("cgon; mk P 100; mk P/A 100 '20000 100000'; mk B 100 '5000 50000'; mk C 100 'max 100000'"),
            Limits::Groups(vec![(TgId::new(1), "/P/A".to_string(), ms(20, 100)), (TgId::new(2), "/B".to_string(), ms(5, 50))])
        );
        assert_eq!(limits("i=0; while [ $i -lt 2 ]; do mk G$i 100 \"50000 100000\"; done"), Limits::Unknown);
        assert_eq!(limits("mk A 100 '1 100000'"), Limits::Unknown);
        assert_eq!(limits("cgroup v1 cpu: cfs_period_us 100000, cfs_quota_us 20000"), Limits::Unknown);
        assert_eq!(limits(grouped), Limits::Groups(Vec::new()));
        let mask = |text| CpuMask::parse_hex(text).expect("a mask");
        assert_eq!(bound_names(text), [("h0", mask("2")), ("p0", mask("4"))]);
    }
}
