use super::{RecordedWorkload, parse};
use crate::testing;
use expect_test::{expect, expect_file};
use fairground_model::features::{Feat, FeatWrite};
use fairground_model::{Instr, Mistakes, Step};
use proptest::prelude::*;

fn read(text: &str) -> RecordedWorkload {
    let workload = parse(text).unwrap_or_else(|mistakes| panic!("{mistakes}"));
    testing::check(&workload.tasks);
    workload
}

#[test]
fn golden_hogs_beside_a_periodic_task() {
    let text = "trace_on 3000 \nwl hog tasks=h00:0,h01:5:4 dur=1500  &\nwl periodic tasks=p00:3000:25000:0 dur=1500  &\nwait\n";
    expect_file!["golden/mix.txt"].assert_eq(&testing::dump(&read(text).tasks));
}

#[test]
fn golden_ramp_and_press() {
    expect_file!["golden/ramp.txt"].assert_eq(&testing::dump(&read("wl ramp name=ramp mask=4 dur=600").tasks));
    expect_file!["golden/press.txt"].assert_eq(&testing::dump(&read("wl press n=2 work=60 mask=3 rounds=4").tasks));
}

#[test]
fn golden_groups() {
    let text = "cgon; mk A 100; mk A/1 300 'max 100000'\nwl hog tasks=h00:0:2,h01:0,h02:0 dur=10 cg=/cg/A/1,/cg &\n\
        wl periodic tasks=p00:3000:25000 dur=20 &\nwait\nrmcg\n";
    expect_file!["golden/groups.txt"].assert_eq(&testing::dump(&read(text).tasks));
}

#[test]
fn golden_message_tasks() {
    let text = "cgon; mk A 100\nwl msg m=1 t=2 sleep=10000 work=15000 dur=30 cg=/cg/A\nrmcg\n";
    expect_file!["golden/msg.txt"].assert_eq(&testing::dump(&read(text).tasks));
}

#[test]
fn golden_one_after_the_other() {
    let text = "wl hog tasks=a:0 dur=10 &\nwl hog tasks=b:0 dur=20\nwait\nwl ramp name=c dur=30\n";
    expect_file!["golden/sequence.txt"].assert_eq(&testing::dump(&read(text).tasks));
}

#[test]
fn windows_and_features() {
    let ms = |workload: &RecordedWorkload| (workload.window.0.ns() / 1_000_000, workload.window.1.ns() / 1_000_000);
    let hog = read("feat NO_SIS_UTIL; feat NO_SIS_PROP\ntrace_on 2000 \nwl hog dur=2000\n");
    assert_eq!(hog.features, [Feat::SIS_UTIL, Feat::SIS_PROP].map(|feat| FeatWrite { feat, on: false }));
    assert_eq!(ms(&hog), (50, 2050));
    assert_eq!(ms(&read("wl press n=24 work=120 rounds=4")), (100, 4100));
    assert_eq!(ms(&read("wl ramp dur=600")), (2000, 2900));
}

#[test]
fn a_periodic_task_has_as_many_jobs_as_wl() {
    let runs = |text: &str| {
        let set = read(text).tasks;
        let steps = testing::steps(set.programs.iter().next().unwrap(), 10_000);
        assert_eq!(steps.last().unwrap().1, Step::Exit);
        steps.iter().filter(|row| matches!(row.1, Step::RunUntil { .. })).count()
    };
    assert_eq!(runs("wl periodic tasks=p:1000:10000 dur=1500"), 150);
    assert_eq!(runs("wl periodic tasks=p:1000:16000 dur=1200"), 75);
    assert_eq!(runs("wl periodic tasks=p:9000:7000 dur=15"), 3);
}

