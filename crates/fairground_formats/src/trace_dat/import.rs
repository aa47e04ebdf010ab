//! From a trace.dat to events.

use crate::import::event_format::ByteOrder;
use crate::import::{Assembler, Feed, ImportStats, RawRecord};
use crate::registry::{ImportError, ReadSeek};
use crate::trace_dat::description::{Buffer, CpuData, Cycles, Description, dropped_events};
use crate::trace_dat::fields::Broken;
use crate::trace_dat::file::{File, Head, MAGIC, checked_page_size};
use crate::trace_dat::merge::Merge;
use crate::trace_dat::page::PageLayout;
use crate::trace_dat::stream::{CpuStream, Pages};
use crate::trace_dat::tracepoints::Tracepoints;
use crate::trace_dat::{version6, version7};
use fairground_model::Sink;

/// What to do about a file that gives no event at all.
const HINT: &str = "see whether `trace-cmd report -t -i FILE` can read it: its text can be read here too";
/// Clocks of the kernel that count ns: Documentation/trace/ftrace.rst, trace_clock.
const NS_CLOCKS: [&str; 8] = ["local", "global", "uptime", "perf", "mono", "mono_raw", "boot", "tai"];
/// Clocks that count something else.
const OTHER_CLOCKS: [&str; 4] = ["counter", "x86-tsc", "ppc-tb", "s390-tod"];

/// Whether `head`, the beginning of a file, is that of a trace.dat.
pub fn sniff(head: &[u8]) -> bool {
    head.starts_with(MAGIC)
}

/// Reads a trace.dat to its end. Dirty data are counted and noted; what has no readable description
/// of its events is an error.
pub fn read(source: &mut dyn ReadSeek, name: &str, sink: &mut dyn Sink) -> Result<ImportStats, ImportError> {
    let mut import = Assembler::new(Feed::new(super::NAME, sink));
    import.stats().count_records();
    match read_file(source, &mut import) {
        Ok(()) => Ok(import.finish()),
        Err(Broken(why)) => Err(ImportError::Unusable { name: name.to_string(), why, hint: HINT }),
    }
}

fn read_file(source: &mut dyn ReadSeek, import: &mut Assembler<'_>) -> Result<(), Broken> {
    let mut file = File::new(source)?;
    let head = file.head()?;
    let mut description = describe(&mut file, &head, import.stats())?;
    let buffer = choose_buffer(&mut description, import.stats())?;
    let cycles = check_clock(&description, &buffer, import.stats())?;
    description.tracepoints.learn_names(&description.cmdlines, import);
    read_events(&mut file, &head, &description, &buffer, cycles, import)
}

fn describe(file: &mut File<'_>, head: &Head, stats: &mut ImportStats) -> Result<Description, Broken> {
    let mut description = Description::new(Tracepoints::new(head.order));
    match head.version.as_str() {
        "6" => version6::read(file, head, &mut description, stats)?,
        "7" => version7::read(file, head, &mut description, stats)?,
        other => {
            let shown: String = other.chars().take(20).collect();
            return Err(Broken(format!("is a trace.dat of version `{shown}`, reading which is not modelled yet (6 and 7 are)")));
        }
    }
    Ok(description)
}

/// The top buffer, or where nothing was recorded into that, the first with data. Others are noted.
fn choose_buffer(description: &mut Description, stats: &mut ImportStats) -> Result<Buffer, Broken> {
    let with_data = |buffer: &Buffer| buffer.cpus.iter().any(|cpu| cpu.size > 0);
    let mut buffers = std::mem::take(&mut description.buffers);
    let top = buffers.iter().position(|buffer| buffer.name.is_empty() && with_data(buffer));
    let first = top.or_else(|| buffers.iter().position(with_data)).unwrap_or(0);
    if buffers.is_empty() {
        return Err(Broken("holds no buffer with events".to_string()));
    }
    let chosen = buffers.swap_remove(first);
    if top.is_none() && !chosen.name.is_empty() {
        stats.info(0, &format!("nothing was recorded into the top buffer: buffer `{}` is read", chosen.name));
    }
    for other in buffers.iter().filter(|buffer| with_data(buffer)) {
        stats.warn(0, &format!("buffer `{}` was left out: only one buffer is read", other.name));
        if other.clock != chosen.clock {
            stats.info(0, "the buffers of the file have different clocks");
        }
    }
    Ok(chosen)
}

