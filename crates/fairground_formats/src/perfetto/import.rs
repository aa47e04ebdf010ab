//! From a Perfetto trace to events.

use crate::import::{Assembler, Feed, ImportStats, NameId, RawEvent, RawRecord, Who};
use crate::perfetto::bundle::{self, BundleHead};
use crate::perfetto::clocks::{Clocks, Oddity};
use crate::perfetto::compact::{CompactSched, CompactSwitch, CompactWaking};
use crate::perfetto::event::{FtraceEvent, Meaning, Reading, wake_context};
use crate::perfetto::losses::Losses;
use crate::perfetto::merge::CpuMerge;
use crate::perfetto::packet::{self, Content, TracePacket};
use crate::perfetto::packets::{self, Next, Packets};
use crate::perfetto::process_tree;
use crate::perfetto::state::StateBits;
use crate::perfetto::wire::WireError;
use fairground_model::{PrevState, Sink};
use fairground_stdx::CpuMask;
use flate2::read::ZlibDecoder;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, Read};

/// Bytes that one compressed packet may unpack to. Recorders pack some hundred KiB at a time.
const UNPACKED_MAX: u64 = 64 << 20;
/// Writers of scheduling events that are kept apart; a recorder has one.
const SEQUENCES_MAX: usize = 1024;

/// Whether `head`, the beginning of a file, looks like a Perfetto trace.
pub fn sniff(head: &[u8]) -> bool {
    packets::sniff(head)
}

/// Reads a Perfetto trace to its end. What makes no sense is counted and noted, never fatal.
pub fn read(mut source: impl BufRead, sink: &mut dyn Sink) -> ImportStats {
    let mut import = Import::new(sink);
    import.packets(&mut source, Depth::File);
    import.finish()
}

/// Where packets lie.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Depth {
    File,
    /// In a compressed packet of the file.
    Compressed,
}

/// What events are read with, out of the fields of an import that are not in use meanwhile.
macro_rules! reading {
    ($import:expr) => {
        Reading { names: &mut $import.assembler.names, state_bits: $import.state_bits, replaced: &mut $import.replaced }
    };
}

struct Import<'a> {
    assembler: Assembler<'a>,
    merge: CpuMerge,
    /// The current task of each CPU, where it is known. Its name may be out of date.
    current: Vec<Option<Who>>,
    /// Names that other sources than scheduling events tell.
    names: BTreeMap<u32, Who>,
    compact: CompactSched,
    clocks: Clocks,
    /// What has to be added to the times of the bundle in hand.
    offset_ns: i64,
    losses: Losses,
    /// Places in the file where events are missing.
    gaps: u64,
    state_bits: StateBits,
    /// Writers that scheduling events came from.
    sequences: BTreeSet<u64>,
    bundles: u64,
    /// Wake-ups that do not tell whether an interrupt made them.
    without_context: u64,
    /// Names in which bytes had to be replaced.
    replaced: u64,
    /// The packet of the file in hand, counted from 1.
    number: u64,
}

