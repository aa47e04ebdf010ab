//! The journal of a sweep is trusted only as far as it is one.

use crate::support::{Folder, SMALL, command, ok, run};
use std::process::Stdio;

/// A folder with a sweep of two runs.
fn sweep() -> (Folder, String) {
    let folder = Folder::new();
    folder.file("a.toml", SMALL);
    let path = folder.file("s.toml", "base = \"a.toml\"\n[axes]\nseed = [1, 2]\n");
    (folder, path)
}

#[test]
fn a_file_that_is_no_journal_of_this_sweep_is_refused_and_stays() {
    let (folder, path) = sweep();
    let other = folder.file("other.toml", folder.read("s.toml"));
    ok(&["sweep", &other]);
    folder.file("note.txt", "mine\n");
    folder.file("old.journal", "{\"version\":\"0.1.0\",\"run\":0,\"scenario\":\"00\"}\n");
    folder.file("binary", b"\xff\xfe\0\n");
    for name in ["note.txt", "a.toml", "s.toml", "old.journal", "binary", "other.toml.journal"] {
        let before = std::fs::read(folder.path(name)).unwrap();
        for flags in [&[][..], &["--fresh"]] {
            let ran =
                run(&[&["sweep", path.as_str(), "--journal", &folder.path(name), "-o", &folder.path("x.csv")], flags].concat());
            assert_eq!(ran.code, 2, "{name} {flags:?}: {}", ran.err);
            assert!(ran.err.contains("journal") && !folder.has("x.csv"), "{}", ran.err);
            assert_eq!(std::fs::read(folder.path(name)).unwrap(), before, "{name}");
        }
    }
    let ran = run(&["sweep", &path, "--journal", &folder.path("")]);
    assert!(ran.code == 2 && ran.err.contains("a journal is a file"), "{}", ran.err);
}

#[test]
fn a_changed_digit_never_gets_into_the_table() {
    let (folder, path) = sweep();
    ok(&["sweep", &path, "-o", &folder.path("right.csv")]);
    let journal = folder.read("s.toml.journal");
    let lines: Vec<&str> = journal.lines().collect();
    let at = lines[1].find("\"events\":").unwrap() + "\"events\":".len();
    let digit = if lines[1].as_bytes()[at] == b'7' { '8' } else { '7' };
    let changed = format!("{}{digit}{}", &lines[1][..at], &lines[1][at + 1..]);
    folder.file("s.toml.journal", journal.replace(lines[1], &changed));
    let again = ok(&["sweep", &path, "-o", &folder.path("again.csv")]);
    assert!(again.err.contains("1 of 2 runs were finished before"), "{}", again.err);
    assert!(again.err.contains("1 lines of the journal are changed or cut short, and were not used"), "{}", again.err);
    assert_eq!(folder.read("again.csv"), folder.read("right.csv"));
}

#[test]
fn a_second_sweep_on_one_journal_is_refused_while_the_first_goes_on() {
    let (folder, path) = sweep();
    folder.file("a.toml", SMALL.replace("\"1s\"", "\"10d\""));
    let journal = folder.path("j");
    let mut first =
        command(&["sweep", &path, "--journal", &journal]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    while !folder.has("j") || folder.read("j").is_empty() {
        std::thread::yield_now();
    }
    let second = run(&["sweep", &path, "--journal", &journal, "--fresh"]);
    first.kill().unwrap();
    first.wait().unwrap();
    assert_eq!(second.code, 2, "{}", second.err);
    assert!(second.err.contains("another sweep is writing this journal"), "{}", second.err);
    assert!(folder.read("j").contains("\"sweep\":\"s.toml\""));
    // The lock goes with the process, however it ended.
    folder.file("a.toml", SMALL);
    ok(&["sweep", &path, "--journal", &journal]);
}

/// Runs that were not begun are not done. A stand-in for the package notes no run, and says that one was.
#[cfg(target_os = "linux")]
#[test]
fn an_interrupted_sweep_counts_what_was_finished() {
    use std::os::unix::fs::PermissionsExt;
    let (folder, path) = sweep();
    folder.file("a.toml", SMALL.replace("\"1s\"", "\"10d\""));
    let script = "#!/bin/sh\n[ \"$1\" = -c ] && exit 0\necho 1 2\ntouch \"$FAIRGROUND_TEST_BEGAN\"\nexec sleep 60\n";
    let python = folder.file("python3", script);
    std::fs::set_permissions(&python, std::fs::Permissions::from_mode(0o755)).unwrap();
    let search = format!("{}:{}", folder.path(""), std::env::var("PATH").unwrap());
    for (engine, began, says) in [("local", "j", "after 0 of 2 runs"), ("ray", "began", "after 1 of 2 runs")] {
        let words = ["sweep", &path, "--engine", engine, "--journal", &folder.path("j"), "-o", &folder.path("x.csv")];
        let mut sweep = command(&words);
        sweep.env("PATH", &search).env("FAIRGROUND_TEST_BEGAN", folder.path("began"));
        let child = sweep.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        while !folder.has(began) || (began == "j" && folder.read("j").is_empty()) {
            std::thread::yield_now();
        }
        // The command looks at what the stand-in says twenty times a second.
        std::thread::sleep(std::time::Duration::from_millis(200));
        assert!(std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
        let ended = child.wait_with_output().unwrap();
        let err = String::from_utf8_lossy(&ended.stderr);
        assert_eq!(ended.status.code(), Some(130), "{engine}: {err}");
        assert!(err.contains(says), "{engine}: {err}");
    }
}
