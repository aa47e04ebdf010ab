//! Recording by the files of tracefs themselves: an instance with buffers of its own, so that nobody else's recording is disturbed.

use super::events;
use super::programs;
use super::recorder::Asked;
use fairground_scenario::Error;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::AtomicBool;

/// An instance; it is removed when it goes away.
struct Instance(PathBuf);

impl Instance {
    fn create(folder: &Path) -> io::Result<Instance> {
        let path = folder.join("instances").join(format!("fairground-{}", std::process::id()));
        fs::create_dir(&path)?;
        Ok(Instance(path))
    }
    fn write(&self, file: &str, value: &str) -> io::Result<()> {
        fs::write(self.0.join(file), value)
    }
    /// Events that had no room in the buffers.
    fn dropped(&self) -> u64 {
        let cpus = super::root::names_of(&self.0.join("per_cpu"));
        let texts = cpus.iter().filter_map(|cpu| super::root::text_of(&self.0.join("per_cpu").join(cpu).join("stats")).ok());
        let lost = |line: &str| -> Option<u64> {
            line.strip_prefix("dropped events:").or_else(|| line.strip_prefix("overrun:"))?.trim().parse().ok()
        };
        let count = |text: String| text.lines().filter_map(lost).sum::<u64>();
        texts.map(count).sum()
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        // An instance that stays records nothing any more: it was switched off before.
        let _ = fs::remove_dir(&self.0);
    }
}

/// Records a command, or a sleep.
pub(super) fn run(asked: &Asked<'_>, stop: &AtomicBool) -> Result<Vec<String>, Error> {
    let folder = events::tracefs(asked.root).unwrap_or(events::TRACEFS[0]);
    let failed = |cause: io::Error| Error::world("write", Path::new("/").join(folder).as_path(), cause);
    let instance = Instance::create(&asked.root.path(folder)).map_err(failed)?;
    let begun = (|| {
        instance.write("tracing_on", "0")?;
        instance.write("buffer_size_kb", &(u64::from(asked.options.buffer_mib) * 1024).to_string())?;
        instance.write("trace_clock", "mono")?;
        // What has no room is lost, and what is recorded stays in one piece.
        instance.write("options/overwrite", "0")?;
        for event in asked.events {
            instance.write(&format!("events/{}/enable", event.replace(':', "/")), "1")?;
        }
        instance.write("tracing_on", "1")
    })();
    begun.map_err(failed)?;
    let command = asked.command();
    let (program, arguments) = command.split_first().map_or(("true", &[][..]), |(program, rest)| (program.as_str(), rest));
    let ended = Command::new(program)
        .args(arguments)
        .spawn()
        .and_then(|mut child| programs::wait(&mut child, asked.length(), "TERM", stop));
    instance.write("tracing_on", "0").map_err(failed)?;
    let status = ended.map_err(|cause| Error::World { what: format!("cannot run {program}"), cause })?;
    let copied = File::open(instance.0.join("trace"))
        .and_then(|mut from| File::create(asked.recording).and_then(|mut to| io::copy(&mut from, &mut to)));
    copied.map_err(|cause| Error::world("write", asked.recording, cause))?;
    let mut notes = vec!["recorded by tracefs: perf tells more (install it)".to_string()];
    if !status.success() {
        notes.push(format!("the command ended with {status}"));
    }
    match instance.dropped() {
        0 => {}
        dropped => {
            notes.push(format!("Warning: the buffers were full, {dropped} events are lost: record with a larger --buffer"))
        }
    }
    Ok(notes)
}
