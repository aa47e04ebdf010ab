//! A decision's reason with names and CPUs filled in.

use crate::export::TaskTable;
use fairground_model::reason::IdKind;
use fairground_model::{Decision, Who};

/// The reason as a sentence: `hog-1 (1001) has the smallest virtual time`.
pub(crate) fn sentence(decision: &Decision, tasks: &TaskTable) -> String {
    let (kind_a, kind_b) = decision.reason.ids();
    let shown = |kind: IdKind, id: u32| match kind {
        IdKind::None => String::new(),
        IdKind::Cpu | IdKind::Ns => id.to_string(),
        IdKind::Task => match Decision::who(id) {
            Who::Task(task) => {
                let task = tasks.get(task);
                format!("{} ({})", task.name, task.pid)
            }
            Who::Group(group) => format!("group {group}"),
        },
    };
    // Not two replacements in a row: a task's name may itself hold `{b}`.
    let fill_b = |text: &str| text.replace("{b}", &shown(kind_b, decision.b));
    match decision.reason.sentence().split_once("{a}") {
        Some((before, after)) => format!("{}{}{}", fill_b(before), shown(kind_a, decision.a), fill_b(after)),
        None => fill_b(decision.reason.sentence()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairground_model::{Reason, TaskInfo};
    use fairground_stdx::{TaskId, TgId};

    #[test]
    fn names_and_cpus_are_filled_in() {
        let mut tasks = TaskTable::default();
        tasks.set(TaskId::new(0), &TaskInfo { name: "{b}".into(), pid: 7, prio: 120 });
        tasks.set(TaskId::new(1), &TaskInfo { name: "hog".into(), pid: 8, prio: 120 });
        let text = |reason, a, b| sentence(&Decision { reason, a, b }, &tasks);
        assert_eq!(text(Reason::SelectPrevIdle, 0, 3), "the previous CPU 3 of {b} (7) is idle");
        assert_eq!(text(Reason::WakePolicy, 0, 1), "hog (8) has policy SCHED_IDLE and {b} (7) has not");
        let group = Decision::group(TgId::new(2));
        assert_eq!(text(Reason::Unthrottle, group, 3), "group 2 has quota again and goes on on CPU 3");
        assert_eq!(text(Reason::PickIdle, 0, 0), "nothing is runnable here");
    }
}
