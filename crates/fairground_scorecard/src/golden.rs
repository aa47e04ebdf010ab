//! The recorded sets: folders `FAMILY/EXPERIMENT`, family `k6.12-hogs-1cpu`, experiment `a_eq3_1`.

use fairground_recordings::RecordedSet;
use fairground_scenario::{Error, Overrides};
use std::fs;
use std::path::{Path, PathBuf};

/// One experiment.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Set {
    /// `k6.12-hogs-1cpu/a_eq3_1`.
    pub name: String,
    /// Its folder.
    pub folder: PathBuf,
    /// Whether its tasks are in groups.
    pub groups: Groups,
    /// Capacities of CPUs that the command line gives, as in `0-3=512,4-7=1024`.
    pub capacities: Option<String>,
}

/// In what groups the tasks of a set are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Groups {
    /// In none but the root group.
    None,
    /// In groups with weights.
    Weights,
    /// In groups of which one at least has a quota.
    Quota,
}

impl Groups {
    /// As `workload.txt` tells: `cg=/cg/A,/cg/B` puts tasks into groups, `cg=/cg` leaves them in the root group, also where groups
    /// are made. `mk NAME WEIGHT 'QUOTA PERIOD'` makes a group with a quota, also in a loop (`do mk …`). `cgroup v1` stands where the
    /// group of a real machine is described; each of these has a quota.
    fn of(workload: &str) -> Groups {
        let commands = || workload.split([';', '\n']).map(|command| command.trim().trim_start_matches("do "));
        let is_limited = |command: &str| command.starts_with("mk ") && command.contains(['\'', '"']);
        let has_quota = commands().any(|command| is_limited(command) || command.starts_with("cgroup v1 "));
        let mut paths = workload.split_whitespace().filter_map(|word| word.strip_prefix("cg=")).flat_map(|list| list.split(','));
        match (paths.any(|path| path.starts_with("/cg/")), has_quota) {
            (_, true) => Groups::Quota,
            (true, false) => Groups::Weights,
            (false, false) => Groups::None,
        }
    }
}

impl Set {
    /// The kernel that was recorded: `6.12`, `6.1 arm64`, `6.18 real`.
    pub fn kernel(&self) -> String {
        let prefix = self.name.split('-').next().unwrap_or_default();
        match (prefix.strip_prefix("karm"), prefix.strip_prefix("real")) {
            (Some(version), _) => format!("{version} arm64"),
            (_, Some(version)) => format!("{version} real"),
            _ => prefix.trim_start_matches('k').to_string(),
        }
    }
    /// The folder above it: `k6.12-hogs-1cpu`.
    fn family(&self) -> &str {
        self.name.split('/').next().unwrap_or_default()
    }
    /// What kind of experiment it is: `hogs-1cpu`.
    pub fn kind(&self) -> &str {
        self.family().split_once('-').map_or(self.family(), |(_, kind)| kind)
    }
    /// Whether it was recorded on a machine of one CPU.
    pub fn one_cpu(&self) -> bool {
        self.kind().ends_with("-1cpu")
    }
    /// Whether its tasks have a period of their own, as in `f_per8`.
    pub fn is_periodic(&self) -> bool {
        self.name.contains("/f_per")
    }
    /// With how many seeds its workload is run: on several CPUs balance draws, and what it draws moves tasks.
    pub fn seeds(&self) -> u64 {
        if self.one_cpu() { 1 } else { 3 }
    }
    /// Whether the lags of kernel threads are worth fitting: beside hundreds of tasks that talk to one another they
    /// decide little.
    pub fn fits_lags(&self) -> bool {
        ["hackbench", "msg", "idle-search", "bandwidth", "weights"].iter().all(|kind| !self.kind().starts_with(kind))
    }
    /// What the folder does not tell: capacities that the command line gives; and a set of a real machine has no `system/`,
    /// but its family's name says its kernel and number of CPUs.
    pub fn overrides(&self) -> Overrides {
        let given = Overrides { capacities: self.capacities.clone(), ..Overrides::default() };
        let described = [Some(self.folder.as_path()), self.folder.parent()];
        if described.into_iter().flatten().any(|place| place.join("system").is_dir()) {
            return given;
        }
        let version = self.kernel().split(' ').next().map(|version| format!("v{version}"));
        let cpus = self.kind().strip_suffix("cpu").map(|cpus| format!("smp-{cpus}"));
        Overrides { profile: version, machine: cpus, ..given }
    }
    /// Why nothing is asked of the set, if so: it is shown only.
    pub fn not_judged(&self) -> Option<&'static str> {
        let real = self.name.starts_with("real");
        real.then_some("a real machine under other load; most records of switches from idle are missing")
    }
    /// Whether it belongs to the fixed small subset: two mixtures on one CPU and three of load tracking, which
    /// every kernel has.
    pub fn is_quick(&self) -> bool {
        let experiment = self.name.rsplit('/').next().unwrap_or_default();
        match self.kind() {
            "hogs-1cpu" => ["a_eq3_1", "a_mix_1"].contains(&experiment),
            "pelt-4cpu" => ["b_ramp", "b_hogper", "b_group"].contains(&experiment),
            _ => false,
        }
    }
}

