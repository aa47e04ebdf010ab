//! The machine of a running Linux, from the files under /sys/devices/system.

use crate::import::{FoundCpu, FoundDistances, Imported, build};
use crate::machine::CAPACITY_SCALE;
use crate::suggest::clip;
use crate::validate::MAX_CPUS;
use fairground_model::Mistakes;
use fairground_stdx::{CpuId, CpuMask};

/// Where the kernel shows its devices.
const ROOT: &str = "/sys/devices/system";
/// More cache files than a CPU has.
const MAX_CACHES: u32 = 16;

/// Reads the machine through `read`, which returns the text of a file (full path) if there is one.
///
/// CPUs that are offline are left out; the notes say how the rest is then numbered.
pub fn capture(read: &dyn Fn(&str) -> Option<String>) -> Result<Imported, Mistakes> {
    let tree = Tree { read };
    let online = tree.online()?;
    let mut notes =
        vec!["HZ is not in sysfs: 250 is assumed".to_string(), "prices are those of xeon-spr, not measured here".to_string()];
    let nodes = tree.nodes(&mut notes);
    let mut found = Vec::new();
    let mut without_cache = CpuMask::EMPTY;
    for cpu in online.iter() {
        let (row, has_cache) = tree.cpu(cpu, &online, &nodes)?;
        if !has_cache {
            without_cache.insert(cpu);
        }
        found.push(row);
    }
    if !without_cache.is_empty() {
        notes.push(format!("CPUs {without_cache} show no cache: each core has a last-level cache of its own"));
    }
    let distances = tree.distances(&nodes, &mut notes);
    build("captured", found, distances, notes)
}

struct Tree<'a> {
    read: &'a dyn Fn(&str) -> Option<String>,
}

/// The CPUs of each node.
type Nodes = Vec<(u32, CpuMask)>;

impl Tree<'_> {
    /// A file's first line without its end; none if there is no file or nothing in it.
    fn line(&self, path: &str) -> Option<String> {
        let text = (self.read)(&format!("{ROOT}/{path}"))?;
        let line = text.lines().next()?.trim();
        (!line.is_empty()).then(|| line.to_string())
    }
    fn number(&self, path: &str) -> Option<i64> {
        self.line(path)?.parse().ok()
    }
    /// A list of CPUs; an unreadable one is a mistake, a missing one is none.
    fn list(&self, path: &str) -> Result<Option<CpuMask>, Mistakes> {
        let Some(line) = self.line(path) else { return Ok(None) };
        // cpufreq separates CPUs by spaces, all else by commas.
        CpuMask::parse_list(&line.replace(' ', ",")).map(Some).ok_or_else(|| {
            let message = format!("{ROOT}/{path} holds `{}`", clip(&line));
            Mistakes::one(message, format!("Expected a list of CPUs below {MAX_CPUS}, as in 0-3,8."))
        })
    }
    /// The first of several lists that is there.
    fn first_list(&self, cpu: CpuId, files: &[&str]) -> Result<Option<CpuMask>, Mistakes> {
        for file in files {
            if let Some(mask) = self.list(&format!("cpu/cpu{cpu}/{file}"))? {
                return Ok(Some(mask));
            }
        }
        Ok(None)
    }
    fn online(&self) -> Result<CpuMask, Mistakes> {
        for file in ["cpu/online", "cpu/present", "cpu/possible"] {
            if let Some(mask) = self.list(file)?.filter(|mask| !mask.is_empty()) {
                return Ok(mask);
            }
        }
        let hint = "A Linux with sysfs mounted shows its CPUs in /sys/devices/system/cpu/online.";
        Err(Mistakes::one("no CPU is shown in sysfs", hint))
    }
    fn nodes(&self, notes: &mut Vec<String>) -> Nodes {
        let online = ["node/online", "node/possible"].iter().find_map(|file| CpuMask::parse_list(&self.line(file)?));
        let Some(online) = online else {
            notes.push("no NUMA nodes are shown: one is assumed".to_string());
            return Nodes::new();
        };
        let cpus = |node: CpuId| CpuMask::parse_list(&self.line(&format!("node/node{node}/cpulist"))?);
        online.iter().map(|node| (node.get(), cpus(node).unwrap_or(CpuMask::EMPTY))).collect()
    }
    fn distances(&self, nodes: &Nodes, notes: &mut Vec<String>) -> Option<FoundDistances> {
        let row = |node: u32| -> Option<Vec<u32>> {
            self.line(&format!("node/node{node}/distance"))?.split_whitespace().map(|n| n.parse().ok()).collect()
        };
        let rows: Option<Vec<Vec<u32>>> = nodes.iter().map(|(node, _)| row(*node)).collect();
        if rows.is_none() {
            notes.push("the distances of the NUMA nodes are not shown".to_string());
        }
        let rows = rows.filter(|rows| !rows.is_empty())?;
        Some(FoundDistances { nodes: nodes.iter().map(|(node, _)| *node).collect(), rows })
    }
    /// One CPU, and whether it shows a cache.
    fn cpu(&self, cpu: CpuId, online: &CpuMask, nodes: &Nodes) -> Result<(FoundCpu, bool), Mistakes> {
        let own = CpuMask::only(cpu);
        let first = |mask: CpuMask| u64::from(mask.and(online).or(&own).first().map_or(0, CpuId::get));
        let core = first(self.first_list(cpu, &["topology/core_cpus_list", "topology/thread_siblings_list"])?.unwrap_or(own));
        let package = self.first_list(cpu, &["topology/package_cpus_list", "topology/core_siblings_list"])?;
        let llc = self.last_level_cache(cpu)?;
        let cluster = self.list(&format!("cpu/cpu{cpu}/topology/cluster_cpus_list"))?.map(first);
        let domain = self.list(&format!("cpu/cpu{cpu}/cpufreq/related_cpus"))?;
        let found = FoundCpu {
            number: cpu.get(),
            core,
            cluster,
            llc: llc.map_or(core, first),
            package: package.map_or(0, first),
            node: nodes.iter().find(|(_, cpus)| cpus.contains(cpu)).map_or(0, |(node, _)| *node),
            capacity: self.capacity(cpu)?,
            freq_domain: domain.map_or(core, first),
        };
        Ok((found, llc.is_some()))
    }
    fn capacity(&self, cpu: CpuId) -> Result<u32, Mistakes> {
        let path = format!("cpu/cpu{cpu}/cpu_capacity");
        let Some(line) = self.line(&path) else { return Ok(CAPACITY_SCALE) };
        line.parse()
            .ok()
            .filter(|capacity| (1..=CAPACITY_SCALE).contains(capacity))
            .ok_or_else(|| Mistakes::one(format!("{ROOT}/{path} holds `{}`", clip(&line)), "A capacity lies in 1..=1024."))
    }
    /// The CPUs that share the highest cache that holds data.
    fn last_level_cache(&self, cpu: CpuId) -> Result<Option<CpuMask>, Mistakes> {
        let mut last: Option<(i64, CpuMask)> = None;
        for index in 0..MAX_CACHES {
            let path = |file: &str| format!("cpu/cpu{cpu}/cache/index{index}/{file}");
            let Some(level) = self.number(&path("level")) else { continue };
            if self.line(&path("type")).is_some_and(|kind| kind == "Instruction") {
                continue;
            }
            if let Some(mask) = self.list(&path("shared_cpu_list"))?
                && last.is_none_or(|(highest, _)| level > highest)
            {
                last = Some((level, mask));
            }
        }
        Ok(last.map(|(_, mask)| mask))
    }
}
