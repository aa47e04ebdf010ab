//! The fields of the scheduler's tracepoints, in the kernel's own format (`comm=bash pid=7 …`) and
//! in the short one of the trace-cmd and perf plugins (`bash:7 [120] …`); and those of `cpu_frequency`.
//!
//! Names may hold anything, even what looks like a field, so fields are taken from the right.

use crate::ftrace::QUEUE_ACT;
use crate::ftrace::line::EventLine;
use crate::ftrace::state;
use crate::import::interruptions::HandlerEvent;
use crate::import::{NameTable, RawEvent, Who};
use fairground_model::{QueueAct, Reason};

/// Why the fields gave no event.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum BodyError {
    /// The tracepoint is of no use here.
    NotUsed,
    /// The fields are not those of the tracepoint.
    Malformed,
}

/// Places that are tried as the border between two tasks. A name of the kernel (15 bytes) holds 3 at
/// most; without a bound a hostile line would cost the square of its length.
const BORDERS_TRIED: usize = 16;

/// The highest number of a group that is read.
const MOST_GROUPS: u32 = 1 << 20;

/// Reads the fields of `line`'s event.
pub(super) fn parse(line: &EventLine<'_>, names: &mut NameTable) -> Result<RawEvent, BodyError> {
    let body = line.body;
    let event = match line.event {
        "sched_switch" => switch(body, names),
        "sched_waking" => wakee(body, names).map(|(task, target_cpu)| RawEvent::Waking {
            task,
            target_cpu,
            current: Who { pid: line.current_pid, prio: None, name: Some(names.intern(line.current_name)), name_is_stale: true },
            context: line.context,
        }),
        "sched_wakeup" => {
            let context = line.context;
            wakee(body, names).map(|(task, target_cpu)| RawEvent::Wakeup { task, target_cpu, context })
        }
        "sched_wakeup_new" => wakee(body, names).map(|(task, target_cpu)| RawEvent::WakeupNew { task, target_cpu }),
        "sched_migrate_task" => migrate(body, names),
        "sched_stat_runtime" => runtime(body, names),
        "sched_process_fork" => fork(body, names),
        "sched_process_exit" => exit(body, names),
        "cpu_frequency" => frequency(body),
        "tracing_mark_write" => return quota(body).ok_or(BodyError::NotUsed),
        QUEUE_ACT => queue_act(body),
        "hrtimer_expire_entry" => return hrtick(line).ok_or(BodyError::NotUsed),
        "cgroup_attach_task" | "cgroup_transfer_tasks" => attach(body, names),
        name => match HandlerEvent::of(name) {
            Some(event) => handler(body, event),
            None => return Err(BodyError::NotUsed),
        },
    };
    event.ok_or(BodyError::Malformed)
}

/// What our own runs tell of quotas: `I|7|unthrottle: group 0 has quota again and goes on on CPU 3`.
fn quota(body: &str) -> Option<RawEvent> {
    let (pid, text) = body.trim_start().strip_prefix("I|")?.split_once('|')?;
    let (slug, sentence) = text.split_once(": ")?;
    let is = |reason: Reason| slug == reason.slug();
    if is(Reason::ThrottleWork) {
        let task = Who { pid: number(pid)?, prio: None, name: None, name_is_stale: false };
        return Some(RawEvent::ThrottleWork { task });
    }
    if !is(Reason::Throttle) && !is(Reason::Unthrottle) {
        return None;
    }
    let mut numbers = sentence.strip_prefix("group ")?.split(|c: char| !c.is_ascii_digit()).filter(|word| !word.is_empty());
    let group = number(numbers.next()?).filter(|&group: &u32| group <= MOST_GROUPS)?;
    let other = number(numbers.next()?)?;
    Some(match is(Reason::Throttle) {
        true => RawEvent::Throttle { group, debt_ns: other },
        false => RawEvent::Unthrottle { group, cpu: other },
    })
}

/// `cpu=001 clock=123456789 act=tell group=2 pid=77`.
fn queue_act(body: &str) -> Option<RawEvent> {
    let field = |key: &str| body.split_ascii_whitespace().find_map(|word| word.strip_prefix(key)?.strip_prefix('='));
    let name = field("act")?;
    let group = field("group").map(|text| number(text).filter(|&group: &u32| group <= MOST_GROUPS));
    let pid = field("pid").map(number);
    Some(RawEvent::QueueAct {
        act: QueueAct::ALL.into_iter().find(|act| act.name() == name)?,
        cpu: number(field("cpu")?)?,
        clock: number(field("clock")?)?,
        group: if group == Some(None) { return None } else { group.flatten() },
        task: match pid {
            Some(pid) => Some(Who { pid: pid?, prio: None, name: None, name_is_stale: false }),
            None => None,
        },
    })
}

