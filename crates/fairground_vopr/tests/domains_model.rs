//! The core's scheduling domains beside plain lists.

use fairground_model::version::v;
use fairground_sched::Profile;
use fairground_sched::profile::KnownKind;
use fairground_vopr::Case;
use fairground_vopr::reference::domains::compare;

/// Random machines under every kernel whose rules the lists know: from v4.20 on, with CPUs of several capacities
/// from v5.15 on.
#[test]
fn domains_are_those_of_the_rules() {
    let kernels: Vec<Profile> = Profile::known()
        .into_iter()
        .filter(|known| known.kind == KnownKind::Modelled)
        .map(|known| Profile::parse(&known.name).unwrap())
        .filter(|profile| profile.base >= v(4, 20))
        .collect();
    let mut wrong = Vec::new();
    for seed in 0..10_000 {
        let machine = Case::random(seed).machine;
        let profile = &kernels[seed as usize % kernels.len()];
        let unequal = machine.cpus.iter().any(|cpu| cpu.capacity != 1024);
        if unequal && profile.base < v(5, 15) {
            continue;
        }
        if let Err(differs) = compare(&machine, profile) {
            wrong.push(format!("seed {seed}, {}: {differs}", profile.name));
        }
    }
    assert!(wrong.is_empty(), "{} machines differ, at first:\n{}", wrong.len(), wrong[..wrong.len().min(40)].join("\n"));
}
