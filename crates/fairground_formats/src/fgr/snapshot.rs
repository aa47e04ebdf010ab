//! What was read of a host at one moment.

use super::json::{self, Members, flag, number, object, of_pairs, of_texts, pairs, signed, text, texts};
use fairground_model::cgroup::{check_path, clamped_shares, parent};
use fairground_model::{CpuMax, DEFAULT_SHARES, Policy, RtPriority, TaskGroupSpec, UtilClamp};
use fairground_stdx::{CpuMask, IndexVec, Ns, TgId};
use serde_json::Value;
use std::collections::BTreeMap;

/// Groups that are made of a snapshot.
const GROUPS_MAX: usize = 4096;

/// A host at one moment.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Snapshot {
    /// The host itself.
    pub host: Host,
    /// Its CPU groups, autogroups among them, and the cpusets of cgroup v1; in any order.
    pub groups: Vec<SnapGroup>,
    /// Its tasks, each thread by itself.
    pub tasks: Vec<SnapTask>,
    /// Its machine file; empty if sysfs was not readable.
    pub machine: String,
}

/// What a task was given beside its nice value, which records tell.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Settings {
    /// Its policy, if it is another than SCHED_OTHER.
    pub policy: Option<Policy>,
    /// Its own slice.
    pub slice: Option<Ns>,
    /// The clamps that it asks for.
    pub clamp: UtilClamp,
    /// The CPUs that it may use, if not all.
    pub affinity: Option<CpuMask>,
}

/// The host: what is not of one task or one group. `None` = it could not be read.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Host {
    /// `uname -r`.
    pub release: Option<String>,
    /// CONFIG_HZ.
    pub hz: Option<u64>,
    /// The preemption that the kernel was built with: `none`, `voluntary`, `full`, `lazy`, `rt`.
    pub preempt: Option<String>,
    /// The one that is in force, where it can be switched (PREEMPT_DYNAMIC).
    pub preempt_in_force: Option<String>,
    /// CONFIG_IRQ_TIME_ACCOUNTING.
    pub irq_time_accounting: Option<bool>,
    /// kernel.sched_autogroup_enabled.
    pub autogroup: Option<bool>,
    /// The features of the scheduler, with `NO_` before those that are off.
    pub features: Vec<String>,
    /// Tunables by their names, in the unit of their file.
    pub tunables: Vec<(String, String)>,
    /// The number of the hierarchy that has the cpu controller: 0 is cgroup v2.
    pub cpu_hierarchy: Option<u64>,
    /// CPUs on line, as a list.
    pub online: Option<String>,
    /// /proc/loadavg.
    pub loadavg: Option<String>,
    /// Ticks of each CPU by what they went to, as lines of /proc/stat.
    pub stat: Vec<String>,
    /// What cpufreq says of each policy, by file.
    pub cpufreq: Vec<(String, String)>,
    /// Whether the CPU says that it runs under a hypervisor.
    pub hypervisor: Option<bool>,
    /// What could not be read, and why, as sentences.
    pub not_readable: Vec<String>,
}

/// A control group.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SnapGroup {
    /// Its path from the root of its hierarchy; `/autogroup-N` of an autogroup.
    pub path: String,
    /// A cpuset of cgroup v1, which is no CPU group.
    pub is_cpuset: bool,
    /// cpu.shares; of cgroup v2 what cpu.weight comes to.
    pub shares: Option<u64>,
    /// cpu.idle.
    pub idle: bool,
    /// The quota; `None` = no limit.
    pub quota_us: Option<u64>,
    /// The period of the quota.
    pub period_us: Option<u64>,
    /// The burst above the quota.
    pub burst_us: Option<u64>,
    /// The CPUs of its cpuset, as a list.
    pub cpus: Option<String>,
    /// cpu.uclamp.min and cpu.uclamp.max, as their files show them.
    pub uclamp: Option<(String, String)>,
    /// cpu.stat, by line.
    pub stat: Vec<(String, String)>,
}