/// `hrtimer=00000000a7dd30d5 function=hrtick now=9172033104`: the timer's clock is not that of the run queue.
fn hrtick(line: &EventLine<'_>) -> Option<RawEvent> {
    let is_hrtick = line.body.split_ascii_whitespace().any(|word| word == "function=hrtick");
    is_hrtick.then_some(RawEvent::QueueAct { act: QueueAct::Hrtick, cpu: line.cpu, clock: 0, group: None, task: None })
}

fn switch(body: &str, names: &mut NameTable) -> Option<RawEvent> {
    let long = body.trim_start().starts_with("prev_comm=");
    // `trace-cmd report -R` prints the fields one by one, without the arrow.
    let raw = long && !body.contains(" ==> next_comm=");
    let separator = match (long, raw) {
        (true, false) => " ==> next_comm=",
        (true, true) => " next_comm=",
        (false, _) => " ==> ",
    };
    let body = if long { body } else { without_latency(body) };
    let (prev, prev_state, next) = body.match_indices(separator).take(BORDERS_TRIED).find_map(|(at, _)| {
        let (left, right) = (body[..at].trim_start(), &body[at + separator.len()..]);
        if long { long_switch(left, right, names) } else { short_switch(left, right, names) }
    })?;
    Some(RawEvent::Switch { prev, prev_state, next })
}

/// Cuts off `Latency: 58.578 usecs`, which `trace-cmd report -w` adds.
fn without_latency(body: &str) -> &str {
    match body.rsplit_once(" Latency: ") {
        Some((left, time)) if time.ends_with(" usecs") => left,
        _ => body,
    }
}

type Sides = (Who, fairground_model::PrevState, Who);

/// `prev_comm=a prev_pid=1 prev_prio=120 prev_state=S` and `b next_pid=2 next_prio=120`.
fn long_switch(left: &str, right: &str, names: &mut NameTable) -> Option<Sides> {
    let (left, prev_state) = take_last(left, " prev_state=")?;
    let (left, prev_prio) = take_last(left, " prev_prio=")?;
    let (left, prev_pid) = take_last(left, " prev_pid=")?;
    let (right, next_prio) = take_last(right, " next_prio=")?;
    let (next_name, next_pid) = take_last(right, " next_pid=")?;
    let state = state::parse(prev_state)?;
    let prev = who(left.strip_prefix("prev_comm=")?, prev_pid, Some(prev_prio), names)?;
    Some((prev, state, who(next_name, next_pid, Some(next_prio), names)?))
}

/// `a:1 [120] S` and `b:2 [120]`.
fn short_switch(left: &str, right: &str, names: &mut NameTable) -> Option<Sides> {
    let (left, prev_state) = left.rsplit_once(' ')?;
    let state = state::parse(prev_state)?;
    Some((short_who(left, names)?, state, short_who(right, names)?))
}

/// `a:1 [120]` or `a:1`.
fn short_who(text: &str, names: &mut NameTable) -> Option<Who> {
    let text = text.trim_end();
    let (text, prio) = match text.strip_suffix(']').and_then(|text| text.rsplit_once(" [")) {
        Some((text, prio)) => (text, Some(prio)),
        None => (text, None),
    };
    let (name, pid) = text.rsplit_once(':')?;
    who(name, pid, prio, names)
}

/// `comm=a pid=1 prio=120 target_cpu=003`, with or without `success=1`; `a:1 [120] success=1 CPU:003`,
/// `a:1 [120]<CPU:003>`.
fn wakee(body: &str, names: &mut NameTable) -> Option<(Who, u32)> {
    let body = body.trim_start();
    if body.starts_with("comm=") {
        let (left, cpu) = take_last(body, " target_cpu=")?;
        let left = without_success(left, " success=");
        return Some((keyed_who(left, names)?, number(cpu)?));
    }
    let (left, cpu) = body.trim_end().trim_end_matches('>').rsplit_once("CPU:")?;
    let left = left.trim_end_matches('<').trim_end();
    Some((short_who(without_success(left, " success="), names)?, number(cpu)?))
}

