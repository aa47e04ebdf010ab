//! Every domain that recorded kernels printed is the domain that we build: name, level, intervals, imbalance, flags.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may stop where it likes")]

use fairground_machine::recorded;
use fairground_model::MachineView;
use fairground_sched::Profile;
use fairground_sched::topology::{SchedDomain, SdFlags, Topology};
use fairground_stdx::CpuId;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// What is printed of one domain, by the names of debugfs.
type Printed = BTreeMap<String, String>;

/// The domains in `debug_sched.txt` or, up to 5.12, `sysctl.txt`, by CPU and place.
fn printed(text: &str) -> BTreeMap<(u32, usize), Printed> {
    let mut domains: BTreeMap<(u32, usize), Printed> = BTreeMap::new();
    for line in text.lines() {
        let Some((path, value)) = line.split_once(": ").or_else(|| line.split_once(':')) else { continue };
        let parts: Vec<&str> = path.rsplit('/').take(3).collect();
        let [key, domain, cpu] = parts.as_slice() else { continue };
        let number = |text: &str, prefix| text.strip_prefix(prefix)?.parse::<usize>().ok();
        if let (Some(place), Some(cpu)) = (number(domain, "domain"), number(cpu, "cpu")) {
            domains.entry((cpu as u32, place)).or_default().insert(key.to_string(), value.trim().to_string());
        }
    }
    domains
}

fn profile(uname: &str) -> Profile {
    let version = uname.split_whitespace().find(|word| word.starts_with(|c: char| c.is_ascii_digit())).unwrap();
    let numbers: Vec<&str> = version.split(['.', '-']).collect();
    // Domains have not changed since.
    let name = format!("v{}.{}", numbers[0], numbers[1]);
    Profile::parse(&name).unwrap()
}

fn flags(profile: &Profile, flags: SdFlags) -> BTreeSet<String> {
    let own = |name: &'static str| if name == "SD_SHARE_LLC" { profile.domain_names.share_llc() } else { name };
    SdFlags::ALL.iter().filter(|row| flags.has(row.1)).map(|row| own(row.0).to_string()).collect()
}

fn listed(text: &str) -> BTreeSet<String> {
    text.split_whitespace().map(str::to_string).collect()
}

fn compare(place: &str, profile: &Profile, topology: &Topology, sd: &SchedDomain, printed: &Printed) {
    let same = |key: &str, value: String| {
        if let Some(recorded) = printed.get(key) {
            assert_eq!(*recorded, value, "{place}: {key}");
        }
    };
    same("name", sd.level.debugfs_name(profile.domain_names).to_string());
    same("level", sd.level_index.to_string());
    same("min_interval", sd.min_interval.to_string());
    same("max_interval", sd.max_interval.to_string());
    same("busy_factor", sd.busy_factor.to_string());
    same("imbalance_pct", sd.imbalance_pct.to_string());
    same("cache_nice_tries", sd.cache_nice_tries.to_string());
    assert_eq!(flags(profile, sd.flags), listed(&printed["flags"]), "{place}");
    if let Some(group) = printed.get("groups_flags") {
        assert_eq!(flags(profile, topology.groups[sd.first_group].flags), listed(group), "{place}: groups_flags");
    }
}

/// Compares a folder `system`; returns how many domains it shows.
fn check(system: &Path) -> usize {
    let text = |name: &str| std::fs::read_to_string(system.join(name)).unwrap_or_default();
    let shown = printed(&(text("debug_sched.txt") + "\n" + &text("sysctl.txt")));
    let mut view: MachineView = recorded::parse_topology(&text("topology.txt")).unwrap().machine.view();
    if recorded::has_asymmetric_capacity(&text("debug_sched.txt")) {
        // The topology does not show the device tree of these sets: the first half of the CPUs has half the capacity.
        let half = view.cpus.len() / 2;
        view.cpus.iter_mut().take(half).for_each(|cpu| cpu.capacity = 512);
    }
    let profile = profile(&text("uname.txt"));
    let topology = Topology::build(&profile, &view);
    let built: BTreeMap<(u32, usize), &SchedDomain> = view
        .cpus
        .ids()
        .flat_map(|cpu| topology.domains_of(cpu).enumerate().map(move |(place, sd)| ((cpu.get(), place), sd)))
        .map(|(key, sd)| (key, &topology.domains[sd]))
        .collect();
    let name = system.display();
    assert_eq!(built.keys().collect::<Vec<_>>(), shown.keys().collect::<Vec<_>>(), "{name}: which domains there are");
    for (key, sd) in &built {
        let place = format!("{name}: CPU {} domain {}", key.0, key.1);
        compare(&place, &profile, &topology, sd, &shown[key]);
        assert!(sd.span.contains(CpuId::new(key.0)), "{place}");
    }
    built.len()
}

/// The folders `system` in a folder of sets.
fn systems(sets: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> =
        std::fs::read_dir(sets).unwrap().map(|row| row.unwrap().path().join("system")).filter(|path| path.is_dir()).collect();
    found.sort();
    found
}

#[test]
fn a_sample_of_recorded_domains() {
    let sample = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recorded_domains");
    let counts: Vec<usize> = systems(&sample).iter().map(|system| check(system)).collect();
    assert_eq!(counts, [8, 16, 16, 8, 8]);
}

#[test]
fn all_recorded_domains() {
    let counts: Vec<usize> = systems(&fairground_testing::recordings()).iter().map(|system| check(system)).collect();
    eprintln!("{} domains of {} sets", counts.iter().sum::<usize>(), counts.len());
    assert!(counts.iter().sum::<usize>() > 400, "{counts:?}");
}
