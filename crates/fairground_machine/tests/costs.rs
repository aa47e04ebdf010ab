//! Price lists: what they sum to, how they scale, how they are read.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may stop where it likes")]

use fairground_machine::cost::{CostModel, PIPE_HOP};
use fairground_machine::{Machine, machine_file};
use fairground_model::{CostClass, Op};
use fairground_stdx::CpuId;

fn list(name: &str) -> CostModel {
    CostModel::preset(name).unwrap()
}
fn pipe_hop_ns(model: &CostModel) -> u64 {
    PIPE_HOP.iter().map(|&(op, n)| model.price_ps(op) * n).sum::<u64>() / 1000
}

#[test]
fn every_price_has_a_source() {
    for name in CostModel::names() {
        let model = list(name);
        assert_eq!(model.name, name);
        assert!(!model.description.is_empty(), "{name}");
        for &op in Op::ALL {
            assert!(model.source(op).len() > 4, "{name} {}", op.key());
        }
    }
    assert!(list("xeon-spr").is_guess(Op::Tick) && !list("xeon-spr").is_guess(Op::MmSwitch));
}

#[test]
fn zero_and_unit_are_exact() {
    assert_eq!(list("zero").prices_ps, [0; Op::COUNT]);
    assert_eq!(list("unit").prices_ps, [1_000_000; Op::COUNT]);
}

/// A hop on one CPU. That the board makes the published number of round trips, on two CPUs, is shown by
/// `perf_bench_pipe_makes_the_published_round_trips_on_hikey` in `fairground_sim/tests/hop_prices.rs`.
#[test]
fn a_pipe_hop_takes_what_was_published() {
    assert_eq!(pipe_hop_ns(&list("a53")), 4_940);
    // 2.93 µs on one CPU of a guest, ± 3 %.
    assert!((2_842..=3_018).contains(&pipe_hop_ns(&list("kvm-guest"))), "{}", pipe_hop_ns(&list("kvm-guest")));
    let guest = list("kvm-guest");
    assert_eq!((guest.price_ps(Op::IpiFlight), guest.price_ps(Op::IdleExit)), (6_000_000, 10_000_000));
}

#[test]
fn the_older_server_is_slower_at_cpu_work() {
    let (new, old) = (list("xeon-spr"), list("xeon-bdw"));
    for &op in Op::ALL.iter().filter(|&&op| op.is_cpu_work() && !matches!(op, Op::Syscall | Op::Exception)) {
        assert_eq!(old.price_ps(op), new.price_ps(op) * 5 / 4, "{}", op.key());
    }
    assert_eq!((old.price_ps(Op::Syscall), old.price_ps(Op::Exception)), (60_000, 75_000));
    assert_eq!(old.price_ps(Op::IpiFlight), new.price_ps(Op::IpiFlight));
}

#[test]
fn only_cpu_work_slows_down() {
    let mut machine = Machine::preset("smp-2").unwrap();
    machine.cpus[CpuId::new(1)].capacity = 512;
    machine.cpus[CpuId::new(1)].freq_capacity = 512;
    let full = machine.costs.prices_for(&machine.cpus[CpuId::new(0)]);
    let slow = machine.costs.prices_for(&machine.cpus[CpuId::new(1)]);
    assert_eq!(full, machine.costs.prices_ps);
    for &op in Op::ALL {
        let times = if op.is_cpu_work() { 4 } else { 1 };
        assert_eq!(slow[op as usize], full[op as usize] * times, "{}", op.key());
    }
    let mut meter = machine.costs.meter(&machine.cpus[CpuId::new(1)]);
    meter.count(Op::Tick);
    assert_eq!(meter.take_ps(), 4 * 1_800_000);
}

#[test]
fn single_prices_can_be_changed() {
    let text =
        "cores = 2\n[costs]\npreset = \"zero\"\ntick = \"1.8us\"\nsyscall = { price = \"500ps\", source = \"measured\" }\n";
    let costs = machine_file::parse(text).unwrap().costs;
    assert_eq!((costs.price_ps(Op::Tick), costs.price_ps(Op::Syscall), costs.price_ps(Op::Enqueue)), (1_800_000, 500, 0));
    assert_eq!((costs.source(Op::Tick), costs.source(Op::Syscall)), ("set in the machine file", "measured"));
}

