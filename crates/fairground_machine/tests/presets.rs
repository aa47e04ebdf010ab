//! Every machine preset, against what the machines are known to look like.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may stop where it likes")]

use fairground_machine::{CpuSpec, Machine, presets};
use fairground_stdx::CpuId;
use std::collections::BTreeSet;

fn machine(name: &str) -> Machine {
    Machine::preset(name).unwrap()
}
fn count(machine: &Machine, key: fn(&CpuSpec) -> u32) -> usize {
    machine.cpus.iter().map(key).collect::<BTreeSet<_>>().len()
}

#[test]
fn shapes_are_those_of_the_machines() {
    // name, CPUs, cores, last-level caches, packages, nodes, price list
    let expected = [
        ("fb-16c32t", 32, 16, 1, 1, 1, "xeon-bdw"),
        ("llc112", 112, 56, 1, 1, 1, "xeon-spr"),
        ("spr-2x56", 224, 112, 2, 2, 2, "xeon-spr"),
        ("hikey", 8, 8, 2, 1, 1, "a53"),
        ("box12", 12, 6, 1, 1, 1, "xeon-spr"),
        ("box12-nosmt", 12, 12, 1, 1, 1, "xeon-spr"),
        ("epyc-9654-2s", 384, 192, 24, 2, 2, "epyc"),
        ("epyc-9965-1s", 384, 192, 12, 1, 1, "epyc"),
        ("vm8", 8, 8, 1, 1, 1, "kvm-guest"),
        ("vm8-nollc", 8, 8, 8, 1, 1, "kvm-guest"),
        ("lap8", 8, 4, 1, 1, 1, "xeon-spr"),
        ("juno-r0", 6, 6, 2, 1, 1, "a53"),
        ("sm8150", 8, 8, 1, 1, 1, "a53"),
    ];
    for (name, cpus, cores, llcs, packages, nodes, costs) in expected {
        let machine = machine(name);
        assert_eq!(machine.name, name);
        assert_eq!(machine.cpus.len(), cpus, "{name}");
        assert_eq!(count(&machine, |cpu| cpu.core), cores, "{name}");
        assert_eq!(count(&machine, |cpu| cpu.llc), llcs, "{name}");
        assert_eq!(count(&machine, |cpu| cpu.package), packages, "{name}");
        assert_eq!(count(&machine, |cpu| cpu.node), nodes, "{name}");
        assert_eq!(machine.costs.name, costs, "{name}");
        assert!(machine.cpus.iter().all(|cpu| cpu.freq_capacity == 1024), "{name}");
        let differ = ["juno-r0", "sm8150"].contains(&name);
        assert_eq!(machine.cpus.iter().any(|cpu| cpu.capacity != 1024), differ, "{name}");
        machine.validate().unwrap();
    }
    let listed: Vec<&str> = presets().iter().map(|preset| preset.name).collect();
    assert!(listed.iter().copied().eq(expected.iter().map(|row| row.0).chain(["smp-N"])));
    assert!(presets().iter().all(|preset| !preset.description.is_empty()));
}

#[test]
fn siblings_are_numbered_thread_by_thread() {
    for (name, cpu, siblings) in
        [("fb-16c32t", 5, "5,21"), ("llc112", 0, "0,56"), ("spr-2x56", 0, "0,112"), ("box12", 11, "5,11"), ("hikey", 3, "3")]
    {
        assert_eq!(machine(name).view().cpus[CpuId::new(cpu)].smt.to_string(), siblings, "{name}");
    }
}

#[test]
fn caches_and_distances() {
    let llc = |name, cpu| machine(name).view().cpus[CpuId::new(cpu)].llc.to_string();
    assert_eq!(llc("hikey", 5), "4-7");
    assert_eq!(llc("vm8-nollc", 5), "5");
    assert_eq!(llc("epyc-9654-2s", 0), "0-7,192-199");
    assert_eq!(llc("spr-2x56", 56), "56-111,168-223");
    assert_eq!(machine("spr-2x56").distances, [[10, 21], [21, 10]]);
    assert_eq!(machine("epyc-9654-2s").distances, [[10, 32], [32, 10]]);
    assert_eq!(count(&machine("hikey"), |cpu| cpu.freq_domain), 1);
}

/// Capacity is speed per MHz times the highest frequency, of which the greatest is 1024 (rounded down).
#[test]
fn capacities_follow_from_device_trees() {
    for (name, speeds) in
        [("juno-r0", [578, 1024, 1024, 578, 578, 578].as_slice()), ("sm8150", &[488, 488, 488, 488, 1024, 1024, 1024, 1024])]
    {
        let view = machine(name).view();
        let raw =
            |row: usize| speeds[row] * u64::from(view.policies[view.cpus[CpuId::new(row as u32)].policy.unwrap()].max_khz());
        let most = (0..speeds.len()).map(raw).max().unwrap();
        for (row, cpu) in view.cpus.iter().enumerate() {
            assert_eq!(u64::from(cpu.capacity), raw(row) * 1024 / most, "{name} {row}");
        }
        assert!(view.policies.iter().flat_map(|policy| &policy.opps).all(|opp| opp.power_mw.is_some()), "{name}");
    }
}

#[test]
fn any_number_of_equal_cpus() {
    for cpus in [1, 2, 12, 1024] {
        let machine = machine(&format!("smp-{cpus}"));
        assert_eq!((machine.cpus.len(), count(&machine, |cpu| cpu.llc)), (cpus, 1));
        machine.validate().unwrap();
    }
    for wrong in ["smp-0", "smp-1025", "smp-", "smp-x", "smp--1", "smp-99999999999999999999"] {
        let text = Machine::preset(wrong).unwrap_err().to_string();
        assert!(text.contains("from 1 to 1024"), "{text}");
    }
}

#[test]
fn an_unknown_name_leads_to_near_ones() {
    let hint = |name| Machine::preset(name).unwrap_err().to_string();
    assert!(hint("hikei").contains("`hikey`"), "{}", hint("hikei"));
    assert!(hint("epyc").contains("`epyc-9654-2s` or `epyc-9965-1s`"), "{}", hint("epyc"));
    assert!(hint("toaster").contains("There are: fb-16c32t"), "{}", hint("toaster"));
}
