//! hwloc's synthetic topology strings: `package:2 numa:1 l3:1 core:8 pu:2`.
//!
//! Each word is a kind of object and how many there are in each object of the word before. Kinds may
//! be shortened. Attributes stand in parentheses; `indexes=` of the PUs sets the CPU numbers, all
//! others are ignored with a note. `[numa]` attaches a NUMA node to each object of the word before.

mod indexes;

use crate::import::{FoundCpu, Imported, build};
use crate::machine::CAPACITY_SCALE;
use crate::suggest::clip;
use crate::validate::MAX_CPUS;
use fairground_model::Mistakes;
use std::ops::Range;

/// More levels than any machine has.
const MAX_LEVELS: usize = 64;

/// A kind of object.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Machine,
    Package,
    Die,
    Numa,
    Group,
    /// A cache that holds data, with its level.
    Cache(u32),
    InstructionCache,
    Core,
    Pu,
    Misc,
}

/// One word of the string.
#[derive(Clone, Debug)]
struct Level {
    kind: Kind,
    /// Whether the word was a number alone.
    untyped: bool,
    /// Objects of this level in the machine.
    width: u64,
    span: Range<usize>,
    /// The value of `indexes=`, with its place.
    indexes: Option<(String, Range<usize>)>,
}

/// Reads a synthetic topology string.
pub fn parse(text: &str) -> Result<Imported, Mistakes> {
    let mut reader = Reader { text, at: 0, levels: Vec::new(), notes: Vec::new(), mistakes: Mistakes::default() };
    reader.read();
    reader.finish_levels();
    let Reader { levels, mut notes, mut mistakes, .. } = reader;
    std::mem::take(&mut mistakes).or(())?;
    let pus = levels.last().map_or(0, |level| level.width);
    let numbers = match levels.last().and_then(|level| level.indexes.clone()) {
        Some((value, span)) => match indexes::numbers(&value, &levels, pus) {
            Ok(numbers) => numbers,
            Err((message, hint)) => {
                mistakes.at(span, message, hint);
                return Err(mistakes);
            }
        },
        None => (0..pus as u32).collect(),
    };
    for level in levels.iter().filter(|level| level.indexes.is_some() && level.kind != Kind::Pu) {
        notes.push(format!("indexes of {} are ignored", &text[level.span.clone()]));
    }
    let found = found(&levels, &numbers, &mut notes);
    build("synthetic", found, None, notes)
}

/// The CPUs, in the order in which the string describes them.
fn found(levels: &[Level], numbers: &[u32], notes: &mut Vec<String>) -> Vec<FoundCpu> {
    let pus = numbers.len() as u64;
    // Object number of PU `pu` on the outermost level that `fits`.
    let object = |fits: &dyn Fn(Kind) -> bool, pu: u64| {
        levels.iter().find(|level| fits(level.kind)).map(|level| pu / (pus / level.width).max(1))
    };
    let is_cache = |kind: Kind| matches!(kind, Kind::Cache(_));
    if !levels.iter().any(|level| is_cache(level.kind)) {
        notes.push("no cache is described: the CPUs of a package share one".to_string());
    }
    let last_level = levels.iter().find(|level| is_cache(level.kind)).map(|level| level.kind);
    let inner = |kind: Kind| is_cache(kind) && Some(kind) != last_level;
    let cpu = |(&number, pu): (&u32, u64)| {
        let core = object(&|kind| kind == Kind::Core, pu).unwrap_or(pu);
        let package = object(&|kind| kind == Kind::Package, pu).unwrap_or(0);
        FoundCpu {
            number,
            core,
            cluster: object(&inner, pu),
            llc: object(&is_cache, pu).unwrap_or(package),
            package,
            node: object(&|kind| kind == Kind::Numa, pu).unwrap_or(0) as u32,
            capacity: CAPACITY_SCALE,
            freq_domain: core,
        }
    };
    numbers.iter().zip(0..).map(cpu).collect()
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    levels: Vec<Level>,
    notes: Vec<String>,
    mistakes: Mistakes,
}

