//! What is read of the host itself: kernel, configuration, load, frequencies.

use super::root::Root;
use fairground_formats::fgr::Host;
use fairground_formats::unpack;
use std::collections::BTreeMap;
use std::fs::File;

/// Longest configuration that is read.
const CONFIG_MAX: u64 = 4 << 20;
/// Where debugfs shows the scheduler's own files.
const DEBUG: &str = "sys/kernel/debug/sched";
/// Where the tunables of older kernels are.
const SYSCTL: &str = "proc/sys/kernel";

/// Reads the host. `cpu_hierarchy` is that of the cpu controller.
pub(super) fn read(root: &Root, cpu_hierarchy: Option<u64>) -> Host {
    let mut not_readable = Vec::new();
    let release = root.line("proc/sys/kernel/osrelease");
    let config = config(root, release.as_deref());
    if config.is_empty() {
        not_readable.push("the kernel's configuration: neither /proc/config.gz nor /boot/config-RELEASE".to_string());
    }
    let is_set = |name: &str| config.get(name).map(|value| value == "y");
    let built = [("none", "PREEMPT_NONE"), ("voluntary", "PREEMPT_VOLUNTARY"), ("full", "PREEMPT"), ("lazy", "PREEMPT_LAZY")];
    let built = built.into_iter().find(|row| is_set(row.1) == Some(true)).map(|row| row.0);
    let preempt = if is_set("PREEMPT_RT") == Some(true) { Some("rt") } else { built };
    let features = root.text(&format!("{DEBUG}/features"));
    if features.is_err() {
        not_readable.push(
            "features, tunables and the preemption in force: /sys/kernel/debug/sched (as root: mount -t debugfs none /sys/kernel/debug)"
                .to_string(),
        );
    }
    Host {
        hz: config.get("HZ").and_then(|hz| hz.parse().ok()),
        preempt: preempt.map(str::to_string),
        preempt_in_force: preempt_in_force(root),
        irq_time_accounting: (!config.is_empty()).then(|| is_set("IRQ_TIME_ACCOUNTING") == Some(true)),
        autogroup: root.line("proc/sys/kernel/sched_autogroup_enabled").map(|line| line == "1"),
        features: features.unwrap_or_default().split_whitespace().map(str::to_string).collect(),
        tunables: tunables(root),
        cpu_hierarchy,
        online: root.line("sys/devices/system/cpu/online"),
        loadavg: root.line("proc/loadavg"),
        stat: root
            .text("proc/stat")
            .unwrap_or_default()
            .lines()
            .filter(|line| line.starts_with("cpu"))
            .map(str::to_string)
            .collect(),
        cpufreq: cpufreq(root),
        hypervisor: is_guest(root),
        release,
        not_readable,
    }
}

/// The configuration by name without `CONFIG_`; empty if it is not readable.
fn config(root: &Root, release: Option<&str>) -> BTreeMap<String, String> {
    let boot = release.map(|release| format!("boot/config-{release}"));
    let bytes = ["proc/config.gz".to_string()].into_iter().chain(boot).find_map(|path| {
        let file = File::open(root.path(&path)).ok()?;
        unpack(file, CONFIG_MAX).ok()
    });
    let text = String::from_utf8_lossy(&bytes.unwrap_or_default()).into_owned();
    let rows = text.lines().filter_map(|line| line.trim().strip_prefix("CONFIG_")?.split_once('='));
    rows.map(|(name, value)| (name.to_string(), value.to_string())).collect()
}

/// The word in brackets of `none voluntary (full) lazy`, or what the command line of the kernel asks for.
fn preempt_in_force(root: &Root) -> Option<String> {
    let shown = root.line(&format!("{DEBUG}/preempt"));
    let chosen =
        shown.as_deref().and_then(|line| line.split_whitespace().find_map(|word| word.strip_prefix('(')?.strip_suffix(')')));
    let asked = root.line("proc/cmdline");
    let asked = asked.as_deref().and_then(|line| line.split_whitespace().find_map(|word| word.strip_prefix("preempt=")));
    chosen.or(asked).map(str::to_string)
}

/// Tunables from debugfs and, in kernels up to v5.12, from sysctl.
fn tunables(root: &Root) -> Vec<(String, String)> {
    let of_debug = root.names(DEBUG).into_iter().map(|name| (format!("{DEBUG}/{name}"), name));
    let of_sysctl = root.names(SYSCTL).into_iter().filter(|name| name.starts_with("sched_"));
    let of_sysctl = of_sysctl.map(|name| (format!("{SYSCTL}/{name}"), name));
    let known = |name: &str| {
        name.ends_with("_ns")
            || name.ends_with("_us")
            || name.ends_with("_ms")
            || name.contains("child_runs_first")
            || name.contains("tunable_scaling")
    };
    let rows = of_debug.chain(of_sysctl).filter(|(_, name)| known(name));
    rows.filter_map(|(path, name)| Some((name, root.line(&path)?))).collect()
}

/// What cpufreq shows of each policy: governor, driver, limits and the frequency of the moment.
fn cpufreq(root: &Root) -> Vec<(String, String)> {
    const FOLDER: &str = "sys/devices/system/cpu/cpufreq";
    let files =
        ["related_cpus", "scaling_driver", "scaling_governor", "scaling_min_freq", "scaling_max_freq", "scaling_cur_freq"];
    let policies = root.names(FOLDER).into_iter().filter(|name| name.starts_with("policy"));
    policies
        .flat_map(|policy| files.map(|file| format!("{policy}/{file}")))
        .filter_map(|path| Some((path.clone(), root.line(&format!("{FOLDER}/{path}"))?)))
        .collect()
}

/// Whether a CPU's flags name a hypervisor; not told where there are no flags, as on Arm.
fn is_guest(root: &Root) -> Option<bool> {
    let text = root.text("proc/cpuinfo").ok()?;
    let flags = text.lines().find(|line| line.starts_with("flags"))?;
    Some(flags.split_whitespace().any(|flag| flag == "hypervisor"))
}
