use super::{RtApp, parse};
use crate::testing;
use expect_test::{expect, expect_file};
use fairground_model::{CpuMax, DlParams, Instr, Mistakes, Policy, RtPriority, Step};
use fairground_stdx::Ns;
use proptest::prelude::*;

fn read(text: &str) -> RtApp {
    let app = parse(text).unwrap_or_else(|mistakes| panic!("{mistakes}"));
    testing::check(&app.tasks);
    app
}

fn refused(text: &str) -> Mistakes {
    parse(text).unwrap_err()
}

fn messages(text: &str) -> Vec<String> {
    refused(text).0.iter().map(|mistake| mistake.message.clone()).collect()
}

/// The steps of the first thread, without measurements.
fn acts(text: &str, count: usize) -> Vec<(u64, Step)> {
    let app = read(text);
    let steps = testing::steps(app.tasks.programs.iter().next().unwrap(), count);
    steps.into_iter().filter(|row| !matches!(row.1, Step::Mark { .. })).collect()
}

#[test]
fn golden_phases_timers_and_attributes() {
    let app = read(
        r#"{
        /* a comment */ "tasks" : {
            "light" : { "instance" : 2, "priority" : -5, "cpus" : [0, 1], "run" : 1000, "run" : 500, // twice
                        "timer" : { "ref" : "unique", "period" : 10000 } },
            "heavy" : { "loop" : 3, "delay" : 20, "policy" : "SCHED_BATCH", "phases" : {
                "one" : { "loop" : 2, "runtime0" : 7, "sleep1" : 9, "cpus" : [2] },
                "two" : { "priority" : 4, "yield" : "", "timer0" : { "ref" : "tick", "period" : 50, "mode" : "absolute" }, },
            }},
        },
        "global" : { "duration" : 6, "calibration" : "CPU0", "default_policy" : "SCHED_OTHER", "pi_enabled" : false }
    }"#,
    );
    assert_eq!(app.duration, Some(Ns::from_secs(6)));
    assert_eq!(app.notes.len(), 2);
    assert_eq!(app.notes[1], "accepted without effect in a simulation: `pi_enabled`");
    expect_file!["golden/two-threads.txt"].assert_eq(&testing::dump(&app.tasks));
}

