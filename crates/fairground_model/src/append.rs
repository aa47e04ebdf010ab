//! Two sets of tasks become one.

use crate::cpu_max::CpuMax;
use crate::program::Instr;
use crate::socket::SockSpec;
use crate::task_set::{Change, TaskGroupSpec, TaskSet};
use fairground_stdx::{Id, IndexVec, LockId, MarkerId, PartId, PipeId, PoolId, ProgramId, SockId, TaskId, TgId, WordId};
use std::collections::BTreeMap;

impl TaskSet {
    /// Appends the groups, tasks, pipes, sockets, words, pools, locks, markers, parts and changes of `other`, renumbered; `other` has no
    /// threads for soft interrupts yet. Markers of the same
    /// name and unit are shared, and so are groups of the same path. Returns the offset by which `other`'s task ids moved.
    pub fn append(&mut self, other: TaskSet) -> u32 {
        let tasks = self.tasks.len() as u32;
        let pipes = self.pipes.len() as u32;
        let socks = self.socks.len() as u32;
        let words = self.words.len() as u32;
        let locks = self.locks.len() as u32;
        let pools = self.pools.len() as u32;
        let programs = self.programs.len() as u32;
        let mms = self.tasks.iter().map(|task| task.mm + 1).max().unwrap_or(0);
        let groups = self.append_groups(&other.groups);
        let task_id = |id: TaskId| TaskId::new(id.get() + tasks);
        let group_id = |id: TgId| groups[id];
        let pipe_id = |id: PipeId| PipeId::new(id.get() + pipes);
        let sock_id = |id: SockId| SockId::new(id.get() + socks);
        let markers: Vec<MarkerId> = other
            .markers
            .iter()
            .map(|spec| {
                let known = self.markers.iter_enumerated().find(|row| row.1 == spec).map(|row| row.0);
                known.unwrap_or_else(|| self.markers.push(spec.clone()))
            })
            .collect();
        let parts: Vec<PartId> = other
            .parts
            .iter()
            .map(|name| {
                let known = self.parts.iter_enumerated().find(|row| row.1 == name).map(|row| row.0);
                known.unwrap_or_else(|| self.parts.push(name.clone()))
            })
            .collect();
        // The first set that is appended keeps its numbers, and so its programs, which may be long.
        let offsets = [tasks, pipes, socks, words, locks, pools];
        let is_same = |(row, known): (usize, usize)| row == known;
        let keeps_numbers = offsets.iter().all(|&offset| offset == 0)
            && groups.iter_enumerated().all(|(row, known)| row == *known)
            && markers.iter().map(|known| known.index()).enumerate().all(is_same)
            && parts.iter().map(|known| known.index()).enumerate().all(is_same);
        for program in other.programs.iter() {
            let mut program = program.clone();
            let moved = if keeps_numbers { [].iter_mut() } else { program.code.iter_mut() };
            for instr in moved {
                if let Some(word) = instr.word_mut() {
                    word.first = WordId::new(word.first.get() + words);
                }
                match instr {
                    Instr::Write { pipe, .. } | Instr::Read { pipe, .. } | Instr::Poll { pipe } => *pipe = pipe_id(*pipe),
                    Instr::Send { sock, .. } | Instr::Recv { sock, .. } => *sock = sock_id(*sock),
                    Instr::Lock { lock, .. } | Instr::Unlock { lock } | Instr::Downgrade { lock } => {
                        *lock = LockId::new(lock.get() + locks)
                    }
                    Instr::Touch { pool, .. } => *pool = PoolId::new(pool.get() + pools),
                    Instr::Part { part: Some(part) } => *part = parts[part.index()],
                    Instr::Fork { task } => *task = task_id(*task),
                    Instr::SetGroup { group } => *group = group.map(group_id),
                    Instr::MarkSince { marker, .. } | Instr::MarkBetween { marker, .. } | Instr::MarkValue { marker, .. } => {
                        *marker = markers[marker.index()];
                    }
                    _ => {}
                }
            }
            self.programs.push(program);
        }
        for task in other.tasks.iter() {
            let mut task = task.clone();
            task.program = ProgramId::new(task.program.get() + programs);
            task.mm += mms;
            task.group = task.group.map(group_id);
            self.tasks.push(task);
        }
        other.pipes.iter().for_each(|pipe| {
            self.pipes.push(pipe.clone());
        });
        other.socks.iter().for_each(|sock| {
            self.socks.push(SockSpec { peer: sock_id(sock.peer), ..*sock });
        });
        other.words.iter().for_each(|&word| {
            self.words.push(word);
        });
        other.locks.iter().for_each(|lock| {
            self.locks.push(lock.clone());
        });
        other.pools.iter().for_each(|pool| {
            self.pools.push(pool.clone());
        });
        self.noise.extend(other.noise);
        self.hung_task_timeout = self.hung_task_timeout.or(other.hung_task_timeout);
        self.window = match (self.window, other.window) {
            (Some(one), Some(other)) => Some((one.0.max(other.0), one.1.min(other.1))),
            (one, other) => one.or(other),
        };
        for mut timed in other.changes {
            match &mut timed.change {
                Change::Nice { task, .. }
                | Change::Affinity { task, .. }
                | Change::Policy { task, .. }
                | Change::Slice { task, .. }
                | Change::Clamp { task, .. } => *task = task_id(*task),
                Change::Group { task, group } => (*task, *group) = (task_id(*task), group.map(group_id)),
                Change::Shares { group, .. }
                | Change::CpuMax { group, .. }
                | Change::GroupIdle { group, .. }
                | Change::GroupClamp { group, .. }
                | Change::RemoveGroup { group } => {
                    *group = group_id(*group);
                }
                Change::Feature(_)
                | Change::FreqCapacity { .. }
                | Change::Governor { .. }
                | Change::Pressure { .. }
                | Change::Hotplug { .. }
                | Change::Watchdog { .. } => {}
            }
            self.changes.push(timed);
        }
        self.changes.sort_by_key(|timed| timed.at);
        tasks
    }
    /// Appends those of `groups` that are not here yet: a group is known by its path, and gets a limit here if it had none. Returns
    /// where each is now.
    fn append_groups(&mut self, groups: &IndexVec<TgId, TaskGroupSpec>) -> IndexVec<TgId, TgId> {
        let mut rows = IndexVec::new();
        let mut ids: BTreeMap<String, TgId> = BTreeMap::new();
        // Of equal names the first counts.
        for (id, group) in self.groups.iter_enumerated() {
            ids.entry(group.name.clone()).or_insert(id);
        }
        for group in groups.iter() {
            let known = ids.get(&group.name).copied();
            let parent = group.parent.map(|parent| rows[parent]);
            if let Some(known) = known.filter(|&known| self.groups[known].limit == CpuMax::UNLIMITED) {
                self.groups[known].limit = group.limit;
            }
            if let Some(known) = known {
                self.groups[known].clamp = group.clamp.with(self.groups[known].clamp);
            }
            rows.push(known.unwrap_or_else(|| {
                let id = self.groups.push(TaskGroupSpec { parent, ..group.clone() });
                ids.insert(group.name.clone(), id);
                id
            }));
        }
        rows
    }
}
