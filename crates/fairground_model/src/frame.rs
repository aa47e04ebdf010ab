//! Where a task is in its program, and how it gets from one wish to the next.

#![allow(missing_docs, reason = "the fields of a variant are explained by the variant")]

use crate::lock::LockMode;
use crate::policy::Policy;
use crate::program::{COUNTERS, Instr, Mode, Program, REGS, RUN_REG_MAX, Reg, Test, TimerMode, Value, Word};
use crate::util_clamp::UtilClamp;
use fairground_stdx::{
    CpuId, CpuMask, Id, IndexVec, Instant, LockId, MarkerId, Ns, PartId, PipeId, PoolId, Rare, RngStream, SockId, TaskId, TgId,
    Unused, WordId,
};

/// What a task wants next, with all numbers filled in: the engine knows nothing else of a program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    /// See [`Instr::Run`].
    Run { work: Ns, mode: Mode },
    /// See [`Instr::RunTime`].
    RunTime { time: Ns, mode: Mode },
    /// See [`Instr::RunUntil`].
    RunUntil { at: Instant },
    /// See [`Instr::Sleep`].
    SleepFor(Ns),
    /// See [`Instr::Io`].
    Io(Ns),
    /// See [`Instr::SleepUntil`].
    SleepUntil(Instant),
    /// See [`Instr::Write`].
    Write { pipe: PipeId, value: u64 },
    /// See [`Instr::Read`]. The engine answers with [`Frame::set`].
    Read { pipe: PipeId, into: Reg },
    /// See [`Instr::Send`].
    Send { sock: SockId, bytes: u32 },
    /// See [`Instr::Recv`].
    Recv { sock: SockId, bytes: u32 },
    /// See [`Instr::ServeSoftirqs`].
    ServeSoftirqs,
    /// See [`Instr::Spin`].
    Spin { word: WordId, value: u64 },
    /// See [`Instr::FutexWait`].
    FutexWait { word: WordId, value: u64 },
    /// See [`Instr::FutexWake`].
    FutexWake { word: WordId, count: u32 },
    /// See [`Instr::PageFault`].
    PageFault { work: Ns },
    /// See [`Instr::Touch`].
    Touch { pool: PoolId, entry: u64, write: bool },
    /// See [`Instr::Enter`].
    Enter,
    /// See [`Instr::Leave`].
    Leave,
    /// See [`Instr::CondResched`].
    CondResched,
    /// See [`Instr::MightSleep`].
    MightSleep,
    /// See [`Instr::Lock`].
    Lock { lock: LockId, mode: LockMode },
    /// See [`Instr::Unlock`].
    Unlock { lock: LockId },
    /// See [`Instr::Downgrade`].
    Downgrade { lock: LockId },
    /// See [`Instr::Poll`].
    Poll { pipe: PipeId },
    /// See [`Instr::Fork`].
    Fork { task: TaskId },
    /// See [`Instr::WaitChildren`].
    WaitChildren,
    /// See [`Instr::Yield`].
    Yield,
    /// See [`Instr::Exec`].
    Exec,
    /// See [`Instr::ThreadClock`].
    ThreadClock { into: Option<Reg> },
    /// See [`Instr::SetNice`].
    SetNice { nice: i8 },
    /// See [`Instr::SetPolicy`].
    SetPolicy { policy: Policy },
    /// See [`Instr::SetSlice`].
    SetSlice { slice: Option<Ns> },
    /// See [`Instr::SetClamp`].
    SetClamp { clamp: UtilClamp },
    /// See [`Instr::SetAffinity`]. The mask is read from the program ([`Frame::affinity`]).
    SetAffinity,
    /// See [`Instr::SetGroup`].
    SetGroup { group: Option<TgId> },
    /// See [`Instr::SetTimerSlack`].
    SetTimerSlack { slack: Ns },
    /// A measurement.
    Mark { marker: MarkerId, value: u64 },
    /// See [`Instr::Part`].
    Part { part: Option<PartId> },
    /// See [`Instr::SliceExt`].
    SliceExt { request: bool },
    /// The task ends.
    Exit,
    /// The program has touched a word that does not exist.
    Fault,
    /// The program has run a great many instructions without asking for anything: it will never end.
    Stuck,
}

