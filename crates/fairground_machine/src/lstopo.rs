//! lstopo's XML, of hwloc 1.x and 2.x.
//!
//! In 2.x NUMA nodes and memory-side caches hang beside the CPUs of an object; in 1.x a NUMA node is
//! one of the objects that hold the CPU. Caches are `L3Cache` in 2.x and `Cache` with a depth in 1.x.

use crate::import::{FoundCpu, FoundDistances, Imported, build};
use crate::machine::CAPACITY_SCALE;
use crate::suggest::clip;
use crate::validate::{MAX_CPUS, MAX_NODES};
use fairground_model::Mistakes;
use fairground_stdx::CpuMask;
use roxmltree::{Document, Node, ParsingOptions};
use std::collections::BTreeMap;

/// A file of 1024 CPUs has some ten thousand nodes.
const MAX_XML_NODES: u32 = 2_000_000;
/// hwloc's own objects nest about a dozen deep.
const MAX_DEPTH: usize = 64;

/// Reads lstopo XML.
pub fn parse(xml: &str) -> Result<Imported, Mistakes> {
    let document = document(xml)?;
    let root = document.root_element();
    if !root.has_tag_name("topology") {
        let message = format!("the document is a <{}>", clip(root.tag_name().name()));
        return Err(Mistakes::one(message, "lstopo writes a <topology>: `lstopo machine.xml`."));
    }
    let mut notes = Vec::new();
    let mut mistakes = Mistakes::default();
    let pus: Vec<Node> = root.descendants().filter(|node| kind(*node) == Some("PU")).collect();
    if pus.len() > MAX_CPUS {
        let hint = format!("At most {MAX_CPUS} CPUs can be simulated.");
        return Err(Mistakes::one(format!("a machine of {} CPUs", pus.len()), hint));
    }
    let capacities = capacities(root, &mut notes);
    let found = pus.iter().filter_map(|pu| cpu(*pu, &capacities, &mut mistakes)).collect::<Vec<Pu>>();
    mistakes.or(())?;
    if found.iter().any(|pu| !pu.has_cache) {
        notes.push("no cache is described for some CPUs: each core has a last-level cache of its own".to_string());
    }
    let distances = distances(root, &mut notes);
    build("lstopo", found.into_iter().map(|pu| pu.cpu).collect(), distances, notes)
}

fn document(xml: &str) -> Result<Document<'_>, Mistakes> {
    let hint = "Expected the XML that `lstopo machine.xml` writes.";
    if xml.contains("<!ENTITY") {
        return Err(Mistakes::one("the file declares XML entities, which lstopo never does", hint));
    }
    // hwloc names its DTD in the file; it is never read.
    let options = ParsingOptions { allow_dtd: true, nodes_limit: MAX_XML_NODES, ..ParsingOptions::default() };
    Document::parse_with_options(xml, options).map_err(|error| {
        let mut mistakes = Mistakes::default();
        let at = offset(xml, error.pos().row, error.pos().col);
        mistakes.at(at..at, format!("this is no XML: {}", clip(&error.to_string())), hint);
        mistakes
    })
}

/// Byte offset of a row and a column, both counted from 1.
fn offset(text: &str, row: u32, column: u32) -> usize {
    let line = text.split_inclusive('\n').take(row.saturating_sub(1) as usize).map(str::len).sum::<usize>();
    let inside = text[line..].char_indices().nth(column.saturating_sub(1) as usize).map_or(text.len() - line, |(at, _)| at);
    line + inside
}

/// The type of an hwloc object; none for other elements.
fn kind<'a>(node: Node<'a, '_>) -> Option<&'a str> {
    node.attribute("type").filter(|_| node.has_tag_name("object"))
}

/// The objects around a PU, from the inside out.
fn around<'a, 'input>(pu: Node<'a, 'input>) -> impl Iterator<Item = Node<'a, 'input>> {
    pu.ancestors().skip(1).filter(|node| kind(*node).is_some())
}

fn key(node: Node) -> u64 {
    u64::from(node.id().get())
}

