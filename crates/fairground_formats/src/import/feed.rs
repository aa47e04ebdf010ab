//! The last step of every reader: times are counted from the first event, numbers are checked
//! against what the model can hold, everything is counted.

use crate::flat;
use crate::import::ImportStats;
use fairground_model::{Sink, TraceEvent};
use fairground_stdx::{CpuId, CpuMask, Instant, Ns};

/// All run times, and all times of kernel work, of a recording together: 13 days on each of 1024 CPUs are 2^60 ns. So no sum of them
/// that anybody makes can overflow.
const SUM_MAX_NS: u64 = 1 << 60;

/// Hands events to the sink.
pub(crate) struct Feed<'a> {
    pub(crate) sink: &'a mut dyn Sink,
    pub(crate) stats: ImportStats,
    base_ns: Option<u64>,
    /// The run times so far, and the times of kernel work.
    sums_ns: [u64; 2],
}

impl<'a> Feed<'a> {
    /// Times are counted from the first event.
    pub(crate) fn new(format: &'static str, sink: &'a mut dyn Sink) -> Feed<'a> {
        Feed { sink, stats: ImportStats::new(format), base_ns: None, sums_ns: [0; 2] }
    }
    /// Times are taken as they stand.
    pub(crate) fn with_own_times(format: &'static str, sink: &'a mut dyn Sink) -> Feed<'a> {
        Feed { base_ns: Some(0), ..Feed::new(format, sink) }
    }
    /// Whether the model can hold a CPU of this number; notes it if not.
    pub(crate) fn holds_cpu(&mut self, cpu: u32, line: u64) -> bool {
        let holds = (cpu as usize) < CpuMask::CAPACITY;
        if !holds {
            self.stats.skip(line, &format!("a CPU number of {} or more was left out", CpuMask::CAPACITY));
        }
        holds
    }
    /// The time of something that is no event, between those of the events around it.
    pub(crate) fn instant(&self, at_ns: u64) -> Instant {
        let since_first = self.base_ns.map_or(0, |base| at_ns.saturating_sub(base));
        Instant::from_ns(since_first).clamp(self.stats.last_at, Instant::MAX)
    }
    /// Hands on one event, whose CPU numbers were checked. An event that is earlier than the one
    /// before gets that one's time.
    pub(crate) fn emit(&mut self, at_ns: u64, cpu: u32, line: u64, event: &TraceEvent) {
        let base = *self.base_ns.get_or_insert(at_ns);
        let mut at = Instant::from_ns(at_ns.saturating_sub(base));
        if at > Instant::MAX {
            return self.stats.skip(line, "a time more than 13 days after the first event was left out");
        }
        if let Some(what) = self.impossible(event) {
            return self.stats.skip(line, what);
        }
        if at_ns < base || at < self.stats.last_at {
            self.stats.clamped += 1;
            self.stats.warn(line, "time goes back too far to sort: such events were given the time of the event before");
            at = self.stats.last_at;
        }
        if self.stats.events == 0 {
            (self.stats.first_at, self.stats.offset_ns) = (at, base);
            self.sink.epoch(base);
        }
        self.stats.last_at = at;
        self.stats.events += 1;
        *self.stats.kinds.entry(flat::event_name(event)).or_insert(0) += 1;
        self.stats.cpus.insert(CpuId::new(cpu));
        self.sink.record(at, CpuId::new(cpu), event);
    }
    /// What is wrong with a length of time in an event. Lengths that are possible are added up.
    fn impossible(&mut self, event: &TraceEvent) -> Option<&'static str> {
        const LONG: &str = "a run time that no task can have had was left out";
        let (sum, length, what) = match *event {
            TraceEvent::SchedStatRuntime { runtime, .. } => (0, runtime, LONG),
            TraceEvent::KernelSection { took, .. } => (1, took, "a time of kernel work that is too long was left out"),
            TraceEvent::QueueAct { clock, .. } if clock > Ns(Instant::MAX.ns()) => {
                return Some("a clock of a run queue beyond 13 days was left out");
            }
            _ => return None,
        };
        let total = self.sums_ns[sum].saturating_add(length.0);
        if length.0 > Instant::MAX.ns() || total > SUM_MAX_NS {
            return Some(what);
        }
        self.sums_ns[sum] = total;
        None
    }
    /// Ends the import.
    pub(crate) fn finish(mut self) -> ImportStats {
        if self.stats.events == 0 {
            self.stats.warn(0, "there is no scheduling event in it");
        }
        self.stats
    }
}
