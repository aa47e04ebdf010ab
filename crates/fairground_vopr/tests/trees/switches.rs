//! Every switch of a kernel's own scheduler and of ours: time, CPU, tasks, vruntime and util_avg of both tasks.

use super::builds::core;
use super::differ::profile;
use super::driver::{Driver, Job};
use super::ours;
use fairground_model::features::Feat;

const MS: u64 = 1_000_000;
const LENGTH_NS: u64 = 2_000 * MS;

const KERNELS: [&str; 4] = ["5.10", "6.1", "6.12", "7.2"];

fn hog(nice: i8) -> Job {
    Job { nice, run_ns: u64::MAX, sleep_ns: 0 }
}

/// Runs both; the answer is how many switches the longer run has, and how many are equal from the first on.
fn compare(series: &str, jobs: &[Job], cpus: u32) -> (usize, usize) {
    let profile = profile(series);
    let mut driver = Driver::new(core(series), cpus);
    if driver.core.has_feature("NI_RANDOM").is_some() {
        driver.core.feature("NI_RANDOM", false).unwrap();
    }
    // In a tree the default follows from the architecture's timers, in ours it is a fact of the profile.
    driver.core.feature("HRTICK", profile.feats.has(Feat::HRTICK)).unwrap();
    let ours = ours::simulation(profile, jobs, cpus as usize, LENGTH_NS);
    for cpu in 0..cpus {
        begin_as(&mut driver, &ours, cpu);
    }
    driver.start(jobs);
    driver.run(LENGTH_NS);
    let (ours, woken) = ours::switches(ours);
    let same = driver.switches.iter().zip(&ours).take_while(|(theirs, ours)| theirs == ours).count();
    let (theirs, longest) = (driver.switches, same.saturating_sub(3));
    if same < theirs.len().max(ours.len()) {
        eprintln!("{series}: first difference at switch {same} of {} and {}", theirs.len(), ours.len());
        let place = driver.wakeups.iter().zip(&woken).find(|(theirs, ours)| theirs != ours);
        eprintln!("  first wake-up that differs (ns, task, CPU), kernel and ours: {place:?}");
        for (name, list) in [("kernel", &theirs), ("ours", &ours)] {
            list.iter().skip(longest).take(5).for_each(|switch| eprintln!("  {name:6} {switch:?}"));
        }
    }
    (theirs.len().max(ours.len()), same)
}

/// A run of ours begins in the middle of a machine's life: domains were balanced before it, and searches may look at all.
fn begin_as(driver: &mut Driver, ours: &fairground_sim::Simulation, cpu: u32) {
    let (sched, id) = (ours.sched(), fairground_stdx::CpuId::new(cpu));
    let mut domain = sched.topology().cpus[id].base;
    let mut level = 0;
    while let Some(sd) = domain {
        let row = &sched.topology().domains[sd];
        let boot = driver.core.domain(cpu, level).unwrap().last_balance;
        let scan = sched.nr_idle_scan(id);
        driver.core.set_domain(cpu, level, boot.wrapping_add_signed(row.last_balance), scan).unwrap();
        (domain, level) = (row.parent, level + 1);
    }
    assert_eq!(driver.core.domain(cpu, level), None, "as many domains as ours");
}

#[test]
fn three_hogs_on_one_cpu_switch_alike() {
    for series in KERNELS {
        let (switches, same) = compare(series, &[hog(0), hog(0), hog(5)], 1);
        assert!(same == switches && same >= 250, "{series}: {same} of {switches}");
    }
}

#[test]
fn ten_hogs_on_four_cpus_switch_alike() {
    let jobs: Vec<Job> = (0..10).map(|_| hog(0)).collect();
    for series in KERNELS {
        let (switches, same) = compare(series, &jobs, 4);
        assert!(same == switches && same >= 500, "{series}: {same} of {switches}");
    }
}

#[test]
fn ten_sleepers_on_four_cpus_switch_alike() {
    let job = |row: u64| Job { nice: 0, run_ns: 200_000 + 37_123 * row, sleep_ns: 500_000 + 61_357 * row };
    let jobs: Vec<Job> = (0..10).map(job).collect();
    for series in &KERNELS[..3] {
        let (switches, same) = compare(series, &jobs, 4);
        assert!(same == switches && same >= 20_000, "{series}: {same} of {switches}");
    }
}