impl<'a> Reader<'a> {
    fn read(&mut self) {
        while let Some(start) = self.text[self.at..].find(|c: char| !c.is_whitespace()) {
            self.at += start;
            if self.levels.len() >= MAX_LEVELS {
                let hint = format!("A topology has at most {MAX_LEVELS} levels.");
                self.mistakes.at(self.at..self.text.len(), "too many levels", hint);
                return;
            }
            match self.text.as_bytes()[self.at] {
                b'(' => self.attributes(),
                b'[' => self.memory(),
                b')' | b']' => {
                    let span = self.at..self.at + 1;
                    self.mistakes.at(span, "a closing bracket without its opening one", "Take it away.");
                    self.at += 1;
                }
                _ => self.level(),
            }
        }
    }

    /// A kind with its arity, `core:8`; or a number alone, whose kind follows from its place.
    fn level(&mut self) {
        let rest = &self.text[self.at..];
        let length = rest.find(|c: char| c.is_whitespace() || "()[]".contains(c)).unwrap_or(rest.len());
        let (word, span) = (&rest[..length], self.at..self.at + length);
        self.at += length;
        let (kind, arity) = match word.split_once(':') {
            Some((kind, arity)) => (self.kind(kind, &span).or(Some(Kind::Misc)), arity),
            None => (None, word),
        };
        let count = arity.parse::<u64>().ok().filter(|arity| (1..=MAX_CPUS as u64).contains(arity));
        if count.is_none() {
            let hint = format!("Expected a kind and a number from 1 to {MAX_CPUS}, as in `core:8`.");
            self.mistakes.at(span.clone(), format!("`{}` is no number of objects", clip(arity)), hint);
        }
        self.push(kind, count.unwrap_or(1), span);
    }

    fn push(&mut self, kind: Option<Kind>, arity: u64, span: Range<usize>) {
        let width = self.levels.last().map_or(1, |level| level.width).saturating_mul(arity);
        // A number alone stays a group until all words are known.
        let (kind, untyped) = (kind.unwrap_or(Kind::Group), kind.is_none());
        self.levels.push(Level { kind, untyped, width, span, indexes: None });
    }

    fn kind(&mut self, name: &str, span: &Range<usize>) -> Option<Kind> {
        let kind = kind_of(&name.to_ascii_lowercase());
        if kind.is_none() {
            let hint = "There are: machine, package, die, numanode, group, l1 to l5 (with u, d or i), core, pu, misc.";
            self.mistakes.at(span.clone(), format!("`{}` is no kind of object", clip(name)), hint);
        }
        kind
    }

    /// Attributes of the level before, or of the machine: `(size=1MB indexes=0,2,1,3)`.
    fn attributes(&mut self) {
        let (span, inner) = self.bracket(')');
        let mut at = span.start + 1;
        for word in inner.split(char::is_whitespace) {
            let place = at..at + word.len();
            at += word.len() + 1;
            match (word.split_once('='), self.levels.last_mut()) {
                (Some(("indexes", value)), Some(level)) => level.indexes = Some((value.to_string(), place)),
                _ if word.is_empty() => {}
                _ => self.notes.push(format!("the attribute `{}` is ignored", clip(word))),
            }
        }
    }

    /// A NUMA node attached to each object of the level before: `[numa(memory=1GB)]`.
    fn memory(&mut self) {
        let (span, inner) = self.bracket(']');
        let inner = inner.trim();
        let name = inner.split(['(', ':']).next().unwrap_or("").trim();
        if self.kind(name, &span) != Some(Kind::Numa) {
            self.mistakes.at(span, "only a NUMA node stands in square brackets", "Write `[numa]`.");
        } else if self.levels.iter().any(|level| level.kind == Kind::Numa) {
            self.notes.push(format!("the further memory `{}` is ignored", clip(inner)));
        } else {
            self.push(Some(Kind::Numa), 1, span);
        }
    }

    /// Steps over the bracket that opens here: where it stands, and what stands in it.
    fn bracket(&mut self, close: char) -> (Range<usize>, &'a str) {
        let start = self.at;
        match self.text[start..].find(close) {
            Some(length) => {
                self.at = start + length + 1;
                (start..self.at, &self.text[start + 1..start + length])
            }
            None => {
                self.at = self.text.len();
                let hint = format!("A `{close}` belongs behind it.");
                self.mistakes.at(start..self.at, "a bracket that is not closed", hint);
                (start..self.at, &self.text[start + 1..])
            }
        }
    }

