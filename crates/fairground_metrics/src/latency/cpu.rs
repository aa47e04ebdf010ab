//! Time accounting of one CPU.

use fairground_model::Section;
use fairground_stdx::{CpuId, Instant, Ns, TaskId};

/// How often a kernel section ran and how long in all.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SectionTime {
    /// How often.
    pub count: u64,
    /// How long in all.
    pub time: Ns,
}

/// What is counted for one CPU.
#[derive(Clone, Debug)]
pub(super) struct CpuRow {
    current: Option<TaskId>,
    since: Instant,
    switches: u64,
    busy_ns: u64,
    idle_ns: u64,
    sections: [SectionTime; Section::ALL.len()],
}

impl CpuRow {
    pub(super) fn new(start: Instant) -> CpuRow {
        CpuRow { current: None, since: start, switches: 0, busy_ns: 0, idle_ns: 0, sections: Default::default() }
    }
    /// Counts the time since the last switch up to `at`.
    #[inline]
    pub(super) fn account(&mut self, at: Instant) {
        let passed = at.saturating_since(self.since).0;
        if self.current.is_some() {
            self.busy_ns += passed;
        } else {
            self.idle_ns += passed;
        }
        self.since = at;
    }
    /// The CPU switches. Returns the task that was on it according to the records: another one than
    /// `prev` means that a record in between was lost. Before its first switch a CPU has always had `prev`.
    #[inline]
    pub(super) fn switch(&mut self, at: Instant, prev: Option<TaskId>, next: Option<TaskId>) -> Option<TaskId> {
        if self.switches == 0 {
            self.current = prev;
        }
        self.account(at);
        self.switches += 1;
        std::mem::replace(&mut self.current, next)
    }
    /// A kernel section begins.
    #[inline]
    pub(super) fn section(&mut self, section: Section, took: Ns) {
        let row = &mut self.sections[section as usize];
        row.count += 1;
        row.time += took;
    }
    /// The row as it is reported.
    pub(super) fn report(self, cpu: CpuId) -> CpuReport {
        CpuReport {
            cpu,
            busy: Ns(self.busy_ns),
            idle: Ns(self.idle_ns),
            switches: self.switches,
            sections: Section::ALL.map(|section| (section, self.sections[section as usize])),
        }
    }
}

/// The statistics of one CPU.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CpuReport {
    /// The CPU.
    pub cpu: CpuId,
    /// Time with a task on it.
    pub busy: Ns,
    /// Time with the idle task on it.
    pub idle: Ns,
    /// Its context switches.
    pub switches: u64,
    /// Its kernel sections.
    pub sections: [(Section, SectionTime); Section::ALL.len()],
}

impl CpuReport {
    /// Time that kernel sections took.
    pub fn kernel(&self) -> Ns {
        Ns(self.sections.iter().map(|(_, section)| section.time.0).sum())
    }
}