#[test]
fn mistakes_are_shown_together_with_their_places() {
    let text = "trace_on\ncgon 1; mk A 0; mk B; mk C/D 100; mk E 100 '500 100000'; mk E 10001; mk ../x 1\n\
        wl hog tasks=h00:40,h01:0:xyz dur=0 cg=/cg/E,/cg/F,/cgE colour=3\nhackbench --pipe\nwl msg m=2\nsleep 5\nrmcg\n\
        i=0; while [ $i -lt 20 ]; do mk G$i 100; done\nwl hog tasks=averyveryverylongname\nfeat nope\n";
    let mistakes = parse(text).unwrap_err();
    let shown: Vec<String> = mistakes
        .0
        .iter()
        .map(|mistake| format!("{}: {}", Mistakes::line_of(text, mistake.span.clone().unwrap().start), mistake.message))
        .collect();
    expect![[r#"
        1: `trace_on` has no size
        2: `cgon 1`: cgon takes no argument
        2: cpu.weight 0: less than 1
        2: `mk` needs a name and a weight
        2: there is no group `C`
        2: cpu.max 500 100000: the quota is below 1 ms
        2: group `E` is made twice
        2: cpu.weight 10001: more than 10000
        2: `../x` is no name of a group
        3: `40` is no nice value
        3: `xyz` is no mask of CPUs
        3: `0` is not the number wanted here
        3: there is no group `/cg/F`
        3: there is no group `/cgE`
        3: unknown option `colour`
        4: `hackbench` is not modelled yet
        6: unknown command `sleep`
        8: loops of the shell but those that count up are not modelled yet
        9: `averyveryverylongname` is no task name
        10: there is no feature `nope`"#]]
    .assert_eq(&shown.join("\n"));
}

#[test]
fn nothing_to_run_is_a_mistake() {
    assert!(parse("").unwrap_err().to_string().contains("no workload"));
    assert!(parse("trace_on 2000\nwait\n").is_err());
    assert!(parse(&"wl press n=4096 &\n".repeat(9)).unwrap_err().to_string().contains("too many"));
    assert!(parse("wl hog tasks=a:0,a:0").unwrap_err().to_string().contains("two tasks are called"));
}

/// The record's window has our length (a ramp's ends when the task is gone) and begins where ours
/// does, up to loading the program and forking.
fn same_window(workload: &RecordedWorkload, set: &std::path::Path) {
    let trace = testing::unzip(&set.join("trace.csv.zst"));
    let window = trace.lines().next().and_then(|line| line.split("window ").nth(1)).unwrap();
    let (from, to) = window.split_once("..").unwrap();
    let (from, to): (u64, u64) = (from.parse().unwrap(), to.parse().unwrap());
    let ours = (workload.window.0.ns(), workload.window.1.ns());
    assert!((to - from).abs_diff(ours.1 - ours.0) < 2_000_000, "{}: {window}", set.display());
    assert!(from.abs_diff(ours.0) < 25_000_000, "{}: {window}", set.display());
}

/// Every set is either run, with exactly the record's tasks, or refused as not modelled yet.
#[test]
fn every_recorded_workload_is_run_or_refused_by_name() {
    let mut runs = 0;
    for set in fairground_testing::experiments(|_| true) {
        let text = std::fs::read_to_string(set.join("workload.txt")).unwrap();
        match parse(&text) {
            Ok(workload) => {
                testing::check(&workload.tasks);
                let mut names: Vec<String> =
                    workload.tasks.tasks.iter().filter(|task| task.measured).map(|task| task.name.clone()).collect();
                let tasks = std::fs::read_to_string(set.join("tasks.csv")).unwrap();
                let rows = tasks.lines().skip(1).map(|line| line.split(',').collect::<Vec<_>>());
                let mut recorded: Vec<String> = rows.filter(|row| row[3] == "1").map(|row| row[1].to_string()).collect();
                names.sort();
                recorded.sort();
                assert_eq!(names, recorded, "{}", set.display());
                same_window(&workload, &set);
                runs += 1;
            }
            Err(mistakes) => {
                for mistake in &mistakes.0 {
                    assert!(mistake.message.contains("not modelled yet"), "{}: {}", set.display(), mistake.message);
                }
            }
        }
    }
    assert!(runs == 0 || runs >= 60, "{runs}");
}

#[test]
fn children_make_themselves_nice_and_bound() {
    let set = read("wl hog tasks=h00:-5:3 dur=10").tasks;
    let code = &set.programs.iter().next().unwrap().code;
    assert!(code.contains(&Instr::SetNice { nice: -5 }));
    assert!(code.iter().any(|instr| matches!(instr, Instr::SetAffinity { cpus } if cpus.to_string() == "0-1")));
}

proptest! {
    #[test]
    fn no_text_makes_it_panic(text in "[ -~\\n\u{e4}]{0,200}") {
        let _ = parse(&text);
    }

    #[test]
    fn no_script_of_its_words_makes_it_panic(words in prop::collection::vec(prop::sample::select(vec![
        "wl", "hog", "periodic", "press", "ramp", "tasks=", "tasks=a:0", "tasks=a:1:1", "tasks=p:1:1:0:f", "dur=1", "dur=99999999999999999999",
        "n=3", "rounds=1000000", "period=1000000000", "&", ";", "\n", "wait", "feat", "X", "#", "=", ":", "mask=ffffffffffffffff", "mask=",
    ]), 0..40)) {
        if let Ok(workload) = parse(&words.join(" ")) {
            testing::check(&workload.tasks);
        }
    }
}
