//! A run as a scenario file: the way back from what the engine gets to what people write.

mod group_files;

use super::{machine, profile};
use crate::nouns::at::{Act, At};
use crate::nouns::cgroup::{self, GroupAct};
use crate::nouns::clamps;
use crate::nouns::lock_steps;
use crate::nouns::step_args::Names;
use crate::nouns::steps;
use crate::nouns::words;
use crate::nouns::{page_steps, part_steps};
use crate::text::canonical::{self, key, quoted};
use fairground_model::cgroup::ROOT;
use fairground_model::task_set::DEFAULT_TIMER_SLACK;
use fairground_model::{Change, PipeSpec, Start, TaskSpec};
use fairground_sim::Setup;
use fairground_stdx::{CpuMask, Id, Instant, Ns, TaskId};
use group_files::Files;
use std::fmt;

/// What a scenario file cannot say.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Unwritable(pub String);

impl fmt::Display for Unwritable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a scenario file cannot hold {}", self.0)
    }
}
impl std::error::Error for Unwritable {}

/// The scenario file that [`super::Scenario::parse`] reads back as the same run.
pub fn write(title: &str, setup: &Setup) -> Result<String, Unwritable> {
    let names = names(setup)?;
    let mut files = Files::of(setup)?;
    let mut text = format!("title = {}\nseed = {}\nduration = \"{}\"\n", quoted(title), setup.seed, setup.duration);
    text.push_str(&canonical::window(setup.tasks.window));
    text.push_str(&format!("\n[machine]\n{}", machine::canonical(&setup.machine)));
    text.push_str(&format!("\n[profile]\n{}", profile::canonical(&setup.profile, false)));
    for group in setup.tasks.groups.iter() {
        text.push_str(&format!("\n[[group]]\npath = {}\n", quoted(&group.name)));
        files.of_group(group)?.iter().for_each(|write| text.push_str(&cgroup::line(write)));
    }
    text.push_str("\n[[workload]]\n");
    if !names.pipes.is_empty() {
        let sizes = setup.tasks.pipes.iter().map(|pipe| pipe.capacity);
        let rows: Vec<String> = names.pipes.iter().zip(sizes).map(|(name, size)| format!("{} = {size}", key(name))).collect();
        text.push_str(&format!("pipes = {{ {} }}\n", rows.join(", ")));
    }
    if !names.words.is_empty() {
        let held = names.words.iter().zip(setup.tasks.words.iter());
        let rows: Vec<String> = held.map(|(name, value)| format!("{} = {value}", key(name))).collect();
        text.push_str(&format!("words = {{ {} }}\n", rows.join(", ")));
    }
    if !names.pools.is_empty() {
        let rows = names.pools.iter().zip(setup.tasks.pools.iter());
        let rows: Vec<String> =
            rows.map(|(name, pool)| format!("{} = {}", key(name), quoted(&page_steps::declaration(pool)))).collect();
        text.push_str(&format!("pools = {{ {} }}\n", rows.join(", ")));
    }
    if !names.locks.is_empty() {
        let rows = names.locks.iter().zip(setup.tasks.locks.iter());
        let rows: Vec<String> =
            rows.map(|((name, _), spec)| format!("{} = {}", key(name), quoted(&lock_steps::declaration(spec)))).collect();
        text.push_str(&format!("locks = {{ {} }}\n", rows.join(", ")));
    }
    if let Some(time) = setup.tasks.hung_task_timeout {
        text.push_str(&format!("hung_task_timeout = \"{time}\"\n"));
    }
    text.push_str("tasks = [\n");
    for task in setup.tasks.tasks.iter() {
        text.push_str(&format!("    {{ {} }},\n", fields(setup, task, &names)?.join(", ")));
    }
    text.push_str("]\n");
    for timed in &setup.tasks.changes {
        let row = At { time: Ns(timed.at.ns()), act: act(&timed.change, &names, &mut files)? };
        text.push_str(&format!("\n[[at]]\ntime = \"{}\"\ndo = {}\n", row.time, quoted(&row.act.to_string())));
    }
    Ok(text)
}

