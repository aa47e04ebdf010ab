//! Takes tasks, CPUs, changes and instructions out of a case. Ids are row numbers, so those behind move up.

use super::Search;
use crate::case::Case;
use fairground_model::{Change, Instr, Start, Word};
use fairground_stdx::{CpuId, CpuMask, Id, IndexVec, Instant, LockId, PipeId, ProgramId, TaskId, WordId};

impl<F: FnMut(&Case) -> bool> Search<F> {
    pub(super) fn drop_tasks(&mut self) {
        self.drop_rows(|case| case.tasks.tasks.len(), remove_task);
        self.attempt(drop_unused);
    }

    pub(super) fn drop_changes(&mut self) {
        self.drop_rows(
            |case| case.tasks.changes.len(),
            |case, row| {
                case.tasks.changes.remove(row);
            },
        );
    }

    pub(super) fn drop_cpus(&mut self) {
        self.drop_rows(|case| case.machine.cpus.len(), remove_cpu);
    }

    pub(super) fn drop_instructions(&mut self) {
        for program in (0..self.small.tasks.programs.len()).map(ProgramId::from_index) {
            self.drop_rows(|case| case.tasks.programs[program].code.len(), |case, row| remove_instruction(case, program, row));
        }
    }
}

/// The row that follows the removal of row `gone`; none for that row itself.
fn moved(row: usize, gone: usize) -> Option<usize> {
    match row.cmp(&gone) {
        std::cmp::Ordering::Less => Some(row),
        std::cmp::Ordering::Equal => None,
        std::cmp::Ordering::Greater => Some(row - 1),
    }
}

fn remove_task(case: &mut Case, row: usize) {
    if case.tasks.tasks.len() < 2 {
        return;
    }
    let gone = TaskId::from_index(row);
    for program in (0..case.tasks.programs.len()).map(ProgramId::from_index) {
        for at in (0..case.tasks.programs[program].code.len()).rev() {
            if case.tasks.programs[program].code[at] == (Instr::Fork { task: gone }) {
                remove_instruction(case, program, at);
            }
        }
    }
    let rename = |task: &mut TaskId| match moved(task.index(), row) {
        Some(row) => *task = TaskId::from_index(row),
        None => *task = gone,
    };
    for instr in case.tasks.programs.iter_mut().flat_map(|program| &mut program.code) {
        if let Instr::Fork { task } = instr {
            rename(task);
        }
    }
    case.tasks.changes.retain(|timed| task_of(&timed.change) != Some(gone));
    for timed in &mut case.tasks.changes {
        if let Change::Nice { task, .. }
        | Change::Affinity { task, .. }
        | Change::Policy { task, .. }
        | Change::Slice { task, .. }
        | Change::Clamp { task, .. }
        | Change::Group { task, .. } = &mut timed.change
        {
            rename(task);
        }
    }
    let rest = case.tasks.tasks.iter_enumerated().filter(|task| task.0 != gone).map(|task| task.1.clone()).collect();
    case.tasks.tasks = rest;
}

/// The task that a change is about.
fn task_of(change: &Change) -> Option<TaskId> {
    match *change {
        Change::Nice { task, .. }
        | Change::Affinity { task, .. }
        | Change::Policy { task, .. }
        | Change::Slice { task, .. }
        | Change::Clamp { task, .. }
        | Change::Group { task, .. } => Some(task),
        Change::Shares { .. }
        | Change::CpuMax { .. }
        | Change::GroupIdle { .. }
        | Change::RemoveGroup { .. }
        | Change::GroupClamp { .. } => None,
        Change::Feature(_)
        | Change::FreqCapacity { .. }
        | Change::Governor { .. }
        | Change::Pressure { .. }
        | Change::Hotplug { .. }
        | Change::Watchdog { .. } => None,
    }
}

/// Programs that no task follows, pipes and words that no program names, and waiting for parents that are gone.
fn drop_unused(case: &mut Case) {
    let forked: Vec<TaskId> = case.tasks.programs.iter().flat_map(|program| &program.code).filter_map(forks).collect();
    for (id, task) in case.tasks.tasks.iter_mut().enumerate() {
        if task.start == Start::Forked && !forked.contains(&TaskId::from_index(id)) {
            task.start = Start::At(Instant::ZERO);
        }
    }
    let mut kept = IndexVec::new();
    for task in case.tasks.tasks.iter_mut() {
        task.program = kept.push(case.tasks.programs[task.program].clone());
    }
    case.tasks.programs = kept;
    drop_unused_pipes(case);
    drop_unused_words(case);
    drop_unused_locks(case);
}

/// Arrays of words stay whole: which of them are touched is seen only in the run.
fn drop_unused_words(case: &mut Case) {
    let mut named: Vec<&mut Word> =
        case.tasks.programs.iter_mut().flat_map(|program| &mut program.code).filter_map(Instr::word_mut).collect();
    if named.iter().any(|word| word.plus.is_some()) {
        return;
    }
    let mut kept: Vec<WordId> = Vec::new();
    for word in &mut named {
        let row = kept.iter().position(|known| *known == word.first).unwrap_or_else(|| {
            kept.push(word.first);
            kept.len() - 1
        });
        word.first = WordId::from_index(row);
    }
    case.tasks.words = kept.into_iter().map(|word| case.tasks.words[word]).collect();
}

