//! The trees of control groups, of either version.

use super::root::{Root, first_line, names_of, text_of};
use fairground_formats::fgr::SnapGroup;
use fairground_model::cgroup::weight_to_shares;
use std::path::{Path, PathBuf};

/// Levels below the root that are looked at.
const DEPTH_MAX: usize = 32;
/// Groups that are looked at.
const GROUPS_MAX: usize = 1 << 16;

/// Where the cpu controller is, and its cpusets.
#[derive(Clone, Debug, Default)]
pub(super) struct Hierarchies {
    /// The number that `/proc/PID/cgroup` and events give to the hierarchy of the cpu controller; 0 is cgroup v2.
    pub(super) cpu: Option<u64>,
    cpu_folder: Option<PathBuf>,
    /// The folder of the cpusets of cgroup v1.
    cpuset_folder: Option<PathBuf>,
}

impl Hierarchies {
    /// Finds them among the mounts.
    pub(super) fn find(root: &Root) -> Hierarchies {
        let mounts = root.text("proc/self/mounts").unwrap_or_default();
        let rows: Vec<Vec<&str>> = mounts.lines().map(|line| line.split(' ').collect()).collect();
        // The kernel writes blanks in paths as \040.
        let folder = |row: &Vec<&str>| row.get(1).map(|path| root.path(&path.replace("\\040", " ")));
        let v1 = |controller: &str| {
            let has = |row: &&Vec<&str>| {
                row.get(2) == Some(&"cgroup") && row.get(3).is_some_and(|all| all.split(',').any(|one| one == controller))
            };
            rows.iter().find(has).and_then(folder)
        };
        let v2 = rows.iter().find(|row| row.get(2) == Some(&"cgroup2")).and_then(folder);
        match v1("cpu") {
            Some(cpu) => Hierarchies { cpu: number_of(root, "cpu"), cpu_folder: Some(cpu), cpuset_folder: v1("cpuset") },
            None => Hierarchies { cpu: v2.is_some().then_some(0), cpu_folder: v2, cpuset_folder: v1("cpuset") },
        }
    }
    /// The path of a task's group in the hierarchy of the cpu controller, from its `cgroup` file.
    pub(super) fn path_of(&self, cgroup: &str) -> Option<String> {
        let number = self.cpu?.to_string();
        cgroup.lines().find_map(|line| {
            let (hierarchy, rest) = line.split_once(':')?;
            let (_, path) = rest.split_once(':')?;
            (hierarchy == number).then(|| path.to_string())
        })
    }
    /// All groups that have the cpu controller, and the cpusets of cgroup v1.
    pub(super) fn groups(&self) -> Vec<SnapGroup> {
        let mut found = Vec::new();
        if let Some(folder) = &self.cpu_folder {
            walk(folder, "", DEPTH_MAX, &mut |folder, path| found.extend(cpu_group(folder, path)));
        }
        if let Some(folder) = &self.cpuset_folder {
            walk(folder, "", DEPTH_MAX, &mut |folder, path| {
                let cpus = first(folder, "cpuset.effective_cpus").or_else(|| first(folder, "cpuset.cpus"));
                found.extend(cpus.map(|cpus| SnapGroup {
                    path: path.to_string(),
                    is_cpuset: true,
                    cpus: Some(cpus),
                    ..SnapGroup::default()
                }));
            });
        }
        found
    }
}

/// The number of the hierarchy that has a controller, as this process is shown it.
fn number_of(root: &Root, controller: &str) -> Option<u64> {
    let text = root.text("proc/self/cgroup").ok()?;
    text.lines().find_map(|line| {
        let mut parts = line.splitn(3, ':');
        let (number, controllers) = (parts.next()?, parts.next()?);
        controllers.split(',').any(|one| one == controller).then(|| number.parse().ok())?
    })
}

/// Goes through a folder and all below it.
fn walk(folder: &Path, path: &str, depth: usize, visit: &mut dyn FnMut(&Path, &str)) {
    let mut left = GROUPS_MAX;
    descend(folder, path, depth, &mut left, visit);
}

fn descend(folder: &Path, path: &str, depth: usize, left: &mut usize, visit: &mut dyn FnMut(&Path, &str)) {
    if *left == 0 {
        return;
    }
    *left -= 1;
    visit(folder, if path.is_empty() { "/" } else { path });
    if depth == 0 {
        return;
    }
    for name in names_of(folder) {
        let inside = folder.join(&name);
        // A link would lead elsewhere.
        if inside.symlink_metadata().is_ok_and(|found| found.is_dir()) {
            descend(&inside, &format!("{path}/{name}"), depth - 1, left, visit);
        }
    }
}

fn first(folder: &Path, file: &str) -> Option<String> {
    first_line(&text_of(&folder.join(file)).ok()?)
}

fn number(folder: &Path, file: &str) -> Option<u64> {
    first(folder, file)?.parse().ok()
}

/// A group with the cpu controller; the root of cgroup v2 has no files of its own.
fn cpu_group(folder: &Path, path: &str) -> Option<SnapGroup> {
    let shares = number(folder, "cpu.shares").or_else(|| number(folder, "cpu.weight").map(weight_to_shares));
    if shares.is_none() && path != "/" {
        return None;
    }
    let max = first(folder, "cpu.max");
    let mut max = max.as_deref().unwrap_or_default().split_whitespace();
    let (quota, period) = (max.next().and_then(|quota| quota.parse().ok()), max.next().and_then(|period| period.parse().ok()));
    let stat = text_of(&folder.join("cpu.stat")).unwrap_or_default();
    Some(SnapGroup {
        path: path.to_string(),
        is_cpuset: false,
        shares,
        idle: number(folder, "cpu.idle") == Some(1),
        // cgroup v1 shows -1 for no quota, which is no such number.
        quota_us: quota.or_else(|| number(folder, "cpu.cfs_quota_us")),
        period_us: period.or_else(|| number(folder, "cpu.cfs_period_us")),
        burst_us: number(folder, "cpu.max.burst").or_else(|| number(folder, "cpu.cfs_burst_us")),
        cpus: first(folder, "cpuset.cpus.effective"),
        uclamp: first(folder, "cpu.uclamp.min").zip(first(folder, "cpu.uclamp.max")),
        stat: stat
            .lines()
            .filter_map(|line| line.split_once(' '))
            .map(|(name, value)| (name.to_string(), value.to_string()))
            .collect(),
    })
}
