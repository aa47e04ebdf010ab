//! One line of trace text: what stands before the event's fields.

use fairground_model::WakeContext;

/// The parts of an event line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct EventLine<'a> {
    /// Name of the current task, as the recorder's cache has it.
    pub(super) current_name: &'a str,
    /// Its process id.
    pub(super) current_pid: u32,
    /// The CPU.
    pub(super) cpu: u32,
    /// Where the CPU was, if the line has the column of interrupt flags.
    pub(super) context: Option<WakeContext>,
    /// The time in ns.
    pub(super) at_ns: u64,
    /// The event's name without its group (`sched:`).
    pub(super) event: &'a str,
    /// Its fields.
    pub(super) body: &'a str,
}

/// What a line is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum LineKind<'a> {
    /// Empty, a comment, or the recorder's own heading.
    Heading,
    /// The recorder lost events: how many, if it says so.
    Lost(Option<u64>),
    /// A frame of a call chain, or a line of the function tracer.
    CallChain,
    /// An event.
    Event(EventLine<'a>),
    /// None of these.
    Unknown,
}

/// Brackets that are tried as the column `[CPU]`. A name of the kernel (15 bytes) holds 5 at most;
/// without a bound a hostile line would cost the square of its length.
const CPU_COLUMNS_TRIED: usize = 16;

/// Finds out what a line is.
pub(super) fn classify(line: &str) -> LineKind<'_> {
    let trimmed = line.trim();
    if trimmed.is_empty() {
        return LineKind::Heading;
    }
    // Events first: a task may be called `# LOST 1 EVENTS`.
    match event_line(line) {
        Some(Some(event)) => return LineKind::Event(event),
        Some(None) => return LineKind::CallChain,
        None => {}
    }
    match trimmed.strip_prefix('#') {
        Some(comment) => overwritten(comment).map_or(LineKind::Heading, |lost| LineKind::Lost(Some(lost))),
        None if is_lost(trimmed) => LineKind::Lost(count_lost(trimmed)),
        None if is_call_chain(trimmed) => LineKind::CallChain,
        None if is_heading(trimmed) => LineKind::Heading,
        None => LineKind::Unknown,
    }
}

/// `entries-in-buffer/entries-written: 205/1234   #P:4`: the difference was overwritten.
fn overwritten(comment: &str) -> Option<u64> {
    let numbers = comment.trim_start().strip_prefix("entries-in-buffer/entries-written:")?.trim_start();
    let (kept, rest) = numbers.split_once('/')?;
    let written = rest.split_whitespace().next()?;
    written.parse::<u64>().ok()?.checked_sub(kept.parse().ok()?).filter(|&lost| lost > 0)
}

/// `CPU:3 [LOST 42 EVENTS]`, `CPU:3 [42 EVENTS DROPPED]`, `… PERF_RECORD_LOST lost 12`.
fn is_lost(line: &str) -> bool {
    let bracketed = line.ends_with(']') && line.contains('[') && (line.contains("LOST") || line.contains("DROPPED"));
    let plain = line.starts_with("LOST ") && line.to_ascii_uppercase().contains("EVENTS");
    let elided = line.starts_with("[...") && line.contains("lost");
    bracketed || plain || elided || line.contains("PERF_RECORD_LOST")
}

/// The number beside the word: the last number of the line that is a word of its own.
fn count_lost(line: &str) -> Option<u64> {
    line.rsplit(|c: char| c.is_whitespace() || c == '[' || c == ']').find_map(|word| word.parse().ok())
}

/// `ffffffff81a2b3c4 __schedule+0x2d (…)` of perf, ` => schedule` of ftrace.
fn is_call_chain(line: &str) -> bool {
    let address = line.split_whitespace().next().unwrap_or("");
    line.starts_with("=> ") || (address.len() >= 5 && address.bytes().all(|byte| byte.is_ascii_hexdigit()) && line.contains(' '))
}

/// Headings of `trace-cmd report`.
fn is_heading(line: &str) -> bool {
    let starts = ["cpus=", "version = ", "trace-cmd: ", "CPU: ", "entries: ", "overrun: ", "commit overrun: "];
    starts.iter().any(|start| line.starts_with(start)) || (line.starts_with("CPU ") && line.ends_with(" is empty"))
}

/// The parts of an event line; `Some(None)` if it has its columns but no event (function tracer).
/// A task's name may hold anything, so each `[number]` that the rest fits is tried in turn.
fn event_line(line: &str) -> Option<Option<EventLine<'_>>> {
    let with_cpu = || line.match_indices('[').take(CPU_COLUMNS_TRIED).find_map(|(open, _)| event_line_with_cpu_at(line, open));
    with_cpu().or_else(|| latency_line(line))
}