struct Pu {
    cpu: FoundCpu,
    has_cache: bool,
}

fn cpu(pu: Node, capacities: &BTreeMap<u32, u32>, mistakes: &mut Mistakes) -> Option<Pu> {
    let Some(number) = pu.attribute("os_index").and_then(|index| index.parse().ok()) else {
        let message = format!("a PU has os_index `{}`", clip(pu.attribute("os_index").unwrap_or("")));
        mistakes.at(pu.range(), message, "Each PU has the number that the system gives it in `os_index`.");
        return None;
    };
    if pu.ancestors().nth(MAX_DEPTH).is_some() {
        let hint = format!("The objects of a machine nest at most {MAX_DEPTH} deep.");
        mistakes.at(pu.range(), format!("PU {number} lies too deep"), hint);
        return None;
    }
    let outermost = |fits: &dyn Fn(Node) -> bool| around(pu).filter(|node| fits(*node)).last();
    let core = outermost(&|node| kind(node) == Some("Core")).map_or(key(pu), key);
    let llc = outermost(&|node| is_data_cache(node));
    let cluster = around(pu).filter(|node| is_data_cache(*node) && Some(*node) != llc).last();
    let cpu = FoundCpu {
        number,
        core,
        cluster: cluster.map(key),
        llc: llc.map_or(core, key),
        package: outermost(&|node| matches!(kind(node), Some("Package" | "Socket"))).map_or(0, key),
        node: around(pu).find_map(node_of).unwrap_or(0),
        capacity: capacities.get(&number).copied().unwrap_or(CAPACITY_SCALE),
        freq_domain: core,
    };
    Some(Pu { cpu, has_cache: llc.is_some() })
}

/// Whether an object is a cache that holds data: `L3Cache` but not `L1iCache`; `Cache` but not of type 2.
fn is_data_cache(node: Node) -> bool {
    match kind(node) {
        Some("Cache") => node.attribute("cache_type") != Some("2"),
        Some(name) => {
            let level = name.strip_prefix('L').and_then(|rest| rest.strip_suffix("Cache"));
            level.is_some_and(|level| !level.is_empty() && level.bytes().all(|byte| byte.is_ascii_digit()))
        }
        None => false,
    }
}

/// The NUMA node that an object is (1.x), or that hangs beside its CPUs (2.x), maybe behind a memory-side cache.
fn node_of(node: Node) -> Option<u32> {
    let index = |node: Node| node.attribute("os_index")?.parse().ok();
    if kind(node) == Some("NUMANode") {
        return index(node);
    }
    node.children().find_map(|child| match kind(child) {
        Some("NUMANode") => index(child),
        Some("MemCache") => child.children().filter(|inner| kind(*inner) == Some("NUMANode")).find_map(index),
        _ => None,
    })
}

/// The capacity of each CPU, where hwloc says what Linux says (2.10 and later).
fn capacities(root: Node, notes: &mut Vec<String>) -> BTreeMap<u32, u32> {
    let mut capacities = BTreeMap::new();
    for group in root.children().filter(|node| node.has_tag_name("cpukind")) {
        let info = group.children().find(|node| node.has_tag_name("info") && node.attribute("name") == Some("LinuxCapacity"));
        let capacity = info.and_then(|info| info.attribute("value")?.parse::<u32>().ok());
        match (capacity, group.attribute("cpuset").and_then(cpuset)) {
            (Some(capacity), Some(cpus)) => capacities.extend(cpus.iter().map(|cpu| (cpu.get(), capacity))),
            _ => notes.push("a kind of CPU comes without its capacity: 1024 is assumed".to_string()),
        }
    }
    capacities
}

/// hwloc's masks: words of 32 bits, each with its own 0x, leading zeros left out.
fn cpuset(text: &str) -> Option<CpuMask> {
    let words: Vec<String> = text.split(',').map(|word| format!("{:0>8}", word.trim().trim_start_matches("0x"))).collect();
    CpuMask::parse_hex(&words.join(","))
}

