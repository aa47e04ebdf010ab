//! From text to counters. Every mistake is told with its place.

use super::{Layout, SchedStatFile};
use fairground_model::{CpuStat, DomainStat, Mistakes, RqStats, SchedStat, SdStats};
use fairground_stdx::{CpuId, CpuMask};
use std::ops::Range;

/// Numbers in the line of a CPU: of the kernel, and of the two versions of the SIS patch.
const CPU_LINE: [usize; 3] = [9, 13, 15];
/// After so many mistakes the rest is not looked at.
const MISTAKES_MAX: usize = 20;
/// The most hexadecimal digits of a mask: kernels are built for at most 8192 CPUs.
const MASK_DIGITS_MAX: u32 = 2048;

const CPU_HINT: &str = "A line of a CPU has 9 numbers; with the patches for SIS statistics 13 or 15.";
const DOMAIN_HINT: &str = "A line of a domain has a mask and 36 numbers, or a name, a mask and 45 (version 17).";

/// A word and where it stands.
#[derive(Clone)]
struct Word<'t> {
    text: &'t str,
    span: Range<usize>,
}

/// A line of a domain before its order is known.
struct RawDomain<'t> {
    name: Option<&'t str>,
    span: CpuMask,
    numbers: Vec<u64>,
    place: Range<usize>,
}

/// A line of a CPU with those of its domains.
struct RawCpu<'t> {
    cpu: CpuId,
    numbers: Vec<u64>,
    domains: Vec<RawDomain<'t>>,
}

#[derive(Default)]
struct Reader<'t> {
    wrong: Mistakes,
    version: Option<u32>,
    timestamp: Option<u64>,
    mask_bits: u32,
    cpus: Vec<RawCpu<'t>>,
}

/// Reads a text of /proc/schedstat: version 15, 16 or 17, mainline or with the patches for SIS statistics.
///
/// Lines may end in `\r\n`, as they may in text traces; only [`super::write`] keeps to the kernel's `\n`.
pub fn read(text: &str) -> Result<SchedStatFile, Mistakes> {
    let mut reader = Reader::default();
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let words = words(line, start);
        match (words.is_empty(), line.ends_with('\n')) {
            (true, _) => {}
            (false, true) => reader.line(&words),
            (false, false) => reader.cut_off(&words),
        }
        if reader.wrong.0.len() >= MISTAKES_MAX {
            reader.wrong.whole("too many mistakes; the rest was not looked at", "Is it a text of /proc/schedstat?");
            break;
        }
        start += line.len();
    }
    reader.finish()
}

fn words(line: &str, start: usize) -> Vec<Word<'_>> {
    let mut words = Vec::new();
    let mut at = 0;
    for part in line.split([' ', '\t', '\r', '\n']) {
        if !part.is_empty() {
            words.push(Word { text: part, span: start + at..start + at + part.len() });
        }
        at += part.len() + 1;
    }
    words
}

/// A number as the kernel prints it: digits alone, the first of several no zero.
fn decimal(text: &str) -> Option<u64> {
    let is_plain = text.bytes().all(|byte| byte.is_ascii_digit()) && (text == "0" || !text.starts_with('0'));
    text.parse().ok().filter(|_| is_plain)
}