/// A thread.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SnapTask {
    /// Its id, which traces call pid.
    pub tid: u32,
    /// Its process.
    pub pid: u32,
    /// Its name.
    pub comm: String,
    /// The CPU group that it is in, or its autogroup; `/` is the root group. `None` = not readable.
    pub group: Option<String>,
    /// Its nice value.
    pub nice: Option<i8>,
    /// Its policy as sched(7) numbers it: 0 other, 1 FIFO, 2 RR, 3 batch, 5 idle, 6 deadline, 7 ext.
    pub policy: Option<u64>,
    /// Its real-time priority, 0 of a task of another class.
    pub rt_priority: Option<u64>,
    /// The CPUs that it may use, as a list.
    pub affinity: Option<String>,
    /// Its slice (/proc/PID/sched).
    pub slice_ns: Option<u64>,
    /// The clamps that it asks for, in 1/1024.
    pub uclamp: Option<(u32, u32)>,
    /// When it was started, in ticks of USER_HZ since boot.
    pub start_ticks: Option<u64>,
    /// Whether it is a kernel thread.
    pub kthread: bool,
}

impl Host {
    /// Reads host.json.
    pub(super) fn read(of: &Members) -> Host {
        Host {
            release: text(of, "release"),
            hz: number(of, "hz"),
            preempt: text(of, "preempt"),
            preempt_in_force: text(of, "preempt_in_force"),
            irq_time_accounting: flag(of, "irq_time_accounting"),
            autogroup: flag(of, "autogroup"),
            features: texts(of, "features"),
            tunables: pairs(of, "tunables"),
            cpu_hierarchy: number(of, "cpu_hierarchy"),
            online: text(of, "online"),
            loadavg: text(of, "loadavg"),
            stat: texts(of, "stat"),
            cpufreq: pairs(of, "cpufreq"),
            hypervisor: flag(of, "hypervisor"),
            not_readable: texts(of, "not_readable"),
        }
    }
    /// What host.json holds.
    pub fn json(&self) -> Value {
        object([
            ("release", self.release.clone().map(Value::from)),
            ("hz", self.hz.map(Value::from)),
            ("preempt", self.preempt.clone().map(Value::from)),
            ("preempt_in_force", self.preempt_in_force.clone().map(Value::from)),
            ("irq_time_accounting", self.irq_time_accounting.map(Value::from)),
            ("autogroup", self.autogroup.map(Value::from)),
            ("features", of_texts(&self.features)),
            ("tunables", of_pairs(&self.tunables)),
            ("cpu_hierarchy", self.cpu_hierarchy.map(Value::from)),
            ("online", self.online.clone().map(Value::from)),
            ("loadavg", self.loadavg.clone().map(Value::from)),
            ("stat", of_texts(&self.stat)),
            ("cpufreq", of_pairs(&self.cpufreq)),
            ("hypervisor", self.hypervisor.map(Value::from)),
            ("not_readable", of_texts(&self.not_readable)),
        ])
    }
    /// Ticks of USER_HZ that a hypervisor took from all CPUs since boot, and all ticks: columns of the first line of /proc/stat.
    pub fn steal(&self) -> Option<(u64, u64)> {
        let line = self.stat.iter().find(|line| line.starts_with("cpu "))?;
        let ticks: Vec<u64> = line.split_whitespace().skip(1).filter_map(|number| number.parse().ok()).collect();
        // user nice system idle iowait irq softirq steal; what guests use is part of user and nice.
        Some((*ticks.get(7)?, ticks.iter().take(8).fold(0, |sum, ticks| sum.saturating_add(*ticks))))
    }
}