impl<'a> Import<'a> {
    fn new(sink: &'a mut dyn Sink) -> Import<'a> {
        let mut assembler = Assembler::new(Feed::new(super::NAME, sink));
        assembler.stats().count_records();
        Import {
            assembler,
            merge: CpuMerge::default(),
            current: Vec::new(),
            names: BTreeMap::new(),
            compact: CompactSched::default(),
            clocks: Clocks::default(),
            offset_ns: 0,
            losses: Losses::default(),
            gaps: 0,
            state_bits: StateBits::default(),
            sequences: BTreeSet::new(),
            bundles: 0,
            without_context: 0,
            replaced: 0,
            number: 0,
        }
    }

    fn packets(&mut self, source: &mut dyn BufRead, depth: Depth) {
        let mut packets = Packets::new(source);
        while let Some(next) = packets.next() {
            self.number += u64::from(depth == Depth::File);
            match next {
                Next::Packet(message) => self.packet(message, depth),
                Next::TooLong => self.skip("a packet of more than 64 MiB was left out"),
                Next::NoPacket => self.unused("what is no packet is not used"),
                _ if depth == Depth::Compressed => self.skip("a compressed packet could not be unpacked to its end"),
                Next::CutOff => self.skip("the last packet is cut off: it was left out"),
                Next::Broken => self.skip("the file is broken here: what follows could not be read"),
                Next::Failed(error) => self.warn(&format!("reading stopped before the end: {error}")),
            }
        }
    }

    fn packet(&mut self, message: &[u8], depth: Depth) {
        let packet = TracePacket::read(message);
        if packet.is_broken {
            self.skip("a packet is broken inside: what follows in it could not be read");
        }
        if packet.is_remote {
            return self.unused("packets of another machine are not used");
        }
        if packet.previous_packet_dropped && self.sequences.contains(&packet.sequence) {
            self.gap();
            self.current.clear();
        }
        match packet.content {
            Content::FtraceEvents(bundle) => {
                if self.sequences.len() < SEQUENCES_MAX {
                    self.sequences.insert(packet.sequence);
                }
                self.bundle(bundle);
            }
            Content::ProcessTree(tree) => self.process_tree(tree),
            Content::FtraceStats(stats) => self.losses.take(stats),
            Content::SystemInfo(info) => {
                if let Some(release) = packet::release(info) {
                    self.state_bits = StateBits::of_release(release);
                    self.assembler.stats().recorded_on(release);
                }
            }
            Content::CompressedPackets(packed) if depth == Depth::File => {
                let unpacked = ZlibDecoder::new(packed).take(UNPACKED_MAX);
                self.packets(&mut BufReader::new(unpacked), Depth::Compressed);
            }
            Content::CompressedPackets(_) => self.skip("a compressed packet within a compressed packet was left out"),
            Content::Other => {
                self.unused("packets without scheduling events (track events, snapshots of clocks and the like) are not used")
            }
        }
    }

    fn skip(&mut self, what: &str) {
        self.assembler.stats().skip(self.number, what);
    }
    fn unused(&mut self, what: &str) {
        self.assembler.stats().unused(self.number, what);
    }
    fn warn(&mut self, what: &str) {
        self.assembler.stats().warn(self.number, what);
    }
    /// The recorder says that events are missing here.
    fn gap(&mut self) {
        self.gaps += 1;
        self.assembler.stats().lost(self.number, None);
    }

    fn process_tree(&mut self, tree: &[u8]) {
        process_tree::for_each_name(tree, |pid, name| {
            let name = Some(reading!(self).name(name));
            self.names.insert(pid, Who { pid, name, ..IDLE });
        });
    }

    fn bundle(&mut self, bundle: &[u8]) {
        self.bundles += 1;
        let mut compact = std::mem::take(&mut self.compact);
        compact.clear();
        let head = bundle::read_head(bundle, &mut compact, |name| reading!(self).name(name));
        if let Some(cpu) = self.enter(head) {
            self.records(cpu, bundle, &compact);
        }
        self.compact = compact;
    }

    /// Takes what is told about a bundle as a whole; gives its CPU if its events can be used.
    fn enter(&mut self, head: BundleHead) -> Option<u32> {
        if head.is_broken {
            self.skip("a bundle of events is broken inside: what follows in it could not be read");
        }
        let Some(cpu) = head.cpu else {
            self.skip("a bundle of events that does not name its CPU was left out");
            return None;
        };
        if cpu as usize >= CpuMask::CAPACITY {
            let what = format!("a bundle of a CPU with a number of {} or more was left out", CpuMask::CAPACITY);
            self.skip(&what);
            return None;
        }
        if self.current.len() <= cpu as usize {
            self.current.resize(cpu as usize + 1, None);
        }
        if head.lost_events {
            self.gap();
            self.current[cpu as usize] = None;
        }
        for _ in 0..head.errors {
            self.gap();
        }
        let (offset_ns, oddity) = self.clocks.offset(head.clock);
        self.offset_ns = offset_ns;
        if let Some(oddity) = oddity {
            self.warn(about_clock(oddity));
        }
        Some(cpu)
    }

    /// The records of a bundle in order of time. At equal times wake-ups come first and switches last.
    fn records(&mut self, cpu: u32, bundle: &[u8], compact: &CompactSched) {
        let (mut wakings, mut switches, mut events) = (compact.wakings(), compact.switches(), bundle::events(bundle));
        let mut waking = wakings.next();
        let mut event = self.next_event(&mut events);
        let mut switch = switches.next();
        loop {
            let times = [waking.map(|row| row.at_ns), event.map(|(at_ns, _)| at_ns), switch.map(|row| row.at_ns)];
            let earliest = times.iter().flatten().min().copied();
            match (waking, event, switch) {
                (Some(row), ..) if Some(row.at_ns) == earliest => {
                    self.compact_waking(cpu, row, compact);
                    waking = wakings.next();
                }
                (_, Some((at_ns, row)), _) if Some(at_ns) == earliest => {
                    self.event(cpu, at_ns, row);
                    event = self.next_event(&mut events);
                }
                (.., Some(row)) => {
                    self.compact_switch(cpu, row, compact);
                    switch = switches.next();
                }
                _ => break,
            }
        }
        if wakings.is_broken() || switches.is_broken() {
            let what = "the columns of compact events do not fit each other: what follows in them could not be read";
            self.skip(what);
        }
    }

    /// The next plain event that has a time.
    fn next_event<'b>(
        &mut self,
        events: &mut impl Iterator<Item = Result<FtraceEvent<'b>, WireError>>,
    ) -> Option<(u64, FtraceEvent<'b>)> {
        for event in events {
            match event {
                Ok(event @ FtraceEvent { at_ns: Some(at_ns), .. }) => return Some((at_ns, event)),
                Ok(_) => self.skip("an event without a time was left out"),
                Err(_) => self.skip("an event that is broken inside was left out"),
            }
        }
        None
    }

