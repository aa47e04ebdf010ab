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
    rows: IndexVec<CpuId, Row>,
    /// By core, then by CPU.
    seen: Vec<u32>,
    /// Who was at each run queue last; empty where nobody pays for that.
    touches: IndexVec<CpuId, Touches>,
}

/// A CPU: its run queue, and who looks from it.
#[derive(Clone, Copy, Debug)]
struct Row {
    version: u32,
    package: u32,
    /// Where the versions that its core has read begin.
    core: usize,
}

/// The last CPUs that have changed the lines of a run queue or fetched them, each of them once, and when: the latest first.
///
/// ```text
///  63                    11 10        0
/// +------------------------+----------+
/// |  at (ns) + 2 * 1 us    |   cpu    |     all in one line; 2 us more, so that a place of nobody is never of late
/// +------------------------+----------+
/// ```
///
/// The first place of nobody ends the list. Mostly the latest has been there too long ago for anybody to ask: then the
/// list begins anew, and nothing but its first two places is read or written.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Touches([u64; TOUCHES]);

const CPU_BITS: u32 = 11;
const NOBODY: u64 = (1 << CPU_BITS) - 1;
const _: () = assert!(CpuMask::CAPACITY as u64 <= NOBODY);

/// When a call is at a run queue, ns: by its clock, which goes on with what it costs.
#[derive(Clone, Copy, Debug)]
struct When {
    /// When the call began. No later call has a clock before that.
    call: u64,
    now: u64,
}

impl When {
    #[inline]
    fn of(cx: &Ctx<'_, '_>) -> When {
        When { call: cx.now.ns(), now: cx.clock().ns() }
    }
    /// The same by the parts of a call of which that is the beginning.
    #[inline]
    fn by(meter: &Meter, call: Instant) -> When {
        When { call: call.ns(), now: call.ns() + meter.so_far_ns() }
    }
}

impl Touches {
    const NONE: Touches = Touches([NOBODY; TOUCHES]);

    /// `by` is there now. Returns how many others have been there lately. The clocks of two calls may differ by what they have
    /// cost so far.
    #[inline]
    fn touch(&mut self, by: CpuId, when: When) -> u64 {
        let own = (when.now + 2 * CONTEND_NS) << CPU_BITS | u64::from(by.get());
        // Nobody who asks from now on has a clock that is within 1 us of the latest.
        if self.0[0] >> CPU_BITS <= when.call + CONTEND_NS {
            [self.0[0], self.0[1]] = [own, NOBODY];
            return 0;
        }
        self.touch_among(own, when)
    }

    /// The same where the latest of the list may count.
    #[inline(never)]
    fn touch_among(&mut self, own: u64, When { call, now }: When) -> u64 {
        // |now - at| < CONTEND_NS in one comparison: what lies ahead of the last instant that counts wraps.
        let last = now + 3 * CONTEND_NS - 1;
        let lately = |touch: u64| last.wrapping_sub(touch >> CPU_BITS) <= 2 * (CONTEND_NS - 1);
        // Up to here nobody who asks from now on counts it. The list ends where such begin, or where nobody is.
        let forgotten = (call + CONTEND_NS) << CPU_BITS | NOBODY;
        let (mut len, mut others, mut place) = (0, 0, TOUCHES);
        for &touch in self.0.iter().take_while(|&&touch| touch > forgotten) {
            let is_own = (touch ^ own) & NOBODY == 0;
            others += u64::from(lately(touch) & !is_own);
            place = if is_own { len } else { place };
            len += 1;
        }
        // Its old place, or one at the end, or that of the one who was there first.
        place = place.min(len).min(TOUCHES - 1);
        if place == len && len + 1 < TOUCHES {
            self.0[len + 1] = NOBODY;
        }
        while place > 0 && self.0[place - 1] < own {
            self.0[place] = self.0[place - 1];
            place -= 1;
        }
        while place + 1 < len && self.0[place + 1] > own {
            self.0[place] = self.0[place + 1];
            place += 1;
        }
        self.0[place] = own;
        others
    }
}

impl RqLines {
    /// A table in which every look costs the same, until changes are tracked.
    pub(crate) fn new() -> RqLines {
        RqLines { tracked: false, rows: IndexVec::new(), seen: Vec::new(), touches: IndexVec::new() }
    }

