//! The options of `wl`, as wl.c reads them, but without its silent defaults for things misspelt.

use super::groups::{self, Made};
use super::script::Word;
use fairground_model::Mistakes;
use fairground_stdx::{CpuMask, Ns, TgId};

/// What one `wl` does.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Command {
    /// Endless loops.
    Hog { tasks: Vec<HogTask>, dur: Ns },
    /// Jobs on a grid.
    Periodic { tasks: Vec<PeriodicTask>, dur: Ns },
    /// All woken at once.
    Press { n: u32, cpus: Option<CpuMask>, work: Ns, period: Ns, rounds: u64 },
    /// Message tasks that answer their workers, who then sleep and compute.
    Msg(Msg),
    /// One task that sleeps, then computes.
    Ramp { name: String, cpus: Option<CpuMask>, dur: Ns },
}

/// `msg m=M t=T sleep=US work=US`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Msg {
    /// Message tasks.
    pub(super) messages: u32,
    /// Workers of each.
    pub(super) workers: u32,
    pub(super) sleep: Ns,
    pub(super) work: Ns,
    pub(super) dur: Ns,
    /// The group that the parent goes to before it forks: `Some(None)` is the root group.
    pub(super) group: Option<Option<TgId>>,
}

impl Msg {
    /// The names of its tasks in the order in which they are forked.
    pub(super) fn names(&self) -> impl Iterator<Item = String> + '_ {
        (0..self.messages).flat_map(move |message| {
            let workers = (0..self.workers).map(move |worker| format!("wk{message:02}-{worker:02}"));
            std::iter::once(format!("msg{message:02}")).chain(workers)
        })
    }
}

/// `NAME:nice:mask`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct HogTask {
    pub(super) name: String,
    pub(super) nice: i8,
    pub(super) cpus: Option<CpuMask>,
    /// The group that it goes to, if `cg=` names one: `Some(None)` is the root group.
    pub(super) group: Option<Option<TgId>>,
}

/// `NAME:run_us:period_us:nice:mask`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct PeriodicTask {
    pub(super) hog: HogTask,
    pub(super) run: Ns,
    pub(super) period: Ns,
}

/// wl.c has room for so many tasks, and for so many pipes of a press.
const MAX_TASKS: usize = 256;
const MAX_PRESS: u64 = 4096;
/// Linux keeps 15 letters of a name.
const MAX_NAME: usize = 15;
/// Times are at most 10^15 ns (11 days), so that no sum of them passes the longest run.
const MAX_MS: u64 = 1_000_000_000;
const MAX_US: u64 = 1_000_000_000_000;
const MAX_ROUNDS: u64 = 1_000_000;
/// A page of memory has room for the words of so many message tasks, and names have two digits.
const MAX_MESSAGES: u64 = 64;
const MAX_WORKERS: u64 = 99;

/// Reads what stands behind `wl`; `None` if something is wrong or refused.
pub(super) fn read(name: Word<'_>, args: &[Word<'_>], made: &Made, mistakes: &mut Mistakes) -> Option<Command> {
    let before = mistakes.0.len();
    let Some((kind, args)) = args.split_first() else {
        mistakes.at(name.span(), "`wl` has no workload", "Write one of hog, periodic, press, msg, ramp.");
        return None;
    };
    let known: &[&str] = match kind.text {
        "hog" | "periodic" => &["tasks", "dur", "cg"],
        "press" => &["n", "mask", "work", "rounds", "period"],
        "ramp" => &["name", "mask", "dur"],
        "msg" => &["m", "t", "sleep", "work", "dur", "cg"],
        other => {
            mistakes.at(kind.span(), format!("`wl` knows no `{other}`"), "Write one of hog, periodic, press, msg, ramp.");
            return None;
        }
    };
    let mut options = Options { pairs: pairs(args, known, mistakes), mistakes };
    let command = match kind.text {
        "hog" => {
            let mut tasks = options.tasks("h0:0:0", hog_task);
            deal_out(&options.groups(made), tasks.iter_mut());
            Command::Hog { tasks, dur: options.ms("dur", 2000) }
        }
        "periodic" => {
            let mut tasks = options.tasks("", periodic_task);
            deal_out(&options.groups(made), tasks.iter_mut().map(|task| &mut task.hog));
            Command::Periodic { tasks, dur: options.ms("dur", 2000) }
        }
        "press" => Command::Press {
            n: options.number("n", 36, 1, MAX_PRESS) as u32,
            cpus: options.mask("mask"),
            work: options.ms("work", 120),
            period: options.ms("period", 1000),
            rounds: options.number("rounds", 5, 1, MAX_ROUNDS),
        },
        "msg" => Command::Msg(Msg {
            messages: options.number("m", 2, 1, MAX_MESSAGES) as u32,
            workers: options.number("t", 8, 1, MAX_WORKERS) as u32,
            sleep: options.us("sleep", 10_000),
            work: options.us("work", 15_000),
            dur: options.ms("dur", 2000),
            group: options.groups(made).first().copied(),
        }),
        _ => Command::Ramp { name: options.name("name", "ramp"), cpus: options.mask("mask"), dur: options.ms("dur", 2000) },
    };
    (mistakes.0.len() == before).then_some(command)
}

