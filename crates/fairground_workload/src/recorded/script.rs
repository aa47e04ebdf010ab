//! The lines of a `workload.txt`: the guest shell's commands, told apart and checked.

use super::groups::{self, Made};
use super::options::{self, Command};
use super::unroll;
use fairground_model::Mistakes;
use fairground_model::features::FeatWrite;
use std::ops::Range;

/// One thing that the shell does.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Act {
    /// Starts a `wl`; in the foreground it waits for its end.
    Launch { command: Command, background: bool },
    /// Waits for everything in the background.
    Wait,
}

/// A script that was read.
#[derive(Default)]
pub(super) struct Script {
    pub(super) acts: Vec<Act>,
    pub(super) made: Made,
    pub(super) features: Vec<FeatWrite>,
}

/// A piece of the text with its place.
#[derive(Clone, Copy)]
pub(super) struct Word<'t> {
    pub(super) text: &'t str,
    pub(super) at: usize,
}

impl Word<'_> {
    pub(super) fn span(&self) -> Range<usize> {
        self.at..self.at + self.text.len()
    }
}

/// Words with which the sets' shell loops over groups.
const LOOP_WORDS: &[&str] = &["while", "for", "until"];
const KNOWN: &str = "The commands of a recorded set are: trace_on, feat, cgon, mk, rmcg, wl, wait.";

pub(super) fn read(text: &str, mistakes: &mut Mistakes) -> Script {
    let mut script = Script::default();
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        self::line(Word { text: line, at }, &mut script, mistakes);
        at += line.len();
    }
    if !script.acts.iter().any(|act| matches!(act, Act::Launch { .. })) && mistakes.0.is_empty() {
        mistakes.whole("there is no workload in this text", "A workload is a line such as `wl hog tasks=h00:0,h01:0 dur=2000`.");
    }
    script
}

fn line(line: Word<'_>, script: &mut Script, mistakes: &mut Mistakes) {
    if let Some(word) = words(line).into_iter().find(|word| LOOP_WORDS.contains(&word.text)) {
        return a_loop(line, word, script, mistakes);
    }
    commands(line, script, mistakes);
}

/// A line with a loop. What is wrong in it has its place where the loop begins, and is told once.
fn a_loop(line: Word<'_>, word: Word<'_>, script: &mut Script, mistakes: &mut Mistakes) {
    let Some(text) = unroll::loop_of(line.text) else {
        const FORM: &str = "One that counts up is: i=0; while [ $i -lt 20 ]; do mk G$i 100; i=$((i+1)); done. Write others out.";
        mistakes.at(word.span(), "loops of the shell but those that count up are not modelled yet", FORM);
        script.made.and_others = true;
        return;
    };
    let mut inside = Mistakes::default();
    commands(Word { text: &text, at: line.at }, script, &mut inside);
    inside.0.dedup_by(|a, b| a.message == b.message);
    inside.0.into_iter().for_each(|mistake| mistakes.at(word.span(), mistake.message, mistake.hint));
}

fn commands(line: Word<'_>, script: &mut Script, mistakes: &mut Mistakes) {
    let mut at = line.at;
    for part in line.text.split(';') {
        command(Word { text: part, at }, script, mistakes);
        at += part.len() + 1;
    }
}

fn words(text: Word<'_>) -> Vec<Word<'_>> {
    let code = text.text.split('#').next().unwrap_or_default();
    let mut words = Vec::new();
    let mut from = None;
    for (offset, c) in code.char_indices().chain([(code.len(), ' ')]) {
        match from {
            None if !c.is_whitespace() => from = Some(offset),
            Some(start) if c.is_whitespace() => {
                words.push(Word { text: &code[start..offset], at: text.at + start });
                from = None;
            }
            _ => {}
        }
    }
    words
}

fn command(text: Word<'_>, script: &mut Script, mistakes: &mut Mistakes) {
    let mut words = words(text);
    let background = words.pop_if(|word| word.text == "&").is_some();
    let Some((name, args)) = words.split_first() else { return };
    match name.text {
        "trace_on" => trace_on(*name, args, mistakes),
        "feat" => features(*name, args, script, mistakes),
        "wait" => {
            args.iter()
                .for_each(|word| mistakes.at(word.span(), format!("`wait {}`: wait takes no argument here", word.text), KNOWN));
            script.acts.push(Act::Wait);
        }
        "wl" => {
            if let Some(command) = options::read(*name, args, &script.made, mistakes) {
                script.acts.push(Act::Launch { command, background });
            }
        }
        "hackbench" => mistakes.at(name.span(), "`hackbench` is not modelled yet", KNOWN),
        "cgroup" => {
            mistakes.at(name.span(), "`cgroup` (cgroup v1) is not modelled yet", KNOWN);
            script.made.and_others = true;
        }
        "mk" => groups::make(*name, args, &mut script.made, mistakes),
        // They mount the file system of groups and empty it again: nothing that a task notices.
        "cgon" | "rmcg" => args.iter().for_each(|word| {
            mistakes.at(word.span(), format!("`{} {}`: {0} takes no argument", name.text, word.text), KNOWN);
        }),
        other => mistakes.at(name.span(), format!("unknown command `{other}`"), KNOWN),
    }
}

/// `trace_on KILOBYTES [EVENT …]` starts the recording: nothing that tasks do.
fn trace_on(name: Word<'_>, args: &[Word<'_>], mistakes: &mut Mistakes) {
    match args.first() {
        Some(size) if size.text.parse::<u64>().is_ok() => {}
        Some(size) => mistakes.at(size.span(), format!("`{}` is no size", size.text), "Write a number, as in `trace_on 2000`."),
        None => mistakes.at(name.span(), "`trace_on` has no size", "Write a number, as in `trace_on 2000`."),
    }
}

fn features(name: Word<'_>, args: &[Word<'_>], script: &mut Script, mistakes: &mut Mistakes) {
    match args {
        [feature] => script.features.extend(mistakes.keep(FeatWrite::parse(feature.text), &feature.span())),
        _ => mistakes.at(name.span(), "`feat` takes one feature", "Write for example `feat NO_SIS_UTIL`."),
    }
}