fn distances(root: Node, notes: &mut Vec<String>) -> Option<FoundDistances> {
    let nodes: Vec<Node> = root.descendants().filter(|node| kind(*node) == Some("NUMANode")).take(MAX_NODES).collect();
    let modern = root.children().filter(|node| node.has_tag_name("distances2")).find_map(|node| distances2(node, &nodes));
    let found = modern.or_else(|| {
        let old = root.descendants().find(|node| node.has_tag_name("distances") && node.attribute("latency_base").is_some())?;
        distances1(old, &nodes)
    });
    if found.is_none() && root.descendants().any(|node| node.has_tag_name("distances") || node.has_tag_name("distances2")) {
        notes.push("the file has distances, but no matrix of the latencies of NUMA nodes".to_string());
    }
    found
}

/// hwloc 2.x: the matrix beside the objects, in whole numbers.
fn distances2(node: Node, nodes: &[Node]) -> Option<FoundDistances> {
    /// Set in `kind` if the values are latencies.
    const MEANS_LATENCY: u32 = 4;
    let kind: u32 = node.attribute("kind")?.parse().ok()?;
    if node.attribute("type") != Some("NUMANode") || kind & MEANS_LATENCY == 0 {
        return None;
    }
    let index = match node.attribute("indexing") {
        Some("gp") => "gp_index",
        _ => "os_index",
    };
    let texts =
        |name: &'static str| node.children().filter(move |child| child.has_tag_name(name)).filter_map(|child| child.text());
    let numbers = |name| texts(name).flat_map(str::split_whitespace).map(|n| n.parse::<u32>().ok()).collect::<Option<Vec<u32>>>();
    let os_index = |wanted: u32| {
        let same = |node: &&Node| node.attribute(index).and_then(|n| n.parse().ok()) == Some(wanted);
        nodes.iter().find(same)?.attribute("os_index")?.parse().ok()
    };
    let order = numbers("indexes")?.into_iter().take(MAX_NODES + 1).map(os_index).collect::<Option<Vec<u32>>>()?;
    square(order, numbers("u64values")?)
}

/// hwloc 1.x: decimal fractions of a base, in the order of the objects.
fn distances1(node: Node, nodes: &[Node]) -> Option<FoundDistances> {
    let base = millionths(node.attribute("latency_base")?)?;
    let order: Vec<u32> = nodes.iter().map(|node| node.attribute("os_index")?.parse().ok()).collect::<Option<_>>()?;
    let value = |node: Node| {
        let product = u128::from(millionths(node.attribute("value")?)?) * u128::from(base);
        u32::try_from((product + 500_000_000_000) / 1_000_000_000_000).ok()
    };
    let values: Vec<u32> = node.children().filter(|child| child.has_tag_name("latency")).map(value).collect::<Option<_>>()?;
    square(order, values)
}

fn square(nodes: Vec<u32>, values: Vec<u32>) -> Option<FoundDistances> {
    if nodes.is_empty() || nodes.len() > MAX_NODES || values.len() != nodes.len() * nodes.len() {
        return None;
    }
    let rows = values.chunks(nodes.len()).map(<[u32]>::to_vec).collect();
    Some(FoundDistances { nodes, rows })
}

/// A decimal number in millionths; further digits are cut off.
fn millionths(text: &str) -> Option<u64> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let digits: String = fraction.chars().chain("000000".chars()).take(6).collect();
    whole.parse::<u64>().ok()?.checked_mul(1_000_000)?.checked_add(digits.parse().ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks_and_decimals() {
        assert_eq!(cpuset("0x1,0x0000000f").unwrap().to_string(), "0-3,32");
        assert_eq!(cpuset("0xf...f"), None);
        assert_eq!(
            (millionths("2.100000"), millionths("10"), millionths("-1.0"), millionths("x")),
            (Some(2_100_000), Some(10_000_000), None, None)
        );
    }

    #[test]
    fn places_in_text() {
        assert_eq!((offset("ab\ncdé\nf", 2, 3), offset("ab\n", 9, 9)), (5, 3));
    }
}
