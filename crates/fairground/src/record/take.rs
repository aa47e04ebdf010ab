//! A snapshot of the host, and its files.

use super::groups::Hierarchies;
use super::root::Root;
use super::{host, tasks};
use fairground_formats::fgr::Snapshot;
use fairground_machine::{Machine, machine_file, sysfs};
use fairground_stdx::Ns;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

/// Ticks per second with which kernels are built.
const HZ: std::ops::RangeInclusive<u64> = 24..=1200;

/// Reads the host as it is now.
pub fn take(root: &Root) -> Snapshot {
    let hierarchies = Hierarchies::find(root);
    let mut host = host::read(root, hierarchies.cpu);
    let mut groups = hierarchies.groups();
    let (tasks, autogroups) = tasks::read(root, &hierarchies, &groups, host.autogroup == Some(true));
    groups.extend(autogroups);
    if hierarchies.cpu.is_none() {
        host.not_readable.push("control groups: neither cgroup2 nor the cpu controller of cgroup v1 is mounted".to_string());
    }
    if tasks.iter().all(|task| task.slice_ns.is_none()) {
        host.not_readable
            .push("slices of tasks: /proc/PID/sched (CONFIG_SCHED_DEBUG, the same user or root; from v6.6 on)".to_string());
    }
    let machine = match sysfs::capture(&|path: &str| root.text(path).ok()) {
        Ok(found) => machine_file::write(&with_host(found.machine, host.hz, host.irq_time_accounting)),
        Err(wrong) => {
            let why = wrong.0.first().map_or_else(String::new, |mistake| mistake.message.clone());
            host.not_readable.push(format!("the machine: {why}"));
            String::new()
        }
    };
    Snapshot { host, groups, tasks, machine }
}

/// The machine with what the kernel's configuration tells.
fn with_host(mut machine: Machine, hz: Option<u64>, irq_time_accounting: Option<bool>) -> Machine {
    if let Some(hz) = hz.filter(|hz| HZ.contains(hz)) {
        machine.hz = hz as u32;
        machine.tick = Ns((1_000_000_000 + hz / 2) / hz);
    }
    machine.irq_time_accounting = irq_time_accounting.unwrap_or(machine.irq_time_accounting);
    machine
}

/// Writes a snapshot as files of a folder that is made for it.
pub(super) fn write(snapshot: &Snapshot, folder: &Path) -> io::Result<()> {
    std::fs::create_dir(folder)?;
    let rows = |name: &str, rows: &mut dyn Iterator<Item = serde_json::Value>| -> io::Result<()> {
        let mut out = BufWriter::new(File::create(folder.join(name))?);
        for row in rows {
            writeln!(out, "{row}")?;
        }
        out.flush()
    };
    std::fs::write(folder.join("host.json"), format!("{:#}\n", snapshot.host.json()))?;
    rows("groups.jsonl", &mut snapshot.groups.iter().map(fairground_formats::fgr::SnapGroup::json))?;
    rows("tasks.jsonl", &mut snapshot.tasks.iter().map(fairground_formats::fgr::SnapTask::json))?;
    // Empty where the machine is not known.
    std::fs::write(folder.join("machine.toml"), &snapshot.machine)
}
