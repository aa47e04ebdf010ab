//! Version 7: sections anywhere in the file, found through lists of options; sections and pages may
//! be packed. trace-cmd.dat.v7(5).

use crate::import::ImportStats;
use crate::trace_dat::description::{Buffer, CpuData, Description, OPTION_BUFFER, OPTION_DONE};
use crate::trace_dat::fields::{Broken, Fields};
use crate::trace_dat::file::{File, Head, checked_page_size};
use crate::trace_dat::packing::Packing;
use fairground_stdx::CpuMask;
use std::collections::{BTreeMap, BTreeSet};

// Numbers of sections and of the options that tell where those lie.
const SECTION_OPTIONS: u16 = 0;
const SECTION_BUFFER: u16 = 3;
const SECTION_HEADER_INFO: u16 = 16;
const SECTION_FTRACE_EVENTS: u16 = 17;
const SECTION_EVENT_FORMATS: u16 = 18;
const SECTION_CMDLINES: u16 = 21;
const OPTION_BUFFER_TEXT: u16 = 22;

/// Bit of a section's flags: it is packed.
const SECTION_PACKED: u16 = 1;
/// Largest section, unpacked, that is looked at: descriptions of all events of a kernel have some 10 MiB.
const SECTION_MAX: u64 = 64 << 20;
/// Lists of options that are followed.
const LISTS_MAX: usize = 1000;

/// Reads everything before the events.
pub(super) fn read(
    file: &mut File<'_>,
    head: &Head,
    description: &mut Description,
    stats: &mut ImportStats,
) -> Result<(), Broken> {
    let mut fields = file.fields_at(head.rest, head.order)?;
    description.packing = Packing::of_name(&fields.string()?)?;
    fields.string()?; // the packer's version
    let first = fields.u64()?;
    drop(fields);
    let mut reader = Reader { file, head, description, stats, sections: BTreeMap::new(), has_text: false };
    reader.read_lists(first)?;
    reader.read_sections()
}

struct Reader<'r, 'f> {
    file: &'r mut File<'f>,
    head: &'r Head,
    description: &'r mut Description,
    stats: &'r mut ImportStats,
    /// Where each section lies, by its number.
    sections: BTreeMap<u16, u64>,
    has_text: bool,
}

/// The header of a section and where its content begins.
struct Section {
    packed: bool,
    size: u64,
    content: u64,
}

impl Reader<'_, '_> {
    /// Reads all lists of options, each of which names the next.
    fn read_lists(&mut self, first: u64) -> Result<(), Broken> {
        let (mut next, mut seen) = (first, BTreeSet::new());
        while next != 0 {
            if !seen.insert(next) || seen.len() > LISTS_MAX {
                return Err(Broken("has lists of options that lead in a circle".to_string()));
            }
            let content = self.section(next, SECTION_OPTIONS)?;
            next = self.read_options(&content)?;
        }
        Ok(())
    }
    /// Reads one list; gives the place of the next, or 0.
    fn read_options(&mut self, content: &[u8]) -> Result<u64, Broken> {
        let mut fields = Fields::new(content, self.head.order);
        loop {
            let (id, length) = (fields.u16()?, fields.u32()?);
            let data = fields.block(u64::from(length), SECTION_MAX)?;
            let mut option = Fields::new(&data[..], self.head.order);
            match id {
                OPTION_DONE => return option.u64(),
                OPTION_BUFFER => self.read_buffer(&mut option)?,
                OPTION_BUFFER_TEXT => self.has_text = true,
                SECTION_HEADER_INFO..=SECTION_CMDLINES => {
                    self.sections.insert(id, option.u64()?);
                }
                _ => self.description.take_option(id, &data, &mut option, self.stats),
            }
        }
    }
    /// A buffer: its name, clock and the places of its CPUs' data.
    fn read_buffer(&mut self, option: &mut Fields<&[u8]>) -> Result<(), Broken> {
        let offset = option.u64()?;
        let (name, clock) = (option.string()?, option.string()?);
        let page_size = checked_page_size(u64::from(option.u32()?))?;
        let mut cpus = Vec::new();
        for _ in 0..option.u32()? {
            let data = CpuData { cpu: option.u32()?, offset: option.u64()?, size: option.u64()? };
            if cpus.len() < CpuMask::CAPACITY {
                cpus.push(data);
            } else {
                self.stats.skip(0, &format!("the data of more than {} CPUs were left out", CpuMask::CAPACITY));
            }
        }
        let packed = self.section_header(offset, SECTION_BUFFER)?.packed;
        let clock = Some(clock).filter(|clock| !clock.is_empty());
        self.description.buffers.push(Buffer { name, clock, page_size, packed, cpus });
        Ok(())
    }
    /// Reads the sections that the options named.
    fn read_sections(&mut self) -> Result<(), Broken> {
        let content = self.named_section(SECTION_HEADER_INFO, "HEADER INFO")?;
        self.description.read_headers(&mut Fields::new(&content[..], self.head.order))?;
        if self.sections.contains_key(&SECTION_FTRACE_EVENTS) {
            let content = self.named_section(SECTION_FTRACE_EVENTS, "FTRACE EVENT FORMATS")?;
            self.description.read_ftrace_formats(&mut Fields::new(&content[..], self.head.order), self.stats)?;
        }
        let content = self.named_section(SECTION_EVENT_FORMATS, "EVENT FORMATS")?;
        self.description.read_event_formats(&mut Fields::new(&content[..], self.head.order), self.stats)?;
        if let Some(&offset) = self.sections.get(&SECTION_CMDLINES) {
            let content = self.section(offset, SECTION_CMDLINES);
            let names =
                content.and_then(|content| self.description.read_cmdlines(&mut Fields::new(&content[..], self.head.order)));
            if let Err(Broken(why)) = names {
                self.stats.warn(0, &format!("the names of tasks could not be read: the file {why}"));
            }
        }
        if self.description.buffers.is_empty() && self.has_text {
            return Err(Broken("holds the text of a latency tracer, reading which is not modelled yet".to_string()));
        }
        Ok(())
    }
    fn named_section(&mut self, id: u16, name: &str) -> Result<Vec<u8>, Broken> {
        match self.sections.get(&id) {
            Some(&offset) => self.section(offset, id),
            None => Err(Broken(format!("has no section {name}"))),
        }
    }
    /// The content of a section, unpacked.
    fn section(&mut self, offset: u64, id: u16) -> Result<Vec<u8>, Broken> {
        let section = self.section_header(offset, id)?;
        let mut fields = self.file.fields_at(section.content, self.head.order)?;
        if !section.packed {
            return fields.block(section.size, SECTION_MAX);
        }
        let (packed, unpacked) = (u64::from(fields.u32()?), u64::from(fields.u32()?));
        let content = fields.block(packed, SECTION_MAX)?;
        if unpacked > SECTION_MAX {
            return Err(Broken(format!("holds a section of {unpacked} bytes where {SECTION_MAX} at most can be")));
        }
        self.description.packing.unpack(&content, unpacked as usize)
    }
    fn section_header(&mut self, offset: u64, wanted: u16) -> Result<Section, Broken> {
        let mut fields = self.file.fields_at(offset, self.head.order)?;
        let (id, flags) = (fields.u16()?, fields.u16()?);
        if id != wanted {
            return Err(Broken(format!("holds section {id} where section {wanted} should stand")));
        }
        fields.u32()?; // the section's name among the strings
        let size = fields.u64()?;
        Ok(Section { packed: flags & SECTION_PACKED != 0, size, content: offset.saturating_add(16) })
    }
}