    fn event(&mut self, cpu: u32, at_ns: u64, event: FtraceEvent<'_>) {
        let current = match event.current_pid {
            Some(pid) => self.current[cpu as usize].filter(|known| known.pid == pid).unwrap_or_else(|| self.by_pid(pid)),
            None => self.current[cpu as usize].unwrap_or(IDLE),
        };
        if event.current_pid.is_some() {
            self.current[cpu as usize] = Some(current);
        }
        let recorded = event.current_pid;
        match event.meaning(current, &mut reading!(self)) {
            Meaning::Used(event) => {
                match event {
                    RawEvent::Switch { next, .. } => self.current[cpu as usize] = Some(stale(next)),
                    RawEvent::Waking { context: None, .. } => self.without_context += 1,
                    _ => {}
                }
                self.push(cpu, at_ns, event, recorded);
            }
            Meaning::Name(who) => drop(self.names.insert(who.pid, stale(who))),
            Meaning::NotUsed => {
                self.unused("kernel events that are not of the scheduler are not used");
            }
            Meaning::Malformed(tracepoint) => {
                let what = format!("a `{tracepoint}` without its process id, CPU or state was left out");
                self.skip(&what);
            }
        }
    }

    fn compact_switch(&mut self, cpu: u32, row: CompactSwitch, compact: &CompactSched) {
        let Some(next) = self.compact_who(row.next_pid, row.next_prio, compact.name(row.next_name)) else { return };
        let prev_state = self.state_bits.state(row.prev_state);
        match self.current[cpu as usize].replace(stale(next)) {
            Some(Who { pid: 0, .. }) if prev_state != PrevState::Running => {
                self.skip(
                    "a compact switch from the idle task, which cannot sleep, was left out: the switch before it is missing",
                );
            }
            Some(prev) => self.push(cpu, row.at_ns, RawEvent::Switch { prev, prev_state, next }, None),
            None => self.unused(
                "the first compact switch of a CPU, and that behind lost events, does not tell who ran before: it was left out",
            ),
        }
    }
    fn compact_waking(&mut self, cpu: u32, row: CompactWaking, compact: &CompactSched) {
        let Some(task) = self.compact_who(row.pid, row.prio, compact.name(row.name)) else { return };
        let Ok(target_cpu) = u32::try_from(row.target_cpu) else {
            return self.skip("a compact event with a negative number was left out");
        };
        let current = self.current[cpu as usize].unwrap_or_else(|| {
            let what = "wake-ups before a CPU's first switch do not tell the waker: they count as made by an interrupt";
            self.assembler.stats().info(self.number, what);
            IDLE
        });
        self.without_context += u64::from(row.flags.is_none());
        let context = row.flags.map(wake_context);
        self.push(cpu, row.at_ns, RawEvent::Waking { task, target_cpu, current, context }, None);
    }
    fn compact_who(&mut self, pid: i32, prio: i32, name: Option<NameId>) -> Option<Who> {
        if name.is_none() {
            self.warn("a compact event refers to a name that its bundle does not hold");
        }
        match u32::try_from(pid) {
            Ok(pid) => Some(Who { pid, prio: Some(prio), name, name_is_stale: false }),
            Err(_) => {
                self.skip("a compact event with a negative number was left out");
                None
            }
        }
    }

