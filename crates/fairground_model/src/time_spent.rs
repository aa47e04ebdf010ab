//! Where the time of all CPUs of a run went.
//!
//! ```text
//! CPUs * length = tasks' own work + idle + kernel
//! kernel        = sum over operations of count * price + time beyond the prices - work that the end of the run cut off
//! ```

use crate::cost_class::CostClass;
use crate::op::Op;
use fairground_stdx::Ns;

/// How often an operation was counted, and the time that it took in all.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct OpTime {
    /// How often.
    pub count: u64,
    /// How long in all, in picoseconds.
    pub ps: u128,
}

/// Where the time of all CPUs of a run went.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TimeSpent {
    /// Number of CPUs times the length of the run.
    pub all: Ns,
    /// What tasks computed, in user mode and as kernel threads.
    pub tasks: Ns,
    /// Idle CPUs.
    pub idle: Ns,
    /// By operation, in the order of [`Op::ALL`].
    pub ops: [OpTime; Op::COUNT],
    /// Kernel time beyond the prices, in picoseconds: waits, and work that is slower than its price says.
    pub beyond_ps: u128,
    /// What was counted and had not passed when the run ended, in picoseconds.
    pub cut_off_ps: u128,
}

/// What a row of the account stands for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SpentOn {
    /// The tasks' own work.
    Tasks,
    /// Nothing.
    Idle,
    /// An operation.
    Op(Op),
    /// Kernel time beyond the prices.
    Beyond,
    /// What the end of the run cut off: less than nothing.
    CutOff,
}

/// A row of the account.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SpentRow {
    /// What it stands for.
    pub on: SpentOn,
    /// How often, where that is counted.
    pub count: u64,
    /// Time in nanoseconds; only what the end cut off is negative.
    pub ns: i128,
}

impl SpentRow {
    /// The class of its operation, if it is one.
    pub fn class(&self) -> Option<CostClass> {
        match self.on {
            SpentOn::Op(op) => Some(op.class()),
            _ => None,
        }
    }
}

const PSEC_PER_NSEC: i128 = 1000;

impl TimeSpent {
    /// All rows: tasks, idle, operations class by class, the two remainders. Their sum is [`TimeSpent::all`], exactly: each row
    /// of the kernel is the difference of two running sums, each rounded down to a nanosecond.
    pub fn rows(&self) -> Vec<SpentRow> {
        let row = |on, count, ns| SpentRow { on, count, ns };
        let mut rows = vec![row(SpentOn::Tasks, 0, self.tasks.0.into()), row(SpentOn::Idle, 0, self.idle.0.into())];
        let ops = CostClass::ALL.iter().flat_map(|class| class.ops());
        let priced = ops.map(|op| {
            let time = self.ops[op as usize];
            (SpentOn::Op(op), time.count, time.ps as i128)
        });
        let rest = [(SpentOn::Beyond, 0, self.beyond_ps as i128), (SpentOn::CutOff, 0, -(self.cut_off_ps as i128))];
        let mut ps = 0;
        for (on, count, more) in priced.chain(rest) {
            let before_ns = i128::div_euclid(ps, PSEC_PER_NSEC);
            ps += more;
            rows.push(row(on, count, ps.div_euclid(PSEC_PER_NSEC) - before_ns));
        }
        rows
    }
    /// How often the operations of a class were counted, and the time of its rows.
    pub fn class(&self, class: CostClass) -> (u64, i128) {
        let rows = self.rows().into_iter().filter(|row| row.class() == Some(class));
        rows.fold((0, 0), |(count, ns), row| (count + row.count, ns + row.ns))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_add_up_whatever_is_rounded() {
        let mut spent = TimeSpent {
            all: Ns(0),
            tasks: Ns(70),
            idle: Ns(30),
            ops: [OpTime { count: 3, ps: 1_337 }; Op::COUNT],
            beyond_ps: 5_500,
            cut_off_ps: 2_001,
        };
        // The kernel's time is whole ns: the prices' fractions go into what was cut off.
        let kernel_ps = 1_337 * Op::COUNT as u128 + 5_500 - 2_001;
        spent.cut_off_ps += kernel_ps % 1000;
        spent.all = Ns(100 + (kernel_ps / 1000) as u64);
        let rows = spent.rows();
        assert_eq!(rows.iter().map(|row| row.ns).sum::<i128>(), spent.all.0.into());
        assert_eq!(rows.len(), Op::COUNT + 4);
        assert!(rows.iter().all(|row| (row.ns < 0) == (row.on == SpentOn::CutOff)), "{rows:?}");
        let classes: i128 = CostClass::ALL.iter().map(|&class| spent.class(class).1).sum();
        assert_eq!(classes, rows.iter().filter(|row| row.class().is_some()).map(|row| row.ns).sum::<i128>());
    }
}
