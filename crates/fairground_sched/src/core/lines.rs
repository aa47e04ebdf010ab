//! Which run queues a core has in its own cache: what a look at one costs depends on who changed it last.

use crate::ctx::Ctx;
use fairground_model::{MachineView, Meter, Op};
use fairground_stdx::{CpuId, CpuMask, Id, IndexVec, Instant};

/// For how long a CPU that has touched a run queue is in the way of others, ns.
const CONTEND_NS: u64 = 1_000;
/// How many CPUs can be in the way of another one; the rest makes it no worse.
const TOUCHES: usize = 8;

/// A version per run queue, which every change raises, and per core the versions that it read last.
///
/// A look at a run queue that nobody has changed since costs [`Op::ScanCpu`]; else each of its lines comes out of
/// another core's cache ([`Op::ScanDirty`]), or out of another socket's ([`Op::ScanSocket`], for all of them). No look
/// costs less than one at an unchanged queue. Lines that have to be fetched come later for each further CPU that has changed
/// or fetched them within the last 1 us, up to 8 ([`Op::ScanContend`]).
#[derive(Clone, Debug)]
pub(crate) struct RqLines {
    /// Whether anybody pays for it; nothing is kept otherwise.
    tracked: bool,
    version: IndexVec<CpuId, u32>,
    core: IndexVec<CpuId, usize>,
    package: IndexVec<CpuId, u32>,
    /// By core, then by CPU.
    seen: Vec<u32>,
    /// Who was at each run queue last; empty where nobody pays for that.
    touches: IndexVec<CpuId, Touches>,
}

/// The last CPUs that have changed the lines of a run queue or fetched them, each of them once, and when.
///
/// ```text
///  63                    11 10        0
/// +------------------------+----------+
/// |  at (ns) + 2 * 1 us    |   cpu    |     all in one line; 2 us more, so that a place of nobody is never of late
/// +------------------------+----------+
/// ```
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Touches([u64; TOUCHES]);

const CPU_BITS: u32 = 11;
const NOBODY: u64 = (1 << CPU_BITS) - 1;
const _: () = assert!(CpuMask::CAPACITY as u64 <= NOBODY);

impl Touches {
    const NONE: Touches = Touches([NOBODY; TOUCHES]);

    /// `by` is there now: in its own place, or in that of the one who was there first.
    #[inline]
    fn touch(&mut self, by: CpuId, now: u64) {
        let own = self.0.iter_mut().position(|touch| *touch & NOBODY == u64::from(by.get()));
        let place =
            own.unwrap_or_else(|| (1..TOUCHES).fold(0, |first, row| if self.0[row] < self.0[first] { row } else { first }));
        self.0[place] = (now + 2 * CONTEND_NS) << CPU_BITS | u64::from(by.get());
    }

    /// How many others than `by` have been there lately. The clocks of two calls may differ by what they have cost so far.
    #[inline]
    fn others(&self, by: CpuId, now: u64) -> u64 {
        // |now - at| < CONTEND_NS in one comparison: what lies ahead of the last instant that counts wraps.
        let last = now + 3 * CONTEND_NS - 1;
        let lately = |touch: u64| last.wrapping_sub(touch >> CPU_BITS) <= 2 * (CONTEND_NS - 1);
        self.0.iter().filter(|&&touch| lately(touch) & (touch & NOBODY != u64::from(by.get()))).count() as u64
    }
}

impl RqLines {
    /// A table in which every look costs the same, until changes are tracked.
    pub(crate) fn new() -> RqLines {
        RqLines {
            tracked: false,
            version: IndexVec::new(),
            core: IndexVec::new(),
            package: IndexVec::new(),
            seen: Vec::new(),
            touches: IndexVec::new(),
        }
    }

