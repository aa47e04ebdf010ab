//! What `-o` may not do: destroy an input or another file, leave half a file, or be told of a mistake after the run.

use crate::support::{Folder, SMALL, command, ok, run};
use std::fs;
use std::os::unix::fs::symlink;
use std::process::Stdio;

/// A folder with a scenario and a recording of it.
fn folder() -> Folder {
    let folder = Folder::new();
    ok(&["run", &folder.file("a.toml", SMALL), "-o", &folder.path("t.csv")]);
    folder
}

#[test]
fn an_output_that_is_an_input_is_refused_by_every_name_of_it() {
    let folder = folder();
    let (scenario, trace) = (folder.path("a.toml"), folder.path("t.csv"));
    let (soft, hard, round) = (folder.path("soft.csv"), folder.path("hard.csv"), folder.path("./t.csv"));
    symlink("t.csv", &soft).unwrap();
    fs::hard_link(&trace, &hard).unwrap();
    symlink("a.toml", folder.path("a.csv")).unwrap();
    let of_scenario = folder.path("a.csv");
    let replayed = folder.file("r.toml", "duration = \"1s\"\n[machine]\npreset = \"smp-1\"\n[[workload]]\nreplay = \"t.csv\"\n");
    let (before, names_before) = (folder.read("t.csv"), folder.names());
    let mut commands: Vec<Vec<&str>> = vec![vec!["run", &scenario, "-o", &of_scenario], vec!["run", &replayed, "-o", &trace]];
    for name in [&trace, &soft, &hard, &round] {
        commands.push(vec!["replay", &trace, "-o", name]);
        commands.push(vec!["convert", &trace, name]);
    }
    for words in commands {
        let ran = run(&words);
        assert_eq!(ran.code, 2, "{words:?}: {}", ran.err);
        assert!(ran.err.contains("input"), "{words:?}: {}", ran.err);
    }
    assert_eq!((folder.read("t.csv"), folder.read("a.toml"), folder.names()), (before, SMALL.to_string(), names_before));
}

#[test]
fn a_file_in_the_folder_of_a_recorded_experiment_is_an_input() {
    let set = Folder::new();
    let from = crate::support::experiments(&["k5.10-hogs-1cpu"]).into_iter().next().unwrap();
    for entry in fs::read_dir(&from).unwrap() {
        let entry = entry.unwrap();
        fs::copy(entry.path(), set.path(entry.file_name().to_str().unwrap())).unwrap();
    }
    set.file("own.csv", "a table of mine\n");
    let words = ["run", &set.path(""), "--machine", "smp-1", "--profile", "v6.12", "-o", &set.path("own.csv")];
    assert_eq!(run(&words).code, 2);
    assert_eq!(set.read("own.csv"), "a table of mine\n");
}

#[test]
fn one_output_under_two_names_is_refused() {
    let folder = folder();
    let scenario = folder.path("a.toml");
    folder.file("there.csv", "");
    symlink("there.csv", folder.path("link.csv")).unwrap();
    for (one, two) in [("new.csv", "./new.csv"), ("there.csv", "link.csv"), ("t.csv", "../t.csv")] {
        let two = match two.strip_prefix("../") {
            Some(name) => format!("{}/../{}/{name}", folder.path(""), folder.path("").rsplit('/').nth(1).unwrap()),
            None => folder.path(two),
        };
        let ran = run(&["run", &scenario, "-o", &folder.path(one), "-o", &two]);
        assert_eq!(ran.code, 2, "{one} {two}: {}", ran.err);
        assert!(ran.err.contains("is given twice"), "{}", ran.err);
    }
    ok(&["run", &scenario, "-o", "/dev/null", "-o", &folder.path("x.csv")]);
    assert!(!folder.has("new.csv"));
}

#[test]
fn a_link_with_the_name_of_an_unfinished_file_destroys_nothing() {
    let folder = folder();
    folder.file("precious", "mine\n");
    symlink("precious", folder.path("x.csv.partial")).unwrap();
    ok(&["run", &folder.path("a.toml"), "-o", &folder.path("x.csv")]);
    ok(&["run", &folder.path("a.toml"), "--stop-before-event", "9", "-o", &folder.path("x.csv")]);
    assert_eq!(folder.read("precious"), "mine\n");
    assert!(folder.read("x.csv.partial").starts_with("t_ns,"));
}