type Pair<'t> = (&'t str, Word<'t>);

fn pairs<'t>(args: &[Word<'t>], known: &[&str], mistakes: &mut Mistakes) -> Vec<Pair<'t>> {
    let mut pairs: Vec<Pair<'t>> = Vec::new();
    for word in args {
        let Some((key, value)) = word.text.split_once('=') else {
            mistakes.at(
                word.span(),
                format!("`{}` is no option", word.text),
                format!("Options are written key=value: {}.", known.join(", ")),
            );
            continue;
        };
        let value = Word { text: value, at: word.at + key.len() + 1 };
        if !known.contains(&key) {
            mistakes.at(word.span(), format!("unknown option `{key}`"), format!("Known here are: {}.", known.join(", ")));
        } else if pairs.iter().any(|pair| pair.0 == key) {
            mistakes.at(word.span(), format!("`{key}` is given twice"), "Keep one of them.");
        } else {
            pairs.push((key, value));
        }
    }
    pairs
}

struct Options<'t, 'm> {
    pairs: Vec<Pair<'t>>,
    mistakes: &'m mut Mistakes,
}

impl<'t> Options<'t, '_> {
    fn get(&self, key: &str) -> Option<Word<'t>> {
        self.pairs.iter().find(|pair| pair.0 == key).map(|pair| pair.1)
    }
    fn number(&mut self, key: &str, default: u64, low: u64, high: u64) -> u64 {
        self.get(key).and_then(|word| number(word, low, high, self.mistakes)).unwrap_or(default)
    }
    fn ms(&mut self, key: &str, default: u64) -> Ns {
        Ns::from_ms(self.number(key, default, 1, MAX_MS))
    }
    fn us(&mut self, key: &str, default: u64) -> Ns {
        Ns::from_us(self.number(key, default, 0, MAX_US))
    }
    fn mask(&mut self, key: &str) -> Option<CpuMask> {
        self.get(key).and_then(|word| mask(word, self.mistakes))
    }
    fn name(&mut self, key: &str, default: &str) -> String {
        self.get(key).and_then(|word| name(word, self.mistakes)).unwrap_or(default.into())
    }
    /// The groups that `cg=` lists.
    fn groups(&mut self, made: &Made) -> Vec<Option<TgId>> {
        let list = self.get("cg").map(|word| split(word, ',')).unwrap_or_default();
        let named = list.into_iter().filter(|path| !path.text.is_empty());
        named.filter_map(|path| groups::find(path, made, self.mistakes)).collect()
    }
    fn tasks<T>(&mut self, default: &'static str, read: fn(&[Word<'_>], &mut Mistakes) -> Option<T>) -> Vec<T> {
        let list = self.get("tasks").unwrap_or(Word { text: default, at: 0 });
        let tokens = split(list, ',');
        if list.text.is_empty() {
            self.mistakes.at(list.span(), "there are no tasks", "Write tasks=NAME:…,NAME:…");
            return Vec::new();
        }
        if tokens.len() > MAX_TASKS {
            self.mistakes.at(
                list.span(),
                format!("{} tasks are too many", tokens.len()),
                format!("One wl has room for {MAX_TASKS}."),
            );
            return Vec::new();
        }
        tokens.iter().filter_map(|token| read(&split(*token, ':'), self.mistakes)).collect()
    }
}

