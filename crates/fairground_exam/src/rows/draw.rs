//! A scenario, two states, and the rows between them: some planted, and others beside them.

use super::gates::{GATES, Gate};
use crate::dice::Dice;
use crate::scene::Scene;
use fairground_scenario::{Error, profile::with_setting};
use fairground_sched::profile::{Profile, ProfileError};

/// Kernels whose states are mixed.
const KERNELS: [&str; 11] = ["v4.12", "v4.20", "v5.1", "v5.10", "v5.19", "v6.1", "v6.6", "v6.12", "v6.14", "v6.18", "v7.2"];

/// What is planted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Draft {
    /// One row, or rows that the core can run only together, between two kernels.
    OneRow,
    /// The same, on the way from a younger kernel to an older one.
    OneRowBack,
    /// One row between neighbouring kernels.
    Neighbours,
    /// Two rows that act only together.
    Pair,
}

/// What is planted, with its name and a sentence.
pub const KINDS_OF_CHANGE: [(Draft, &str, &str); 4] = [
    (Draft::OneRow, "one", "a row of a younger kernel, among others of it that do nothing"),
    (Draft::Neighbours, "one-near", "the same, of the next kernel"),
    (Draft::OneRowBack, "one-back", "a row of an older kernel, among others of it"),
    (Draft::Pair, "pair", "two rows that act only together, among others that do nothing"),
];

/// A draw.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Draw {
    /// The scenario, with the kernel of the first state.
    pub text: String,
    /// The first state.
    pub a: Profile,
    /// The state from which all rows are taken.
    pub source: Profile,
    /// The planted rows.
    pub planted: Vec<&'static str>,
    /// Rows that stand beside them.
    pub beside: Vec<&'static str>,
}