/// Tasks keep their names, which must differ; pipes and words have none and are numbered.
fn names(setup: &Setup) -> Result<Names, Unwritable> {
    let tasks: Vec<String> = setup.tasks.tasks.iter().map(|task| task.name.clone()).collect();
    if tasks.is_empty() || setup.tasks.tasks.iter().any(|task| task.name.is_empty() || !task.measured) {
        return Err(Unwritable("a run without tasks, or tasks without names or figures".to_string()));
    }
    let mut sorted: Vec<&String> = tasks.iter().collect();
    sorted.sort_unstable();
    if let Some(pair) = sorted.windows(2).find(|pair| pair[0] == pair[1]) {
        return Err(Unwritable(format!("two tasks that are called `{}`", pair[0])));
    }
    if setup.tasks.pipes.iter().any(|pipe| *pipe != PipeSpec::new(pipe.capacity)) {
        return Err(Unwritable("a pipe whose messages have a size, or whose wake-ups have no sync hint".to_string()));
    }
    let pipes = (0..setup.tasks.pipes.len()).map(|row| format!("pipe{row}")).collect();
    if setup.tasks.words.iter().any(|&word| i64::try_from(word).is_err()) {
        return Err(Unwritable("a word that begins above 2^63".to_string()));
    }
    let words = (0..setup.tasks.words.len()).map(|row| format!("word{row}")).collect();
    let locks: Vec<_> = setup.tasks.locks.iter().map(|lock| (lock.name.clone(), lock.kind)).collect();
    if (0..locks.len()).any(|row| locks[..row].iter().any(|lock| lock.0 == locks[row].0)) {
        return Err(Unwritable("two locks of one name".to_string()));
    }
    let pools: Vec<String> = setup.tasks.pools.iter().map(|pool| pool.name.clone()).collect();
    if (0..pools.len()).any(|row| pools[..row].contains(&pools[row])) {
        return Err(Unwritable("two pools of one name".to_string()));
    }
    let (marks, parts) = (part_steps::marks_of(&setup.tasks), setup.tasks.parts.iter().cloned().collect());
    Ok(Names { tasks, pipes, words, pools, locks, marks, parts, groups: cgroup::paths(&setup.tasks.groups) })
}

/// The row of a task. What has its default is left out.
fn fields(setup: &Setup, task: &TaskSpec, names: &Names) -> Result<Vec<String>, Unwritable> {
    let mut row = vec![format!("name = {}", quoted(&task.name))];
    let mut say = |differs: bool, key: &str, value: String| {
        if differs {
            row.push(format!("{key} = {value}"));
        }
    };
    let text = |value: &dyn fmt::Display| quoted(&value.to_string());
    say(task.nice != 0, "nice", task.nice.to_string());
    say(task.policy != Default::default(), "policy", quoted(&words::policy_name(task.policy)));
    say(task.slice.is_some(), "slice", quoted(&words::slice_name(task.slice)));
    say(task.clamp.min.is_some(), clamps::MIN, task.clamp.min.unwrap_or(0).to_string());
    say(task.clamp.max.is_some(), clamps::MAX, task.clamp.max.unwrap_or(0).to_string());
    say(task.affinity.is_some(), "cpus", text(&task.affinity.unwrap_or(CpuMask::EMPTY)));
    say(task.first_cpu.is_some(), "first_cpu", task.first_cpu.map_or(0, |cpu| cpu.index()).to_string());
    say(task.group.is_some(), "group", task.group.map_or(String::new(), |group| quoted(&names.groups[group.index()])));
    match task.start {
        Start::At(at) => say(at != Instant::ZERO, "start", text(&Ns(at.ns()))),
        Start::Forked => say(true, "forked", "true".to_string()),
        Start::Asleep => return Err(Unwritable(format!("task `{}`, which comes with the sockets", task.name))),
    }
    say(task.timer_slack != DEFAULT_TIMER_SLACK, "timer_slack", text(&task.timer_slack));
    say(task.working_set_kib != 0, "working_set", quoted(&format!("{}KiB", task.working_set_kib)));
    say(task.kthread, "kthread", "true".to_string());
    say(task.mm != 0, "mm", task.mm.to_string());
    say(task.index != 0, "index", task.index.to_string());
    let code = setup.tasks.programs[task.program].code.iter();
    let written = code.map(|instr| {
        let missing = || Unwritable(format!("the instruction {instr:?} of task `{}`", task.name));
        steps::text(instr, names).map(|step| quoted(&step)).ok_or_else(missing)
    });
    let written: Vec<String> = written.collect::<Result<_, _>>()?;
    say(true, "program", format!("[{}]", written.join(", ")));
    Ok(row)
}