#[test]
fn what_cannot_be_written_is_told_before_the_run() {
    let folder = Folder::new();
    // Days of simulated time: a run would not come to its end.
    let long = folder.file("long.toml", SMALL.replace("\"1s\"", "\"10d\""));
    fs::create_dir(folder.path("d.csv")).unwrap();
    folder.file("kept.csv", "mine\n");
    let mut kept = fs::metadata(folder.path("kept.csv")).unwrap().permissions();
    kept.set_readonly(true);
    fs::set_permissions(folder.path("kept.csv"), kept).unwrap();
    for name in ["d.csv", "kept.csv", "no/x.csv"] {
        let ran = run(&["run", &long, "-o", &folder.path("first.csv"), "-o", &folder.path(name)]);
        assert_eq!(ran.code, 3, "{name}: {}", ran.err);
        assert!(ran.err.contains(name) && !ran.err.contains(".partial"), "{}", ran.err);
    }
    assert_eq!(
        (folder.read("kept.csv").as_str(), folder.names()),
        ("mine\n", vec!["d.csv".into(), "kept.csv".into(), "long.toml".into()])
    );
}

#[test]
fn two_commands_with_one_output_leave_one_whole_file() {
    let folder = folder();
    let (scenario, out) = (folder.file("b.toml", SMALL.replace("\"1s\"", "\"20s\"")), folder.path("x.csv"));
    ok(&["run", &scenario, "-o", &folder.path("alone.csv")]);
    let begin = || command(&["run", &scenario, "-o", &out]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let mut both = [begin(), begin(), begin()];
    assert!(both.iter_mut().all(|child| child.wait().unwrap().success()));
    assert_eq!(folder.read("x.csv"), folder.read("alone.csv"));
    assert!(folder.names().iter().all(|name| !name.ends_with(".partial")));
}

#[test]
fn stdout_gets_the_file_and_nothing_else() {
    let folder = folder();
    let (scenario, trace) = (folder.path("a.toml"), folder.read("t.csv"));
    for name in ["-o-", "-o=-.csv", "-o/dev/stdout"] {
        let ran = ok(&["run", &scenario, name]);
        assert_eq!(ran.out, trace, "{name}");
        assert!(ran.err.contains("digest"), "{}", ran.err);
    }
    assert_eq!(ok(&["convert", &folder.path("t.csv"), "-"]).out, trace);
    serde_json::from_str::<serde_json::Value>(&ok(&["run", &scenario, "-o=-.json"]).out).unwrap();
    let twice = run(&["run", &scenario, "-o", "-", "-o", "/dev/stdout"]);
    assert_eq!((twice.code, twice.out.as_str()), (2, ""));
    let both = run(&["run", &scenario, "-o", "-", "--json"]);
    assert_eq!((both.code, both.out.as_str()), (2, ""));
    assert!(both.err.contains("not both"), "{}", both.err);
}

#[test]
fn a_named_pipe_stays_one_and_gets_the_file() {
    let folder = folder();
    let pipe = folder.path("p.csv");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let reader = std::thread::spawn({
        let pipe = pipe.clone();
        move || fs::read_to_string(pipe).unwrap()
    });
    ok(&["run", &folder.path("a.toml"), "-o", &pipe]);
    assert_eq!(reader.join().unwrap(), folder.read("t.csv"));
    use std::os::unix::fs::FileTypeExt;
    assert!(fs::metadata(&pipe).unwrap().file_type().is_fifo());
}

#[test]
fn a_sweep_keeps_journal_outputs_and_inputs_apart() {
    let folder = folder();
    let sweep = folder.file("s.toml", "base = \"a.toml\"\n[axes]\nseed = [1, 2]\n");
    let journal = folder.path("j.csv");
    let ran = run(&["sweep", &sweep, "--journal", &journal, "-o", &folder.path("./j.csv")]);
    assert_eq!(ran.code, 2, "{}", ran.err);
    assert!(ran.err.contains("is the journal"), "{}", ran.err);
    let ran = run(&["sweep", &sweep, "--address", "host:1", "-o", &folder.path("x.csv")]);
    assert_eq!(ran.code, 2, "{}", ran.err);
    assert_eq!(folder.names(), ["a.toml", "s.toml", "t.csv"]);
}

#[test]
fn arguments_that_are_no_text_work() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    let folder = folder();
    let place = |name: &[u8]| std::path::Path::new(&folder.path("")).join(OsStr::from_bytes(name));
    fs::copy(folder.path("a.toml"), place(b"b\xff.toml")).unwrap();
    let ran = command(&["run"]).arg(place(b"b\xff.toml")).arg("-o").arg(place(b"o\xfe.csv")).output().unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    assert_eq!(fs::read_to_string(place(b"o\xfe.csv")).unwrap(), folder.read("t.csv"));
    assert!(String::from_utf8_lossy(&ran.stdout).contains("b\\xff.toml'"), "the command that tells more can be typed");
    let ran = command(&["run", &folder.path("a.toml"), "--seed"]).arg(OsStr::from_bytes(b"\xff")).output().unwrap();
    assert_eq!(ran.status.code(), Some(2));
}
