//! `hog-tree`: tasks that compute for ever, spread evenly over a tree of groups.

use crate::build::endless;
use crate::param::{Param, Values};
use crate::workload::Workload;
use fairground_model::{Mistakes, TaskGroupSpec, TaskSet, TaskSpec};
use fairground_stdx::TgId;

/// What a hog has in the cache; a guess.
const WORKING_SET_KIB: u32 = 64;

pub(crate) const WORKLOAD: Workload = Workload {
    name: "hog-tree",
    sentence: "Tasks that compute for ever in a tree of groups of three levels.",
    params: &[
        Param::count("tasks", (1, 100_000), "8", "The number of tasks; the groups of the last level take them in turn."),
        Param::count("top", (1, 1000), "2", "Groups below the root."),
        Param::count("middle", (1, 1000), "2", "Groups in each of those."),
        Param::count("leaves", (1, 1000), "2", "Groups in each of the second level."),
    ],
    table: &[],
    percentiles: &[],
    duration: None,
    threads: None,
    build,
};

/// Most groups of a tree: every one may get a queue on every CPU.
const MAX_GROUPS: u64 = 100_000;

fn build(values: &Values, mistakes: &mut Mistakes) -> TaskSet {
    let [top, middle, leaves] = ["top", "middle", "leaves"].map(|name| values.count(name));
    let mut set = TaskSet::default();
    if top * (1 + middle * (1 + leaves)) > MAX_GROUPS {
        values.mistake(mistakes, "leaves", "more than 100000 groups", "Take fewer groups of one of the levels.");
        return set;
    }
    let mut last: Vec<Option<TgId>> = vec![None];
    for (letter, count) in [('t', top), ('m', middle), ('l', leaves)] {
        let mut next = Vec::new();
        for parent in last {
            let above = parent.map_or(String::new(), |parent| set.groups[parent].name.clone());
            for row in 0..count {
                next.push(Some(set.groups.push(TaskGroupSpec::new(format!("{above}/{letter}{row}"), parent))));
            }
        }
        last = next;
    }
    let program = set.programs.push(endless());
    for row in 0..values.count("tasks") as usize {
        let mut task = TaskSpec::new(format!("hog{row}"), program);
        task.group = last[row % last.len()];
        task.mm = row as u32;
        task.working_set_kib = WORKING_SET_KIB;
        set.tasks.push(task);
    }
    set
}

#[cfg(test)]
mod tests {
    use crate::{Args, build, testing};

    #[test]
    fn the_leaves_take_the_tasks_in_turn() {
        let set = build("hog-tree", &Args::of(&[("tasks", "5"), ("top", "1"), ("middle", "2"), ("leaves", "2")])).unwrap();
        testing::check(&set);
        let names: Vec<&str> = set.groups.iter().map(|group| group.name.as_str()).collect();
        assert_eq!(names, ["/t0", "/t0/m0", "/t0/m1", "/t0/m0/l0", "/t0/m0/l1", "/t0/m1/l0", "/t0/m1/l1"]);
        let rows: Vec<&str> = set.tasks.iter().map(|task| set.groups[task.group.unwrap()].name.as_str()).collect();
        assert_eq!(rows, ["/t0/m0/l0", "/t0/m0/l1", "/t0/m1/l0", "/t0/m1/l1", "/t0/m0/l0"]);
    }

    #[test]
    fn the_big_tree_has_2202_groups_and_a_bigger_one_is_refused() {
        let set = build("hog-tree", &Args::of(&[("tasks", "20000"), ("top", "2"), ("middle", "100"), ("leaves", "10")])).unwrap();
        assert_eq!((set.groups.len(), set.tasks.len()), (2202, 20_000));
        let most = Args::of(&[("top", "1000"), ("middle", "1000"), ("leaves", "1000")]);
        assert!(build("hog-tree", &most).unwrap_err().to_string().contains("more than 100000 groups"));
    }
}
