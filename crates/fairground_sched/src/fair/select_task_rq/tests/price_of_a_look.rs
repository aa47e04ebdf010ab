//! What looks at run queues cost by who changed them last.

use super::machine::{TestMachine, cpu};
use fairground_model::{MachineView, Meter, Op};
use fairground_stdx::{Ns, TaskId};

/// The prices of looks in `xeon-spr`.
fn meter() -> Meter {
    let mut prices = [0; Op::COUNT];
    (prices[Op::ScanCpu as usize], prices[Op::ScanDirty as usize]) = (12_000, 150_000);
    Meter::new(prices)
}

/// CPU 0 to 111 are busy, CPU 112 searches, and nobody is in the way of anybody.
fn busy112(kernel: &str) -> TestMachine {
    let mut machine = TestMachine::new(kernel, MachineView::flat(113, Ns::from_ms(1)));
    machine.busy(0..112);
    machine.meter = meter();
    machine.sched.track_lines(&machine.view, false);
    machine
}

/// What looks of CPU 112 at all others cost, ns.
fn walk(machine: &mut TestMachine) -> u64 {
    machine.on(112, |sched, cx| (0..112).for_each(|number| sched.look(cx, cpu(number))));
    machine.meter.take_ps() / 1_000
}

/// Model: 09 T06
#[test]
fn a_look_at_a_cpu_that_changed_costs_more_than_the_next_one() {
    for (kernel, changed) in [("v4.12", 16_800), ("v4.20", 16_800), ("v5.19", 50_400), ("v6.12", 50_400)] {
        let mut machine = busy112(kernel);
        assert_eq!([walk(&mut machine), walk(&mut machine)], [changed, 1_344], "{kernel}");
        // CPU 5 goes idle: one look is expensive again, and reads three lines in any kernel.
        machine.sleep(TaskId::new(5));
        machine.meter.take_ps();
        assert_eq!([walk(&mut machine), walk(&mut machine)], [1_344 - 12 + 450, 1_344], "{kernel}");
    }
}