impl<'t> Reader<'t> {
    fn line(&mut self, words: &[Word<'t>]) {
        let (head, rest) = (&words[0], &words[1..]);
        match head.text {
            "version" if self.version.is_some() => self.second(head),
            "timestamp" if self.timestamp.is_some() => self.second(head),
            "version" => self.version = self.single(head, rest).and_then(|number| self.known_version(head, number)),
            "timestamp" => self.timestamp = self.single(head, rest),
            text if text.starts_with("cpu") => self.cpu(head, rest),
            text if text.starts_with("domain") => self.domain(head, rest),
            text => {
                let hint = "Lines begin with `version`, `timestamp`, `cpuN` or `domainN`.";
                self.wrong.at(head.span.clone(), format!("`{text}` begins no line of /proc/schedstat"), hint);
            }
        }
    }

    /// A last line without an end: its last number may lack digits even where there are enough numbers.
    fn cut_off(&mut self, words: &[Word<'t>]) {
        let message = format!("the text is cut off in the line of `{}`", words[0].text);
        let place = words[0].span.start..words[words.len() - 1].span.end;
        self.wrong.at(place, message, "The kernel ends every line, the last one too. Take the whole text again.");
    }

    /// A line that a text has once.
    fn second(&mut self, head: &Word<'_>) {
        let message = format!("a second line `{}`", head.text);
        self.wrong.at(head.span.clone(), message, "One text of /proc/schedstat has one. Give two snapshots as two files.");
    }

    /// The one number of a line.
    fn single(&mut self, head: &Word<'_>, rest: &[Word<'_>]) -> Option<u64> {
        match rest {
            [number] => self.number(number),
            _ => {
                let message = format!("`{}` has {} numbers", head.text, rest.len());
                self.wrong.at(head.span.clone(), message, "It has one.");
                None
            }
        }
    }

    fn known_version(&mut self, head: &Word<'_>, number: u64) -> Option<u32> {
        let known = u32::try_from(number).ok().filter(|&version| Layout::of_version(version).is_some());
        if known.is_none() {
            let message = format!("version {number} of /proc/schedstat is not modelled yet");
            self.wrong.at(head.span.clone(), message, "Versions 15, 16 and 17 can be read.");
        }
        known
    }

    fn number(&mut self, word: &Word<'_>) -> Option<u64> {
        let number = decimal(word.text);
        if number.is_none() {
            let message = format!("`{}` is no count", word.text);
            let hint = "A count is a whole number of at most 64 bits, without a sign and without zeros in front.";
            self.wrong.at(word.span.clone(), message, hint);
        }
        number
    }

    /// The numbers of a line, if all are numbers.
    fn numbers(&mut self, words: &[Word<'_>]) -> Option<Vec<u64>> {
        let numbers: Vec<Option<u64>> = words.iter().map(|word| self.number(word)).collect();
        numbers.into_iter().collect()
    }

    /// The number at the end of a line's first word.
    fn index(&mut self, head: &Word<'_>, prefix: &str) -> Option<usize> {
        let number = decimal(head.text.strip_prefix(prefix)?);
        let index = number.and_then(|number| usize::try_from(number).ok()).filter(|&index| index < CpuMask::CAPACITY);
        if index.is_none() {
            let message = format!("`{}` has no number below {}", head.text, CpuMask::CAPACITY);
            let hint = "It is written as in `cpu0`, `domain0`, without a sign and without zeros in front.";
            self.wrong.at(head.span.clone(), message, hint);
        }
        index
    }

    fn cpu(&mut self, head: &Word<'t>, rest: &[Word<'t>]) {
        let Some(index) = self.index(head, "cpu") else { return };
        let cpu = CpuId::new(index as u32);
        if self.cpus.last().is_some_and(|last| last.cpu >= cpu) {
            let message = match self.cpus.iter().any(|other| other.cpu == cpu) {
                true => format!("`{}` is there twice", head.text),
                false => format!("`{}` stands behind a CPU with a higher number", head.text),
            };
            return self.wrong.at(head.span.clone(), message, "Each CPU has one line, in order of the numbers.");
        }
        let first = self.cpus.first().map(|first| first.numbers.len());
        let len = rest.len();
        if !CPU_LINE.contains(&len) {
            return self.wrong.at(head.span.clone(), format!("`{}` has {len} numbers", head.text), CPU_HINT);
        }
        if first.is_some_and(|first| first != len) {
            let message = format!("`{}` has {len} numbers, the first CPU has another number of them", head.text);
            return self.wrong.at(head.span.clone(), message, "All lines of CPUs are alike.");
        }
        if let Some(numbers) = self.numbers(rest) {
            self.cpus.push(RawCpu { cpu, numbers, domains: Vec::new() });
        }
    }

    fn domain(&mut self, head: &Word<'t>, rest: &[Word<'t>]) {
        let Some(index) = self.index(head, "domain") else { return };
        let Some((name, mask, numbers)) = parts_of_domain(rest) else {
            let message = format!("`{}` is followed by {} words", head.text, rest.len());
            return self.wrong.at(head.span.clone(), message, DOMAIN_HINT);
        };
        let span = self.mask(mask);
        let numbers = self.numbers(numbers);
        let Some(cpu) = self.cpus.last_mut() else {
            let message = format!("`{}` stands before any CPU", head.text);
            return self.wrong.at(head.span.clone(), message, "The domains of a CPU follow its line.");
        };
        if index != cpu.domains.len() {
            let message = format!("`{}` is not the next domain of cpu{}", head.text, cpu.cpu);
            return self.wrong.at(head.span.clone(), message, "The domains of a CPU are numbered from 0, smallest first.");
        }
        if let (Some(span), Some(numbers)) = (span, numbers) {
            cpu.domains.push(RawDomain { name, span, numbers, place: head.span.clone() });
        }
    }

    fn mask(&mut self, word: &Word<'_>) -> Option<CpuMask> {
        let digits = word.text.bytes().filter(|&byte| byte != b',').count() as u32;
        let mask = CpuMask::parse_hex(word.text).filter(|_| digits <= MASK_DIGITS_MAX && !word.text.starts_with("0x"));
        match mask {
            Some(_) => self.mask_bits = self.mask_bits.max(digits * 4),
            None => {
                let message = format!("`{}` is no mask of CPUs below {}", word.text, CpuMask::CAPACITY);
                self.wrong.at(word.span.clone(), message, "A mask is hexadecimal, with a comma before each further 32 bits.");
            }
        }
        mask
    }