/// The line in the form of `trace-cmd report -l`: `bash-1234   3d..2. 12345.678901: …`, CPU and flags in one word. Each word that is a
/// time and stands behind such a word is tried in turn.
fn latency_line(line: &str) -> Option<Option<EventLine<'_>>> {
    line.match_indices(": ").take(CPU_COLUMNS_TRIED).find_map(|(colon, _)| {
        let (before, word) = line[..=colon].rsplit_once(' ')?;
        let at_ns = time(word)?;
        let (columns, cpu_flags) = before.trim_end().rsplit_once(' ')?;
        let (cpu, flags) = cpu_flags.split_at(cpu_flags.find(|c: char| !c.is_ascii_digit())?);
        let is_flags = (4..=8).contains(&flags.len())
            && flags.bytes().all(|byte| byte == b'.' || byte == b'-' || byte.is_ascii_alphanumeric());
        let current = current_task(columns).filter(|_| is_flags)?;
        behind_time(&line[colon + 1..], current, decimal(cpu)?, context(flags), at_ns)
    })
}

fn event_line_with_cpu_at(line: &str, open: usize) -> Option<Option<EventLine<'_>>> {
    let (cpu, rest) = line[open + 1..].split_once(']')?;
    let cpu = decimal(cpu)?;
    let current = current_task(&line[..open])?;
    let (first, rest) = next_word(rest)?;
    let (flags, at_ns, rest) = match time(first) {
        Some(at_ns) => (None, at_ns, rest),
        None => {
            let (second, rest) = next_word(rest)?;
            (Some(first), time(second)?, rest)
        }
    };
    behind_time(rest, current, cpu, flags.and_then(context), at_ns)
}

/// The event behind the columns of a line.
fn behind_time<'a>(
    rest: &'a str,
    (current_name, current_pid): (&'a str, u32),
    cpu: u32,
    context: Option<WakeContext>,
    at_ns: u64,
) -> Option<Option<EventLine<'a>>> {
    let (mut name, mut body) = next_word(rest)?;
    if name.starts_with("(+") && name.ends_with(')') {
        (name, body) = next_word(body)?; // the time since the line before, of `trace-cmd report --ts-diff`
    }
    if name.bytes().all(|byte| byte.is_ascii_digit()) {
        (name, body) = next_word(body)?; // the sample period of `perf script -F +period`
    }
    let Some(name) = name.strip_suffix(':') else {
        return if name.starts_with("PERF_RECORD_") { None } else { Some(None) };
    };
    let event = name.rsplit(':').next().unwrap_or(name);
    Some(Some(EventLine { current_name, current_pid, cpu, context, at_ns, event, body }))
}

/// `bash-1234`, `bash-1234  (  1200)` of ftrace; `bash  1234`, `bash  1200/1234` of perf.
fn current_task(columns: &str) -> Option<(&str, u32)> {
    let columns = without_tgid(columns.trim());
    let word_start =
        columns.rfind(char::is_whitespace).map_or(0, |at| at + columns[at..].chars().next().map_or(1, char::len_utf8));
    let word = &columns[word_start..];
    let number = |text: &str| decimal(text).filter(|&pid| pid <= i32::MAX as u32);
    if word == "-1" {
        return Some((columns[..word_start].trim(), 0)); // perf knows no task
    }
    if let Some(pid) = number(word.split_once('/').map_or(word, |(_, tid)| tid)) {
        return Some((columns[..word_start].trim(), pid));
    }
    let (name, pid) = columns.rsplit_once('-')?;
    Some((name.trim(), number(pid)?))
}

/// Cuts off the column `(  1200)` or `(-----)`, the id of the thread group.
fn without_tgid(columns: &str) -> &str {
    let Some((before, tgid)) = columns.strip_suffix(')').and_then(|columns| columns.rsplit_once('(')) else { return columns };
    let is_tgid = tgid.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-' || byte == b' ');
    if is_tgid { before.trim_end() } else { columns }
}

/// The third flag: `h`, `H`, `z`, `Z` hard interrupt or NMI, `s` soft interrupt, `.` neither.
fn context(flags: &str) -> Option<WakeContext> {
    Some(match flags.as_bytes().get(2)? {
        b'h' | b'H' | b'z' | b'Z' => WakeContext::Hardirq,
        b's' => WakeContext::Softirq,
        _ => WakeContext::Task,
    })
}

/// `123.456789:` in ns. Digits beyond the ninth are below a nanosecond.
fn time(word: &str) -> Option<u64> {
    let (seconds, fraction) = word.strip_suffix(':')?.split_once('.')?;
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if !is_number(seconds) || !is_number(fraction) {
        return None;
    }
    let digits = &fraction[..fraction.len().min(9)];
    let below_second = digits.parse::<u64>().ok()? * 10u64.pow(9 - digits.len() as u32);
    seconds.parse::<u64>().ok()?.checked_mul(1_000_000_000)?.checked_add(below_second)
}

fn decimal(text: &str) -> Option<u32> {
    if text.bytes().all(|byte| byte.is_ascii_digit()) { text.parse().ok() } else { None }
}