/// All experiments under a folder of families, by kernel's age and then by name.
pub fn sets(golden: &Path) -> Result<Vec<Set>, Error> {
    let mut sets = Vec::new();
    for family in folders(golden)? {
        for folder in folders(&family)?.into_iter().filter(|folder| RecordedSet::is_set(folder)) {
            let name = |path: &Path| path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
            let file = folder.join("workload.txt");
            let groups = Groups::of(&fs::read_to_string(&file).map_err(|cause| Error::world("read", &file, cause))?);
            sets.push(Set { name: format!("{}/{}", name(&family), name(&folder)), folder, groups, capacities: None });
        }
    }
    if sets.is_empty() {
        let hint = "Give the folder that holds the families of recorded sets.";
        return Err(Error::one(golden.display().to_string(), "there is no recorded set in it", hint));
    }
    sets.sort_by_cached_key(|set| (age(&set.kernel()), set.name.clone()));
    Ok(sets)
}

/// Gives the sets of a family the capacities of `FAMILY:CPUS=CAPACITY,...`.
pub fn give_capacities(sets: &mut [Set], given: &[String]) -> Result<(), Error> {
    for text in given {
        let wrong = |message: String, hint: &str| Error::one("command line", format!("--capacities {text}: {message}"), hint);
        let Some((family, capacities)) = text.split_once(':') else {
            return Err(wrong("no family".into(), "Write it as `--capacities karm6.1-asym:0-3=512,4-7=1024`."));
        };
        let mut its = sets.iter_mut().filter(|set| set.family() == family).peekable();
        if its.peek().is_none() {
            return Err(wrong(format!("there is no family `{family}`"), "Name a folder that holds experiments."));
        }
        its.for_each(|set| set.capacities = Some(capacities.to_string()));
    }
    Ok(())
}

/// A key that puts 5.10 after 5.4, and variants of a kernel after it.
fn age(kernel: &str) -> (Vec<u32>, String) {
    let (version, variant) = kernel.split_once(' ').unwrap_or((kernel, ""));
    (version.split('.').map(|part| part.parse().unwrap_or(u32::MAX)).collect(), variant.to_string())
}