impl SnapGroup {
    /// Reads a line of groups.jsonl.
    pub(super) fn read(of: &Members) -> Option<SnapGroup> {
        Some(SnapGroup {
            path: text(of, "path")?,
            is_cpuset: flag(of, "cpuset").unwrap_or(false),
            shares: number(of, "shares"),
            idle: flag(of, "idle").unwrap_or(false),
            quota_us: number(of, "quota_us"),
            period_us: number(of, "period_us"),
            burst_us: number(of, "burst_us"),
            cpus: text(of, "cpus"),
            uclamp: text(of, "uclamp_min").zip(text(of, "uclamp_max")),
            stat: pairs(of, "stat"),
        })
    }
    /// A line of groups.jsonl.
    pub fn json(&self) -> Value {
        let (min, max) = self.uclamp.clone().unzip();
        object([
            ("path", Some(Value::from(self.path.clone()))),
            ("cpuset", self.is_cpuset.then_some(Value::from(true))),
            ("shares", self.shares.map(Value::from)),
            ("idle", self.idle.then_some(Value::from(true))),
            ("quota_us", self.quota_us.map(Value::from)),
            ("period_us", self.period_us.map(Value::from)),
            ("burst_us", self.burst_us.map(Value::from)),
            ("cpus", self.cpus.clone().map(Value::from)),
            ("uclamp_min", min.map(Value::from)),
            ("uclamp_max", max.map(Value::from)),
            ("stat", of_pairs(&self.stat)),
        ])
    }
    /// Its limit, if it is one that a kernel takes.
    pub fn limit(&self) -> Option<CpuMax> {
        let us = |number: u64| number.checked_mul(1000).map(Ns);
        let period = self.period_us.map_or(Some(CpuMax::DEFAULT_PERIOD), us)?;
        let quota = match self.quota_us {
            Some(quota) => Some(us(quota)?),
            None => None,
        };
        let burst = self.burst_us.filter(|_| quota.is_some()).map_or(Some(Ns::ZERO), us)?;
        let limit = CpuMax { quota, period, burst };
        limit.check().is_ok().then_some(limit)
    }
}

impl SnapTask {
    /// Reads a line of tasks.jsonl.
    pub(super) fn read(of: &Members) -> Option<SnapTask> {
        let small = |key: &str| number(of, key).and_then(|number| u32::try_from(number).ok());
        Some(SnapTask {
            tid: small("tid")?,
            pid: small("pid")?,
            comm: text(of, "comm")?,
            group: text(of, "group"),
            nice: signed(of, "nice").and_then(|nice| i8::try_from(nice).ok()),
            policy: number(of, "policy"),
            rt_priority: number(of, "rt_priority"),
            affinity: text(of, "affinity"),
            slice_ns: number(of, "slice_ns"),
            uclamp: small("uclamp_min").zip(small("uclamp_max")),
            start_ticks: number(of, "start_ticks"),
            kthread: flag(of, "kthread").unwrap_or(false),
        })
    }
    /// A line of tasks.jsonl.
    pub fn json(&self) -> Value {
        let (min, max) = self.uclamp.unzip();
        json::object([
            ("tid", Some(Value::from(self.tid))),
            ("pid", Some(Value::from(self.pid))),
            ("comm", Some(Value::from(self.comm.clone()))),
            ("group", self.group.clone().map(Value::from)),
            ("nice", self.nice.map(Value::from)),
            ("policy", self.policy.map(Value::from)),
            ("rt_priority", self.rt_priority.map(Value::from)),
            ("affinity", self.affinity.clone().map(Value::from)),
            ("slice_ns", self.slice_ns.map(Value::from)),
            ("uclamp_min", min.map(Value::from)),
            ("uclamp_max", max.map(Value::from)),
            ("start_ticks", self.start_ticks.map(Value::from)),
            ("kthread", self.kthread.then_some(Value::from(true))),
        ])
    }
    /// Its policy, of those whose parameters are readable: a deadline task's are not.
    pub fn policy(&self) -> Option<Policy> {
        let priority = || RtPriority::new(i64::try_from(self.rt_priority?).ok()?);
        match self.policy? {
            0 => Some(Policy::Normal),
            1 => priority().map(Policy::Fifo),
            2 => priority().map(Policy::RoundRobin),
            3 => Some(Policy::Batch),
            5 => Some(Policy::Idle),
            _ => None,
        }
    }
    /// The CPUs that it may use.
    pub fn affinity(&self) -> Option<CpuMask> {
        CpuMask::parse_list(self.affinity.as_deref()?).filter(|mask| !mask.is_empty())
    }
    /// The clamps that differ from those that every task is born with: 0 and 1024.
    pub fn clamp(&self) -> UtilClamp {
        let (min, max) = self.uclamp.unwrap_or((0, fairground_model::CLAMP_MAX));
        let clamp =
            UtilClamp { min: Some(min).filter(|&min| min > 0), max: Some(max).filter(|&max| max < fairground_model::CLAMP_MAX) };
        if clamp.is_valid() { clamp } else { UtilClamp::NONE }
    }
}