    fn finish_levels(&mut self) {
        self.guess_kinds();
        let span = 0..self.text.len();
        if self.levels.last().is_none_or(|level| level.kind != Kind::Pu) {
            self.mistakes.at(span.clone(), "the last level is not `pu`", "End with the threads of a core, as in `core:8 pu:1`.");
        }
        for (place, level) in self.levels.iter().enumerate() {
            let single = matches!(level.kind, Kind::Package | Kind::Die | Kind::Numa | Kind::Cache(_) | Kind::Core | Kind::Pu);
            if single && self.levels[..place].iter().any(|other| other.kind == level.kind) {
                let message = format!("a second level of the kind of `{}`", &self.text[level.span.clone()]);
                self.mistakes.at(level.span.clone(), message, "Each kind of object has one level.");
            }
            if matches!(level.kind, Kind::Die | Kind::Group | Kind::Misc) {
                self.notes
                    .push(format!("`{}` only counts objects: its level means nothing here", &self.text[level.span.clone()]));
            }
        }
        let width = self.levels.last().map_or(0, |level| level.width);
        if width > MAX_CPUS as u64 {
            self.mistakes.at(span, format!("a machine of {width} CPUs"), format!("At most {MAX_CPUS} CPUs can be simulated."));
        }
    }

    /// Gives numbers without a kind theirs: packages, cores, threads.
    fn guess_kinds(&mut self) {
        let untyped = self.levels.iter().filter(|level| level.untyped).count();
        if untyped == 0 {
            return;
        }
        const KINDS: [Kind; 3] = [Kind::Package, Kind::Core, Kind::Pu];
        if untyped < self.levels.len() || untyped > KINDS.len() {
            let hint = "Name each kind, as in `package:2 l3:1 core:8 pu:2`.";
            for level in self.levels.iter().filter(|level| level.untyped) {
                let message = format!("of which kind are the objects of `{}`?", &self.text[level.span.clone()]);
                self.mistakes.at(level.span.clone(), message, hint);
            }
            return;
        }
        let kinds = &KINDS[KINDS.len() - untyped..];
        self.levels.iter_mut().zip(kinds).for_each(|(level, kind)| level.kind = *kind);
        self.notes.push("numbers without a kind are taken as packages, cores and threads".to_string());
    }
}