/// `comm=a pid=1 prio=120 orig_cpu=0 dest_cpu=1`.
fn migrate(body: &str, names: &mut NameTable) -> Option<RawEvent> {
    let (left, dest_cpu) = take_last(body.trim_start(), " dest_cpu=")?;
    let (left, orig_cpu) = take_last(left, " orig_cpu=")?;
    Some(RawEvent::MigrateTask { task: keyed_who(left, names)?, orig_cpu: number(orig_cpu)?, dest_cpu: number(dest_cpu)? })
}

/// `comm=a pid=1 runtime=100 [ns] vruntime=200 [ns]`; kernels from 6.8 on have no vruntime.
fn runtime(body: &str, names: &mut NameTable) -> Option<RawEvent> {
    let body = body.trim_start();
    let (left, vruntime) = match take_last(body, " vruntime=").and_then(|(left, value)| Some((left, wrapping_number(value)?))) {
        Some((left, vruntime)) => (left, Some(vruntime)),
        None => (body, None),
    };
    let (left, runtime) = take_last(left, " runtime=")?;
    let (name, pid) = take_last(left, " pid=")?;
    let task = who(name.strip_prefix("comm=")?, pid, None, names)?;
    Some(RawEvent::StatRuntime { task, runtime: number(runtime)?, vruntime })
}

/// `comm=a pid=1 child_comm=b child_pid=2`, or in the raw form `parent_comm=a parent_pid=1 child_comm=b child_pid=2`.
fn fork(body: &str, names: &mut NameTable) -> Option<RawEvent> {
    const CHILD: &str = " child_comm=";
    let (left, child_pid) = take_last(body.trim_start(), " child_pid=")?;
    let (pid, comm) = if left.starts_with("parent_comm=") { (" parent_pid=", "parent_comm=") } else { (" pid=", "comm=") };
    left.match_indices(CHILD).take(BORDERS_TRIED).find_map(|(at, _)| {
        let (parent_name, parent_pid) = take_last(&left[..at], pid)?;
        let parent = who(parent_name.strip_prefix(comm)?, parent_pid, None, names)?;
        let child = who(&left[at + CHILD.len()..], child_pid, None, names)?;
        Some(RawEvent::Fork { parent, child })
    })
}

/// `comm=a pid=1 prio=120`, since 6.16 followed by `group_dead=true`.
fn exit(body: &str, names: &mut NameTable) -> Option<RawEvent> {
    keyed_who(body.trim_start(), names).map(|task| RawEvent::Exit { task })
}

/// `state=729000 cpu_id=3`.
fn frequency(body: &str) -> Option<RawEvent> {
    let (left, cpu) = take_last(body.trim_start(), " cpu_id=")?;
    Some(RawEvent::CpuFrequency { cpu: number(cpu)?, khz: number(left.strip_prefix("state=")?)? })
}

/// `irq=24 name=eth0`, `irq=24 ret=handled`, `vec=3 [action=NET_RX]`, `vector=236`.
fn handler(body: &str, event: HandlerEvent) -> Option<RawEvent> {
    let value = body.trim_start().strip_prefix(event.field)?.strip_prefix('=')?;
    let handler = event.handler(number(value)?);
    Some(if event.enters { RawEvent::Enters(handler) } else { RawEvent::Leaves(handler) })
}

/// `dst_root=0 dst_id=9 dst_level=2 dst_path=/a/b pid=1 comm=a`.
fn attach(body: &str, names: &mut NameTable) -> Option<RawEvent> {
    const COMM: &str = " comm=";
    let root = number::<u64>(body.trim_start().strip_prefix("dst_root=")?)?;
    let (_, rest) = body.split_once(" dst_path=")?;
    let (path, pid, name) = rest.match_indices(COMM).take(BORDERS_TRIED).find_map(|(at, _)| {
        let (path, pid) = take_last(&rest[..at], " pid=")?;
        number::<u32>(pid).map(|_| (path, pid, &rest[at + COMM.len()..]))
    })?;
    let path = names.intern_path(path);
    Some(RawEvent::Group { task: who(name, pid, None, names)?, path, hierarchy: root, comes: true })
}

/// `comm=a pid=1 prio=120`.
fn keyed_who(text: &str, names: &mut NameTable) -> Option<Who> {
    let (left, prio) = take_last(text, " prio=")?;
    let (name, pid) = take_last(left, " pid=")?;
    who(name.strip_prefix("comm=")?, pid, Some(prio), names)
}