impl Draw {
    /// The first state with these rows.
    pub fn with(&self, rows: &[&'static str]) -> Result<Profile, ProfileError> {
        self.a.with_rows(&self.source, rows)
    }
    /// The second state.
    pub fn b(&self) -> Result<Profile, ProfileError> {
        self.with(&[self.planted.as_slice(), &self.beside].concat())
    }
}

/// Draws once; none if the core cannot run what was drawn.
pub(super) fn draw(draft: Draft, dice: &mut Dice) -> Result<Option<Draw>, Error> {
    let mut scene = scene(dice);
    match draft {
        Draft::Pair => {
            let gate = &GATES[dice.between(0, GATES.len() as u64 - 1) as usize];
            pair(gate, scene, dice)
        }
        Draft::OneRow | Draft::OneRowBack | Draft::Neighbours => {
            let (mut from, mut to) = kernels(draft, dice);
            if draft == Draft::OneRowBack {
                std::mem::swap(&mut from, &mut to);
            }
            scene.kernel = from.trim_start_matches('v').to_string();
            let (Ok(a), Ok(source)) = (Profile::parse(from), Profile::parse(to)) else { return Ok(None) };
            Ok(one(a, source, &scene, dice))
        }
    }
}

fn kernels(draft: Draft, dice: &mut Dice) -> (&'static str, &'static str) {
    let last = KERNELS.len() as u64 - 1;
    let first = dice.between(0, last - 1);
    let second = if draft == Draft::Neighbours { first + 1 } else { dice.between(first + 1, (first + 4).min(last)) };
    (KERNELS[first as usize], KERNELS[second as usize])
}

/// A row with what it cannot run without, and others.
fn one(a: Profile, source: Profile, scene: &Scene, dice: &mut Dice) -> Option<Draw> {
    let rows = a.rows_apart(&source);
    if rows.len() < 2 {
        return None;
    }
    let row = dice.one_of(&rows);
    let mut planted = vec![row];
    if a.with_rows(&source, &planted).is_err() {
        planted.clone_from(&rows);
        // In two passes: a row may be needed only by one that is dropped after it.
        for &other in rows.iter().chain(&rows).filter(|&&other| other != row) {
            let less: Vec<&'static str> = planted.iter().copied().filter(|&kept| kept != other).collect();
            if a.with_rows(&source, &less).is_ok() {
                planted = less;
            }
        }
    }
    // Large units, such as that of EEVDF, would be most of what moves anything.
    if !dice.chance(100 / planted.len() as u64) {
        return None;
    }
    let share = dice.one_of(&[15, 30, 50, 80, 100]);
    let beside = rows.iter().copied().filter(|row| !planted.contains(row)).filter(|_| dice.chance(share)).collect();
    let beside = runnable(&a, &source, &planted, beside);
    Some(Draw { text: scene.text(), a, source, planted, beside })
}

/// Both rows of a pair, and rows of a younger kernel.
fn pair(gate: &Gate, mut scene: Scene, dice: &mut Dice) -> Result<Option<Draw>, Error> {
    (gate.stage)(&mut scene, dice);
    let kernel = dice.one_of(gate.kernels);
    scene.kernel = kernel.to_string();
    let [first, second] = (gate.sides)(dice);
    let set = |profile: Profile, settings: &[String]| {
        settings.iter().try_fold(profile, |profile, setting| match setting.split_once('=') {
            Some((name, value)) => with_setting(profile, name, value),
            None => profile.with_feature(setting),
        })
    };
    let name = format!("v{kernel}");
    let later = KERNELS.iter().position(|known| *known == name).map_or(0, |at| (at + 1).min(KERNELS.len() - 1));
    let made = || -> Result<(Profile, Profile), ProfileError> {
        let plain = Profile::parse(&name)?;
        let a = set(plain.clone(), &first)?;
        let with = set(plain, &second)?;
        // The planted rows, and all of the next kernel beside them.
        let source = Profile::parse(KERNELS[later])?;
        let rows: Vec<&str> = source.rows_apart(&with).into_iter().filter(|row| gate.rows.contains(row)).collect();
        Ok((a, source.with_rows(&with, &rows)?))
    };
    let Ok((a, source)) = made() else { return Ok(None) };
    let planted = gate.rows.to_vec();
    let share = dice.one_of(&[15, 30, 50, 80]);
    let beside = a.rows_apart(&source).into_iter().filter(|row| !planted.contains(row)).filter(|_| dice.chance(share)).collect();
    let beside = runnable(&a, &source, &planted, beside);
    Ok(Some(Draw { text: scene.text(), a, source, planted, beside }))
}

/// Those of the rows that can stand beside the planted ones, and without them.
fn runnable(a: &Profile, source: &Profile, planted: &[&'static str], rows: Vec<&'static str>) -> Vec<&'static str> {
    let mut beside: Vec<&'static str> = Vec::new();
    for row in rows {
        beside.push(row);
        let both = [planted, &beside].concat();
        if a.with_rows(source, &beside).is_err() || a.with_rows(source, &both).is_err() {
            beside.pop();
        }
    }
    beside
}

/// A machine and what runs on it.
fn scene(dice: &mut Dice) -> Scene {
    let cpus = dice.one_of(&[1, 2, 2, 3, 4, 4, 6]);
    let mut scene = Scene {
        seed: dice.between(1, 1_000_000),
        duration_ms: dice.between(300, 900),
        cpus,
        shape: dice.between(0, 4),
        hz: dice.one_of(&[100, 250, 250, 1000]),
        ..Scene::default()
    };
    let path = format!("/{}", dice.name());
    for part in 0..dice.between(1, 4) {
        let name = dice.name();
        match if part == 0 { 0 } else { dice.between(0, 7) } {
            0 | 1 => sleepers(&mut scene, &name, dice, ""),
            2 | 3 => {
                let (count, nice) = (dice.between(1, cpus * 2), dice.one_of(&["", "", ", nice = 5", ", nice = -5"]));
                scene.task(&name, format!("hog = true, count = {count}{nice}"));
            }
            4 => {
                let policy = dice.one_of(&["batch", "idle", "fifo:10", "rr:5"]);
                sleepers(&mut scene, &name, dice, &format!(", policy = \"{policy}\""));
            }
            5 => {
                let quota = dice.between(20, 90) * 1_000 * cpus.min(4);
                scene.file(&path, format!("\"cpu.max\" = \"{quota} 100000\""));
                sleepers(&mut scene, &name, dice, &format!(", group = \"{path}\""));
            }
            6 => {
                scene.file(&path, format!("\"cpu.weight\" = {}", dice.one_of(&[20, 50, 300, 1000])));
                let count = dice.between(1, cpus * 2);
                scene.task(&name, format!("hog = true, count = {count}, group = \"{path}\""));
            }
            _ => {
                let pipe = dice.name();
                let work = dice.us(20, 400);
                scene.task(&name, format!("do = [\"run {work}\", \"write {pipe}\", \"sleep 200us..900us\"]"));
                let work = dice.us(50, 500);
                scene.task(&dice.name(), format!("do = [\"read {pipe}\", \"run {work}\"]"));
                scene.pipes.push(pipe);
            }
        }
    }
    scene
}

/// Tasks that work and sleep, for random times.
fn sleepers(scene: &mut Scene, name: &str, dice: &mut Dice, more: &str) {
    let count = dice.between(1, scene.cpus * 2);
    let (run, sleep) = (dice.between(50, 3_000), dice.between(200, 8_000));
    let (runs, sleeps) = (run * dice.between(1, 6), sleep * dice.between(1, 6));
    let nice = dice.one_of(&["", "", "", ", nice = 3", ", nice = -3"]);
    let fields = format!("do = [\"run {run}us..{runs}us\", \"sleep {sleep}us..{sleeps}us\"], count = {count}{nice}{more}");
    scene.task(name, fields);
}