fn drop_unused_locks(case: &mut Case) {
    let mut kept: Vec<LockId> = Vec::new();
    for instr in case.tasks.programs.iter_mut().flat_map(|program| &mut program.code) {
        if let Instr::Lock { lock, .. } | Instr::Unlock { lock } | Instr::Downgrade { lock } = instr {
            let row = kept.iter().position(|known| known == lock).unwrap_or_else(|| {
                kept.push(*lock);
                kept.len() - 1
            });
            *lock = LockId::from_index(row);
        }
    }
    case.tasks.locks = kept.into_iter().map(|lock| case.tasks.locks[lock].clone()).collect();
}

fn drop_unused_pipes(case: &mut Case) {
    let mut kept: Vec<PipeId> = Vec::new();
    for instr in case.tasks.programs.iter_mut().flat_map(|program| &mut program.code) {
        if let Instr::Write { pipe, .. } | Instr::Read { pipe, .. } = instr {
            let row = kept.iter().position(|known| known == pipe).unwrap_or_else(|| {
                kept.push(*pipe);
                kept.len() - 1
            });
            *pipe = PipeId::from_index(row);
        }
    }
    case.tasks.pipes = kept.into_iter().map(|pipe| case.tasks.pipes[pipe].clone()).collect();
}

fn forks(instr: &Instr) -> Option<TaskId> {
    match *instr {
        Instr::Fork { task } => Some(task),
        _ => None,
    }
}

/// Takes an instruction out; jumps go to what followed it.
fn remove_instruction(case: &mut Case, program: ProgramId, row: usize) {
    let code = &mut case.tasks.programs[program].code;
    code.remove(row);
    for instr in code.iter_mut() {
        if let Some(to) = instr.target_mut()
            && *to as usize > row
        {
            *to -= 1;
        }
    }
}

/// Takes a CPU out. Who could run there only may run anywhere.
fn remove_cpu(case: &mut Case, row: usize) {
    if case.machine.cpus.len() < 2 {
        return;
    }
    let gone = CpuId::from_index(row);
    let rest = case.machine.cpus.iter_enumerated().filter(|cpu| cpu.0 != gone).map(|cpu| cpu.1.clone()).collect();
    case.machine.cpus = rest;
    // Who changed frequency with it does so still; a policy goes with its last CPU.
    for policy in &mut case.machine.policies {
        let mut left = CpuMask::EMPTY;
        policy.cpus.iter().filter_map(|cpu| moved(cpu.index(), row)).for_each(|cpu| left.insert(CpuId::from_index(cpu)));
        policy.cpus = left;
    }
    case.machine.policies.retain(|policy| !policy.cpus.is_empty());
    let all = CpuMask::first_n(case.machine.cpus.len());
    let narrow = |cpus: &CpuMask| {
        let mut mask = CpuMask::EMPTY;
        cpus.iter().filter_map(|cpu| moved(cpu.index(), row)).for_each(|cpu| mask.insert(CpuId::from_index(cpu)));
        if mask.is_empty() { all } else { mask }
    };
    for task in case.tasks.tasks.iter_mut() {
        task.affinity = task.affinity.as_ref().map(narrow);
        task.first_cpu = task.first_cpu.and_then(|cpu| moved(cpu.index(), row)).map(CpuId::from_index);
    }
    for instr in case.tasks.programs.iter_mut().flat_map(|program| &mut program.code) {
        if let Instr::SetAffinity { cpus } = instr {
            **cpus = narrow(cpus);
        }
    }
    let about = |change: &Change| matches!(*change, Change::FreqCapacity { cpu, .. } | Change::Governor { cpu, .. } | Change::Pressure { cpu, .. } | Change::Hotplug { cpu, .. } if cpu == gone);
    case.tasks.changes.retain(|timed| !about(&timed.change));
    for timed in &mut case.tasks.changes {
        match &mut timed.change {
            Change::FreqCapacity { cpu, .. }
            | Change::Governor { cpu, .. }
            | Change::Pressure { cpu, .. }
            | Change::Hotplug { cpu, .. } => {
                *cpu = CpuId::from_index(moved(cpu.index(), row).unwrap_or(0));
            }
            Change::Affinity { cpus, .. } => *cpus = narrow(cpus),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairground_sim::Simulation;

    /// Whatever is taken away, what is left is a run. Without hotplug: fewer CPUs may leave none on line, which
    /// is refused.
    #[test]
    fn parts_can_go_in_any_order() {
        for seed in 0..300 {
            let mut case = Case::random(seed);
            case.tasks.changes.retain(|timed| !matches!(timed.change, Change::Hotplug { .. }));
            for step in 0..12 {
                let row = |count: usize| seed as usize % count;
                let (tasks, cpus) = (case.tasks.tasks.len(), case.machine.cpus.len());
                match (seed + step) % 5 {
                    0 => remove_task(&mut case, row(tasks)),
                    1 => remove_cpu(&mut case, row(cpus)),
                    2 => drop_unused(&mut case),
                    3 if !case.tasks.groups.is_empty() => {
                        let groups = case.tasks.groups.len();
                        super::super::groups::remove_group(&mut case, row(groups));
                    }
                    _ => {
                        let program = ProgramId::from_index(row(case.tasks.programs.len()));
                        if !case.tasks.programs[program].code.is_empty() {
                            remove_instruction(&mut case, program, 0);
                        }
                    }
                }
                let made = Simulation::new(case.setup()).err();
                assert!(made.is_none(), "seed {seed}, step {step}: {made:?}\n{case}");
            }
        }
    }
}