fn who(name: &str, pid: &str, prio: Option<&str>, names: &mut NameTable) -> Option<Who> {
    let pid = number::<u32>(pid).filter(|&pid| pid <= i32::MAX as u32)?;
    let prio = prio.map(number::<i32>);
    if prio == Some(None) {
        return None;
    }
    Some(Who { pid, prio: prio.flatten(), name: Some(names.intern(name)), name_is_stale: false })
}

/// Cuts off `success=1` of old kernels.
fn without_success<'a>(text: &'a str, key: &str) -> &'a str {
    match take_last(text, key) {
        Some((left, value)) if number::<u32>(value).is_some() => left,
        _ => text,
    }
}

/// What stands before the last `key`, and what behind it.
fn take_last<'a>(text: &'a str, key: &str) -> Option<(&'a str, &'a str)> {
    text.rfind(key).map(|at| (&text[..at], &text[at + key.len()..]))
}

/// A number that is followed by nothing or by a blank.
fn number<T: std::str::FromStr>(text: &str) -> Option<T> {
    text.split(' ').next()?.parse().ok()
}

/// A u64 that some recorders print as a negative number.
fn wrapping_number(text: &str) -> Option<u64> {
    number::<u64>(text).or_else(|| number::<i64>(text).map(|signed| signed as u64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::import::interruptions::Handler;
    use fairground_model::{PrevState, Section};

    /// Name, pid and priority.
    type Short = (String, u32, Option<i32>);

    fn read(event: &str, body: &str) -> Result<(RawEvent, NameTable), BodyError> {
        let line = EventLine { current_name: "cur", current_pid: 5, cpu: 0, context: None, at_ns: 0, event, body };
        let mut names = NameTable::default();
        parse(&line, &mut names).map(|event| (event, names))
    }
    fn short(who: Who, names: &NameTable) -> Short {
        (names.get(who.name.unwrap()).to_string(), who.pid, who.prio)
    }
    fn switch_sides(body: &str) -> Option<(Short, PrevState, Short)> {
        match read("sched_switch", body) {
            Ok((RawEvent::Switch { prev, prev_state, next }, names)) => {
                Some((short(prev, &names), prev_state, short(next, &names)))
            }
            _ => None,
        }
    }

    #[test]
    fn what_our_runs_tell_of_quotas_is_read_and_nothing_else_of_their_marks() {
        let mark = |body: &str| read("tracing_mark_write", body).map(|row| row.0);
        let used = "I|7|throttle: group 2 has used up its quota, and 30 ns beyond, and stops here";
        assert_eq!(mark(used), Ok(RawEvent::Throttle { group: 2, debt_ns: 30 }));
        let again = "I|0|unthrottle: group 2 has quota again and goes on on CPU 3";
        assert_eq!(mark(again), Ok(RawEvent::Unthrottle { group: 2, cpu: 3 }));
        let left = mark("I|7|throttle-work: a (7) has left its queue on its way back to user mode, and waits for quota");
        assert!(matches!(left, Ok(RawEvent::ThrottleWork { task }) if task.pid == 7));
        for other in
            ["I|7|pick-only: group 2 is the only candidate", "C|7|latency|4", "I|7|throttle: group", "I||throttle", "B|7|f", ""]
        {
            assert_eq!(mark(other), Err(BodyError::NotUsed), "{other}");
        }
        assert_eq!(mark("I|7|unthrottle: group 4294967295 goes on on CPU 3"), Err(BodyError::NotUsed));
    }

    #[test]
    fn names_may_hold_anything() {
        let names = ["bash", "Web Content", "a ==> b", "x prev_pid=9", "k/u8:2-ev", "[0] <1>: =>", " ", "", "a:1 [2] R", "é"];
        for prev in names {
            for next in names {
                let long = format!(
                    "prev_comm={prev} prev_pid=1 prev_prio=120 prev_state=R+ ==> next_comm={next} next_pid=22 next_prio=-1"
                );
                let expected = ((prev.to_string(), 1, Some(120)), PrevState::Running, (next.to_string(), 22, Some(-1)));
                assert_eq!(switch_sides(&long), Some(expected), "{long}");
            }
        }
    }

    #[test]
    fn the_short_form_of_a_switch() {
        for prev in ["bash", "Web Content", "k/u8:2-ev", "a ==> b"] {
            let body = format!("        {prev}:1 [120] D|K ==> swapper/3:0 [120]");
            let expected = ((prev.to_string(), 1, Some(120)), PrevState::DiskSleep, ("swapper/3".to_string(), 0, Some(120)));
            assert_eq!(switch_sides(&body), Some(expected), "{body}");
        }
    }

    #[test]
    fn wakee_in_all_forms() {
        for body in [
            "comm=my task pid=7 prio=120 target_cpu=003",
            "comm=my task pid=7 prio=120 success=1 target_cpu=003",
            "my task:7 [120] success=1 CPU:003",
            "my task:7 [120] CPU:003",
            "  my task:7 [120]<CPU:003>",
        ] {
            let (event, names) = read("sched_wakeup", body).unwrap();
            let RawEvent::Wakeup { task, target_cpu: 3, context: None } = event else { panic!("{event:?}") };
            assert_eq!(short(task, &names), ("my task".to_string(), 7, Some(120)), "{body}");
        }
        let (event, _) = read("sched_waking", "comm=x pid=7 prio=120 target_cpu=003").unwrap();
        assert!(matches!(event, RawEvent::Waking { target_cpu: 3, current: Who { pid: 5, .. }, .. }));
    }

    #[test]
    fn the_other_tracepoints() {
        let event = |event, body| read(event, body).map(|(event, _)| event);
        assert!(matches!(
            event("sched_migrate_task", "comm=a pid=7 prio=120 orig_cpu=4 dest_cpu=6"),
            Ok(RawEvent::MigrateTask { orig_cpu: 4, dest_cpu: 6, .. })
        ));
        assert!(matches!(
            event("sched_stat_runtime", "comm=a pid=7 runtime=100 [ns] vruntime=18446744073708551616 [ns]"),
            Ok(RawEvent::StatRuntime { runtime: 100, vruntime: Some(18446744073708551616), .. })
        ));
        assert!(matches!(
            event("sched_stat_runtime", "comm=a pid=7 runtime=100 [ns]"),
            Ok(RawEvent::StatRuntime { runtime: 100, vruntime: None, .. })
        ));
        assert!(matches!(
            event("sched_process_fork", "comm=a child_comm= pid=7 child_comm=b child_pid=8"),
            Ok(RawEvent::Fork { parent: Who { pid: 7, .. }, child: Who { pid: 8, .. } })
        ));
        assert!(matches!(
            event("sched_process_exit", "comm=a pid=7 prio=120 group_dead=true"),
            Ok(RawEvent::Exit { task: Who { pid: 7, prio: Some(120), .. } })
        ));
        assert_eq!(event("cpu_frequency", "state=729000 cpu_id=3"), Ok(RawEvent::CpuFrequency { cpu: 3, khz: 729_000 }));
        let handler = |section, number| Handler { section, number };
        let device = handler(Section::DeviceInterrupt, 24);
        assert_eq!(event("irq_handler_entry", "irq=24 name=eth0"), Ok(RawEvent::Enters(device)));
        assert_eq!(event("irq_handler_exit", "irq=24 ret=handled"), Ok(RawEvent::Leaves(device)));
        let net = handler(Section::NetRxSoftirq, 3);
        assert_eq!(event("softirq_entry", "vec=3 [action=NET_RX]"), Ok(RawEvent::Enters(net)));
        assert_eq!(event("softirq_exit", "vec=3"), Ok(RawEvent::Leaves(net)));
        assert_eq!(event("softirq_raise", "vec=3 [action=NET_RX]"), Err(BodyError::NotUsed));
    }

    #[test]
    fn what_does_not_fit_is_malformed() {
        for (event, body) in [
            ("sched_switch", "prev_comm=a prev_pid=1 prev_prio=120 prev_state=R ==> next_comm=b next_pid=2 next_prio="),
            ("sched_switch", "prev_comm=a prev_pid=-1 prev_prio=120 prev_state=R ==> next_comm=b next_pid=2 next_prio=120"),
            ("sched_switch", ""),
            ("sched_wakeup", "comm=a pid=99999999999 prio=120 target_cpu=0"),
            ("sched_wakeup", "comm=a pid=1 prio=120"),
            ("sched_process_fork", "comm=a pid=1"),
            ("cpu_frequency", "state=729000"),
            ("irq_handler_entry", "irq=-1 name=eth0"),
            ("softirq_exit", "action=NET_RX"),
            ("cpu_frequency", "state=729000 cpu_id=-1"),
            ("cpu_frequency", "state=4294967296 cpu_id=0"),
        ] {
            assert_eq!(read(event, body).err(), Some(BodyError::Malformed), "{body}");
        }
    }
}