/// The next word and what follows the blank behind it.
fn next_word(text: &str) -> Option<(&str, &str)> {
    let text = text.trim_start_matches([' ', '\t']);
    let end = text.find([' ', '\t']).unwrap_or(text.len());
    let rest = text[end..].strip_prefix([' ', '\t']).unwrap_or("");
    if end == 0 { None } else { Some((&text[..end], rest)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(line: &str) -> EventLine<'_> {
        match classify(line) {
            LineKind::Event(event) => event,
            other => panic!("{line:?} is {other:?}"),
        }
    }
    fn columns(line: &str) -> (&str, u32, u32, Option<WakeContext>, u64, &str, &str) {
        let e = event(line);
        (e.current_name, e.current_pid, e.cpu, e.context, e.at_ns, e.event, e.body)
    }

    #[test]
    fn the_layouts_of_all_recorders() {
        use WakeContext::*;
        let at = 12_345_678_901_000;
        for (line, name, pid, context, at_ns) in [
            ("          <idle>-0       [003] d.h2. 12345.678901: e: b c", "<idle>", 0, Some(Hardirq), at),
            ("            bash-1234    [003] d.s2. 12345.678901: e: b c", "bash", 1234, Some(Softirq), at),
            ("            bash-1234    [003] dNZ2  12345.678901: e: b c", "bash", 1234, Some(Hardirq), at),
            ("            bash-1234    ( 1200) [003] .....  12345.678901: e: b c", "bash", 1234, Some(Task), at),
            ("            bash-1234    (-----) [003] .....  12345.678901: e: b c", "bash", 1234, Some(Task), at),
            ("            bash-1234  [003]  12345.678901: e: b c", "bash", 1234, None, at),
            ("            bash-1234  [003]  12345.678901234: e: b c", "bash", 1234, None, at + 234),
            ("bash  1234 [003] 12345.678901:       g:e: b c", "bash", 1234, None, at),
            ("bash  1200/1234 [003] 12345.678901:          1 g:e: b c", "bash", 1234, None, at),
            (":-1    -1 [003] 12345.678901: g:e: b c", ":-1", 0, None, at),
            ("Web Content  77 [003] 12345.678901: g:e: b c", "Web Content", 77, None, at),
            ("a [1] b: c/d-e-77 [003] ..... 12345.678901: e: b c", "a [1] b: c/d-e", 77, Some(Task), at),
            ("kworker/u8:2-ev-77 [003] ..... 12345.678901: e: b c", "kworker/u8:2-ev", 77, Some(Task), at),
            ("# LOST 1 EVENTS-77 [003] ..... 12345.678901: e: b c", "# LOST 1 EVENTS", 77, Some(Task), at),
            ("(sd-pam)-77 [003] ..... 12345.678901: e: b c", "(sd-pam)", 77, Some(Task), at),
            ("bash-1234 [003] 12345.678901: (+17)    e: b c", "bash", 1234, None, at),
            ("bash-1234 [003] 12345.678901:          e: b c", "bash", 1234, None, at),
            ("    bash-1234    3d.h2. 12345.678901: e: b c", "bash", 1234, Some(Hardirq), at),
            ("lto cgu.-1234    3..... 12345.678901: (+2)  e: b c", "lto cgu.", 1234, Some(Task), at),
            ("    bash-1234    3-0x1 12345.678901: e: b c", "bash", 1234, Some(Task), at),
        ] {
            assert_eq!(columns(line), (name, pid, 3, context, at_ns, "e", "b c"), "{line}");
        }
    }

    #[test]
    fn blanks_behind_the_event_name_belong_to_the_body() {
        assert_eq!(event("a-1 [000] 1.5: sched_switch:   x:1").body, "  x:1");
        assert_eq!(event("a-1 [000] 1.5: e:").body, "");
    }

    #[test]
    fn lost_events() {
        for (line, lost) in [
            ("CPU:3 [LOST 42 EVENTS]", Some(42)),
            ("CPU:3 [42 EVENTS DROPPED]", Some(42)),
            ("CPU:3 [EVENTS DROPPED]", None),
            ("LOST 7 EVENTS", Some(7)),
            ("[... lost ...]", None),
            ("swapper 0 [001] 1.5: PERF_RECORD_LOST lost 33", Some(33)),
            ("# entries-in-buffer/entries-written: 205/1234   #P:4", Some(1029)),
        ] {
            assert_eq!(classify(line), LineKind::Lost(lost), "{line}");
        }
        assert_eq!(classify("# entries-in-buffer/entries-written: 205/205   #P:4"), LineKind::Heading);
    }

    #[test]
    fn the_rest() {
        for line in ["", "  ", "# tracer: nop", "cpus=8", "CPU 3 is empty"] {
            assert_eq!(classify(line), LineKind::Heading, "{line}");
        }
        for line in [" => schedule", "\tffffffff81a2b3c4 __schedule+0x2d ([kernel.kallsyms])", "a-1 [000] 1.5: f <-g"] {
            assert_eq!(classify(line), LineKind::CallChain, "{line}");
        }
        for line in ["hello", "a-1 [000] 15: e: x", "a-1 [x] 1.5: e: x", "a [000] 1.5: e: x", "a-1 [000] 1.5:", "[", "a-1 [0"] {
            assert_eq!(classify(line), LineKind::Unknown, "{line}");
        }
    }
}
