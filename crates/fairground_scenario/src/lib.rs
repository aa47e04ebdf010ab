//! A scenario: everything that decides the result of a run, as one value that can be read, checked,
//! changed by flags, printed in one fixed spelling, and hashed.
//!
//! ```toml
//! title    = "a hog beside a periodic task"
//! seed     = 1
//! duration = "10s"
//! window   = { from = "2s", to = "10s" }        # measurements of the programs count then; without it always
//!
//! [machine]
//! preset = "smp-2"
//!
//! [profile]
//! kernel = "5.19"
//!
//! [[workload]]
//! tasks = [{ name = "hog", hog = true }, { name = "player", run = "3ms", period = "16ms" }]
//!
//! [[at]]
//! time = "5s"
//! do   = "nice hog 5"
//!
//! [expect]
//! "tasks.player.max_wait_ms" = { max = "10ms", why = "a frame lasts 16 ms" }
//! ```

mod check;
pub mod control;
pub mod error;
pub mod guard;
pub mod inputs;
pub mod metrics;
mod nouns;
mod overrides;
mod parts;
mod schema;
pub mod text;
pub mod text_file;
pub mod trace_file;
mod vary;
mod write;

pub use control::{Control, Progress};
pub use error::{Error, FileMistakes};
pub use nouns::at::{Act, At};
pub use nouns::autogroup::{SCHED_AUTOGROUP_ENABLED, Sessions};
pub use nouns::capacities::Capacities;
pub use nouns::cgroup::GroupAct;
pub use nouns::expect::{Band, BandResult, Limit, check};
pub use nouns::groups::Groups;
pub use nouns::profile;
pub use nouns::workload::Workload;
pub use overrides::Overrides;
pub use parts::Parts;
pub use schema::{rtapp_schema, scenario_schema};
pub use text::canonical::quoted;
pub use write::{Unwritable, write};

use check::autogroups::Autogroups;
use check::changes::{self, resolve};
use check::group_states::GroupStates;
use check::run::{check_duration, check_tasks};
use check::{cgroup_version, clamps, deadline, group_life, pools, slices};
use fairground_machine::Machine;
use fairground_model::{Digest, Mistakes, TaskSet, TimedChange};
use fairground_sched::profile::Profile;
use fairground_sim::{Setup, Stopped};
use fairground_stdx::outside::shown;
use fairground_stdx::{CpuMask, Instant, Ns};
use nouns::{at, autogroup, expect, groups, machine, workload};
use parts::{merged, workload_features};
use std::path::Path;
use text::canonical;
use text::fields::{Fields, Spanned, parse_toml};

/// Longest run: event times are held in 50 bits.
pub(crate) const MAX_DURATION: Ns = Ns(Instant::MAX.ns());

/// Everything that decides the result of a run.
#[derive(Clone, PartialEq, Debug)]
pub struct Scenario {
    /// What it is about.
    pub title: String,
    /// The seed of all random streams.
    pub seed: u64,
    /// How long is simulated.
    pub duration: Ns,
    /// From when to when measurements of the programs count, if that is not left to the workloads.
    pub window: Option<(Instant, Instant)>,
    /// The machine.
    pub machine: Machine,
    /// The kernel.
    pub profile: Profile,
    /// The tasks.
    pub workloads: Vec<Workload>,
    /// What is expected of the run.
    pub bands: Vec<Band>,
    /// What was assumed when it was read, for people.
    pub notes: Vec<String>,
    /// Whether every session has a group of its own.
    pub sched_autogroup_enabled: bool,
    groups: Groups,
    sessions: Sessions,
    at: Vec<Spanned<At>>,
    source: Source,
}

/// The text from which a scenario was read.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Source {
    /// What it is called.
    pub name: String,
    /// The text; empty if there is none.
    pub text: String,
}