    fn finish(mut self) -> Result<SchedStatFile, Mistakes> {
        let (version, timestamp) = (self.version, self.timestamp);
        if self.wrong.0.is_empty() {
            for (missing, what) in
                [(version.is_none(), "version"), (timestamp.is_none(), "timestamp"), (self.cpus.is_empty(), "cpu")]
            {
                if missing {
                    self.wrong.whole(format!("there is no line `{what}`"), "Is it a text of /proc/schedstat, and all of it?");
                }
            }
        }
        let version = version.unwrap_or_default();
        let layout = self.layout(version);
        let highest = self.cpus.last().map_or(0, |cpu| cpu.cpu.get() + 1);
        let nr_cpu_ids = if self.mask_bits == 0 { highest } else { self.mask_bits };
        let cpus = self.cpus.into_iter().map(|cpu| cpu.ordered(layout)).collect();
        let stat = SchedStat { timestamp: timestamp.unwrap_or_default(), nr_cpu_ids, cpus };
        self.wrong.or(SchedStatFile { version, layout, stat })
    }

    /// The order of the domains' numbers. Kernels with additions to the lines of CPUs count their own versions: the
    /// patches are for kernels of version 15 where the domains are not those of version 17.
    fn layout(&mut self, version: u32) -> Layout {
        let plain = self.cpus.iter().all(|cpu| cpu.numbers.len() == CPU_LINE[0]);
        let domains = || self.cpus.iter().flat_map(|cpu| &cpu.domains);
        let by_kind = domains().next().map(|domain| domain.numbers.len() == Layout::ByKind.line_len());
        let layout = match (by_kind, plain) {
            (None, _) | (_, true) => Layout::of_version(version).unwrap_or(Layout::IdleFirst),
            (Some(true), false) => Layout::ByKind,
            (Some(false), false) => Layout::IdleFirst,
        };
        if let Some(odd) = domains().find(|domain| domain.numbers.len() != layout.line_len()) {
            let message = format!("a domain of {} numbers in a text of version {version}", odd.numbers.len());
            let hint = format!("They have {} numbers there.", layout.line_len());
            self.wrong.at(odd.place.clone(), message, hint);
        }
        layout
    }
}

type DomainParts<'w, 't> = (Option<&'t str>, &'w Word<'t>, &'w [Word<'t>]);

/// Name, mask and numbers, told by how many words there are: the layout with 45 numbers is the one with a name.
fn parts_of_domain<'w, 't>(words: &'w [Word<'t>]) -> Option<DomainParts<'w, 't>> {
    match words {
        [mask, numbers @ ..] if numbers.len() == Layout::IdleFirst.line_len() => Some((None, mask, numbers)),
        [name, mask, numbers @ ..] if numbers.len() == Layout::ByKind.line_len() => Some((Some(name.text), mask, numbers)),
        _ => None,
    }
}

impl RawCpu<'_> {
    fn ordered(self, layout: Layout) -> CpuStat {
        let mut numbers = self.numbers.into_iter();
        let mut next = || numbers.next().unwrap_or_default();
        let (yld_count, legacy) = (next(), next());
        let counted: [u64; 7] = std::array::from_fn(|_| next());
        let [sched_count, sched_goidle, ttwu_count, ttwu_local, rq_cpu_time, run_delay, pcount] = counted;
        let stats = RqStats { yld_count, sched_count, sched_goidle, ttwu_count, ttwu_local, rq_cpu_time, run_delay, pcount };
        let domains = self.domains.into_iter().map(|domain| domain.ordered(layout)).collect();
        CpuStat { cpu: self.cpu, stats, legacy, added: numbers.collect(), domains }
    }
}

impl RawDomain<'_> {
    fn ordered(self, layout: Layout) -> DomainStat {
        let mut numbers = self.numbers.into_iter();
        let mut stats = SdStats::default();
        for row in layout.blocks() {
            stats.lb[row] = layout.take_block(&mut numbers);
        }
        let mut next = || numbers.next().unwrap_or_default();
        (stats.alb_count, stats.alb_failed, stats.alb_pushed) = (next(), next(), next());
        let unused = std::array::from_fn(|_| next());
        (stats.ttwu_wake_remote, stats.ttwu_move_affine, stats.ttwu_move_balance) = (next(), next(), next());
        DomainStat { name: self.name.map(str::to_string), span: self.span, stats, unused }
    }
}
