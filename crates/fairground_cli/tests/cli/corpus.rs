//! Every file that once broke a command, through every command that reads such files. `cargo xtask fuzz` mutates the same files.

use crate::support::{Folder, run, workspace};
use std::path::PathBuf;

/// The files of a kind, by their paths.
fn files(kind: &str) -> Vec<String> {
    let folder = workspace().join("fuzz/corpus").join(kind);
    let mut paths: Vec<PathBuf> = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    assert!(!paths.is_empty(), "{}", folder.display());
    paths.iter().map(|path| path.display().to_string()).collect()
}

fn assert_ends_well(words: &[&str]) {
    let ran = run(words);
    assert!([0, 1, 2, 4].contains(&ran.code), "{words:?}: {} {}", ran.code, ran.err);
}

#[test]
fn every_file_of_the_corpus_is_read_or_refused() {
    let folder = Folder::new();
    for path in files("scenario") {
        assert_ends_well(&["run", &path, "--duration", "20ms", "--stop-before-event", "20000"]);
        assert_ends_well(&["run", &path, "--print-scenario"]);
    }
    for path in files("trace") {
        assert_ends_well(&["replay", &path, "--machine", "smp-2", "--profile", "v6.18", "--stop-before-event", "20000"]);
        assert_ends_well(&["conform", &path, "--profile", "v6.12"]);
        for command in ["latency", "timehist", "explain"] {
            assert_ends_well(&[command, &path]);
        }
        assert_ends_well(&["convert", &path, &folder.path("x.json")]);
    }
    for path in files("sweep") {
        assert_ends_well(&["sweep", &path, "--journal", &folder.path("x.journal")]);
    }
    let sweep = workspace().join("fuzz/corpus/sweep/seeds.toml").display().to_string();
    for path in files("journal") {
        let journal = folder.file("y.journal", std::fs::read(path).unwrap());
        assert_ends_well(&["sweep", &sweep, "--journal", &journal]);
    }
    for path in files("schedstat") {
        assert_ends_well(&["schedstat", &path]);
        assert_ends_well(&["schedstat", &path, &path]);
    }
}

/// Each limit says what is too large, how large it is and how large it may be.
#[test]
fn what_is_too_large_is_refused_by_its_number() {
    let folder = Folder::new();
    let head = "duration = \"1s\"\n[machine]\npreset = \"smp-1\"\n[profile]\nkernel = \"v6.12\"\n";
    let hogs = "[[workload]]\ntasks = [{ name = \"a\", hog = true, count = 60000 }]\n";
    let steps = "\"run 1us\", ".repeat(60_000);
    let long = format!("[[workload]]\ntasks = [{{ name = \"a\", do = [{steps}] }}]\n");
    let groups: String = (0..10_001).map(|row| format!("[[group]]\npath = \"/g{row}\"\n")).collect();
    let list = "{ name = \"a\", hog = true, count = 100000 }, ".repeat(20);
    for (name, text, message) in [
        ("tasks.toml", hogs.repeat(20), "the scenario has 120000 tasks, more than 100000"),
        ("list.toml", format!("[[workload]]\ntasks = [{list}]\n"), "a list of 2000000 tasks"),
        ("steps.toml", long.repeat(17), "steps, more than 1000000"),
        ("groups.toml", groups + hogs, "10001 rows of `[[group]]`"),
        ("text.toml", "# ".repeat(9 << 20), "the text is longer than 16 MiB"),
    ] {
        let path = folder.file(name, format!("{head}{text}"));
        let ran = run(&["run", &path, "--duration", "1ms"]);
        assert!(ran.code == 2 && ran.err.contains(message), "{name}: {} {}", ran.code, ran.err);
    }
}

/// A pipe that never ends is no input that is read for ever.
#[cfg(unix)]
#[test]
fn a_pipe_that_never_ends_is_refused() {
    use std::process::Stdio;
    for words in [&["convert", "/dev/stdin", "x.csv"][..], &["replay", "/dev/stdin"], &["run", "/dev/stdin"], &["run", "-"]] {
        let mut endless = std::process::Command::new("cat").arg("/dev/zero").stdout(Stdio::piped()).spawn().unwrap();
        let pipe = endless.stdout.take().unwrap();
        let output = crate::support::command(words).stdin(pipe).output().unwrap();
        endless.kill().unwrap();
        endless.wait().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(2), "{words:?}: {said}");
        assert!(said.contains("this is a pipe") || said.contains("longer than 16 MiB"), "{words:?}: {said}");
    }
}