impl Scenario {
    /// Reads the scenario file at `path`, or stdin for `-`, changed by `overrides`.
    pub fn load(path: &Path, overrides: &Overrides) -> Result<Scenario, Error> {
        let text = text_file::read_text(path)?;
        let folder = path.parent().unwrap_or(Path::new(""));
        Scenario::parse(&text_file::name_of(path), &text, folder, overrides)
    }
    /// Reads a scenario; files that it names are looked for in `folder`. All mistakes are reported together.
    pub fn parse(name: &str, text: &str, folder: &Path, overrides: &Overrides) -> Result<Scenario, Error> {
        let mut m = Mistakes::default();
        let table = parse_toml(text, &mut m);
        Scenario::of_table(Source { name: name.to_string(), text: text.to_string() }, &table, m, folder, overrides)
    }
    /// Reads a scenario from a table whose values point into the text of `source`. Those without a place are reported at the table
    /// that holds them. `m` has what is no TOML in that text.
    pub fn of_table(
        source: Source,
        table: &toml_edit::Table,
        mut m: Mistakes,
        folder: &Path,
        overrides: &Overrides,
    ) -> Result<Scenario, Error> {
        let mut files = Vec::new();
        // What stands on a line that is no TOML must not be called missing as well.
        let whole = m.0.is_empty();
        let mut top = Fields::new(table, 0..0, "scenario");
        let title = top.text("title", &mut m).map(|title| shown(title.value).into_owned());
        let seed = top.natural("seed", &mut m).map(|seed| seed.value);
        let duration = top.time("duration", &mut m);
        if whole && !table.contains_key("duration") && overrides.duration.is_none() {
            m.whole("a scenario without `duration`", "Say how long is simulated: `duration = \"10s\"`.");
        }
        if let Some(duration) = &duration {
            check_duration(duration.value, Some(duration.span.clone()), &mut m);
        }
        let window = top.table("window", &mut m).and_then(|window| read_window(window, &mut m));
        if whole && !table.contains_key("machine") && overrides.machine.is_none() {
            m.whole("a scenario without `[machine]`", "Write a table `[machine]`, or give `--machine`.");
        }
        let machine = top.table("machine", &mut m).and_then(|table| machine::read(table, &mut m));
        let kernel = top.table("profile", &mut m).and_then(|table| profile::read(table, &mut m));
        let mut parts = Parts::new(source, machine, overrides)?;
        parts.title = title;
        parts.seed = seed;
        parts.duration = duration.map(|duration| duration.value);
        parts.window = window;
        parts.sched_autogroup_enabled = kernel.as_ref().is_some_and(|kernel| kernel.sched_autogroup_enabled);
        parts.profile = kernel.map(|kernel| kernel.profile);
        if whole && !table.contains_key("profile") {
            parts.default_profile()?;
        }
        let has_workload = table.contains_key("workload");
        let cpus = parts.nr_cpus();
        parts.groups = groups::read(top.tables("group", &mut m), &mut m);
        parts.sessions = autogroup::read(top.tables("session", &mut m), &mut m);
        let place = workload::Place { folder, texts: &overrides.texts, cpus, groups: &parts.groups };
        parts.workloads = workload::read(top.tables("workload", &mut m), &place, &mut m, &mut files);
        if whole && !has_workload {
            m.whole("a scenario without `[[workload]]`", "Say what runs: `[[workload]]` with `tasks`, `name` or `rtapp`.");
        }
        let at = at::read(top.tables("at", &mut m), &mut m);
        if let (Some(duration @ Ns(1..)), None) = (parts.duration, &overrides.duration) {
            changes::check_times(&at, duration, &mut m);
        }
        let bands = expect::read(top.table("expect", &mut m), &mut m);
        cgroup_version::check(&parts.groups, &at, &mut m);
        top.end(&mut m);
        let complete = m.0.is_empty() && files.is_empty();
        let tasks = merged(&parts.groups, &parts.workloads);
        if parts.workloads.len() == count_workloads(table) {
            let online = CpuMask::first_n(cpus);
            parts.settle()?;
            check_tasks(&parts.workloads, &online, &mut m);
            pools::check(&parts.workloads, parts.machine.as_ref(), &mut m);
            if let Some(profile) = &parts.profile {
                slices::check(&parts.workloads, profile, &mut m);
                slices::check_extensions(&parts.workloads, profile, &mut m);
                clamps::check(&parts.workloads, profile, &mut m);
                deadline::check(&parts.workloads, profile, parts.machine.as_ref(), &mut m);
                group_life::check_files(&parts.groups, &at, &parts.workloads, profile, &mut m);
            }
            let autogroups = parts.autogroups(&tasks, &mut m);
            let mut groups = GroupStates::new(&tasks, cgroup_version::of(&parts.groups, &at));
            resolve(&at, &tasks, (&autogroups, &mut groups), &online, parts.profile.as_ref(), &mut m);
        }
        let bands = if complete { expect::resolve(bands, &metrics::metrics_to_come(&tasks), &mut m) } else { Vec::new() };
        if !m.0.is_empty() || !files.is_empty() {
            return Err(parts.wrong(m, files));
        }
        parts.at = at;
        let mut scenario = parts.scenario()?;
        scenario.bands = bands;
        Ok(scenario)
    }
    /// The tasks of all workloads with the changes of `[[at]]`, and the kernel threads that come with sockets.
    pub fn tasks(&self) -> TaskSet {
        let mut tasks = merged(&self.groups, &self.workloads);
        let autogroups = self.autogroups(&tasks, &mut Mistakes::default());
        let mut groups = self.group_states(&tasks);
        let mut changes = resolve(&self.at, &tasks, (&autogroups, &mut groups), &self.online(), None, &mut Mistakes::default());
        tasks.changes.append(&mut changes);
        tasks.changes.sort_by_key(|change| change.at);
        autogroups.apply(&mut tasks);
        tasks.window = self.window.or(tasks.window);
        tasks.add_ksoftirqd(self.machine.cpus.len());
        tasks
    }
    /// What the engine needs; everything is checked once more, as flags may have changed the machine.
    pub fn setup(&self) -> Result<Setup, Error> {
        let mut m = Mistakes::default();
        check_duration(self.duration, None, &mut m);
        check_tasks(&self.workloads, &self.online(), &mut m);
        pools::check(&self.workloads, Some(&self.machine), &mut m);
        slices::check(&self.workloads, &self.profile, &mut m);
        slices::check_extensions(&self.workloads, &self.profile, &mut m);
        clamps::check(&self.workloads, &self.profile, &mut m);
        deadline::check(&self.workloads, &self.profile, Some(&self.machine), &mut m);
        group_life::check_files(&self.groups, &self.at, &self.workloads, &self.profile, &mut m);
        let tasks = merged(&self.groups, &self.workloads);
        let autogroups = self.autogroups(&tasks, &mut m);
        let mut groups = self.group_states(&tasks);
        resolve(&self.at, &tasks, (&autogroups, &mut groups), &self.online(), Some(&self.profile), &mut m);
        let setup = Setup {
            machine: self.machine.clone(),
            profile: self.profile.clone(),
            tasks: self.tasks(),
            seed: self.seed,
            duration: self.duration,
            paranoid: false,
        };
        m.or(setup).map_err(|mistakes| self.wrong(mistakes))
    }
    /// The same with another seed.
    pub fn with_seed(&self, seed: u64) -> Scenario {
        Scenario { seed, ..self.clone() }
    }
    /// The same on another machine.
    pub fn with_machine(&self, machine: Machine) -> Scenario {
        Scenario { machine, ..self.clone() }
    }
    /// The same with another profile; features that its workloads set are set again.
    pub fn with_profile(&self, profile: Profile) -> Scenario {
        let profile = workload_features(profile.clone(), &self.workloads).unwrap_or(profile);
        Scenario { profile, ..self.clone() }
    }
    /// The changes that a `do` string of `[[at]]` asks for at an instant; what is wrong with it stands under `flag`.
    pub fn changes(&self, text: &str, at: Instant, flag: &str) -> Result<Vec<TimedChange>, Error> {
        let tasks = merged(&self.groups, &self.workloads);
        let autogroups = self.autogroups(&tasks, &mut Mistakes::default());
        let mut groups = self.group_states(&tasks);
        groups.write(self.at.iter().filter(|row| row.value.time.0 <= at.ns()), &mut Mistakes::default());
        let changes = changes::changes_of(text, at, &tasks, (&autogroups, &mut groups), &self.online(), &self.profile);
        changes.map_err(|wrong| {
            let rows = wrong.0.into_iter().map(|row| (format!("{flag}: {}", row.message), row.hint));
            let mut named = Mistakes::default();
            rows.for_each(|(message, hint)| named.whole(message, hint));
            Error::input("command line", "", named)
        })
    }
    /// Mistakes of this scenario as an error that shows its lines.
    pub fn wrong(&self, mistakes: Mistakes) -> Error {
        Error::input(self.source.name.clone(), self.source.text.clone(), mistakes)
    }
    /// A run of this scenario that could not go on, as an error.
    pub fn stopped(&self, why: &Stopped) -> Error {
        self.wrong(Mistakes::one(why.to_string(), why.hint()))
    }
    /// The scenario in one fixed spelling: files that it names are written out, but recordings, which stand
    /// there by their name and digest.
    pub fn canonical(&self) -> String {
        let mut text = format!("title = {}\n", canonical::quoted(&self.title));
        text.push_str(&self.deciding_text());
        for band in &self.bands {
            let mut rows = Vec::new();
            for (key, limit) in [("min", &band.min), ("max", &band.max)] {
                rows.extend(limit.as_ref().map(|limit| format!("{key} = {}", limit.literal())));
            }
            rows.extend(band.why.as_ref().map(|why| format!("why = {}", canonical::quoted(why))));
            if text.rfind("\n[expect]\n").is_none() {
                text.push_str("\n[expect]\n");
            }
            text.push_str(&format!("{} = {{ {} }}\n", canonical::key(&band.metric), rows.join(", ")));
        }
        text
    }
    /// Digest of everything that decides the result: title and expectations do not.
    pub fn digest(&self) -> u128 {
        let mut digest = Digest::default();
        digest.bytes(self.deciding_text().as_bytes());
        digest.value()
    }
    /// What the scenario is called in reports: never a path.
    pub fn name(&self) -> String {
        let file = Path::new(&self.source.name).file_name().map(|name| name.to_string_lossy().into_owned());
        file.unwrap_or_else(|| self.title.clone())
    }
    fn autogroups(&self, tasks: &TaskSet, m: &mut Mistakes) -> Autogroups {
        Autogroups::new(self.sched_autogroup_enabled, &self.sessions, &self.groups, &self.workloads, tasks, m)
    }
    fn group_states(&self, tasks: &TaskSet) -> GroupStates {
        GroupStates::new(tasks, cgroup_version::of(&self.groups, &self.at))
    }
    fn online(&self) -> CpuMask {
        CpuMask::first_n(self.machine.cpus.len())
    }
    fn deciding_text(&self) -> String {
        let mut text = format!("seed = {}\nduration = \"{}\"\n", self.seed, self.duration);
        text.push_str(&canonical::window(self.window));
        text.push_str(&format!("\n[machine]\n{}", machine::canonical(&self.machine)));
        text.push_str(&format!("\n[profile]\n{}", profile::canonical(&self.profile, self.sched_autogroup_enabled)));
        text.push_str(&self.groups.canonical());
        text.push_str(&self.sessions.canonical());
        for workload in &self.workloads {
            text.push_str(&format!("\n[[workload]]\n{}", workload.canonical));
        }
        for row in &self.at {
            let act = canonical::quoted(&row.value.act.to_string());
            text.push_str(&format!("\n[[at]]\ntime = \"{}\"\ndo = {act}\n", row.value.time));
        }
        text
    }
}

fn count_workloads(table: &toml_edit::Table) -> usize {
    let item = table.get("workload");
    let tables = item.and_then(|item| item.as_array_of_tables()).map(|list| list.len());
    tables.or_else(|| item.and_then(|item| item.as_array()).map(|list| list.len())).unwrap_or(0)
}

/// The part of the run in which measurements of the programs count.
fn read_window(mut window: Fields<'_>, m: &mut Mistakes) -> Option<(Instant, Instant)> {
    let span = window.span();
    let ends = ["from", "to"].map(|key| {
        let end = window.time(key, m);
        if end.is_none() && !window.raw().contains_key(key) {
            m.at(span.clone(), format!("a window without `{key}`"), "Write window = { from = \"2s\", to = \"7s\" }.");
        }
        end.map(|end| end.value.min(MAX_DURATION))
    });
    window.end(m);
    let [Some(from), Some(to)] = ends else { return None };
    if from >= to {
        m.at(span, format!("a window from {from} to {to}"), "It ends after it begins.");
        return None;
    }
    Some((Instant::from_ns(from.0), Instant::from_ns(to.0)))
}

#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
