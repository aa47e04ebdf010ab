//! What a file says of itself before its events: the parts that versions 6 and 7 have in common.

use crate::import::ImportStats;
use crate::trace_dat::fields::{Broken, Fields};
use crate::trace_dat::packing::Packing;
use crate::trace_dat::page::PageLayout;
use crate::trace_dat::tracepoints::Tracepoints;
use std::io::Read;

/// Longest description of one event that is taken for one.
const FORMAT_MAX: u64 = 1 << 20;
/// Most bytes of names of tasks: 4 M tasks (PID_MAX_LIMIT) would have about that many.
const CMDLINES_MAX: u64 = 64 << 20;

// Numbers of options: trace-cmd.dat.v6(5) and trace-cmd.dat.v7(5).
pub(super) const OPTION_DONE: u16 = 0;
const OPTION_CPUSTAT: u16 = 2;
pub(super) const OPTION_BUFFER: u16 = 3;
const OPTION_TRACECLOCK: u16 = 4;
const OPTION_UNAME: u16 = 5;
const OPTION_TIME_SHIFT: u16 = 12;
const OPTION_GUEST: u16 = 13;
const OPTION_TSC2NSEC: u16 = 14;

/// Everything that is known before the first event is read.
pub(super) struct Description {
    /// Layout of the ring buffer's pages.
    pub(super) page: Option<PageLayout>,
    /// The tracepoints that records may be of.
    pub(super) tracepoints: Tracepoints,
    /// Lines `pid name`.
    pub(super) cmdlines: Vec<u8>,
    /// The clock of the file, where it says so.
    pub(super) clock: Option<String>,
    /// How cycles become ns, where the clock counts cycles.
    pub(super) cycles: Option<Cycles>,
    /// The buffers with events; the one without a name is the top one.
    pub(super) buffers: Vec<Buffer>,
    /// How packed pages are packed.
    pub(super) packing: Packing,
}

/// ns = cycles · mult / 2^shift, up to a constant.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Cycles {
    pub(super) mult: u32,
    pub(super) shift: u32,
}

/// A ring buffer that was recorded.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Buffer {
    /// Name of the trace instance; empty for the top one.
    pub(super) name: String,
    /// Its clock, where the file says so.
    pub(super) clock: Option<String>,
    /// Length of its pages.
    pub(super) page_size: u64,
    /// Whether they are packed.
    pub(super) packed: bool,
    /// Its data.
    pub(super) cpus: Vec<CpuData>,
}

/// Where the pages of one CPU lie in the file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct CpuData {
    pub(super) cpu: u32,
    pub(super) offset: u64,
    pub(super) size: u64,
}

impl Description {
    pub(super) fn new(tracepoints: Tracepoints) -> Description {
        Description {
            page: None,
            tracepoints,
            cmdlines: Vec::new(),
            clock: None,
            cycles: None,
            buffers: Vec::new(),
            packing: Packing::None,
        }
    }
    /// `header_page` and `header_event`: the layouts of pages and of the words before records.
    pub(super) fn read_headers(&mut self, fields: &mut Fields<impl Read>) -> Result<(), Broken> {
        fields.expect(b"header_page\0")?;
        let page = sized_text(fields)?;
        fields.expect(b"header_event\0")?;
        let event = sized_text(fields)?;
        if !event.contains("type_len") {
            return Err(Broken("is of a kernel before 2.6.31, whose ring buffer is not modelled yet".to_string()));
        }
        self.page = Some(PageLayout::parse(&page)?);
        Ok(())
    }
    /// The descriptions of ftrace's own events.
    pub(super) fn read_ftrace_formats(&mut self, fields: &mut Fields<impl Read>, stats: &mut ImportStats) -> Result<(), Broken> {
        for _ in 0..fields.u32()? {
            let text = sized_text(fields)?;
            self.tracepoints.add("ftrace", &text, stats);
        }
        Ok(())
    }
    /// The descriptions of all tracepoints, system by system.
    pub(super) fn read_event_formats(&mut self, fields: &mut Fields<impl Read>, stats: &mut ImportStats) -> Result<(), Broken> {
        for _ in 0..fields.u32()? {
            let system = fields.string()?;
            for _ in 0..fields.u32()? {
                let text = sized_text(fields)?;
                self.tracepoints.add(&system, &text, stats);
            }
        }
        Ok(())
    }
    /// Names of tasks.
    pub(super) fn read_cmdlines(&mut self, fields: &mut Fields<impl Read>) -> Result<(), Broken> {
        let length = fields.u64()?;
        self.cmdlines = fields.block(length, CMDLINES_MAX)?;
        Ok(())
    }
    /// An option that both versions write alike; all others are of no use here.
    pub(super) fn take_option(&mut self, id: u16, data: &[u8], fields: &mut Fields<&[u8]>, stats: &mut ImportStats) {
        let text = || String::from_utf8_lossy(data.split(|&byte| byte == 0).next().unwrap_or(data));
        match id {
            OPTION_CPUSTAT => dropped_events(&text(), stats),
            OPTION_TRACECLOCK => self.clock = chosen_clock(&text()).or(self.clock.take()),
            // System, host, release, architecture.
            OPTION_UNAME => text().split_whitespace().nth(2).into_iter().for_each(|release| stats.recorded_on(release)),
            OPTION_TIME_SHIFT => stats.info(0, "it is the record of a guest: times are the guest's own, not the host's"),
            OPTION_GUEST => stats.info(0, "it is the record of a host: the events of its guests lie in files of their own"),
            OPTION_TSC2NSEC => match (fields.u32(), fields.u32()) {
                (Ok(mult), Ok(shift)) if mult > 0 && shift < 64 => self.cycles = Some(Cycles { mult, shift }),
                _ => stats.warn(0, "how cycles become ns could not be read"),
            },
            _ => {}
        }
    }
}

/// A text behind its length of 8 bytes.
fn sized_text(fields: &mut Fields<impl Read>) -> Result<String, Broken> {
    let length = fields.u64()?;
    let bytes = fields.block(length, FORMAT_MAX)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// `[local] global counter`: the one in brackets.
fn chosen_clock(text: &str) -> Option<String> {
    let (_, rest) = text.split_once('[')?;
    Some(rest.split_once(']')?.0.to_string())
}

/// `dropped events: 12` among a CPU's statistics: they found the buffer full. Overwritten ones are
/// told by the pages themselves.
pub(super) fn dropped_events(text: &str, stats: &mut ImportStats) {
    let dropped = text.lines().find_map(|line| line.trim().strip_prefix("dropped events:")?.trim().parse::<u64>().ok());
    if let Some(dropped) = dropped.filter(|&dropped| dropped > 0) {
        stats.lost(0, Some(dropped));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_and_dropped_events() {
        assert_eq!(chosen_clock("local global [mono] tai\n").as_deref(), Some("mono"));
        assert_eq!((chosen_clock("local"), chosen_clock("[")), (None, None));
        let mut stats = ImportStats::new("test");
        dropped_events("CPU: 0\nentries: 0\noverrun: 7\ndropped events: 12\nread events: 3\n", &mut stats);
        dropped_events("CPU: 1\ndropped events: 0\n", &mut stats);
        assert_eq!(stats.lost_events, 12);
    }
}
