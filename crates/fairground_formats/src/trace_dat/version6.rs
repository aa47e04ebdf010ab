//! Version 6: everything follows in one order, nothing is packed. trace-cmd.dat.v6(5).

use crate::import::ImportStats;
use crate::trace_dat::description::{Buffer, CpuData, Description, OPTION_BUFFER, OPTION_DONE};
use crate::trace_dat::fields::{Broken, Fields};
use crate::trace_dat::file::{File, Head, checked_page_size};
use fairground_stdx::CpuMask;
use std::io::Read;

/// Longest option that is looked at.
const OPTION_MAX: u64 = 1 << 24;
/// What stands before a table of CPUs.
const FLYRECORD: &[u8] = b"flyrecord\0";

/// Reads everything before the events.
pub(super) fn read(
    file: &mut File<'_>,
    head: &Head,
    description: &mut Description,
    stats: &mut ImportStats,
) -> Result<(), Broken> {
    let mut fields = file.fields_at(head.rest, head.order)?;
    description.read_headers(&mut fields)?;
    description.read_ftrace_formats(&mut fields, stats)?;
    description.read_event_formats(&mut fields, stats)?;
    for _ in ["kallsyms", "printk_formats"] {
        let length = fields.u32()?;
        fields.skip(u64::from(length))?;
    }
    description.read_cmdlines(&mut fields)?;
    let nr_cpus = fields.u32()?;
    let mut instances = Vec::new();
    let mut kind = fields.block(10, 10)?;
    if kind == b"options  \0" {
        instances = read_options(&mut fields, description, stats)?;
        kind = fields.block(10, 10)?;
    }
    if kind == b"latency  \0" {
        return Err(Broken("holds the text of a latency tracer, reading which is not modelled yet".to_string()));
    }
    if kind != FLYRECORD {
        return Err(Broken("holds something else where `flyrecord` should stand".to_string()));
    }
    let page_size = page_size(head, description)?;
    let buffer = |name, cpus| Buffer { name, clock: None, page_size, packed: false, cpus };
    let top = buffer(String::new(), read_cpus(&mut fields, nr_cpus, stats)?);
    drop(fields);
    description.buffers.push(top);
    for (name, offset) in instances {
        let mut fields = file.fields_at(offset, head.order)?;
        let cpus = fields.expect(FLYRECORD).and_then(|()| read_cpus(&mut fields, nr_cpus, stats));
        match cpus {
            Ok(cpus) => description.buffers.push(buffer(name, cpus)),
            Err(Broken(why)) => stats.warn(0, &format!("the list of CPUs of buffer `{name}` could not be read: the file {why}")),
        }
    }
    Ok(())
}

/// Since 6.8 a page of the ring buffer may be several pages of memory: its header then says so.
fn page_size(head: &Head, description: &Description) -> Result<u64, Broken> {
    let described = description.page.as_ref().map_or(0, |page| page.page_size());
    if described.is_power_of_two() { checked_page_size(head.page_size.max(described)) } else { Ok(head.page_size) }
}

/// Reads the options; gives name and place of the buffers other than the top one.
fn read_options(
    fields: &mut Fields<impl Read>,
    description: &mut Description,
    stats: &mut ImportStats,
) -> Result<Vec<(String, u64)>, Broken> {
    let mut instances = Vec::new();
    loop {
        let id = fields.u16()?;
        if id == OPTION_DONE {
            return Ok(instances);
        }
        let length = fields.u32()?;
        let data = fields.block(u64::from(length), OPTION_MAX)?;
        let mut option = Fields::new(&data[..], fields.order);
        if id == OPTION_BUFFER {
            let offset = option.u64()?;
            instances.push((option.string()?, offset));
        } else {
            description.take_option(id, &data, &mut option, stats);
        }
    }
}

/// Place and size of each CPU's data.
fn read_cpus(fields: &mut Fields<impl Read>, nr_cpus: u32, stats: &mut ImportStats) -> Result<Vec<CpuData>, Broken> {
    let mut cpus = Vec::new();
    for cpu in 0..nr_cpus {
        let data = CpuData { cpu, offset: fields.u64()?, size: fields.u64()? };
        if cpus.len() < CpuMask::CAPACITY {
            cpus.push(data);
        } else if data.size > 0 {
            stats.skip(0, &format!("the data of CPUs {} and above were left out", CpuMask::CAPACITY));
        }
    }
    Ok(cpus)
}