/// What a program can see of the world.
#[derive(Debug)]
pub struct Surroundings<'a> {
    /// The time.
    pub now: Instant,
    /// The CPU on which it runs.
    pub cpu: CpuId,
    /// The random stream of its task.
    pub rng: &'a mut RngStream,
    /// The memory that tasks share.
    pub words: &'a mut IndexVec<WordId, u64>,
}

/// What a program keeps. Many keep nothing.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Kept {
    regs: [u64; REGS],
    counters: [u64; COUNTERS],
}

impl Unused for Kept {
    const UNUSED: &'static Kept = &Kept { regs: [0; REGS], counters: [0; COUNTERS] };
}

/// Where a task is in its program.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Frame {
    pc: u32,
    kept: Rare<Kept>,
    index: u32,
}

/// Control instructions that a program may run in one go before it counts as stuck.
const FUEL: u32 = 100_000;

impl Frame {
    /// A frame at the first instruction, all registers zero.
    pub fn new() -> Frame {
        Frame::default()
    }
    /// The same of the task with this number among equal ones ([`crate::TaskSpec::index`]).
    pub fn numbered(index: u32) -> Frame {
        Frame { index, ..Frame::default() }
    }
    /// That of a task which sleeps already as a run begins, and until when: its program begins with a sleep until a fixed instant.
    pub fn asleep(program: &Program) -> Option<(Frame, Instant)> {
        match *program.code.as_slice() {
            [Instr::Set { reg, at }, Instr::SleepUntil { reg: until }, ..] if reg == until => {
                let mut frame = Frame { pc: 2, ..Frame::default() };
                frame.set(reg, at.ns());
                Some((frame, at))
            }
            _ => None,
        }
    }
    /// The index of the next instruction.
    pub fn pc(&self) -> u32 {
        self.pc
    }
    /// Stores the answer to a [`Step::Read`].
    pub fn set(&mut self, reg: Reg, value: u64) {
        self.kept.regs[usize::from(reg)] = value;
    }
    /// The mask of the [`Instr::SetAffinity`] that was just returned as a step.
    pub fn affinity<'p>(&self, program: &'p Program) -> Option<&'p CpuMask> {
        match program.code.get(self.pc as usize - 1) {
            Some(Instr::SetAffinity { cpus }) => Some(cpus),
            _ => None,
        }
    }
    /// Runs to the next thing that the task wants.
    #[inline]
    pub fn next(&mut self, program: &Program, around: &mut Surroundings<'_>) -> Step {
        for _ in 0..FUEL {
            if let Some(step) = self.run_one(program, around) {
                return step;
            }
        }
        Step::Stuck
    }
    /// Runs one instruction: what the task wants, or nothing if it was one of control. Apart from the loop, which else would begin with
    /// what only rare instructions need.
    #[inline(never)]
    fn run_one(&mut self, program: &Program, around: &mut Surroundings<'_>) -> Option<Step> {
        let now = around.now;
        let Some(instr) = program.code.get(self.pc as usize) else { return Some(Step::Exit) };
        self.pc += 1;
        match *instr {
            Instr::Run { work, mode } => return Some(Step::Run { work, mode }),
            Instr::RunBetween { low, high, mode } => {
                return Some(Step::Run { work: Ns(around.rng.between(low.0, high.0)), mode });
            }
            Instr::RunTime { time, mode } => return Some(Step::RunTime { time, mode }),
            Instr::RunReg { reg, mode } => {
                return Some(Step::Run { work: Ns(self.kept.regs[usize::from(reg)]).min(RUN_REG_MAX), mode });
            }
            Instr::RunUntil { reg } => return Some(Step::RunUntil { at: self.at(reg) }),
            Instr::Sleep { time } => return Some(Step::SleepFor(time)),
            Instr::Io { time } => return Some(Step::Io(time)),
            Instr::SleepBetween { low, high } => return Some(Step::SleepFor(Ns(around.rng.between(low.0, high.0)))),
            Instr::RunExponential { mean, mode } => {
                return Some(Step::Run { work: Ns(around.rng.exponential(mean.0)), mode });
            }
            Instr::SleepExponential { mean } => return Some(Step::SleepFor(Ns(around.rng.exponential(mean.0)))),
            Instr::SleepUntil { reg } => return Some(Step::SleepUntil(self.at(reg))),
            Instr::TimerWait { reg, period, mode } => {
                let slot = &mut self.kept.regs[usize::from(reg)];
                *slot = slot.saturating_add(period.0);
                if *slot > now.ns() {
                    return Some(Step::SleepUntil(Instant::from_ns(*slot)));
                }
                if mode == TimerMode::Relative {
                    *slot = now.ns();
                }
            }
            Instr::Now { reg } => self.set(reg, now.ns()),
            Instr::TimeOfDay { reg } => self.set(reg, now.ns() / 1000 * 1000),
            Instr::GetCpu { into } => self.set(into, u64::from(around.cpu.get())),
            Instr::Index { into } => self.set(into, u64::from(self.index)),
            Instr::Let { reg, value } => self.set(reg, self.value(value)),
            Instr::Draw { reg, from } => self.set(reg, from.draw(around.rng)),
            Instr::Calculate { reg, by, value } => {
                self.set(reg, by.of(self.kept.regs[usize::from(reg)], self.value(value)));
            }
            Instr::Load { word, into } => match self.word(word, around).map(|word| around.words[word]) {
                Some(value) => self.set(into, value),
                None => return Some(Step::Fault),
            },
            Instr::Store { word, value } => match self.word(word, around) {
                Some(word) => around.words[word] = self.value(value),
                None => return Some(Step::Fault),
            },
            Instr::Spin { word, value } => match self.word(word, around) {
                Some(word) if around.words[word] == value => return Some(Step::Spin { word, value }),
                Some(_) => {}
                None => return Some(Step::Fault),
            },
            Instr::FutexWait { word, value } => {
                let value = self.value(value);
                return Some(self.word(word, around).map_or(Step::Fault, |word| Step::FutexWait { word, value }));
            }
            Instr::FutexWake { word, count } => {
                return Some(self.word(word, around).map_or(Step::Fault, |word| Step::FutexWake { word, count }));
            }
            Instr::PageFault { low, high } => return Some(Step::PageFault { work: Ns(around.rng.between(low.0, high.0)) }),
            Instr::Touch { pool, entry, write } => return Some(Step::Touch { pool, entry: self.value(entry), write }),
            Instr::Enter => return Some(Step::Enter),
            Instr::Leave => return Some(Step::Leave),
            Instr::CondResched => return Some(Step::CondResched),
            Instr::MightSleep => return Some(Step::MightSleep),
            Instr::Lock { lock, mode } => return Some(Step::Lock { lock, mode }),
            Instr::Unlock { lock } => return Some(Step::Unlock { lock }),
            Instr::Downgrade { lock } => return Some(Step::Downgrade { lock }),
            Instr::Set { reg, at } => self.set(reg, at.ns()),
            Instr::Add { reg, time } => self.set(reg, self.kept.regs[usize::from(reg)].saturating_add(time.0)),
            Instr::Write { pipe, value } => {
                return Some(Step::Write { pipe, value: value.map_or(now.ns(), |reg| self.kept.regs[usize::from(reg)]) });
            }
            Instr::Read { pipe, into } => return Some(Step::Read { pipe, into }),
            Instr::Send { sock, bytes } => return Some(Step::Send { sock, bytes }),
            Instr::Poll { pipe } => return Some(Step::Poll { pipe }),
            Instr::Recv { sock, bytes } => return Some(Step::Recv { sock, bytes }),
            Instr::ServeSoftirqs => return Some(Step::ServeSoftirqs),
            Instr::Fork { task } => return Some(Step::Fork { task }),
            Instr::WaitChildren => return Some(Step::WaitChildren),
            Instr::Yield => return Some(Step::Yield),
            Instr::Exec => return Some(Step::Exec),
            Instr::ThreadClock { into } => return Some(Step::ThreadClock { into }),
            Instr::SetNice { nice } => return Some(Step::SetNice { nice }),
            Instr::SetPolicy { policy } => return Some(Step::SetPolicy { policy }),
            Instr::SetSlice { slice } => return Some(Step::SetSlice { slice }),
            Instr::SetClamp { clamp } => return Some(Step::SetClamp { clamp }),
            Instr::SetAffinity { .. } => return Some(Step::SetAffinity),
            Instr::SetGroup { group } => return Some(Step::SetGroup { group }),
            Instr::SetTimerSlack { slack } => return Some(Step::SetTimerSlack { slack }),
            Instr::MarkSince { marker, reg } => {
                return Some(Step::Mark { marker, value: now.saturating_since(self.at(reg)).0 });
            }
            Instr::MarkBetween { marker, early, late } => {
                return Some(Step::Mark { marker, value: self.at(late).saturating_since(self.at(early)).0 });
            }
            Instr::MarkValue { marker, value } => return Some(Step::Mark { marker, value }),
            Instr::Part { part } => return Some(Step::Part { part }),
            Instr::SliceExt { request } => return Some(Step::SliceExt { request }),
            Instr::Jump { to } => self.pc = to,
            Instr::JumpIfBefore { reg, at, to } => {
                if self.at(reg) < at {
                    self.pc = to;
                }
            }
            Instr::JumpIf { reg, is, value, to } => {
                let (left, right) = (self.kept.regs[usize::from(reg)], self.value(value));
                let holds = match is {
                    Test::Equal => left == right,
                    Test::AtMost => left <= right,
                };
                if holds {
                    self.pc = to;
                }
            }
            Instr::JumpByChance { hits, of, to } => {
                if around.rng.below(u64::from(of)) < u64::from(hits) {
                    self.pc = to;
                }
            }
            Instr::Repeat { counter, times, to } => {
                let count = &mut self.kept.counters[usize::from(counter)];
                *count += 1;
                if *count < times {
                    self.pc = to;
                } else {
                    *count = 0;
                }
            }
            Instr::Exit => return Some(Step::Exit),
        }
        None
    }
    fn at(&self, reg: Reg) -> Instant {
        Instant::from_ns(self.kept.regs[usize::from(reg)])
    }
    fn value(&self, value: Value) -> u64 {
        match value {
            Value::Const(value) => value,
            Value::Reg(reg) => self.kept.regs[usize::from(reg)],
        }
    }
    /// The word's row, if there is one.
    fn word(&self, word: Word, around: &Surroundings<'_>) -> Option<WordId> {
        let plus = word.plus.map_or(0, |reg| self.kept.regs[usize::from(reg)]);
        let row = usize::try_from(plus).ok()?.checked_add(word.first.index())?;
        (row < around.words.len()).then(|| WordId::from_index(row))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairground_stdx::{Distribution, StreamKind};

    #[test]
    fn only_a_program_that_begins_with_a_sleep_until_an_instant_sleeps_as_the_run_begins() {
        let at = Instant::from_ns(7);
        let begins = |code: Vec<Instr>| Frame::asleep(&Program::from(code));
        let (set, until) = (Instr::Set { reg: 3, at }, Instr::SleepUntil { reg: 3 });
        let (frame, until_when) = begins(vec![set.clone(), until.clone(), Instr::Yield]).unwrap();
        assert_eq!((frame.pc(), until_when), (2, at));
        assert_eq!(begins(vec![set.clone(), Instr::SleepUntil { reg: 2 }]), None, "another register");
        assert_eq!(begins(vec![Instr::Yield, set, until]), None);
    }

    fn steps(code: Vec<Instr>, nows: &[u64]) -> Vec<Step> {
        let (program, mut frame) = (Program::from(code), Frame::new());
        let mut rng = RngStream::new(1, StreamKind::TaskBehavior, 0);
        let mut words = [7, 8, 9].into_iter().collect();
        let mut next = |&now: &u64| {
            let now = Instant::from_ns(now);
            frame.next(&program, &mut Surroundings { now, cpu: CpuId::new(1), rng: &mut rng, words: &mut words })
        };
        nows.iter().map(&mut next).collect()
    }

    #[test]
    fn loops_count_and_nest() {
        let run = Instr::Run { work: Ns(1), mode: Mode::User };
        let code =
            vec![run, Instr::Repeat { counter: 0, times: 2, to: 0 }, Instr::Repeat { counter: 1, times: 2, to: 0 }, Instr::Exit];
        let got = steps(code, &[0; 5]);
        assert_eq!(got.iter().filter(|step| matches!(step, Step::Run { .. })).count(), 4);
        assert_eq!(got[4], Step::Exit);
    }

    #[test]
    fn relative_timer_restarts_when_late_and_absolute_does_not() {
        let timer = |mode| {
            let wait = Instr::TimerWait { reg: 0, period: Ns(10), mode };
            let run = Instr::Run { work: Ns(1), mode: Mode::User };
            steps(vec![Instr::Now { reg: 0 }, wait, run, Instr::Jump { to: 1 }], &[100, 110, 135, 136])
        };
        // at 100: sleep to 110; run; at 135 the second period (120) has passed: no sleep, run; then the third.
        assert_eq!(timer(TimerMode::Relative)[3], Step::SleepUntil(Instant::from_ns(145)));
        assert_eq!(timer(TimerMode::Absolute)[3], Step::Run { work: Ns(1), mode: Mode::User });
    }

    #[test]
    fn memory_is_read_written_and_indexed() {
        let word = |plus| Word { first: WordId::new(1), plus };
        let mark = |reg| Instr::MarkBetween { marker: MarkerId::new(0), early: 7, late: reg };
        let code = vec![
            Instr::GetCpu { into: 0 },
            Instr::Load { word: word(Some(0)), into: 1 },
            mark(1),
            Instr::Store { word: word(None), value: Value::Reg(1) },
            Instr::Load { word: word(None), into: 2 },
            Instr::JumpIf { reg: 2, is: Test::AtMost, value: Value::Const(8), to: 11 },
            Instr::JumpIf { reg: 2, is: Test::Equal, value: Value::Reg(1), to: 8 },
            Instr::Exit,
            Instr::TimeOfDay { reg: 3 },
            mark(3),
            Instr::Let { reg: 0, value: Value::Const(2) },
            Instr::FutexWait { word: word(Some(0)), value: Value::Const(0) },
        ];
        let got = steps(code, &[0, 12_345, 12_345]);
        let marked = |value| Step::Mark { marker: MarkerId::new(0), value };
        assert_eq!(got, [marked(9), marked(12_000), Step::Fault]);
    }

    #[test]
    fn what_is_drawn_is_run() {
        let code = vec![Instr::Draw { reg: 3, from: Distribution::Uniform(7, 7) }, Instr::RunReg { reg: 3, mode: Mode::User }];
        assert_eq!(steps(code, &[0]), [Step::Run { work: Ns(7), mode: Mode::User }]);
    }

    #[test]
    fn a_chance_is_drawn_each_time() {
        let mark = |value| Instr::MarkValue { marker: MarkerId::new(0), value };
        let code = |hits| {
            vec![Instr::JumpByChance { hits, of: 4, to: 3 }, mark(0), Instr::Jump { to: 0 }, mark(1), Instr::Jump { to: 0 }]
        };
        let hits = |hits| {
            let marked = steps(code(hits), &[0; 4000]).into_iter();
            marked.filter(|step| *step == Step::Mark { marker: MarkerId::new(0), value: 1 }).count()
        };
        assert_eq!((hits(0), hits(4)), (0, 4000));
        // One in four of 4,000: 1,000 with a standard deviation of 27.
        assert!((900..1100).contains(&hits(1)), "{}", hits(1));
    }

    #[test]
    fn a_task_knows_its_number() {
        let program = Program::from(vec![Instr::Index { into: 2 }, Instr::RunReg { reg: 2, mode: Mode::User }]);
        let mut around = Surroundings {
            now: Instant::ZERO,
            cpu: CpuId::new(1),
            rng: &mut RngStream::new(1, StreamKind::TaskBehavior, 0),
            words: &mut IndexVec::default(),
        };
        assert_eq!(Frame::numbered(7).next(&program, &mut around), Step::Run { work: Ns(7), mode: Mode::User });
    }

    #[test]
    fn a_spin_on_a_word_that_has_changed_is_over() {
        let spin = |value| Instr::Spin { word: WordId::new(0).into(), value };
        assert_eq!(steps(vec![spin(6), spin(7)], &[0]), [Step::Spin { word: WordId::new(0), value: 7 }]);
    }

    #[test]
    fn an_endless_loop_without_a_wish_is_found() {
        assert_eq!(steps(vec![Instr::Jump { to: 0 }], &[0]), [Step::Stuck]);
        assert_eq!(steps(vec![], &[0]), [Step::Exit]);
    }
}