    /// Tracks changes from now on; no core has seen any run queue yet. `contend`: recent visitors are counted too.
    pub(crate) fn track(&mut self, machine: &MachineView, contend: bool) {
        let first_of_core = |cpu: CpuId| machine.cpus[cpu].smt.first().unwrap_or(cpu);
        self.tracked = true;
        self.version = machine.cpus.iter().map(|_| 1).collect();
        self.core = machine.cpus.ids().map(|cpu| first_of_core(cpu).index()).collect();
        self.package = machine.cpus.iter().map(|cpu| cpu.package).collect();
        self.seen = vec![0; machine.cpus.len() * machine.cpus.len()];
        self.touches = machine.cpus.iter().filter(|_| contend).map(|_| Touches::NONE).collect();
    }

    /// Whether looks differ in price.
    #[inline]
    pub(crate) fn tracked(&self) -> bool {
        self.tracked
    }

    /// Notes that the caller changes the run queue of `cpu`: its core now has the lines, and no other has.
    #[inline]
    pub(crate) fn write(&mut self, cx: &Ctx<'_, '_>, cpu: CpuId) {
        if self.tracked {
            self.change(cx.cpu, cpu, cx.clock());
        }
    }

    fn change(&mut self, by: CpuId, cpu: CpuId, now: Instant) {
        if !self.touches.is_empty() {
            self.touches[cpu].touch(by, now.ns());
        }
        self.version[cpu] = self.version[cpu].wrapping_add(1);
        let row = self.core[by] * self.version.len() + cpu.index();
        self.seen[row] = self.version[cpu];
    }

    /// `by` fetches the lines of `cpu`. Returns how many others have been there lately, where that counts.
    #[inline]
    fn contend(&mut self, by: CpuId, cpu: CpuId, now: u64) -> u64 {
        if self.touches.is_empty() {
            return 0;
        }
        let touches = &mut self.touches[cpu];
        let others = touches.others(by, now);
        touches.touch(by, now);
        others
    }

    /// Fetches the lines of the run queue of `cpu`, which the caller is about to change.
    pub(crate) fn fetch(&mut self, cx: &mut Ctx<'_, '_>, cpu: CpuId) {
        let (by, now) = (cx.cpu, cx.clock());
        let others = self.contend(by, cpu, now.ns());
        cx.meter.count_n(Op::ScanContend, others);
    }

    /// Counts a look at so many lines of the run queue of `cpu`.
    #[inline]
    pub(crate) fn look(&mut self, cx: &mut Ctx<'_, '_>, cpu: CpuId, lines: u64) {
        if !self.tracked {
            return cx.meter.count(Op::ScanCpu);
        }
        let now = cx.clock();
        self.read(cx.meter, cx.cpu, cpu, lines, now);
    }

