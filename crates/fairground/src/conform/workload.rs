//! What a set's `workload.txt` tells that its trace does not: switched features, and the CPUs that tasks may use.
//!
//! It is read leniently: a workload that cannot be run can still be compared.

use fairground_model::TaskInfo;
use fairground_stdx::{CpuMask, IndexVec, TaskId};

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
        let mask = |text| CpuMask::parse_hex(text).expect("a mask");
        assert_eq!(bound_names(text), [("h0", mask("2")), ("p0", mask("4"))]);
    }
}