/// Tasks go to the listed groups in turn.
fn deal_out<'t>(groups: &[Option<TgId>], tasks: impl Iterator<Item = &'t mut HogTask>) {
    tasks.zip(groups.iter().cycle()).for_each(|(task, group)| task.group = Some(*group));
}

fn split(word: Word<'_>, separator: char) -> Vec<Word<'_>> {
    let mut at = word.at;
    let part = |text| {
        let part = Word { text, at };
        at += text.len() + separator.len_utf8();
        part
    };
    word.text.split(separator).map(part).collect()
}

fn hog_task(fields: &[Word<'_>], mistakes: &mut Mistakes) -> Option<HogTask> {
    too_many(fields, 3, "NAME:nice:mask", mistakes);
    Some(HogTask {
        name: name(*fields.first()?, mistakes)?,
        nice: fields.get(1).map_or(Some(0), |word| nice(*word, mistakes))?,
        cpus: fields.get(2).and_then(|word| mask(*word, mistakes)),
        group: None,
    })
}

fn periodic_task(fields: &[Word<'_>], mistakes: &mut Mistakes) -> Option<PeriodicTask> {
    const FORM: &str = "NAME:run_us:period_us:nice:mask";
    too_many(fields, 5, FORM, mistakes);
    let [first, run, period, rest @ ..] = fields else {
        let at = fields.first().map_or(0..0, |word| word.at..word.at + word.text.len());
        mistakes.at(at, "a periodic task needs its work and its period", format!("Write {FORM}."));
        return None;
    };
    let run = number(*run, 0, MAX_US, mistakes);
    let period = number(*period, 1, MAX_US, mistakes);
    let name = name(*first, mistakes);
    let nice = rest.first().map_or(Some(0), |word| nice(*word, mistakes));
    let cpus = rest.get(1).and_then(|word| mask(*word, mistakes));
    Some(PeriodicTask {
        hog: HogTask { name: name?, nice: nice?, cpus, group: None },
        run: Ns::from_us(run?),
        period: Ns::from_us(period?),
    })
}

fn too_many(fields: &[Word<'_>], most: usize, form: &str, mistakes: &mut Mistakes) {
    if let Some(extra) = fields.get(most) {
        mistakes.at(extra.span(), format!("`{}` is one field too many", extra.text), format!("Write {form}."));
    }
}

fn number(word: Word<'_>, low: u64, high: u64, mistakes: &mut Mistakes) -> Option<u64> {
    let number = word.text.parse().ok().filter(|number| (low..=high).contains(number));
    if number.is_none() {
        mistakes.at(
            word.span(),
            format!("`{}` is not the number wanted here", word.text),
            format!("Expected a whole number from {low} to {high}."),
        );
    }
    number
}

fn nice(word: Word<'_>, mistakes: &mut Mistakes) -> Option<i8> {
    let nice = word.text.parse().ok().filter(|nice| (-20..=19).contains(nice));
    if nice.is_none() {
        mistakes.at(word.span(), format!("`{}` is no nice value", word.text), "Expected a number from -20 to 19.");
    }
    nice
}

/// A hexadecimal mask of CPUs 0 to 63; an empty one binds nothing, as in wl.c.
fn mask(word: Word<'_>, mistakes: &mut Mistakes) -> Option<CpuMask> {
    let digits = word.text.trim_start_matches("0x");
    match u64::from_str_radix(digits, 16).ok().and_then(|_| CpuMask::parse_hex(digits)) {
        Some(cpus) => Some(cpus).filter(|cpus| !cpus.is_empty()),
        None => {
            mistakes.at(
                word.span(),
                format!("`{}` is no mask of CPUs", word.text),
                "Expected up to 16 hexadecimal digits, such as f0.",
            );
            None
        }
    }
}

fn name(word: Word<'_>, mistakes: &mut Mistakes) -> Option<String> {
    let fits = !word.text.is_empty() && word.text.len() <= MAX_NAME;
    if !fits {
        mistakes.at(word.span(), format!("`{}` is no task name", word.text), format!("A name has 1 to {MAX_NAME} letters."));
    }
    fits.then(|| word.text.into())
}