impl Snapshot {
    /// The CPU groups as the model has them, parents first, and how many were left out: beyond the 4,096th, or with a path or a
    /// limit that no group can have.
    pub fn specs(&self) -> (IndexVec<TgId, TaskGroupSpec>, u64) {
        let rows: BTreeMap<&str, &SnapGroup> =
            self.groups.iter().filter(|group| !group.is_cpuset).map(|group| (group.path.as_str(), group)).collect();
        let mut specs: IndexVec<TgId, TaskGroupSpec> = IndexVec::new();
        let mut made: BTreeMap<&str, TgId> = BTreeMap::new();
        let mut left_out = 0;
        // A parent's path is the beginning of its children's, so it comes before them.
        for (&path, group) in &rows {
            if path == fairground_model::cgroup::ROOT {
                continue;
            }
            let above = std::iter::successors(parent(path), |path| parent(path)).find_map(|path| made.get(path).copied());
            let limit = group.limit();
            if check_path(path).is_err() || specs.len() >= GROUPS_MAX || limit.is_none() {
                left_out += 1;
                continue;
            }
            let shares = clamped_shares(group.shares.unwrap_or(DEFAULT_SHARES));
            let spec = TaskGroupSpec {
                shares,
                idle: group.idle,
                limit: limit.unwrap_or(CpuMax::UNLIMITED),
                ..TaskGroupSpec::new(path, above)
            };
            made.insert(path, specs.push(spec));
        }
        (specs, left_out)
    }
    /// The tasks by their ids.
    pub fn by_tid(&self) -> BTreeMap<u32, &SnapTask> {
        self.tasks.iter().map(|task| (task.tid, task)).collect()
    }
    /// What tasks were given that differs from what they are born with, by their ids: a policy, a slice of its own, clamps, and CPUs if it
    /// may not use all that are on line. None of the kernel's own threads, which the kernel binds by itself.
    pub fn settings(&self) -> BTreeMap<u32, Settings> {
        let all = self.host.online.as_deref().and_then(CpuMask::parse_list);
        let all = all.unwrap_or_else(|| CpuMask::first_n(CpuMask::CAPACITY));
        let base = self.base_slice_ns();
        let of = |task: &SnapTask| Settings {
            policy: task.policy().filter(|policy| *policy != Policy::Normal),
            slice: task.slice_ns.filter(|slice| base.is_some_and(|base| base != *slice)).map(Ns),
            clamp: task.clamp(),
            affinity: task.affinity().filter(|mask| !all.and(mask).is_empty() && all.and(mask) != all),
        };
        let own = self.tasks.iter().filter(|task| !task.kthread).map(|task| (task.tid, of(task)));
        own.filter(|row| row.1 != Settings::default()).collect()
    }
    /// The slice that most tasks have: the base slice, from which a task with a slice of its own differs.
    pub fn base_slice_ns(&self) -> Option<u64> {
        let mut counts: BTreeMap<u64, u64> = BTreeMap::new();
        self.tasks.iter().filter_map(|task| task.slice_ns).for_each(|slice| *counts.entry(slice).or_default() += 1);
        counts.into_iter().max_by_key(|&(slice, count)| (count, std::cmp::Reverse(slice))).map(|row| row.0)
    }
}
