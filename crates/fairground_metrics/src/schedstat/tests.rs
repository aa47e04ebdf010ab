use super::*;
use fairground_model::{CpuStat, DomainStat, LbStats, RqStats, SchedStat, SdStats};
use fairground_stdx::{CpuId, CpuMask};

/// Two CPUs with a domain; every counter is `count`.
fn snapshot(timestamp: u64, count: u64) -> SchedStat {
    let cpu = |cpu| CpuStat {
        cpu: CpuId::new(cpu),
        stats: RqStats::from_numbers([count; 8]),
        legacy: 0,
        added: vec![count; 4],
        domains: vec![DomainStat {
            name: Some("MC".into()),
            span: CpuMask::first_n(2),
            stats: SdStats::from_numbers([LbStats::from_numbers([count; 11]); 3], [count; 6]),
            unused: [0; 6],
        }],
    };
    SchedStat { timestamp, nr_cpu_ids: 2, cpus: (0..2).map(cpu).collect() }
}

#[test]
fn every_counter_is_subtracted() {
    let made = difference(&snapshot(10, 4), &snapshot(35, 11)).unwrap();
    assert_eq!((made.stat, made.notes), (snapshot(25, 7), Vec::new()));
}

#[test]
fn counters_of_32_bits_wrap_around() {
    let (mut before, mut after) = (snapshot(0, 5), snapshot(9, 5));
    before.cpus[0].stats.sched_count = u64::from(u32::MAX) - 1;
    after.cpus[0].stats.sched_count = 3;
    before.cpus[0].domains[0].stats.lb[1].imbalance[0] = u64::from(u32::MAX);
    after.cpus[0].domains[0].stats.lb[1].imbalance[0] = 0;
    let made = difference(&before, &after).unwrap();
    assert_eq!((made.stat.cpus[0].stats.sched_count, made.notes.len()), (5, 0));
    assert_eq!(made.stat.cpus[0].domains[0].stats.lb[1].imbalance[0], 1);
}

#[test]
fn a_domain_that_was_built_anew_counts_from_then_on() {
    let (before, mut after) = (snapshot(0, 5), snapshot(9, 8));
    after.cpus[1].domains[0].stats.lb[0].count = 2;
    after.cpus[0].domains[0].span = CpuMask::first_n(1);
    let made = difference(&before, &after).unwrap();
    assert_eq!(made.stat.cpus[1].domains, after.cpus[1].domains);
    assert_eq!(made.stat.cpus[0].domains, after.cpus[0].domains);
    assert_eq!(made.notes.len(), 2, "{:?}", made.notes);
    assert!(made.notes[1].starts_with("domain0 of cpu1 was built anew"), "{:?}", made.notes);
}

/// A text that ends with the line of a CPU is a whole one to the reader: only the first snapshot tells what it lacks.
#[test]
fn a_domain_that_is_gone_is_told() {
    let (mut before, mut after) = (snapshot(0, 5), snapshot(9, 8));
    let upper = before.cpus[0].domains[0].clone();
    before.cpus[0].domains.push(upper);
    after.cpus[1].domains.clear();
    let made = difference(&before, &after).unwrap();
    assert_eq!(made.stat.cpus.iter().map(|cpu| cpu.domains.len()).collect::<Vec<_>>(), [1, 0]);
    let expected = [
        "domain1 of cpu0 is not in the second snapshot and left out",
        "domain0 of cpu1 is not in the second snapshot and left out",
    ];
    assert_eq!(made.notes, expected);
}

#[test]
fn what_cannot_be_compared_is_told() {
    let older = difference(&snapshot(9, 1), &snapshot(3, 1)).unwrap_err();
    assert_eq!(older, "the second snapshot is of jiffy 3, the first one of 9");
    let back = difference(&snapshot(1, 7), &snapshot(3, 6)).unwrap_err();
    assert!(back.starts_with("the counters of cpu0 went back"), "{back}");
    let mut plain = snapshot(3, 1);
    plain.cpus.iter_mut().for_each(|cpu| cpu.added.clear());
    assert_eq!(difference(&snapshot(1, 1), &plain).unwrap_err(), "the lines of cpu0 hold 13 and 9 numbers");
    let mut one = snapshot(3, 1);
    one.cpus.remove(0);
    let notes = |before: &SchedStat, after: &SchedStat| difference(before, after).unwrap().notes;
    assert_eq!(notes(&snapshot(1, 1), &one), ["cpu0 is not in the second snapshot and left out"]);
    assert_eq!(notes(&one, &snapshot(5, 1)), ["cpu0 is not in the first snapshot and left out"]);
}

#[test]
fn sums_are_over_cpus_and_by_level() {
    let mut stat = snapshot(1, 3);
    stat.cpus[1].domains.clear();
    assert_eq!(total_of_cpus(&stat), RqStats::from_numbers([6; 8]));
    let levels = total_by_level(&stat);
    assert_eq!((levels.len(), levels[0].domains, levels[0].name.as_deref()), (1, 1, Some("MC")));
    assert_eq!(levels[0].stats, SdStats::from_numbers([LbStats::from_numbers([3; 11]); 3], [3; 6]));
}
