//! Which run queues a core has in its own cache: what a look at one costs depends on who changed it last.

use fairground_model::{MachineView, Meter, Op};
use fairground_stdx::{CpuId, Id, IndexVec};

/// A version per run queue, which every change raises, and per core the versions that it read last.
///
/// A look at a run queue that nobody has changed since costs [`Op::ScanCpu`]; else each of its lines comes out of
/// another core's cache ([`Op::ScanDirty`]), or out of another socket's ([`Op::ScanSocket`], for all of them). No look
/// costs less than one at an unchanged queue.
#[derive(Clone, Debug)]
pub(crate) struct RqLines {
    /// Whether anybody pays for it; nothing is kept otherwise.
    tracked: bool,
    version: IndexVec<CpuId, u32>,
    core: IndexVec<CpuId, usize>,
    package: IndexVec<CpuId, u32>,
    /// By core, then by CPU.
    seen: Vec<u32>,
}

impl RqLines {
    /// Nobody pays yet.
    pub(crate) fn new() -> RqLines {
        RqLines { tracked: false, version: IndexVec::new(), core: IndexVec::new(), package: IndexVec::new(), seen: Vec::new() }
    }

    /// From now on changes are followed; no core has seen anything.
    pub(crate) fn track(&mut self, machine: &MachineView) {
        let first_of_core = |cpu: CpuId| machine.cpus[cpu].smt.first().unwrap_or(cpu);
        self.tracked = true;
        self.version = machine.cpus.iter().map(|_| 1).collect();
        self.core = machine.cpus.ids().map(|cpu| first_of_core(cpu).index()).collect();
        self.package = machine.cpus.iter().map(|cpu| cpu.package).collect();
        self.seen = vec![0; machine.cpus.len() * machine.cpus.len()];
    }

    /// Whether looks differ in price.
    #[inline]
    pub(crate) fn tracked(&self) -> bool {
        self.tracked
    }

    /// `by` changes the run queue of `cpu`: its core has the lines, all others have not.
    #[inline]
    pub(crate) fn write(&mut self, by: CpuId, cpu: CpuId) {
        if self.tracked {
            self.version[cpu] = self.version[cpu].wrapping_add(1);
            let row = self.core[by] * self.version.len() + cpu.index();
            self.seen[row] = self.version[cpu];
        }
    }

    /// `by` looks at the run queue of `cpu`, at so many of its lines.
    #[inline]
    pub(crate) fn look(&mut self, meter: &mut Meter, by: CpuId, cpu: CpuId, lines: u64) {
        if !self.tracked {
            return meter.count(Op::ScanCpu);
        }
        let seen = &mut self.seen[self.core[by] * self.version.len() + cpu.index()];
        if std::mem::replace(seen, self.version[cpu]) == self.version[cpu] {
            return meter.count(Op::ScanCpu);
        }
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
        lines.track(&machine());
        let mut price = |by, cpu, n| {
            let mut meter = meter();
            lines.look(&mut meter, by, cpu, n);
            assert_eq!(meter.total(Op::ScanCpu), 1, "each look is counted once");
            meter.so_far_ns()
        };
        assert_eq!([price(a, c, 3), price(a, c, 3), price(b, c, 1)], [3 * LINE, CLEAN, CLEAN]);
        assert_eq!([price(d, c, 3), price(d, c, 3)], [SOCKET, CLEAN]);
        lines.write(a, c);
        let mut price = |by, cpu, n| {
            let mut meter = meter();
            lines.look(&mut meter, by, cpu, n);
            meter.so_far_ns()
        };
        assert_eq!([price(b, c, 1), price(c, c, 1), price(d, c, 1)], [CLEAN, LINE, SOCKET]);
    }

    /// Where every look costs the same, as in an emulator, only that one price is set.
    #[test]
    fn a_look_never_costs_less_than_a_clean_one() {
        let mut lines = RqLines::new();
        lines.track(&machine());
        let mut prices = [0; Op::COUNT];
        prices[Op::ScanCpu as usize] = 59_000;
        let mut meter = Meter::new(prices);
        lines.look(&mut meter, CpuId::new(0), CpuId::new(2), 3);
        assert_eq!(meter.so_far_ns(), 59);
    }
}