#[test]
fn mistakes_in_prices_are_all_found() {
    let text = "cores = 2\n[costs]\npreset = \"xeon-sqr\"\n";
    let errors = machine_file::parse(text).unwrap_err().to_string();
    assert!(errors.contains("unknown price list `xeon-sqr`") && errors.contains("`xeon-spr`"), "{errors}");
    let text = "cores = 2\n[costs]\npreset = \"zero\"\ntick = 5\nenqueue = \"5\"\nticks = \"1us\"\ndequeue = \"1h\"\nscan = \"-1ns\"\nfork = \"-1ps\"\nexit = {}\n";
    let errors = machine_file::parse(text).unwrap_err();
    let messages: Vec<&str> = errors.0.iter().map(|mistake| mistake.message.as_str()).collect();
    assert_eq!(
        messages,
        [
            "`tick` is 5",
            "`enqueue` is \"5\": a unit is missing",
            "unknown key `ticks`",
            "`dequeue` is \"1h\": too expensive",
            "`scan` is \"-1ns\": a length of time cannot be negative",
            "`fork` is \"-1ps\": a length of time cannot be negative",
            "`exit` has no price",
        ]
    );
    assert!(errors.0.iter().all(|mistake| mistake.span.is_some() && mistake.hint.ends_with(['.', '?'])), "{errors}");
    let errors = machine_file::parse("cores = 1\n[costs]\ntick = \"1us\"\n").unwrap_err().to_string();
    assert!(errors.contains("no price for hrtimer_irq, pick_switch"), "{errors}");
    let errors = machine_file::parse("cores = 1\ncosts = 7\n").unwrap_err().to_string();
    assert!(errors.contains("neither a name nor a table"), "{errors}");
}

#[test]
fn classes_of_a_preset_can_be_multiplied() {
    let text = "cores = 2\n[costs]\nname = \"box\"\npreset = \"xeon-spr\"\nswitch_idle = \"1us\"\n\
                scale = { network = 2.4, switch = { factor = 0.5, source = \"calibrated: so\" }, copy = 3 }\n";
    let costs = machine_file::parse(text).unwrap().costs;
    let spr = list("xeon-spr");
    assert_eq!(costs.name, "box");
    assert_eq!((costs.price_ps(Op::TcpSend1b), costs.price_ps(Op::CopyKib)), (2_640_000, 180_000));
    // What has a price of its own here keeps it.
    assert_eq!((costs.price_ps(Op::PickSwitch), costs.price_ps(Op::SwitchIdle)), (450_000, 1_000_000));
    assert_eq!(costs.source(Op::PickSwitch), format!("{}; x 0.5: calibrated: so", spr.source(Op::PickSwitch)));
    assert_eq!(costs.source(Op::CopyKib), format!("{}; x 3: set in the machine file", spr.source(Op::CopyKib)));
    for &op in Op::ALL.iter().filter(|op| ![CostClass::Network, CostClass::Switch, CostClass::Copy].contains(&op.class())) {
        assert_eq!((costs.price_ps(op), costs.source(op)), (spr.price_ps(op), spr.source(op)), "{}", op.key());
    }
    // The written file reads back as the same machine.
    let machine = machine_file::parse(text).unwrap();
    assert_eq!(machine_file::parse(&machine_file::write(&machine)).unwrap(), machine);
}

#[test]
fn wrong_factors_are_all_found() {
    let text = "cores = 2\n[costs]\npreset = \"xeon-spr\"\ncopy_kib = \"1ns\"\n\
                scale = { networks = 2, copy = 2, switch = -0.5, tick = 2, wakeup = \"2\", scan = {}, life = 999, lock = 1e9 }\n";
    let errors = machine_file::parse(text).unwrap_err();
    let messages: Vec<&str> = errors.0.iter().map(|mistake| mistake.message.as_str()).collect();
    assert_eq!(
        messages,
        [
            "unknown key `networks`",
            "`scale` has `copy`, but every price of that class is given here",
            "`switch` is a number with a fraction",
            "unknown key `tick`",
            "`wakeup` is \"2\"",
            "`scan` has no factor",
            "`fork` x 999 is too expensive: its price is 50000000 ps",
            "`exit` x 999 is too expensive: its price is 25000000 ps",
            "`lock` is a number with a fraction",
        ]
    );
    assert!(errors.0.iter().all(|mistake| mistake.span.is_some() && mistake.hint.ends_with(['.', '?'])), "{errors}");
    let errors = machine_file::parse("cores = 2\n[costs]\npreset = \"zero\"\nscale = 2\n").unwrap_err().to_string();
    assert!(errors.contains("`scale` is 2"), "{errors}");
}