fn act(change: &Change, names: &Names, files: &mut Files) -> Result<Act, Unwritable> {
    let name = |task: TaskId| names.tasks[task.index()].clone();
    Ok(match change {
        Change::Nice { task, nice } => Act::Nice(name(*task), *nice),
        Change::Affinity { task, cpus } => Act::Affinity(name(*task), *cpus),
        Change::Policy { task, policy } => Act::Policy(name(*task), *policy),
        Change::Slice { task, slice } => Act::Slice(name(*task), *slice),
        Change::Clamp { task, clamp } if clamps::text(*clamp).is_some() => Act::Clamp(name(*task), *clamp),
        Change::Clamp { task, .. } => return Err(Unwritable(format!("a change of both clamps of `{}`", name(*task)))),
        Change::Feature(write) => Act::Feature(*write),
        Change::FreqCapacity { cpu, freq_capacity } => Act::Frequency(CpuMask::only(*cpu), *freq_capacity),
        Change::Governor { cpu, governor } => Act::Governor(CpuMask::only(*cpu), *governor),
        Change::Pressure { cpu, lost } => Act::Thermal(CpuMask::only(*cpu), *lost),
        Change::Hotplug { cpu, online } => Act::Hotplug(CpuMask::only(*cpu), *online),
        Change::Watchdog { cpu } => Act::Watchdog(CpuMask::only(*cpu)),
        Change::Group { task, group } => {
            Act::Group(GroupAct::Move(group.map_or(ROOT.to_string(), |group| names.groups[group.index()].clone()), name(*task)))
        }
        Change::Shares { group, .. }
        | Change::CpuMax { group, .. }
        | Change::GroupIdle { group, .. }
        | Change::GroupClamp { group, .. } => {
            Act::Group(GroupAct::Write(names.groups[group.index()].clone(), files.change(*group, change)?))
        }
        Change::RemoveGroup { group } => Act::Group(GroupAct::Remove(names.groups[group.index()].clone())),
    })
}

#[cfg(test)]
mod tests {
    use super::super::{Overrides, Scenario};
    use super::*;
    use fairground_model::Instr;
    use std::path::Path;

    fn setup(workload: &str) -> Setup {
        let text = format!(
            "duration = \"1s\"\nseed = 3\n[machine]\npreset = \"smp-2\"\n[profile]\nkernel = \"6.14\"\nfeatures = [\"NO_RUN_TO_PARITY\"]\n{workload}"
        );
        Scenario::parse("t.toml", &text, Path::new(""), &Overrides::default()).unwrap().setup().unwrap()
    }

    #[test]
    fn what_is_written_reads_back_as_the_same_run() {
        let made = setup(
            "[[workload]]\npipes = { p = 2 }\ntasks = [{ name = \"a b\", nice = 3, policy = \"batch\", slice = \"5ms\", cpus = \"0\", first_cpu = 0, \
             start = \"1ms\", timer_slack = \"1us\", working_set = \"2MiB\", kthread = true, mm = 2, index = 5, program = [\"fork c\", \"write p\", \"run 2ms\", \"jump 1\"] },\n\
             { name = \"c\", forked = true, do = [\"read p\"], loop = 3 }]\n\
             [[at]]\ntime = \"1ms\"\ndo = \"nice a b 5\"\n[[at]]\ntime = \"2ms\"\ndo = \"frequency 1 50%\"\n[[at]]\ntime = \"3ms\"\ndo = \"affinity c 1\"\n",
        );
        let text = write("again", &made).unwrap();
        let again = Scenario::parse("again.toml", &text, Path::new(""), &Overrides::default()).unwrap().setup().unwrap();
        assert_eq!((again.machine, again.profile), (made.machine, made.profile), "{text}");
        assert_eq!((again.tasks, again.seed, again.duration), (made.tasks, made.seed, made.duration), "{text}");
    }

    #[test]
    fn locks_read_back_too() {
        let made = setup(
            "[[workload]]\nlocks = { sem = \"rwsem fifo\", \"a b\" = \"percpu-rwsem 3ms\", f = \"futex\" }\nhung_task_timeout = \"5s\"\n\
             tasks = [{ name = \"a\", do = [\"lock f\", \"enter\", \"lock sem read\", \"lock a b write\", \"irqoff 1ms\", \"unlock a b\", \"unlock sem\", \"leave\", \"unlock f\"] }]\n",
        );
        let text = write("again", &made).unwrap();
        let again = Scenario::parse("again.toml", &text, Path::new(""), &Overrides::default()).unwrap().setup().unwrap();
        assert_eq!(again.tasks, made.tasks, "{text}");
    }

    #[test]
    fn what_a_file_cannot_say_is_refused_by_name() {
        let mut made = setup("[[workload]]\ntasks = [{ name = \"a\", count = 2, hog = true }]\n");
        made.tasks.programs.iter_mut().for_each(|program| program.code.push(Instr::SleepUntil { reg: 0 }));
        assert!(write("t", &made).unwrap_err().to_string().contains("SleepUntil"));
        for task in made.tasks.tasks.iter_mut() {
            task.name = "same".to_string();
        }
        assert!(write("t", &made).unwrap_err().to_string().contains("two tasks that are called `same`"));
    }
}