/// The kind that a lower-case name means. Two letters are enough.
fn kind_of(name: &str) -> Option<Kind> {
    const NAMES: [(&str, Kind); 10] = [
        ("machine", Kind::Machine),
        ("package", Kind::Package),
        ("socket", Kind::Package),
        ("die", Kind::Die),
        ("numanode", Kind::Numa),
        ("node", Kind::Numa),
        ("group", Kind::Group),
        ("core", Kind::Core),
        ("pu", Kind::Pu),
        ("misc", Kind::Misc),
    ];
    if let Some(level) = name.strip_prefix('l') {
        let digit = level.chars().next()?.to_digit(10).filter(|digit| (1..=5).contains(digit))?;
        return match &level[1..] {
            "" | "u" | "d" | "cache" | "ucache" | "dcache" => Some(Kind::Cache(digit)),
            "i" | "icache" => Some(Kind::InstructionCache),
            _ => None,
        };
    }
    NAMES.iter().find(|(full, _)| name.len() >= 2 && full.starts_with(name)).map(|(_, kind)| *kind)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::CpuSpec;

    fn machine(text: &str) -> crate::Machine {
        parse(text).unwrap().machine
    }
    fn column(text: &str, key: fn(&CpuSpec) -> u32) -> Vec<u32> {
        machine(text).cpus.iter().map(key).collect()
    }
    fn messages(text: &str) -> Vec<String> {
        parse(text).unwrap_err().0.into_iter().map(|mistake| mistake.message).collect()
    }

    #[test]
    fn levels_multiply() {
        let text = "package:2 numa:1 l3:2 core:2 pu:2";
        assert_eq!(column(text, |cpu| cpu.core), [0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7]);
        assert_eq!(column(text, |cpu| cpu.llc), [0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3]);
        assert_eq!(column(text, |cpu| cpu.node), [0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1]);
        assert_eq!(column(text, |cpu| cpu.package), column(text, |cpu| cpu.node));
        assert_eq!(machine(text).distances, [[10, 20], [20, 10]]);
    }

    #[test]
    fn kinds_may_be_short_and_have_attributes() {
        let long = machine("Package:2 NUMANode:1(memory=1GB) L2Cache:1 Core:2 PU:1");
        let imported = parse("(memory=4GB) pack:2 [node(memory=1GB)] l2:1(size=1MB) l1i:1 co:2 pu:1").unwrap();
        assert_eq!(imported.machine, long);
        assert_eq!(imported.notes.len(), 3, "{:?}", imported.notes);
    }

    #[test]
    fn numbers_alone_are_packages_cores_and_threads() {
        let imported = parse("2 4 2").unwrap();
        assert_eq!(imported.machine.cpus, machine("package:2 core:4 pu:2").cpus);
        assert_eq!(messages("2 2 2 2").len(), 5, "four kinds and no pu");
    }

    #[test]
    fn a_cache_below_the_last_one_is_a_cluster() {
        let machine = machine("l3:1 l2:2 core:2 pu:1");
        let clusters: Vec<_> = machine.cpus.iter().map(|cpu| cpu.cluster).collect();
        assert_eq!(clusters, [Some(0), Some(0), Some(1), Some(1)]);
    }

    #[test]
    fn indexes_renumber_the_cpus() {
        let thread_major = column("core:2 pu:2(indexes=0,2,1,3)", |cpu| cpu.core);
        assert_eq!(thread_major, [0, 1, 0, 1]);
        assert_eq!(column("core:2 pu:2(indexes=2*2)", |cpu| cpu.core), thread_major);
        assert_eq!(column("core:2 pu:2(indexes=core)", |cpu| cpu.core), thread_major);
        let by_type = column("numa:2 core:2 pu:2(indexes=numa:core)", |cpu| cpu.node);
        assert_eq!(by_type, [0, 1, 0, 1, 0, 1, 0, 1]);
    }

    #[test]
    fn the_same_as_a_preset() {
        let synthetic = machine("package:2 numa:1 l3:1 core:56 pu:2(indexes=2*112)");
        let preset = crate::Machine::preset("spr-2x56").unwrap();
        assert_eq!(synthetic.cpus, preset.cpus);
    }

    #[test]
    fn every_mistake_is_found() {
        assert_eq!(
            messages("sack:2 core:x l9:1 pu:0"),
            [
                "`sack` is no kind of object",
                "`x` is no number of objects",
                "`l9` is no kind of object",
                "`0` is no number of objects"
            ]
        );
        assert_eq!(messages(""), ["the last level is not `pu`"]);
        assert_eq!(messages("core:2"), ["the last level is not `pu`"]);
        assert_eq!(messages("core:-2 pu:1"), ["`-2` is no number of objects"]);
        assert_eq!(messages("core:100 pu:100"), ["a machine of 10000 CPUs"]);
        assert_eq!(messages("core:2 core:2 pu:1"), ["a second level of the kind of `core:2`"]);
        assert_eq!(messages("core:2 pu:1(indexes=0,0"), ["a bracket that is not closed"]);
        assert_eq!(messages("core:2 pu:1(indexes=0,0)"), ["CPU 0 is there twice"]);
        assert_eq!(messages("core:2 pu:1(indexes=0,1,2)"), ["3 indexes for 2 CPUs"]);
        assert_eq!(messages("core:2 pu:1(indexes=9*9)").len(), 1);
        assert_eq!(messages("core:2 pu:1(indexes=0*0)").len(), 1);
        assert_eq!(messages("core:2) pu:1"), ["a closing bracket without its opening one"]);
        assert_eq!(messages("core:2 [l3] pu:1"), ["only a NUMA node stands in square brackets"]);
        assert_eq!(messages(&"group:1 ".repeat(100)), ["the last level is not `pu`", "too many levels"]);
    }
}
