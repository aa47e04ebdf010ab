use super::*;

mod program;
mod quota;

const GOOD: &str = "
title = \"two hogs\"
seed = 7
duration = \"1s\"

[machine]
preset = \"smp-2\"

[profile]
kernel = \"5.19\"
features = [\"NO_START_DEBIT\"]

[[workload]]
tasks = [{ name = \"a\", hog = true }, { name = \"b\", run = \"3ms\", period = \"10ms\", cpus = \"0\" }]

[[at]]
time = \"500ms\"
do = \"nice a 5\"

[expect]
switches = { min = 1, why = \"something happens\" }
\"tasks.b.max_wait_ms\" = { max = \"20ms\" }
";

fn parse(text: &str) -> Result<Scenario, Error> {
    Scenario::parse("test.toml", text, Path::new(""), &Overrides::default())
}
fn mistakes(text: &str) -> Vec<String> {
    match parse(text) {
        Err(Error::Input(files)) => files.iter().flat_map(FileMistakes::lines).collect(),
        other => panic!("expected mistakes, got {other:?}"),
    }
}

#[test]
fn canonical_text_reads_back_as_the_same_scenario() {
    let scenario = parse(GOOD).unwrap();
    let printed = scenario.canonical();
    let again = parse(&printed).unwrap();
    assert_eq!(again.canonical(), printed);
    assert_eq!(again.digest(), scenario.digest());
    assert_eq!(again.tasks(), scenario.tasks());
    assert_eq!((again.bands, again.profile, again.machine), (scenario.bands, scenario.profile, scenario.machine));
}

#[test]
fn another_kernel_keeps_what_the_scenario_sets_or_refuses_it_by_name() {
    let under = |text: &str, kernel: &str| {
        let flags = Overrides { profile: Some(kernel.to_string()), ..Overrides::default() };
        Scenario::parse("test.toml", text, Path::new(""), &flags)
    };
    assert_eq!(under(GOOD, "v6.1").unwrap().profile.full_name(), "v6.1 NO_START_DEBIT");
    let tunable = GOOD.replace("features = [\"NO_START_DEBIT\"]", "tunables = { sched_latency_ns = 12000000 }");
    assert_eq!(under(&tunable, "v5.10").unwrap().profile.full_name(), "v5.10 sched_latency_ns=12000000");
    for (text, name) in [(GOOD, "START_DEBIT"), (&tunable, "sched_latency_ns")] {
        let refused = under(text, "v6.12").unwrap_err().to_string();
        assert!(refused.contains("--profile") && refused.contains(name) && refused.contains("v6.12"), "{refused}");
    }
}

#[test]
fn the_digest_holds_what_decides_and_nothing_else() {
    let base = parse(GOOD).unwrap().digest();
    let with = |from: &str, to: &str| parse(&GOOD.replace(from, to)).unwrap().digest();
    assert_eq!(base, with("two hogs", "another title"));
    assert_eq!(base, with("seed = 7", "seed=7 # the same"));
    assert_eq!(base, with("min = 1", "min = 2"));
    for (from, to) in [
        ("seed = 7", "seed = 8"),
        ("\"1s\"", "\"2s\""),
        ("smp-2", "smp-3"),
        ("5.19", "6.1"),
        ("NO_START_DEBIT", "NEXT_BUDDY"),
        ("3ms", "4ms"),
        ("nice a 5", "nice a 6"),
    ] {
        assert_ne!(base, with(from, to), "{from}");
    }
}

#[test]
fn five_mistakes_are_all_shown_with_their_lines() {
    let text = "
duration = 10
sed = 1
[machine]
preset = \"smp-0\"
[profile]
kernel = \"5.19\"
features = [\"NO_SUCH\"]
[[workload]]
tasks = [{ name = \"a\", run = \"1ms\", sleep = \"-3ms\" }]
";
    let found = mistakes(text);
    let lines: Vec<&str> = found.iter().map(|line| line.split(": ").next().unwrap()).collect();
    assert_eq!(lines, ["test.toml:2", "test.toml:3", "test.toml:5", "test.toml:8", "test.toml:10"], "{found:#?}");
    assert!(found.iter().all(|line| line.contains("(hint: ")));
}

#[test]
fn what_cannot_run_is_refused() {
    for (from, to, part) in [
        ("\"1s\"", "\"3650d\"", "longer than 13 days"),
        ("\"1s\"", "\"0s\"", "a duration of 0"),
        ("smp-2", "smp-0", "smp-0"),
        ("cpus = \"0\"", "cpus = \"7\"", "no allowed CPU"),
        ("nice a 5", "nice c 5", "no task is called `c`"),
        ("nice a 5", "affinity a 9", "no allowed CPU"),
        ("500ms", "1500ms", "never done"),
        ("nice a 5", "feature NO_FOO", "no feature `FOO`"),
        ("switches =", "swiches =", "no metric `swiches`"),
        ("[[workload]]\n", "[[workload]]\nname = \"hog\"\n", "exactly one place"),
        ("[[workload]]\n", "[[workload]]\nhousekeeping = \"0\"\n", "names a recording"),
    ] {
        let found = mistakes(&GOOD.replace(from, to));
        assert_eq!(found.len(), 1, "{to}: {found:#?}");
        assert!(found[0].contains(part), "{to}: {found:#?}");
    }
    for (key, part) in [("duration", "without `duration`"), ("[machine]", "without `[machine]`")] {
        let text: String =
            GOOD.split_inclusive('\n').filter(|line| !line.starts_with(key) && !line.starts_with("preset")).collect();
        assert!(mistakes(&text).iter().any(|line| line.contains(part)), "{key}");
    }
}

#[test]
fn slices_are_for_kernels_that_know_them() {
    let text = GOOD.replace("name = \"a\", hog", "name = \"a\", slice = \"5ms\", hog").replace("nice a 5", "slice b 50us");
    let text = text.replace("\nfeatures = [\"NO_START_DEBIT\"]", "");
    let found = mistakes(&text);
    assert_eq!(found.len(), 2, "{found:#?}");
    assert!(found.iter().all(|line| line.contains("profile `v5.19` knows none") && line.contains("v6.12")), "{found:#?}");
    assert!(found[0].contains("task `a`") && found[1].contains("task `b`"), "{found:#?}");
    let scenario = parse(&text.replace("5.19", "6.12")).unwrap();
    assert_eq!(scenario.notes, ["the slice 50us of task `b` becomes 100us: kernels allow 100us to 100ms"]);
    let tasks = scenario.tasks();
    assert_eq!(tasks.tasks.iter().map(|task| task.slice).collect::<Vec<_>>(), [Some(Ns::from_ms(5)), None]);
    assert_eq!(tasks.changes.len(), 1);
    assert_eq!(parse(&scenario.canonical()).unwrap().tasks(), tasks);
    // A flag for an older kernel is held against them as well.
    assert!(scenario.with_profile(Profile::parse("v6.6").unwrap()).setup().is_err());
}

#[test]
fn flags_change_a_scenario() {
    let overrides = Overrides {
        profile: Some("v4.20+align-vruntime".into()),
        else_profile: Some("v6.12".into()),
        features: vec!["NEXT_BUDDY".into()],
        set: vec!["sched_latency_ns=24ms".into(), "machine.hz=1000".into()],
        machine: Some("smp-4".into()),
        capacities: Some("2-3=512".into()),
        seed: Some(9),
        duration: Some("2s".into()),
        texts: crate::text_file::Texts::default(),
    };
    let scenario = Scenario::parse("x", GOOD, Path::new(""), &overrides).unwrap();
    assert_eq!(
        (scenario.seed, scenario.duration, scenario.machine.cpus.len(), scenario.machine.hz),
        (9, Ns::from_secs(2), 4, 1000)
    );
    assert_eq!(scenario.machine.cpus.iter().map(|cpu| cpu.capacity).collect::<Vec<_>>(), [1024, 1024, 512, 512]);
    assert!(scenario.canonical().contains("kernel = \"v4.20+align-vruntime\""));
    assert!(scenario.canonical().contains("sched_latency_ns = 24000000"));
    assert_eq!(parse(&scenario.canonical()).unwrap().digest(), scenario.digest());
}

/// The kernel is the same one that every command takes if none is named.
#[test]
fn a_scenario_without_a_kernel_runs_under_the_default_one_and_says_so() {
    let text = GOOD.replace("[profile]\nkernel = \"5.19\"\nfeatures = [\"NO_START_DEBIT\"]\n", "");
    let scenario = parse(&text).unwrap();
    let name = scenario.profile.full_name();
    assert_eq!(scenario.notes, [format!("no profile given: {name}")]);
    assert!(scenario.canonical().contains(&format!("kernel = \"{name}\"")), "{}", scenario.canonical());
    assert_eq!(parse(&scenario.canonical()).unwrap().digest(), scenario.digest());
    let else_profile = Some("v6.12".to_string());
    let baseline = Overrides { else_profile, ..Overrides::default() };
    let of_baseline = |text: &str| Scenario::parse("x", text, Path::new(""), &baseline).unwrap();
    assert_eq!((of_baseline(&text).profile.full_name().as_str(), of_baseline(&text).notes.len()), ("v6.12", 0));
    assert_eq!(of_baseline(GOOD).profile, parse(GOOD).unwrap().profile);
    // One that is wrong is no reason to hold the rest against the default one, which has no such tunable.
    let overrides = Overrides { set: vec!["sched_latency_ns=24ms".into()], ..Overrides::default() };
    for wrong in [GOOD.replace("5.19", "9.9"), GOOD.replace("kernel = \"5.19\"", "kernel")] {
        let Err(Error::Input(files)) = Scenario::parse("test.toml", &wrong, Path::new(""), &overrides) else { panic!("{wrong}") };
        assert_eq!(files[0].name, "test.toml", "{files:?}");
    }
    let machine = mistakes(&GOOD.replace("[machine]\npreset = \"smp-2\"\n", ""));
    assert!(machine[0].contains("a scenario without `[machine]`"), "{machine:?}");
}

#[test]
fn every_wrong_flag_is_named() {
    let overrides = Overrides {
        profile: None,
        features: vec!["FOO".into(), "BAR".into()],
        set: vec!["nothing".into(), "sched_latency_ns=x".into()],
        ..Overrides::default()
    };
    let Err(Error::Input(files)) = Scenario::parse("x", GOOD, Path::new(""), &overrides) else { panic!("it must be refused") };
    let lines: Vec<String> = files.iter().flat_map(FileMistakes::lines).collect();
    assert_eq!(lines.len(), 4, "{lines:#?}");
}

#[test]
fn schemas_are_objects_that_name_every_key() {
    let schema = scenario_schema();
    for key in ["title", "seed", "duration", "machine", "profile", "group", "workload", "at", "expect"] {
        assert!(schema["properties"][key].is_object(), "{key}");
    }
    for file in ["cpu.weight", "cpu.weight.nice", "cpu.shares", "cpu.idle"] {
        assert!(schema["properties"]["group"]["items"]["properties"][file].is_object(), "{file}");
    }
    let priority = &rtapp_schema()["properties"]["tasks"]["additionalProperties"]["properties"]["priority"];
    assert_eq!((priority["minimum"].as_i64(), priority["maximum"].as_i64()), (Some(-20), Some(99)));
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(400))]

    /// Whatever a slip of the pen does to a scenario: it is read or refused, and every mistake lies in the text.
    #[test]
    fn damaged_scenarios_never_panic(cuts in proptest::collection::vec((0usize..1000, 0usize..40, "\\PC{0,6}"), 1..4)) {
        let mut text = GOOD.to_string();
        for (place, length, insert) in cuts {
            let start = place % (text.len() + 1);
            let end = (start + length).min(text.len());
            if text.is_char_boundary(start) && text.is_char_boundary(end) {
                text.replace_range(start..end, &insert);
            }
        }
        if let Err(Error::Input(files)) = parse(&text) {
            for span in files.iter().flat_map(|file| &file.mistakes.0).filter_map(|mistake| mistake.span.clone()) {
                proptest::prop_assert!(text.get(span).is_some());
            }
        }
    }
}

#[test]
fn a_wrong_machine_hides_no_other_mistake() {
    let text = GOOD.replace("smp-2", "smp-0").replace("nice a 5", "nice zz 5");
    let lines = mistakes(&text);
    assert_eq!(lines.len(), 2, "{lines:?}");
    assert!(lines[0].contains("smp-0") && lines[1].contains("no task is called `zz`"), "{lines:?}");
}

#[test]
fn tasks_and_changes_are_held_against_the_machine_and_kernel_of_the_flags() {
    let text = GOOD.replace("cpus = \"0\"", "cpus = \"5\"").replace("nice a 5", "feature SIS_UTIL");
    assert_eq!(mistakes(&text).len(), 2, "neither is there in the file itself");
    let flags = Overrides { machine: Some("smp-8".to_string()), profile: Some("v6.1".to_string()), ..Overrides::default() };
    assert!(Scenario::parse("test.toml", &text, Path::new(""), &flags).unwrap().setup().is_ok());
}

#[test]
fn tasks_that_never_start_are_noted() {
    let late = GOOD.replace("hog = true }", "hog = true, start = \"1s\" }");
    let notes = parse(&late).unwrap().notes;
    assert_eq!(notes, ["the run ends at 1s, before 1 of its tasks would start (the first is `a`)"]);
    assert!(parse(GOOD).unwrap().notes.is_empty());
}

#[test]
fn tasks_of_one_name_have_metrics_of_their_own() {
    let twins = GOOD.replace("name = \"b\"", "name = \"a\"").replace("tasks.b.max_wait_ms", "tasks.a#2.max_wait_ms");
    let scenario = parse(&twins).unwrap();
    let metrics = metrics::metrics_to_come(&scenario.tasks());
    let names: std::collections::BTreeSet<&str> = metrics.iter().map(|metric| metric.name.as_str()).collect();
    assert_eq!(names.len(), metrics.len());
    assert!(names.contains("tasks.a.runtime_ms") && names.contains("tasks.a#2.runtime_ms"));
}

const GROUPS: &str = "
duration = \"1s\"
[machine]
preset = \"smp-2\"
[profile]
kernel = \"5.19\"
[[group]]
path = \"/web/api\"
\"cpu.weight\" = 200
[[group]]
path = \"/batch\"
[[workload]]
group = \"/web\"
tasks = [{ name = \"a\", hog = true, group = \"/web/api\" }, { name = \"b\", do = [\"run 1ms\", \"cgroup /\", \"sleep 1ms\"] }]
[[workload]]
name = \"hog\"
group = \"/batch\"
[[at]]
time = \"100ms\"
do = \"cgroup.procs / a\"
[[at]]
time = \"200ms\"
do = \"cpu.weight /web/api 10000\"
[[at]]
time = \"300ms\"
do = \"rmdir /web/api\"
";

#[test]
fn groups_are_part_of_the_task_set_and_of_the_canonical_text() {
    let scenario = parse(GROUPS).unwrap();
    let tasks = scenario.tasks();
    let groups: Vec<_> = tasks.groups.iter().map(|group| (group.name.as_str(), group.shares)).collect();
    assert_eq!(groups, [("/web", 1024), ("/web/api", 2048), ("/batch", 1024)]);
    let path = |group: Option<fairground_stdx::TgId>| group.map(|group| tasks.groups[group].name.as_str());
    assert_eq!(
        tasks.tasks.iter().map(|task| path(task.group)).collect::<Vec<_>>(),
        [Some("/web/api"), Some("/web"), Some("/batch")]
    );
    assert_eq!(tasks.changes.len(), 3);
    let printed = scenario.canonical();
    let again = parse(&printed).unwrap();
    assert_eq!((again.canonical(), again.tasks()), (printed, tasks));
    for (from, to) in [("= 200", "= 201"), ("/batch", "/other"), ("api 10000", "api 9999")] {
        assert_ne!(parse(&GROUPS.replace(from, to)).unwrap().digest(), scenario.digest(), "{to}");
    }
}

#[test]
fn a_group_without_tasks_is_made_all_the_same() {
    let text = GROUPS.replace("path = \"/batch\"", "path = \"/batch\"\n[[group]]\npath = \"/idle/none\"\n\"cpu.idle\" = 1");
    let tasks = parse(&text).unwrap().tasks();
    let last: Vec<_> = tasks.groups.iter().skip(3).map(|group| (group.name.as_str(), group.idle)).collect();
    assert_eq!(last, [("/idle", false), ("/idle/none", true)]);
}

#[test]
fn what_groups_cannot_do_is_refused_with_its_line() {
    let at = |rows: &[&str]| -> String {
        rows.iter().enumerate().map(|(row, act)| format!("[[at]]\ntime = \"{}ms\"\ndo = \"{act}\"\n", 400 + row)).collect()
    };
    for (from, to, part) in [
        ("group = \"/batch\"", "group = \"/batsh\"".to_string(), "there is no group `/batsh` (hint: Did you mean `/batch`?)"),
        ("group = \"/web/api\"", "group = \"/db\"".to_string(), "there is no group `/db` (hint: Declare it"),
        ("\"cpu.weight\" = 200", "\"cpu.shares\" = 200".to_string(), "cgroup v1 and v2"),
        ("cpu.weight /web/api", "cpu.shares /web/api".to_string(), "cgroup v1 and v2"),
        ("cpu.weight /web/api", "cpu.weight /web/apo".to_string(), "Did you mean `/web/api`?"),
        ("cgroup.procs / a", "cgroup.procs / c".to_string(), "no task is called `c`"),
        ("cgroup.procs / a", "cgroup.procs /web a".to_string(), ""),
        ("do = \"cgroup.procs / a\"", "do = \"nice a 3\"".to_string(), "while task `a` is in it (EBUSY)"),
        ("rmdir /web/api", "rmdir /web".to_string(), "while group `/web/api` is in it (EBUSY)"),
        ("rmdir /web/api", "rmdir /batch".to_string(), "while task `hog00` is in it (EBUSY)"),
        ("\"cgroup /\"", "\"cgroup /web/api\"".to_string(), "a step of task `b` goes into it"),
        ("300ms\"\ndo", "50ms\"\ndo".to_string(), "the group was removed at 50ms"),
        ("[[at]]\ntime = \"100ms", at(&["cgroup.procs /web/api a"]) + "[[at]]\ntime = \"100ms", "the group was removed at 300ms"),
        ("[[at]]\ntime = \"100ms", at(&["cpu.idle /batch 1", "cpu.weight /batch 5"]) + "[[at]]\ntime = \"100ms", "(EINVAL)"),
        (
            "[[at]]\ntime = \"100ms",
            at(&["cpu.idle /batch 1", "cpu.idle /batch 0", "cpu.weight /batch 5"]) + "[[at]]\ntime = \"100ms",
            "",
        ),
        ("cpu.weight /web/api", "cpu.uclamp.max /web/api".to_string(), "more than 100 %"),
        ("cpu.weight /web/api", "cpu.cfs_quota_us /web/api".to_string(), "cgroup v1 and v2"),
    ] {
        let text = GROUPS.replacen(from, &to, 1);
        assert_ne!(text, GROUPS, "{from}");
        if part.is_empty() {
            assert!(parse(&text).is_ok(), "{to}");
            continue;
        }
        let found = mistakes(&text);
        assert!(found.iter().any(|line| line.contains(part)), "{to}: {found:#?}");
        assert!(found.iter().all(|line| line.contains("(hint: ") && line.starts_with("test.toml:")), "{found:#?}");
        if !to.contains("50ms") && !to.ends_with(" c") {
            assert_eq!(found.len(), 1, "{to}: {found:#?}");
        }
    }
}

#[test]
fn a_mistake_in_a_group_is_the_only_one_that_is_named() {
    let web = "path = \"/web/api\"\n\"cpu.weight\" = 200";
    let path = |row: &str| format!("path = \"/web/api\"\n{row}");
    for (row, part) in [
        (path("\"cpu.weight\" = 0"), "cpu.weight 0: less than 1"),
        (path("\"cpu.weight\" = \"much\""), "`cpu.weight` is the string"),
        (path("\"cpu.weigth\" = 200"), "unknown key `cpu.weigth`"),
        (path("\"cpu.uclamp.max\" = \"much\""), "cpu.uclamp.max much: no percentage (EINVAL)"),
        (path("\"cpu.max\" = \"500\""), "cpu.max 500: the quota is below 1 ms"),
        (path("\"cpu.max\" = \"5000\"\n\"cpu.max.burst\" = 6000"), "the burst is larger than the quota"),
        (path("\"cpu.max\" = \"5000\"\n\"cpu.cfs_burst_us\" = 60"), "cgroup v1 and v2"),
        (path("\"cpu.weight\" = 200\n\"cpu.idle\" = 1"), "the weight of an idle group is fixed"),
        (path("\"cpu.idle\" = 2"), "cpu.idle 2: more than 1"),
        (path("[[group]]\npath = \"/web/api\""), "group `/web/api` stands here twice"),
        (path("[[group]]\npath = \"/\""), "the root group needs no `[[group]]`"),
        ("path = \"web/api\"".to_string(), "`web/api` is no path"),
        ("path = \"/web/api/\"".to_string(), "empty name"),
        ("path = \"/web/../api\"\n[[group]]\npath = \"/web/api\"".to_string(), "does not lead straight"),
    ] {
        let text = GROUPS.replacen(web, &row, 1);
        assert_ne!(text, GROUPS);
        let found = mistakes(&text);
        assert_eq!(found.len(), 1, "{row}: {found:#?}");
        assert!(found[0].contains(part) && found[0].contains("(hint: ") && found[0].starts_with("test.toml:"), "{found:#?}");
    }
}

#[test]
fn the_file_cpu_idle_is_for_kernels_that_have_it() {
    let text = GROUPS
        .replace("path = \"/batch\"", "path = \"/batch\"\n\"cpu.idle\" = 1")
        .replace("cpu.weight /web/api 10000", "cpu.idle /web 0");
    let scenario = parse(&text).unwrap();
    let found = mistakes(&text.replace("5.19", "5.10"));
    assert_eq!(found.len(), 2, "{found:#?}");
    assert!(
        found.iter().all(|line| line.contains("profile `v5.10` has no file cpu.idle") && line.contains("v5.15")),
        "{found:#?}"
    );
    assert!(scenario.with_profile(Profile::parse("v5.10").unwrap()).setup().is_err());
}

#[test]
fn groups_are_written_back_as_the_same_run() {
    let made =
        parse(&GROUPS.replace("path = \"/batch\"", "path = \"/batch\"\n[[group]]\npath = \"/z\"\n\"cpu.idle\" = 1")).unwrap();
    let setup = made.setup().unwrap();
    let text = write("again", &setup).unwrap();
    let again = parse(&text).unwrap().setup().unwrap();
    assert_eq!(again.tasks.groups, setup.tasks.groups, "{text}");
    assert_eq!(again.tasks.changes, setup.tasks.changes, "{text}");
    let groups = |setup: &Setup| setup.tasks.tasks.iter().map(|task| task.group).collect::<Vec<_>>();
    assert_eq!(groups(&again), groups(&setup), "{text}");
}

const NETPERF: &str = "duration = \"300ms\"\nWINDOW[machine]\npreset = \"smp-2\"\n[profile]\nkernel = \"5.19\"\n\
                       [[workload]]\nname = \"netperf\"\nargs = { testlen = 1, warmup = \"100ms\" }\n";

#[test]
fn a_window_of_the_scenario_goes_before_that_of_the_workload() {
    let window = |line: &str| {
        let scenario = parse(&NETPERF.replace("WINDOW", line)).unwrap();
        assert_eq!(parse(&scenario.canonical()).unwrap().digest(), scenario.digest());
        let (from, to) = scenario.tasks().window.unwrap();
        (Ns(from.ns()), Ns(to.ns()))
    };
    assert_eq!(window(""), (Ns::from_ms(100), Ns::from_ms(1100)));
    assert_eq!(window("window = { from = \"50ms\", to = \"0.2s\" }\n"), (Ns::from_ms(50), Ns::from_ms(200)));
}

#[test]
fn bad_windows_are_refused_and_late_ones_noted() {
    let wrong = |window: &str| mistakes(&NETPERF.replace("WINDOW", &format!("window = {window}\n"))).len();
    assert_eq!(wrong("{ from = \"2s\" }"), 1);
    assert_eq!(wrong("{ from = \"2s\", to = \"2s\" }"), 1);
    assert_eq!(wrong("{ from = 2, to = \"4s\", till = \"5s\" }"), 2);
    assert_eq!(wrong("\"2s\""), 1);
    let late = parse(&NETPERF.replace("WINDOW", "window = { from = \"1s\", to = \"2s\" }\n")).unwrap();
    assert!(late.notes.iter().any(|note| note.contains("measurements count from 1s on")), "{:?}", late.notes);
}
