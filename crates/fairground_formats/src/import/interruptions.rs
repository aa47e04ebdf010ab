//! Interrupts and soft interrupts: from entries and exits to stretches of time.
//!
//! # The problem
//!
//! A recorder writes one record where a handler begins and one where it is done. A consumer wants to know for how long the CPU was
//! taken from its task. One handler interrupts another, so that lengths from entry to exit would count time twice.
//!
//! # The rule
//!
//! Each nanosecond goes to the innermost handler of its CPU. A handler that is interrupted gives one stretch before that and one
//! behind it. A stretch is handed on once its end is read, with the time of its beginning.
//!
//! What has no end is no stretch: an exit was lost if the CPU switches while a handler runs, or leaves an outer one. An exit without
//! its entry is counted, and no more. On a PREEMPT_RT kernel a soft interrupt runs in a thread that can be switched out: of such a
//! one nothing behind its last interruption is handed on.

use fairground_model::Section;

/// Handlers that can lie in one another: task, softirq, hard interrupt, NMI, and room for what is odd.
const NESTED_AT_MOST: usize = 8;
/// Kernel: interrupt.h NET_RX_SOFTIRQ, v4.12–
const NET_RX: u32 = 3;
/// Kernel: interrupt.h SCHED_SOFTIRQ, v4.12–
const SCHED: u32 = 7;

/// Which handler: what it is, and its number among those.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Handler {
    pub(crate) section: Section,
    pub(crate) number: u32,
}

/// The tracepoint of a handler's entry or exit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct HandlerEvent {
    /// Whether it begins.
    pub(crate) enters: bool,
    /// The field that has its number.
    pub(crate) field: &'static str,
    section: Section,
}

impl HandlerEvent {
    /// By the name of the tracepoint.
    pub(crate) fn of(name: &str) -> Option<HandlerEvent> {
        let (own, enters) = match (name.strip_suffix("_entry"), name.strip_suffix("_exit")) {
            (Some(own), _) => (own, true),
            (_, Some(own)) => (own, false),
            _ => return None,
        };
        let (field, section) = match own {
            "irq_handler" => ("irq", Section::DeviceInterrupt),
            "softirq" => ("vec", Section::Softirq),
            "local_timer" => ("vector", Section::HrtimerInterrupt),
            "reschedule" => ("vector", Section::RescheduleIpi),
            _ => return None,
        };
        Some(HandlerEvent { enters, field, section })
    }
    /// The handler of this number.
    pub(crate) fn handler(self, number: u32) -> Handler {
        let section = match (self.section, number) {
            (Section::Softirq, NET_RX) => Section::NetRxSoftirq,
            (Section::Softirq, SCHED) => Section::SchedSoftirq,
            (section, _) => section,
        };
        Handler { section, number }
    }
}

/// A stretch of a handler.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Stretch {
    pub(crate) section: Section,
    pub(crate) from_ns: u64,
    pub(crate) took_ns: u64,
}

/// A handler that is not done.
struct Open {
    handler: Handler,
    /// Since when it is the innermost one.
    since_ns: u64,
}

/// The handlers of all CPUs.
#[derive(Default)]
pub(crate) struct Interruptions {
    cpus: Vec<Vec<Open>>,
}