fn folders(path: &Path) -> Result<Vec<PathBuf>, Error> {
    let entries = fs::read_dir(path).map_err(|cause| Error::world("read", path, cause))?;
    let mut folders = Vec::new();
    for entry in entries {
        let path = entry.map_err(|cause| Error::world("read", path, cause))?.path();
        if path.is_dir() {
            folders.push(path);
        }
    }
    Ok(folders)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(name: &str) -> Set {
        Set { name: name.into(), folder: PathBuf::new(), groups: Groups::None, capacities: None }
    }

    #[test]
    fn names_tell_kernel_and_kind() {
        let told = |name: &str| (set(name).kernel(), set(name).kind().to_string());
        assert_eq!(told("k6.12-hogs-1cpu/a_eq3_1"), ("6.12".into(), "hogs-1cpu".into()));
        assert_eq!(told("karm6.1-pelt-4half-4full/b_ramp_half"), ("6.1 arm64".into(), "pelt-4half-4full".into()));
        assert_eq!(told("real6.18-2cpu/a_3on2"), ("6.18 real".into(), "2cpu".into()));
    }

    #[test]
    fn a_set_without_a_system_folder_is_told_by_its_family() {
        let overrides = set("real6.18-2cpu/a_3on2").overrides();
        assert_eq!((overrides.profile.as_deref(), overrides.machine.as_deref()), (Some("v6.18"), Some("smp-2")));
        assert!(set("real6.18-2cpu/a_3on2").not_judged().is_some() && set("k6.18-hogs-1cpu/a_eq2_1").not_judged().is_none());
    }

    #[test]
    fn capacities_are_given_to_all_sets_of_the_family_that_is_named() {
        let mut sets = ["karm6.1-a/x", "karm6.1-a/y", "karm6.1-ab/x"].map(set);
        give_capacities(&mut sets, &["karm6.1-a:0-3=512,4=1024".into()]).unwrap();
        let told = sets.each_ref().map(|set| set.overrides().capacities);
        assert_eq!(told.each_ref().map(Option::as_deref), [Some("0-3=512,4=1024"), Some("0-3=512,4=1024"), None]);
        for (text, part) in [("0-3=512", "no family"), ("karm6.1:0=512", "no family `karm6.1`")] {
            let error = give_capacities(&mut sets, &[text.into()]).unwrap_err().to_string();
            assert!(error.contains(part) && error.contains("hint: "), "{error}");
        }
    }

    #[test]
    fn kernels_are_ordered_by_age() {
        let mut kernels = ["6.12", "6.1 arm64", "5.10", "6.1", "7.2", "6.18 real"];
        kernels.sort_by_key(|kernel| age(kernel));
        assert_eq!(kernels, ["5.10", "6.1", "6.1 arm64", "6.12", "6.18 real", "7.2"]);
    }

    #[test]
    fn the_small_subset_is_fixed() {
        assert!(set("k6.1-hogs-1cpu/a_mix_1").is_quick() && set("k7.2-pelt-4cpu/b_ramp").is_quick());
        assert!(!set("k6.1-hogs-1cpu/a_eq9_1").is_quick() && !set("k6.1-hogs-8cpu/a_9on8").is_quick());
    }

    #[test]
    fn a_folder_without_sets_is_refused() {
        let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
        assert!(sets(&here).unwrap_err().to_string().contains("no recorded set"));
        assert_eq!(sets(&here.join("nowhere")).unwrap_err().exit_code(), 3);
    }

    #[test]
    fn a_workload_tells_in_what_groups_its_tasks_are() {
        let groups = [
            ("trace_on 2000\nwl hog tasks=mk dur=1\n", Groups::None),
            ("cgon; mk A 100; mk B 300\nwl hog tasks=a:0,b:0 cg=/cg/A,/cg/B dur=1\n", Groups::Weights),
            ("cgon; mk A 100; mk A/B 100\nwl msg m=2 cg=/cg\nrmcg\n", Groups::None),
            ("cgon; mk P 100 '200000 100000'; mk P/A 100\n", Groups::Quota),
            ("cgon; mk P 100; mk P/A 100 '200000 100000'\n", Groups::Quota),
            ("cgroup v1 cpu: cfs_period_us 100000, cfs_quota_us 20000\n", Groups::Quota),
            ("cgon; while [ $i -lt 20 ]; do mk G$i 100 \"50000 100000\"; done\n", Groups::Quota),
        ];
        for (workload, expected) in groups {
            assert_eq!(Groups::of(workload), expected, "{workload}");
        }
    }
}
