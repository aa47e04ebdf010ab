//! From the files of a collection to events.

use crate::folder::{Folder, Joined, read_whole, split};
use crate::import::{Assembler, Feed, ImportStats};
use crate::registry::ImportError;
use crate::trace_dat::{RawBuffer, read_raw};
use fairground_model::Sink;

const HEADER_PAGE: &str = "formats/header_page";
const EBPF: &str = "ebpf_trace";
const HINT: &str = "record with `trace-cmd record` (docs/how-to-record.md)";
/// Longest text of a format or of statistics.
const TEXT_MAX: u64 = 1 << 20;

/// Whether a folder is a collection.
pub(crate) fn holds(names: &[String]) -> bool {
    names.iter().any(|name| base(name).is_some() || split(name).1 == EBPF)
}

/// The folder in which the parts of a collection lie, by the name of one of them.
fn base(header_page: &str) -> Option<&str> {
    header_page.strip_suffix(HEADER_PAGE).filter(|base| base.is_empty() || base.ends_with('/'))
}

/// Reads a collection.
pub(crate) fn read(folder: &mut dyn Folder, name: &str, sink: &mut dyn Sink) -> Result<ImportStats, ImportError> {
    let mut import = Assembler::new(Feed::new(super::NAME, sink));
    import.stats().count_records();
    match read_collection(folder, &mut import) {
        Ok(()) => Ok(import.finish()),
        Err(why) => Err(ImportError::Unusable { name: name.to_string(), why, hint: HINT }),
    }
}

fn read_collection(folder: &mut dyn Folder, import: &mut Assembler<'_>) -> Result<(), String> {
    let names = folder.names().to_vec();
    let found = names.iter().enumerate().find_map(|(part, name)| Some((part, base(name)?)));
    let Some((header_page, base)) = found else {
        return Err("is a collection of SchedViz that was recorded by bpftrace, which is not modelled yet".to_string());
    };
    let mut raw =
        RawBuffer { header_page: text(folder, header_page)?, formats: Vec::new(), statistics: Vec::new(), cpus: Vec::new() };
    let mut traces = Vec::new();
    for (part, name) in names.iter().enumerate() {
        let Some(name) = name.strip_prefix(base) else { continue };
        match name.split('/').collect::<Vec<_>>().as_slice() {
            ["formats", system, _, "format"] => raw.formats.push((system.to_string(), text(folder, part)?)),
            ["stats", _] => raw.statistics.push(text(folder, part)?),
            ["traces", cpu] => match cpu.strip_prefix("cpu").and_then(|number| number.parse().ok()) {
                Some(cpu) => traces.push((cpu, part)),
                None => import.stats().info(0, "a file among the traces that is not of one CPU was left out"),
            },
            _ => {}
        }
    }
    traces.sort_unstable();
    let parts: Vec<usize> = traces.iter().map(|&(_, part)| part).collect();
    let mut pages = Joined::new(folder, &parts);
    raw.cpus = traces.iter().zip(pages.places()).map(|(&(cpu, _), (offset, size))| (cpu, offset, size)).collect();
    import
        .stats()
        .info(0, "the collection does not name its clock; that of `trace.sh` is `local`, which may differ between CPUs");
    read_raw(&mut pages, raw, import)
}

fn text(folder: &mut dyn Folder, part: usize) -> Result<String, String> {
    let bytes = read_whole(folder, part, TEXT_MAX).map_err(|error| format!("cannot be read: {error}"))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
