//! `list domains`: the scheduling domains of a machine under a kernel.

use fairground_machine::Machine;
use fairground_recordings::System;
use fairground_report::{Table, columns};
use fairground_scenario::{Error, Overrides};
use fairground_sched::Profile;
use fairground_sched::seam::DomainNames;
use fairground_sched::topology::{SchedDomain, SdFlags, Topology};
use fairground_stdx::{CpuId, CpuMask, SdId};
use std::path::Path;

/// The machine whose domains are listed unless one is given.
const DEFAULT_MACHINE: &str = "lap8";
/// How many columns the table has.
const COLUMNS: usize = 10;
/// How many groups of a ring are written out.
const SHOWN_GROUPS: usize = 4;

/// The domains of the machine and kernel that the flags name, or of a recorded set; of one CPU only if that is given.
/// What was assumed is added to `notes`.
pub fn domain_table(
    overrides: &Overrides,
    recorded: Option<&Path>,
    cpu: Option<u32>,
    notes: &mut Vec<String>,
) -> Result<Table, Error> {
    let (machine, profile) = subject(overrides, recorded, notes)?;
    let view = machine.view();
    let topology = Topology::build(&profile, &view);
    let cpus: Vec<CpuId> = match cpu {
        None => view.cpus.ids().collect(),
        Some(number) if (number as usize) < view.cpus.len() => vec![CpuId::new(number)],
        Some(number) => {
            let hint = format!("`{}` has CPUs 0 to {}.", machine.name, view.cpus.len() - 1);
            return Err(Error::one("--cpu", format!("there is no CPU {number}"), hint));
        }
    };
    Ok(table(&format!("{}, {}", machine.name, profile.name), &topology, profile.domain_names, &cpus))
}

fn subject(overrides: &Overrides, recorded: Option<&Path>, notes: &mut Vec<String>) -> Result<(Machine, Profile), Error> {
    let (machine, profile) = match recorded {
        Some(folder) => {
            let system = System::find(folder)?;
            (system.machine(overrides, notes)?, system.profile(notes)?)
        }
        None => (preset(DEFAULT_MACHINE)?, crate::lists::profile(Profile::DEFAULT)?),
    };
    let machine = overrides.machine(Some(machine.clone()), notes)?.unwrap_or(machine);
    let profile = overrides.profile(Some(profile.clone()))?.unwrap_or(profile);
    Ok((machine, profile))
}

fn preset(name: &str) -> Result<Machine, Error> {
    Machine::preset(name).map_err(|wrong| Error::input("--machine", "", wrong))
}

fn table(title: &str, topology: &Topology, names: DomainNames, cpus: &[CpuId]) -> Table {
    let columns = columns![
        left "CPUs" "cpus", left "domain", left "span", right "weight", right "pct" "imbalance_pct",
        right "tries" "cache_nice_tries", right "idle" "interval_idle", right "busy" "interval_busy",
        left "groups, own first" "groups", left "flags",
    ];
    let mut table = Table::new("domains", title, columns);
    for (owners, chain) in folded(topology, cpus) {
        if chain.is_empty() {
            let mut row = vec![owners.to_string().into(), "none".into()];
            row.resize_with(COLUMNS, || "".into());
            table.push(row);
        }
        for id in chain {
            let sd = &topology.domains[id];
            table.push(vec![
                owners.to_string().into(),
                sd.level.debugfs_name(names).into(),
                sd.span.to_string().into(),
                sd.span_weight.to_string().into(),
                sd.imbalance_pct.to_string().into(),
                sd.cache_nice_tries.to_string().into(),
                topology.get_sd_balance_interval(id, false).to_string().into(),
                topology.get_sd_balance_interval(id, true).to_string().into(),
                groups(topology, id).into(),
                flags(sd, names).into(),
            ]);
        }
    }
    table
}

/// CPUs whose chains are the same but for the group in which they enter the rings, with the chain of the first.
fn folded(topology: &Topology, cpus: &[CpuId]) -> Vec<(CpuMask, Vec<SdId>)> {
    let mut rows: Vec<(CpuMask, Vec<SdId>)> = Vec::new();
    for &cpu in cpus {
        let chain: Vec<SdId> = topology.domains_of(cpu).collect();
        let same = |other: &Vec<SdId>| {
            let pairs = || chain.iter().zip(other).map(|(&a, &b)| (&topology.domains[a], &topology.domains[b]));
            chain.len() == other.len() && !chain.is_empty() && pairs().all(|(a, b)| a.span == b.span && a.flags == b.flags)
        };
        match rows.iter_mut().find(|row| same(&row.1)) {
            Some(row) => row.0.insert(cpu),
            None => rows.push((CpuMask::only(cpu), chain)),
        }
    }
    rows
}

fn groups(topology: &Topology, sd: SdId) -> String {
    let all: Vec<String> = topology.groups_of(sd).map(|group| format!("{{{}}}", topology.groups[group].span)).collect();
    let more = all.len().saturating_sub(SHOWN_GROUPS);
    let shown = all.iter().take(SHOWN_GROUPS).map(String::as_str).collect::<Vec<_>>().join(" ");
    if more == 0 { shown } else { format!("{shown} and {more} more") }
}

/// The flags as debugfs shows them, without the prefix that all have.
fn flags(sd: &SchedDomain, names: DomainNames) -> String {
    let name = |flag: &'static str| if flag == "SD_SHARE_LLC" { names.share_llc() } else { flag };
    let set = SdFlags::ALL.iter().filter(|row| sd.flags.has(row.1)).map(|row| name(row.0).trim_start_matches("SD_"));
    set.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(machine: &str, profile: &str, cpu: Option<u32>) -> Vec<String> {
        let overrides = Overrides { machine: Some(machine.into()), profile: Some(profile.into()), ..Overrides::default() };
        let table = domain_table(&overrides, None, cpu, &mut Vec::new()).unwrap();
        table.to_string().lines().map(str::to_string).collect()
    }

    #[test]
    fn equal_chains_are_folded() {
        let lines = lines("hikey", "v4.12", None).join("\n");
        assert_eq!(lines.matches("MC").count(), 2, "{lines}");
        assert!(lines.contains("{0-3} {4-7}") && lines.contains("{4-7} {0-3}"), "{lines}");
        assert!(lines.contains("SHARE_PKG_RESOURCES") && lines.contains("LOAD_BALANCE"), "{lines}");
    }

    #[test]
    fn one_cpu_and_none() {
        let lines = lines("spr-2x56", "v6.14", Some(167)).join("\n");
        assert!(lines.contains("NUMA") && lines.contains("and 52 more") && !lines.contains("PKG "), "{lines}");
        let overrides = Overrides { machine: Some("smp-2".into()), ..Overrides::default() };
        let error = domain_table(&overrides, None, Some(2), &mut Vec::new()).unwrap_err();
        assert!(error.to_string().contains("there is no CPU 2"), "{error}");
    }

    #[test]
    fn what_an_importer_assumed_is_said() {
        let mut notes = Vec::new();
        let overrides = Overrides { machine: Some("l3:1 core:2 pu:1(indexes=0,5)".into()), ..Overrides::default() };
        let table = domain_table(&overrides, None, None, &mut notes).unwrap();
        assert!(table.to_string().contains("0-1"), "{table}");
        let gaps =
            "--machine: CPU numbers have gaps (CPUs that are offline): CPUs 0 to 1 of the machine are 0, 5 there".to_string();
        assert_eq!(notes, [gaps]);
    }

    #[test]
    fn a_machine_of_one_cpu_has_none() {
        assert!(lines("smp-1", "v6.1", None).join("\n").contains("none"));
    }
}