#[test]
fn loops_without_phases_are_loops_of_the_phase() {
    let runs = |text: &str| acts(text, 40).iter().filter(|row| matches!(row.1, Step::Run { .. })).count();
    assert_eq!(runs(r#"{"tasks":{"a":{"loop":3,"run":10,"sleep":10}}}"#), 3);
    assert!(runs(r#"{"tasks":{"a":{"run":10,"sleep":10}}}"#) > 9);
    assert!(runs(r#"{"tasks":{"a":{"loop":-1,"run":10,"sleep":10}}}"#) > 9);
    assert_eq!(runs(r#"{"tasks":{"a":{"loop":2,"phases":{"p":{"loop":2,"run":10},"q":{"run":5}}}}}"#), 6);
    assert_eq!(runs(r#"{"tasks":{"a":{"loop":0,"phases":{"p":{"run":10}}}}}"#), 0);
}

#[test]
fn a_timer_counts_from_the_start_of_its_thread() {
    let sleeps = |text: &str| -> Vec<u64> {
        let until = |row: &(u64, Step)| match row.1 {
            Step::SleepUntil(at) => Some(at.ns() / 1000),
            _ => None,
        };
        acts(text, 60).iter().filter_map(until).take(3).collect()
    };
    let timer = |mode: &str, run: u32, more: &str| {
        format!(r#"{{"tasks":{{"a":{{"run":{run},"timer":{{"ref":"unique","period":100{mode}}}{more}}}}}}}"#)
    };
    assert_eq!(sleeps(&timer("", 30, "")), [100, 200, 300]);
    assert_eq!(sleeps(&timer("", 30, r#","delay":1000"#)), [1000, 1100, 1200]);
    // Late in each round: a relative timer starts anew and never sleeps, an absolute one keeps its grid.
    assert_eq!(sleeps(&timer("", 150, "")), [0; 0]);
    let mixed = r#"{"tasks":{"a":{"run":150,"timer":{"ref":"t","period":100,"mode":"absolute"},"run":20,"timer":{"ref":"t","period":100}}}}"#;
    assert_eq!(sleeps(mixed), [200, 400, 600]);
}

#[test]
fn instances_are_numbered_over_all_threads() {
    let app = read(r#"{"tasks":{"b":{"run":1},"a":{"instance":2,"run":1},"none":{"instance":0,"run":1},"c":{"run":1}}}"#);
    let names: Vec<&str> = app.tasks.tasks.iter().map(|task| task.name.as_str()).collect();
    assert_eq!(names, ["b-0", "a-1", "a-2", "c-3"]);
    assert_eq!(app.duration, None);
    assert_eq!(app.notes, ["task `none` has 0 instances and does not run"]);
}

#[test]
fn policies_follow_the_phases() {
    let text = r#"{"tasks":{"a":{"policy":"SCHED_IDLE","phases":{
        "p":{"priority":3,"run":1},"q":{"policy":"SCHED_OTHER","run":1},"r":{"priority":-3,"run":1}}}}}"#;
    expect_file!["golden/policies.txt"].assert_eq(&testing::dump(&read(text).tasks));
}

#[test]
fn dl_runtime_is_the_slice_of_a_fair_thread() {
    let first = |text: &str| read(text).tasks.tasks.iter().next().unwrap().slice;
    assert_eq!(first(r#"{"tasks":{"a":{"dl-runtime":3000,"run":1}}}"#), Some(Ns::from_ms(3)));
    assert_eq!(first(r#"{"tasks":{"a":{"policy":"SCHED_BATCH","dl-runtime":1,"run":1}}}"#), Some(Ns::from_us(1)));
    assert_eq!(first(r#"{"tasks":{"a":{"dl-runtime":0,"run":1}}}"#), None);
    let set = |text: &str| -> Vec<Option<Ns>> {
        let slice = |row: &(u64, Step)| match row.1 {
            Step::SetSlice { slice } => Some(slice),
            _ => None,
        };
        acts(text, 30).iter().filter_map(slice).collect()
    };
    let phases = r#"{"tasks":{"a":{"loop":1,"phases":{"p":{"priority":0,"dl-runtime":500,"run":1},"q":{"priority":1,"run":1},
        "r":{"dl-runtime":700,"run":1},"s":{"policy":"SCHED_IDLE","dl-runtime":900,"run":1}}}}}"#;
    assert_eq!(set(phases), [Some(Ns::from_us(500))], "kept by the second; the others are no call, or no slice");
    let without_effect = |text: &str| read(text).notes.iter().filter(|note| note.contains("no effect")).count();
    assert_eq!(without_effect(phases), 2);
    assert_eq!(without_effect(r#"{"tasks":{"a":{"policy":"SCHED_IDLE","dl-runtime":9,"run":1}}}"#), 1);
    assert_eq!(without_effect(r#"{"tasks":{"a":{"policy":"SCHED_DEADLINE","dl-runtime":9,"run":1}}}"#), 0);
    assert_eq!(messages(r#"{"tasks":{"a":{"dl-runtime":-9,"run":1}}}"#), ["`-9` is no value for `dl-runtime`"]);
}

#[test]
fn five_mistakes_are_shown_together_with_their_places() {
    let text = r#"{
      "tasks" : {
        "a" : { "run" : -5, "sleep" : "long", "loop" : 2, "loop" : 3 },
        "b" : { "sem_wait" : "m", "priority" : 40, "run" : 1 }
      },
      "global" : { "duration" : 99999999 }
    }"#;
    let mistakes = refused(text);
    let rows: Vec<(usize, &str)> = mistakes
        .0
        .iter()
        .map(|mistake| (Mistakes::line_of(text, mistake.span.as_ref().unwrap().start), mistake.message.as_str()))
        .collect();
    expect![[r#"
        [
            (
                3,
                "`-5` is no value for `run`",
            ),
            (
                3,
                "`long` is no value for `sleep`",
            ),
            (
                3,
                "`loop` is given twice",
            ),
            (
                4,
                "`sem_wait` is not modelled yet (needs semaphores)",
            ),
            (
                4,
                "`40` is no value for `priority`",
            ),
            (
                6,
                "`99999999` is no value for `duration`",
            ),
        ]
    "#]]
    .assert_debug_eq(&rows);
}

#[test]
fn what_is_not_modelled_is_refused_by_name() {
    for (part, name) in [
        (r#""sem_post" : "s""#, "sem_post"),
        (r#""mem" : 1000"#, "mem"),
        (r#""iorun" : 1000"#, "iorun"),
        (r#""memrun" : {"type":"read"}"#, "memrun"),
    ] {
        let found = messages(&format!(r#"{{"tasks":{{"a":{{"run":1, {part}}}}}}}"#));
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].contains(name) && found[0].contains("not modelled yet"), "{}", found[0]);
    }
    read(r#"{"tasks":{"a":{"run":1,"taskgroup":"/"}}}"#);
    let shared = r#"{"tasks":{"a":{"instance":2,"run":1,"timer":{"ref":"tick","period":5}}}}"#;
    assert!(messages(shared)[0].contains("not modelled yet"));
}

#[test]
fn a_deadline_thread_has_its_times_in_microseconds() {
    let policy = |part: &str| {
        let text = format!(r#"{{"tasks":{{"a":{{"policy":"SCHED_DEADLINE","run":1,{part}}}}}}}"#);
        read(&text).tasks.tasks.iter().next().unwrap().policy
    };
    let us = Ns::from_us;
    let expected = |runtime, deadline, period| {
        Policy::Deadline(DlParams { runtime: us(runtime), deadline: us(deadline), period: us(period), reclaim: false })
    };
    assert_eq!(policy(r#""dl-runtime":2000,"dl-period":10000"#), expected(2_000, 10_000, 10_000));
    assert_eq!(policy(r#""dl-runtime":2000,"dl-deadline":5000,"dl-period":10000"#), expected(2_000, 5_000, 10_000));
    // As in rt-app, whose call to the kernel fails then.
    assert_eq!(policy(r#""dl-runtime":2000"#), expected(2_000, 2_000, 2_000));
    let phases = r#"{"tasks":{"a":{"loop":1,"phases":{"p":{"policy":"SCHED_DEADLINE","dl-runtime":1000,"dl-period":4000,"run":1},
        "q":{"policy":"SCHED_OTHER","run":1}}}}}"#;
    let set = read(phases).tasks;
    let changes = set.programs.iter().flat_map(|program| &program.code).filter_map(|instr| match *instr {
        Instr::SetPolicy { policy } => Some(policy),
        _ => None,
    });
    assert_eq!(changes.collect::<Vec<_>>(), [expected(1_000, 4_000, 4_000), Policy::Normal]);
}

#[test]
fn priorities_mean_what_the_policy_says() {
    let policies = |text: &str| read(text).tasks.tasks.iter().map(|task| (task.policy, task.nice)).collect::<Vec<_>>();
    let rt = |number| RtPriority::new(number).unwrap();
    let text = r#"{"tasks":{"a":{"policy":"SCHED_FIFO","priority":50,"run":1},"b":{"policy":"SCHED_RR","run":1},
        "c":{"priority":7,"run":1}},"global":{"default_policy":"SCHED_FIFO"}}"#;
    assert_eq!(policies(text), [(Policy::Fifo(rt(50)), 0), (Policy::RoundRobin(rt(10)), 0), (Policy::Fifo(rt(7)), 0)]);
    let phases = r#"{"tasks":{"a":{"loop":1,"phases":{"p":{"policy":"SCHED_FIFO","priority":3,"run":1},
        "q":{"priority":4,"run":1},"r":{"policy":"SCHED_OTHER","priority":5,"run":1}}}}}"#;
    let set = read(phases).tasks;
    let changes = set.programs.iter().flat_map(|program| &program.code).filter_map(|instr| match *instr {
        Instr::SetPolicy { policy } => Some((Some(policy), None)),
        Instr::SetNice { nice } => Some((None, Some(nice))),
        _ => None,
    });
    let expected =
        [(Some(Policy::Fifo(rt(3))), None), (Some(Policy::Fifo(rt(4))), None), (Some(Policy::Normal), None), (None, Some(5))];
    assert_eq!(changes.collect::<Vec<_>>(), expected);
    for (wrong, expected) in [
        (r#""policy":"SCHED_FIFO","priority":0"#, "Expected a real-time priority, a whole number from 1 to 99."),
        (r#""policy":"SCHED_RR","priority":100"#, "Expected a real-time priority, a whole number from 1 to 99."),
        (r#""policy":"SCHED_BATCH","priority":-21"#, "Expected a nice value, a whole number from -20 to 19."),
        (r#""priority":20"#, "Expected a nice value, a whole number from -20 to 19."),
        (r#""priority":100"#, "Expected a nice value, or a real-time priority, a whole number from -20 to 99."),
    ] {
        let found = refused(&format!(r#"{{"tasks":{{"a":{{"run":1,{wrong}}}}}}}"#));
        assert!(found.0.len() == 1 && found.0[0].message.contains("is no value for `priority`"), "{found}");
        assert!(found.0[0].hint == expected && found.0[0].span.is_some(), "{found}");
    }
}

#[test]
fn golden_threads_that_wait_for_one_another() {
    let app = read(
        r#"{"tasks":{
            "waiter":{"loop":1,"instance":2,"phases":{"p":{"lock":"m","wait":{"ref":"c","mutex":"m"},"unlock":"m","barrier":"b","suspend":""}}},
            "waker":{"loop":1,"run":10,"lock0":"m","signal0":"c","broad":"c","unlock0":"m","barrier":"b","resume":"waiter",
                "sync":{"ref":"d","mutex":"m"}}
        }}"#,
    );
    expect_file!["golden/waits.txt"].assert_eq(&testing::dump(&app.tasks));
}

#[test]
fn a_fork_starts_a_thread_that_is_made_for_it() {
    let app = read(
        r#"{"tasks":{"parent":{"loop":1,"instance":2,"fork":"child","run":1,"fork":"child"},
            "child":{"instance":0,"loop":1,"run":5,"fork":"grandchild"}, "grandchild":{"instance":0,"loop":1,"run":7}}}"#,
    );
    let names: Vec<&str> = app.tasks.tasks.iter().map(|task| task.name.as_str()).collect();
    assert_eq!(names.len(), 2 + 4 + 4);
    assert_eq!(names[..3], ["parent-0", "parent-1", "child-2"]);
    assert!(app.notes.is_empty(), "{:?}", app.notes);
}

#[test]
fn wrong_waits_and_forks_are_explained() {
    for (events, part) in [
        (r#""lock":"""#, "no value for `lock`"),
        (r#""lock":5"#, "no value for `lock`"),
        (r#""wait":"c""#, "no value for `wait`"),
        (r#""wait":{"ref":"c"}"#, "no value for `wait`"),
        (r#""wait":{"ref":"c","mutex":"m","time":5}"#, "`time` means nothing"),
        (r#""fork":"b""#, "there is no thread `b` to fork"),
        (r#""fork":"a""#, "forks make more than 10000 threads"),
    ] {
        let found = messages(&format!(r#"{{"tasks":{{"a":{{"loop":1,"run":1,{events}}}}}}}"#));
        assert_eq!(found.len(), 1, "{events}: {found:?}");
        assert!(found[0].contains(part), "{events}: {found:?}");
    }
    let repeated = messages(r#"{"tasks":{"a":{"run":1,"fork":"b"},"b":{"run":1}}}"#);
    assert!(repeated[0].contains("a `fork` that is repeated is not modelled yet"), "{repeated:?}");
    assert_eq!(messages(r#"{"tasks":{"a":{"lock":"m","unlock":"m"}}}"#), ["`a` loops without letting time pass"]);
}

#[test]
fn files_of_a_limit_may_stand_in_different_places() {
    let app = read(
        r#"{"tasks":{"a":{"run":1,"taskgroup":{"path":"/a/b","cpu.max":"20000 50000"}},
        "b":{"run":1,"taskgroup":{"path":"/a/b","cpu.max.burst":10000}}, "c":{"run":1,"taskgroup":{"path":"/a/b","cpu.max":"20000 50000"}}}}"#,
    );
    let limits: Vec<CpuMax> = app.tasks.groups.iter().map(|group| group.limit).collect();
    let limit = CpuMax { quota: Some(Ns::from_ms(20)), period: Ns::from_ms(50), burst: Ns::from_ms(10) };
    assert_eq!(limits, [CpuMax::UNLIMITED, limit]);
}

/// The example of rt-app's tutorial: the second phase stays where the first was, the third goes to the root.
#[test]
fn threads_and_phases_go_to_their_groups() {
    let app = read(
        r#"{"tasks":{"a":{"taskgroup":"/tg2","phases":{
            "p1":{"run":1,"taskgroup":"/tg1/tg11"}, "p2":{"run":2}, "p3":{"run":3,"taskgroup":"/"}}},
        "b":{"run":5,"taskgroup":{"path":"/tg2","cpu.weight":200}}, "c":{"run":5,"taskgroup":""}}}"#,
    );
    let groups: Vec<(&str, u64)> = app.tasks.groups.iter().map(|group| (group.name.as_str(), group.shares)).collect();
    assert_eq!(groups.len(), 3);
    assert!(groups.contains(&("/tg2", 2048)) && groups.contains(&("/tg1", 1024)) && groups.contains(&("/tg1/tg11", 1024)));
    let id = |path: &str| app.tasks.groups.iter_enumerated().find(|row| row.1.name == path).map(|row| row.0);
    assert_eq!(app.tasks.groups[id("/tg1/tg11").unwrap()].parent, id("/tg1"));
    let starts: Vec<_> = app.tasks.tasks.iter().map(|task| task.group).collect();
    assert_eq!(starts, [id("/tg1/tg11"), id("/tg2"), None]);
    let moves = |row: usize| -> Vec<_> {
        let code = &app.tasks.programs.as_slice()[row].code;
        code.iter()
            .filter_map(|instr| if let fairground_model::Instr::SetGroup { group } = instr { Some(*group) } else { None })
            .collect()
    };
    assert_eq!((moves(0), moves(1), moves(2)), (vec![id("/tg1/tg11"), None], vec![], vec![]));
}

#[test]
fn wrong_task_groups_are_explained() {
    for (group, part) in [
        (r#""tg1""#, "no path of a group"),
        (r#""/a/../b""#, "straight"),
        (r#"5"#, "no value for `taskgroup`"),
        (r#"{"cpu.weight":100}"#, "without `path`"),
        (r#"{"path":"/a","cpu.weight":0}"#, "cpu.weight"),
        (r#"{"path":"/a","cpu.weight":10001}"#, "cpu.weight"),
        (r#"{"path":"/","cpu.weight":100}"#, "the root group has no weight"),
        (r#"{"path":"/","cpu.max":"max"}"#, "the root group has no weight and no limit"),
        (r#"{"path":"/a","cpu.max":5000}"#, "`5000` is no value for `cpu.max`"),
        (r#"{"path":"/a","cpu.max":"500"}"#, "cpu.max 500: the quota is below 1 ms"),
        (r#"{"path":"/a","cpu.max":"5000 x"}"#, "`x` is no number of us"),
        (r#"{"path":"/a","cpu.max.burst":-1}"#, "cpu.max.burst -1: less than 0"),
        (r#"{"path":"/a","cpu.shares":1024}"#, "`cpu.shares` means nothing"),
        (
            r#"{"path":"/a","cpu.max":"5000","cpu.max.burst":5001}"#,
            "group `/a`: cpu.max.burst 5001: the burst is larger than the quota",
        ),
        (r#"{"path":"/a","cpu.wait":1}"#, "`cpu.wait` means nothing"),
    ] {
        let found = messages(&format!(r#"{{"tasks":{{"a":{{"run":1,"taskgroup":{group}}}}}}}"#));
        assert_eq!(found.len(), 1, "{group}: {found:?}");
        assert!(found[0].contains(part), "{group}: {found:?}");
    }
    let two = r#"{"tasks":{"a":{"run":1,"taskgroup":{"path":"/a","cpu.weight":1}},"b":{"run":1,"taskgroup":{"path":"/a","cpu.weight":2}}}}"#;
    assert!(messages(two)[0].contains("has cpu.weight 1 and cpu.weight 2"));
    let two = two.replace(r#""cpu.weight":1"#, r#""cpu.max":"max""#).replace(r#""cpu.weight":2"#, r#""cpu.max":"5000""#);
    assert!(messages(&two)[0].contains("has cpu.max max and cpu.max 5000"));
}

#[test]
fn bad_files_are_explained() {
    let first = |text: &str| messages(text).remove(0);
    assert_eq!(first(""), "the text is empty");
    assert_eq!(first("[]"), "the text is no JSON object");
    assert!(first(r#"{"tasks":{"a":{"suspend","run":1}}}"#).contains("no JSON"));
    assert!(first(r#"{"tasks":{"a":{"run":1"#).contains("no JSON"));
    assert_eq!(first(r#"{}"#), "there is no `tasks` object");
    assert_eq!(first(r#"{"tasks":{}}"#), "no task runs here");
    assert_eq!(first(r#"{"tasks":{"a":{"loop":-1}}}"#), "there is no event here");
    assert_eq!(first(r#"{"tasks":{"a":{"phases":{}}}}"#), "`a` has no phase");
    assert_eq!(first(r#"{"tasks":{"a":{"run":1,"phases":{"p":{"run":1}}}}}"#), "event `run` stands beside `phases`");
    assert_eq!(first(r#"{"tasks":{"a":{"yield":"","sleep":0}}}"#), "`a` loops without letting time pass");
    assert_eq!(first(r#"{"tasks":{"a":{"run":1},"a":{"run":1}}}"#), "two tasks are called `a`");
    assert_eq!(first(r#"{"tasks":{"a":{"run":1,"colour":1}}}"#), "`colour` means nothing in a thread object");
    assert_eq!(first(r#"{"tasks":{"a":{"run":1.5}}}"#), "`1.5` is no value for `run`");
    assert_eq!(first(r#"{"tasks":{"a":{"run":1,"cpus":[]}}}"#), "`[ … ]` is no value for `cpus`");
    assert_eq!(first(r#"{"tasks":{"a":{"run":1,"loop":0}}}"#), "`0` is no value for `loop`");
    assert!(first(r#"{"tasks":{"a":{"instance":32768,"run":1},"b":{"run":1}}}"#).contains("more than 32768 threads"));
}

#[test]
fn the_shipped_example_is_read() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/video-player.json");
    let app = read(&std::fs::read_to_string(path).unwrap());
    assert!(app.duration.is_some() && app.tasks.tasks.len() >= 6);
}

proptest! {
    #[test]
    fn no_text_makes_it_panic(text in "\\PC{0,200}") {
        let _ = parse(&text);
    }

    #[test]
    fn no_file_made_of_its_words_makes_it_panic(words in prop::collection::vec(
        prop::sample::select(vec![
            "{", "}", "[", "]", ",", ":", "\"tasks\"", "\"global\"", "\"a\"", "\"run\"", "\"timer\"", "\"phases\"", "\"loop\"", "\"cpus\"",
            "\"ref\"", "\"period\"", "-1", "0", "7", "99999999999999999999", "true", "null", "\"unique\"", "\"priority\"", "\"instance\"",
        ]), 0..60)
    ) {
        let _ = parse(&words.concat());
    }

    #[test]
    fn any_values_at_any_key_are_read_or_refused(rows in prop::collection::vec(
        (prop::sample::select(vec![
            "run", "sleep", "timer", "loop", "cpus", "priority", "lock", "wait", "barrier", "fork", "suspend", "dl-runtime", "policy", "phases", "instance", "delay", "yield", "nodes_membind",
        ]), prop::sample::select(vec![
            "0", "1", "-1", "2000000000", "1.5", "[1]", "[]", "[-1]", "\"SCHED_IDLE\"", "null", "true",
            "{\"ref\":\"unique\",\"period\":7}", "{\"ref\":\"c\",\"mutex\":\"m\"}", "\"a\"", "\"\"", "{\"p\":{\"run\":1}}", "{}",
        ])), 0..8)
    ) {
        let body: Vec<String> = rows.iter().map(|(key, value)| format!("\"{key}\":{value}")).collect();
        if let Ok(app) = parse(&format!("{{\"tasks\":{{\"a\":{{{}}}}}}}", body.join(","))) {
            testing::check(&app.tasks);
        }
    }
}