    /// The task with this process id, as far as it is known.
    fn by_pid(&self, pid: u32) -> Who {
        self.names.get(&pid).copied().unwrap_or(Who { pid, ..IDLE })
    }

    fn push(&mut self, cpu: u32, at_ns: u64, event: RawEvent, current: Option<u32>) {
        let Some(at_ns) = at_ns.checked_add_signed(self.offset_ns) else {
            return self.skip("an event before CLOCK_BOOTTIME began was left out");
        };
        if let Some(earliest) = self.merge.push(RawRecord { at_ns, cpu, line: self.number, event, current }) {
            self.assembler.push(earliest);
        }
    }

    fn finish(mut self) -> ImportStats {
        while let Some(record) = self.merge.pop() {
            self.assembler.push(record);
        }
        let stats = self.assembler.stats();
        // A gap counts as one lost event until the kernel's own count is known.
        let beyond_gaps = self.losses.total().saturating_sub(self.gaps);
        if beyond_gaps > 0 {
            stats.lost(0, Some(beyond_gaps));
        }
        if self.replaced > 0 {
            stats.info(0, "some bytes of names are no UTF-8: they were replaced");
        }
        if self.without_context > 0 {
            stats.info(0, "wake-ups do not tell whether an interrupt made them: the current task counts as the waker");
        }
        if self.bundles == 0 {
            stats.warn(0, NO_BUNDLES);
        }
        let mut stats = self.assembler.finish();
        note_missing_wakeups(&mut stats);
        stats
    }
}

const NO_BUNDLES: &str = "this is a Perfetto trace without ftrace events: record with the data source `linux.ftrace` and the \
     events sched/sched_switch, sched/sched_waking and sched/sched_wakeup";

/// The idle task, and a task of which nothing is known.
const IDLE: Who = Who { pid: 0, prio: None, name: None, name_is_stale: true };

/// A task as it was seen before: its name may be out of date by now, its priority too.
fn stale(who: Who) -> Who {
    Who { prio: None, name_is_stale: true, ..who }
}

fn about_clock(oddity: Oddity) -> &'static str {
    match oddity {
        Oddity::PerCpu => {
            "the recorder used a clock that each CPU keeps for itself: the order of events on different CPUs may be wrong"
        }
        Oddity::MixedAligned => {
            "bundles are stamped by different clocks: times were brought to CLOCK_BOOTTIME as the recorder read both"
        }
        Oddity::MixedUnknown => {
            "bundles are stamped by different clocks, and it is not told how they relate: their order may be wrong"
        }
    }
}

fn note_missing_wakeups(stats: &mut ImportStats) {
    let has = |kind: &str| stats.kinds.contains_key(kind);
    let (waking, wakeup) = (has("sched_waking"), has("sched_wakeup"));
    if has("sched_switch") && !waking && !wakeup {
        stats.warn(0, "there is no wake-up in it: record sched/sched_waking and sched/sched_wakeup too");
    } else if waking && !wakeup {
        stats.info(0, "there is no sched_wakeup in it: on which CPU a task was queued is not recorded");
    }
}