impl Interruptions {
    fn cpu(&mut self, cpu: u32) -> &mut Vec<Open> {
        let cpu = cpu as usize;
        if self.cpus.len() <= cpu {
            self.cpus.resize_with(cpu + 1, Vec::new);
        }
        &mut self.cpus[cpu]
    }
    /// A handler begins. What it interrupts has a stretch up to here.
    pub(crate) fn enter(&mut self, cpu: u32, at_ns: u64, handler: Handler) -> Option<Stretch> {
        let open = self.cpu(cpu);
        if open.len() == NESTED_AT_MOST {
            open.clear();
        }
        let stretch = open.last().and_then(|outer| stretch(outer, at_ns)).filter(|stretch| stretch.took_ns > 0);
        open.push(Open { handler, since_ns: at_ns });
        stretch
    }
    /// A handler is done; `Err`: its entry is not recorded.
    pub(crate) fn leave(&mut self, cpu: u32, at_ns: u64, handler: Handler) -> Result<Option<Stretch>, ()> {
        let open = self.cpu(cpu);
        let place = open.iter().rposition(|row| row.handler == handler).ok_or(())?;
        // The exits of those inside are lost, and with them when this one went on.
        let is_innermost = place + 1 == open.len();
        let stretch = is_innermost.then(|| stretch(&open[place], at_ns)).flatten();
        open.truncate(place);
        if let Some(outer) = open.last_mut() {
            outer.since_ns = at_ns;
        }
        Ok(stretch)
    }
    /// The CPU switches: no handler runs.
    pub(crate) fn switch(&mut self, cpu: u32) {
        self.cpu(cpu).clear();
    }
}

fn stretch(open: &Open, at_ns: u64) -> Option<Stretch> {
    let took_ns = at_ns.checked_sub(open.since_ns)?;
    Some(Stretch { section: open.handler.section, from_ns: open.since_ns, took_ns })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn handler(name: &str, number: u32) -> Handler {
        HandlerEvent::of(name).unwrap().handler(number)
    }
    fn stretch(section: Section, from_ns: u64, took_ns: u64) -> Stretch {
        Stretch { section, from_ns, took_ns }
    }

    #[test]
    fn time_goes_to_the_innermost_handler() {
        let (mut rows, softirq, irq) = (Interruptions::default(), handler("softirq_entry", 3), handler("irq_handler_entry", 24));
        assert_eq!(rows.enter(0, 100, softirq), None);
        assert_eq!(rows.enter(0, 130, irq), Some(stretch(Section::NetRxSoftirq, 100, 30)));
        assert_eq!(rows.leave(0, 150, irq), Ok(Some(stretch(Section::DeviceInterrupt, 130, 20))));
        assert_eq!(rows.leave(0, 200, softirq), Ok(Some(stretch(Section::NetRxSoftirq, 150, 50))));
    }

    #[test]
    fn each_cpu_has_its_own() {
        let (mut rows, irq) = (Interruptions::default(), handler("irq_handler_entry", 24));
        rows.enter(1, 100, irq);
        assert_eq!(rows.leave(0, 150, irq), Err(()));
        assert_eq!(rows.leave(1, 150, irq), Ok(Some(stretch(Section::DeviceInterrupt, 100, 50))));
    }

    #[test]
    fn what_has_no_end_is_no_stretch() {
        let (mut rows, softirq, irq) = (Interruptions::default(), handler("softirq_entry", 1), handler("irq_handler_entry", 24));
        // The exit of the inner one is lost.
        rows.enter(0, 100, softirq);
        rows.enter(0, 130, irq);
        assert_eq!(rows.leave(0, 200, softirq), Ok(None));
        // The CPU switched meanwhile.
        rows.enter(0, 300, irq);
        rows.switch(0);
        assert_eq!(rows.leave(0, 400, irq), Err(()));
        // More than can lie in one another: exits are lost.
        for at in 0..100 {
            rows.enter(0, 500 + at, irq);
        }
        assert!(rows.cpu(0).len() <= NESTED_AT_MOST);
    }

    #[test]
    fn handlers_by_their_tracepoints() {
        let section = |name: &str, number| HandlerEvent::of(name).map(|event| (event.enters, event.handler(number).section));
        assert_eq!(section("softirq_entry", 7), Some((true, Section::SchedSoftirq)));
        assert_eq!(section("softirq_exit", 9), Some((false, Section::Softirq)));
        assert_eq!(section("local_timer_exit", 236), Some((false, Section::HrtimerInterrupt)));
        for other in ["softirq_raise", "sys_entry", "sched_switch", "_entry", "hrtimer_expire_entry"] {
            assert_eq!(section(other, 1), None, "{other}");
        }
    }
}