/// Makes sure that times are ns or can be made so.
fn check_clock(description: &Description, buffer: &Buffer, stats: &mut ImportStats) -> Result<Option<Cycles>, Broken> {
    let Some(clock) = buffer.clock.as_ref().or(description.clock.as_ref()) else {
        stats.info(0, "the file does not name its clock: its times count as ns");
        return Ok(None);
    };
    match clock.as_str() {
        "x86-tsc" if description.cycles.is_some() => return Ok(description.cycles),
        "local" => stats.info(0, "times are of the clock `local`, which may differ between CPUs; `-C mono` does not"),
        "uptime" => stats.info(0, "times are of the clock `uptime`, which counts ticks: events of one tick have one time"),
        clock if NS_CLOCKS.contains(&clock) => {}
        clock if OTHER_CLOCKS.contains(&clock) => {
            return Err(Broken(format!(
                "has times of the clock `{clock}`, which are no ns and are not modelled yet (record with `-C mono`)"
            )));
        }
        clock => stats.warn(0, &format!("times are of the unknown clock `{clock}`: they count as ns")),
    }
    Ok(None)
}

fn read_events(
    file: &mut File<'_>,
    head: &Head,
    description: &Description,
    buffer: &Buffer,
    cycles: Option<Cycles>,
    import: &mut Assembler<'_>,
) -> Result<(), Broken> {
    let layout = description.page.clone().ok_or_else(|| Broken("does not describe its pages".to_string()))?;
    let pages = Pages::new(buffer, layout, description.packing, head.order);
    let streams = buffer.cpus.iter().map(|&cpu| CpuStream::new(cpu, &pages)).collect();
    let mut merge = Merge::new(streams, file, &pages, import.stats());
    while let Some(merged) = merge.next(file, &pages, import.stats()) {
        if let Some(event) = description.tracepoints.event(merged.record, merged.number, import) {
            let at_ns = cycles.map_or(merged.time, |cycles| cycles.ns(merged.time));
            let current = description.tracepoints.current_pid(merged.record);
            import.push(RawRecord { at_ns, cpu: merged.cpu, line: merged.number, event, current });
        }
    }
    Ok(())
}

/// The pages of a ring buffer that lie outside a trace.dat, with what describes them.
pub(crate) struct RawBuffer {
    /// The text of `events/header_page`.
    pub(crate) header_page: String,
    /// System and description of each tracepoint.
    pub(crate) formats: Vec<(String, String)>,
    /// Each CPU's statistics.
    pub(crate) statistics: Vec<String>,
    /// Number of each CPU, and where its pages begin and how long they are.
    pub(crate) cpus: Vec<(u32, u64, u64)>,
}

/// Reads such pages; why nothing can be read, as the rest of a sentence about them.
pub(crate) fn read_raw(source: &mut dyn ReadSeek, raw: RawBuffer, import: &mut Assembler<'_>) -> Result<(), String> {
    let layout = PageLayout::parse(&raw.header_page).map_err(|Broken(why)| why)?;
    let page_size = checked_page_size(layout.page_size()).map_err(|Broken(why)| why)?;
    let mut file = File::new(source).map_err(|error| format!("cannot be read: {error}"))?;
    let order = order_of_pages(&mut file, &layout, page_size, &raw).map_err(|Broken(why)| why)?;
    let mut description = Description::new(Tracepoints::new(order));
    description.page = Some(layout);
    raw.formats.iter().for_each(|(system, text)| description.tracepoints.add(system, text, import.stats()));
    raw.statistics.iter().for_each(|text| dropped_events(text, import.stats()));
    let cpus = raw.cpus.iter().filter(|&&(cpu, ..)| import.stats().holds_cpu(cpu));
    let cpus = cpus.map(|&(cpu, offset, size)| CpuData { cpu, offset, size }).collect();
    let buffer = Buffer { name: String::new(), clock: None, page_size, packed: false, cpus };
    let head = Head { version: String::new(), order, page_size, rest: 0 };
    read_events(&mut file, &head, &description, &buffer, None, import).map_err(|Broken(why)| why)
}

/// The byte order in which the first pages make sense.
fn order_of_pages(file: &mut File<'_>, layout: &PageLayout, page_size: u64, raw: &RawBuffer) -> Result<ByteOrder, Broken> {
    let mut page = Vec::new();
    for &(_, offset, size) in raw.cpus.iter().filter(|&&(.., size)| size > 0) {
        file.read_at(offset, size.min(page_size) as usize, &mut page)?;
        let makes_sense = |order: &ByteOrder| layout.header(&page, page_size as usize, *order).is_some();
        if let Some(order) = [ByteOrder::Little, ByteOrder::Big].into_iter().find(makes_sense) {
            return Ok(order);
        }
    }
    Ok(ByteOrder::Little)
}

impl Cycles {
    /// cycles · mult / 2^shift. The constant that the file has beside them is left out: times are
    /// counted from the first event.
    fn ns(self, cycles: u64) -> u64 {
        ((u128::from(cycles) * u128::from(self.mult)) >> self.shift) as u64
    }
}
