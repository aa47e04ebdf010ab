//! `list`, `profile`, `capture`, `completions`, `man`: what there is.

use crate::support::{Folder, ok, run};
use expect_test::expect;

#[test]
fn formats_are_listed() {
    expect![[r#"
        formats    ending      read  write  what it is
        ---------  ----------  ----  -----  ------------------------------------------------------------------------
        ftrace     .txt        yes   yes    Trace text of ftrace, trace-cmd report and perf script
        trace-dat  .dat        yes   -      trace.dat of trace-cmd record, versions 6 and 7
        recorded   .csv.zst    yes   -      trace.csv.zst of a recorded experiment, with tasks.csv beside it
        perf-data  .data       yes   -      perf.data of perf sched record or perf record -e 'sched:*'
        perfetto   .pftrace    yes   yes    Perfetto trace, for ui.perfetto.dev
        json       .json       yes   yes    One JSON document with a record a line
        csv        .csv        yes   yes    Table with a line per record
        parquet    .parquet    -     yes    Columnar table with a row per event, or per run of a sweep or comparison
        html       .html       -     yes    Page for a browser: tables, curves of latency, timeline of CPUs
        hgrm       .hgrm       -     yes    Percentiles of wake-up latency, for HdrHistogram's plotter
        schedstat  .schedstat  yes   yes    Counters as in /proc/schedstat, versions 15 to 17: no events
    "#]]
    .assert_eq(&ok(&["list", "formats"]).out);
}

#[test]
fn every_list_is_text_and_json() {
    for what in ["profiles", "features", "tunables", "machines", "costs", "workloads", "formats", "reasons", "experiments"] {
        assert!(ok(&["list", what]).out.starts_with(what), "{what}");
        assert_eq!(ok(&["list", what, "--json"]).json()["tables"][0]["name"], what);
    }
    assert!(ok(&["list", "profiles"]).out.contains("v4.20+align-vruntime"));
    assert!(ok(&["list", "profiles"]).out.contains("(not modelled yet)"));
    assert_eq!(run(&["list", "nothing"]).code, 2);
}

#[test]
fn schemas_of_both_languages_are_printed() {
    let document = ok(&["list", "formats", "--schema"]).json();
    for language in ["scenario", "rtapp"] {
        assert!(document[language]["$schema"].as_str().unwrap().contains("json-schema.org"), "{language}");
    }
    assert_eq!(run(&["list", "machines", "--schema"]).code, 2);
}

#[test]
fn profiles_are_shown_and_compared() {
    expect![[r#"
        From v4.20 to v4.20+align-vruntime
        what          v4.20      v4.20+align-vruntime  meaning
        ------------  ---------  --------------------  --------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------------
        tick_preempt  cfs-slice  align-rightmost       An entity that used up its slice is rescheduled and keeps its vruntime. | An entity that used up its slice is also moved behind the rightmost entity of its queue (a patch that was never merged).
        1 difference
    "#]]
    .assert_eq(&ok(&["profile", "diff", "v4.20", "v4.20+align-vruntime"]).out);
    assert!(ok(&["profile", "show", "v5.19"]).out.contains("GENTLE_FAIR_SLEEPERS"));
    assert_eq!(run(&["profile", "show", "v7.2"]).code, 2);
}

#[test]
fn this_host_is_captured_as_a_machine_that_runs() {
    let folder = Folder::new();
    let ran = run(&["capture", "machine", "-o", &folder.path("host.toml")]);
    if ran.code == 2 {
        eprintln!("skipped: this host has no topology in sysfs: {}", ran.err);
        return;
    }
    assert_eq!(ran.code, 0, "{}", ran.err);
    let path = folder.path("host.toml");
    ok(&["run", "--workload", "hog", "--machine", &path, "--duration", "10ms"]);
    assert_eq!(ok(&["capture", "machine"]).out, folder.read("host.toml"));
}

#[test]
fn completions_and_the_manual_are_made_from_the_flags() {
    for shell in ["bash", "zsh", "fish"] {
        assert!(ok(&["completions", shell]).out.contains("stop-before-event"), "{shell}");
    }
    assert!(ok(&["man"]).out.contains("stop\\-before\\-event"));
    let help = ok(&["help"]).out;
    for command in ["run", "compare", "reproduce", "replay", "sweep", "convert", "list", "profile", "capture", "diff-runs"] {
        assert!(help.contains(&format!("\n  {command} ")), "{command}: {help}");
    }
}