    fn read(&mut self, meter: &mut Meter, by: CpuId, cpu: CpuId, lines: u64, now: Instant) {
        let seen = &mut self.seen[self.core[by] * self.version.len() + cpu.index()];
        if std::mem::replace(seen, self.version[cpu]) == self.version[cpu] {
            return meter.count(Op::ScanCpu);
        }
        let others = self.contend(by, cpu, now.ns());
        meter.count_n(Op::ScanContend, others);
        let (op, n) = match self.package[by] == self.package[cpu] {
            true => (Op::ScanDirty, lines),
            false => (Op::ScanSocket, 1),
        };
        if meter.price_ps(op) * n <= meter.price_ps(Op::ScanCpu) {
            return meter.count(Op::ScanCpu);
        }
        meter.note(Op::ScanCpu);
        meter.count_n(op, n);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairground_stdx::Ns;

    const CLEAN: u64 = 12;
    const LINE: u64 = 150;
    const SOCKET: u64 = 900;

    fn meter() -> Meter {
        let mut prices = [0; Op::COUNT];
        for (op, ns) in [(Op::ScanCpu, CLEAN), (Op::ScanDirty, LINE), (Op::ScanSocket, SOCKET)] {
            prices[op as usize] = ns * 1000;
        }
        Meter::new(prices)
    }

    /// CPU 0 and 1 are a core, CPU 2 and 3 single cores, the last in another package.
    fn machine() -> MachineView {
        let mut machine = MachineView::flat(4, Ns::from_ms(1));
        let core = [CpuId::new(0), CpuId::new(1)].into_iter().collect();
        machine.cpus[CpuId::new(0)].smt = core;
        machine.cpus[CpuId::new(1)].smt = core;
        machine.cpus[CpuId::new(3)].package = 1;
        machine
    }

    #[test]
    fn what_a_core_has_read_or_written_is_clean_for_its_threads() {
        let [a, b, c, d] = [0, 1, 2, 3].map(CpuId::new);
        let mut lines = RqLines::new();
        lines.track(&machine(), false);
        let mut price = |by, cpu, n| {
            let mut meter = meter();
            lines.read(&mut meter, by, cpu, n, Instant::ZERO);
            assert_eq!(meter.total(Op::ScanCpu), 1, "each look is counted once");
            meter.so_far_ns()
        };
        assert_eq!([price(a, c, 3), price(a, c, 3), price(b, c, 1)], [3 * LINE, CLEAN, CLEAN]);
        assert_eq!([price(d, c, 3), price(d, c, 3)], [SOCKET, CLEAN]);
        lines.change(a, c, Instant::ZERO);
        let mut price = |by, cpu, n| {
            let mut meter = meter();
            lines.read(&mut meter, by, cpu, n, Instant::ZERO);
            meter.so_far_ns()
        };
        assert_eq!([price(b, c, 1), price(c, c, 1), price(d, c, 1)], [CLEAN, LINE, SOCKET]);
    }

    /// Where every look costs the same, as in an emulator, only that one price is set.
    #[test]
    fn a_look_never_costs_less_than_a_clean_one() {
        let mut lines = RqLines::new();
        lines.track(&machine(), false);
        let mut prices = [0; Op::COUNT];
        prices[Op::ScanCpu as usize] = 59_000;
        let mut meter = Meter::new(prices);
        lines.read(&mut meter, CpuId::new(0), CpuId::new(2), 3, Instant::ZERO);
        assert_eq!(meter.so_far_ns(), 59);
    }

    /// What a look at a run queue of which each CPU but the looker has changed something `ago` ns before costs for that.
    fn contention(cpus: u32, ago: u64) -> u64 {
        let mut lines = RqLines::new();
        lines.track(&MachineView::flat(cpus as usize + 1, Ns::from_ms(1)), true);
        let [looker, looked_at] = [cpus, 0].map(CpuId::new);
        let now = Instant::from_ns(5_000);
        for by in (0..cpus).chain(0..cpus) {
            lines.change(CpuId::new(by), looked_at, Instant::from_ns(now.ns() - ago));
        }
        let mut meter = meter();
        lines.read(&mut meter, looker, looked_at, 1, now);
        meter.total(Op::ScanContend)
    }

    #[test]
    fn each_further_cpu_of_the_last_microsecond_is_in_the_way_up_to_eight() {
        assert_eq!([1, 2, 8, 9, 40].map(|cpus| contention(cpus, 0)), [1, 2, 8, 8, 8]);
        assert_eq!([999, 1_000].map(|ago| contention(3, ago)), [3, 0]);
    }

    #[test]
    fn who_looks_twice_is_not_in_its_own_way() {
        let mut lines = RqLines::new();
        lines.track(&MachineView::flat(3, Ns::from_ms(1)), true);
        let [a, b, c] = [0, 1, 2].map(CpuId::new);
        let now = Instant::from_ns(5_000);
        let mut contention = |by| {
            lines.version[c] += 1;
            let mut meter = meter();
            lines.read(&mut meter, by, c, 1, now);
            meter.total(Op::ScanContend)
        };
        assert_eq!([a, a, b, a, b].map(&mut contention), [0, 0, 1, 1, 1]);
    }
}