    /// Tracks changes from now on; no core has seen any run queue yet. `contend`: recent visitors are counted too.
    pub(crate) fn track(&mut self, machine: &MachineView, contend: bool) {
        let first_of_core = |cpu: CpuId| machine.cpus[cpu].smt.first().unwrap_or(cpu);
        self.tracked = true;
        let core = |cpu| first_of_core(cpu).index() * machine.cpus.len();
        let row = |cpu: CpuId| Row { version: 1, package: machine.cpus[cpu].package, core: core(cpu) };
        self.rows = machine.cpus.ids().map(row).collect();
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
            self.change(cx.cpu, cpu, When::of(cx));
        }
    }

    fn change(&mut self, by: CpuId, cpu: CpuId, when: When) {
        self.contend(by, cpu, when);
        let version = &mut self.rows[cpu].version;
        *version = version.wrapping_add(1);
        let version = *version;
        self.seen[self.rows[by].core + cpu.index()] = version;
    }

    /// `by` changes or fetches the lines of `cpu`. Returns how many others have been there lately, where that counts.
    #[inline]
    fn contend(&mut self, by: CpuId, cpu: CpuId, when: When) -> u64 {
        self.touches.get_mut(cpu).map_or(0, |touches| touches.touch(by, when))
    }

    /// Fetches the lines of the run queue of `cpu`, which the caller is about to change.
    pub(crate) fn fetch(&mut self, cx: &mut Ctx<'_, '_>, cpu: CpuId) {
        let others = self.contend(cx.cpu, cpu, When::of(cx));
        cx.meter.count_n(Op::ScanContend, others);
    }

    /// Counts a look at so many lines of the run queue of `cpu`.
    #[inline]
    pub(crate) fn look(&mut self, cx: &mut Ctx<'_, '_>, cpu: CpuId, lines: u64) {
        if !self.tracked {
            return cx.meter.count(Op::ScanCpu);
        }
        self.read(cx.meter, cx.cpu, cpu, lines, cx.now);
    }

    /// The same in a call of `by` that began at `call`, where changes are tracked.
    #[inline(always)]
    pub(crate) fn read(&mut self, meter: &mut Meter, by: CpuId, cpu: CpuId, lines: u64, call: Instant) {
        let (own, row) = (self.rows[by], self.rows[cpu]);
        if std::mem::replace(&mut self.seen[own.core + cpu.index()], row.version) == row.version {
            return meter.count(Op::ScanCpu);
        }
        let others = self.contend(by, cpu, When::by(meter, call));
        if others > 0 {
            meter.count_n(Op::ScanContend, others);
        }
        let (op, n) = match own.package == row.package {
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

    fn at(now: u64) -> When {
        When { call: now, now }
    }

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
        lines.change(a, c, at(0));
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
        let now = 5_000;
        for by in (0..cpus).chain(0..cpus) {
            lines.change(CpuId::new(by), looked_at, When { call: 0, now: now - ago });
        }
        let mut meter = meter();
        lines.read(&mut meter, looker, looked_at, 1, Instant::from_ns(now));
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
        let now = 5_000;
        let mut contention = |by| {
            lines.rows[c].version += 1;
            let mut meter = meter();
            lines.read(&mut meter, by, c, 1, Instant::from_ns(now));
            meter.total(Op::ScanContend)
        };
        assert_eq!([a, a, b, a, b].map(&mut contention), [0, 0, 1, 1, 1]);
    }

    /// Eight places in no order, of which the one who was there first goes: what the list in order stands for.
    #[derive(Clone, Copy)]
    struct Places([Option<(u64, u32)>; TOUCHES]);

    impl Places {
        fn touch(&mut self, by: u32, now: u64) -> u64 {
            let of_others = self.0.iter().flatten().filter(|&&(at, cpu)| at.abs_diff(now) < CONTEND_NS && cpu != by);
            let others = of_others.count() as u64;
            let own = self.0.iter().position(|place| place.is_some_and(|(_, cpu)| cpu == by));
            let first = (0..TOUCHES).min_by_key(|&row| self.0[row]).unwrap_or(0);
            self.0[own.unwrap_or(first)] = Some((now, by));
            others
        }
    }

    proptest::proptest! {
        /// Calls begin one after the other, and each has a clock of its own that goes on with what it costs.
        #[test]
        fn a_list_in_order_forgets_nobody_who_counts(
            calls in proptest::collection::vec((0u64..700, 0u64..2_500, 0u32..11), 1..200)
        ) {
            let (mut list, mut places, mut call) = (Touches::NONE, Places([None; TOUCHES]), 5_000);
            for (later, cost, by) in calls {
                call += later;
                let now = call + cost;
                proptest::prop_assert_eq!(list.touch(CpuId::new(by), When { call, now }), places.touch(by, now));
            }
        }
    }
}
