//! `list`, `profile`, `capture`, `completions`, `man`: what there is.

use crate::support::{Folder, ok, run};
use expect_test::expect;

#[test]
fn formats_are_listed() {
    expect![[r#"
        formats    ending      read  write  what it is
        ---------  ----------  ----  -----  ----------------------------------------------------------------
        fgr        .fgr        yes   -      Folder of fairground record or snapshot, or an archive of it
        perf-data  .data       yes   -      perf.data of perf sched record or perf record -e 'sched:*'
        trace-dat  .dat        yes   -      trace.dat of trace-cmd record, versions 6 and 7
        perfetto   .pftrace    yes   yes    Perfetto trace, for ui.perfetto.dev
        ctf        .ctf        yes   -      Folder of a CTF trace of LTTng or perf, or an archive of it
        schedviz   .tar.gz     yes   -      Collection of SchedViz: an archive of raw ring buffers, or its
                                            folder
        recorded   .csv.zst    yes   -      trace.csv.zst of a recorded experiment, with tasks.csv beside it
        csv        .csv        yes   yes    Table with a line per record
        json       .json       yes   yes    One JSON document with a record a line
        systrace   .html       yes   -      Page of systrace or atrace with trace text in it, packed or not
        ftrace     .txt        yes   yes    Trace text of ftrace, trace-cmd report and perf script
        parquet    .parquet    -     yes    Columnar table with a row per event, or per run of a sweep or
                                            comparison
        html       .html       -     yes    Page for a browser: tables, curves of latency, timeline of CPUs
        hgrm       .hgrm       -     yes    Percentiles of wake-up latency, for HdrHistogram's plotter
        schedstat  .schedstat  yes   yes    Counters as in /proc/schedstat, versions 15 to 17: no events
    "#]]
    .assert_eq(&ok(&["list", "formats"]).out);
}

#[test]
fn every_list_is_text_and_json() {
    for what in [
        "profiles",
        "features",
        "tunables",
        "machines",
        "costs",
        "governors",
        "workloads",
        "formats",
        "metrics",
        "reasons",
        "experiments",
    ] {
        assert!(ok(&["list", what]).out.starts_with(what), "{what}");
        assert_eq!(ok(&["list", what, "--json"]).json()["tables"][0]["name"], what);
    }
    assert!(ok(&["list", "governors"]).out.lines().all(|line| line.chars().count() <= 100));
    assert!(ok(&["list", "profiles"]).out.contains("v4.20+align-vruntime"));
    assert!(ok(&["list", "profiles"]).out.contains("(not modelled yet)"));
    let profiles = ok(&["list", "profiles", "--full"]).out;
    let default: Vec<&str> = profiles.lines().filter(|line| line.ends_with(" (default)")).collect();
    assert!(matches!(default[..], [line] if line.starts_with("v7.2 ")), "{default:?}");
    // It is the one of a run and of domains that name none.
    let ran = ok(&["run", "--workload", "hog", "--duration", "10ms"]);
    assert!(ran.err.contains("v7.2") && ran.out.contains(": v7.2 on "), "{}{}", ran.out, ran.err);
    assert_eq!(ok(&["list", "domains"]).out, ok(&["list", "domains", "--profile", "v7.2"]).out);
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
        From v4.20 to v4.20+align-vruntime: 1 change

        By patches and settings
          tick_preempt (seam): cfs-slice → align-rightmost
              Now: An entity that used up its slice is also moved behind the rightmost entity of its queue
              (a patch that was never merged). Before: An entity that used up its slice is rescheduled and
              keeps its vruntime.
    "#]]
    .assert_eq(&ok(&["profile", "diff", "v4.20", "v4.20+align-vruntime"]).out);
    assert!(ok(&["profile", "show", "v5.19"]).out.contains("GENTLE_FAIR_SLEEPERS"));
}

/// Kernels that cannot be run have tables, too; what is no kernel has none.
#[test]
fn any_kernel_of_the_tables_is_shown() {
    expect![[r#"
        From v5.19 to v6.0: 15 changes

        v6.0
          pelt_clock (seam): rq-clock-pelt → rq-clock-pelt-idle
              Now: As rq-clock-pelt; a CPU that goes idle also syncs and remembers its clocks, so that
              sleepers who leave it decay. Before: Time is scaled by capacity, then frequency; lost idle
              time is tested once, when the CPU goes idle.
              commit e2f3e35f1f5a "sched/fair: Decay task PELT values during wakeup migration"
          sleeper_clock (seam): as-read → estimated
              Now: Up to now, by an estimate of what the clock would show. Before: Up to the last reading of
              the clock (any kernel built without NO_HZ).
              commit e2f3e35f1f5a "sched/fair: Decay task PELT values during wakeup migration"
          throttled_leaf (seam): listed → left
              Now: Not until it is throttled no more. Before: It does, and so do those above it up to one
              that is on the list: its clock stands still, but its group's entity is aged.
          load_end (seam): below-throttled → at-throttled
              Now: At the first throttled queue, which takes it; it may be the queue itself. Before: Below
              the first throttled queue above: that does not take it.
              commit 51bf903b64bd "sched/fair: Optimize and simplify rq leaf_cfs_rq_list"
          recent_used_cpu (seam): always-unchecked → always
              Now: The previous CPU at every wake-up that reaches this point. Before: The previous CPU at
              every wake-up that reaches this point; the affinity check uses the new value (a kernel bug).
          idle_search (seam): one-pass → one-pass-others
              Now: Siblings of the previous CPU, not that CPU again, then from behind the target idle cores
              or else idle CPUs, in one pass. Before: Siblings of the previous CPU and that CPU, then from
              behind the target idle cores or else idle CPUs, in one pass.
          start_node (seam): room → small-imbalance
              Now: The local node has more tasks than imb_numa_nr allows, or over two idle CPUs fewer.
              Before: The local node has more tasks than imb_numa_nr allows.
              commit cb29a5c19d2d "sched/numa: Apply imbalance limitations consistently"
          remote_wakeup (seam): on-cpu → idle-target
              Now: Those onto another cache, and those onto a CPU where nothing is runnable. Before: Those
              onto another cache, and those of a task that is still on its CPU if no more than one is
              runnable there.
              commit f3dd3f674555 "sched: Remove the limitation of WF_ON_CPU on wakelist if wakee cpu is
              idle"
          numa_allowance (seam): quarter → eighth
              Now: One for each cache of a node; an eighth of its CPUs if there is one cache. Before: One
              for each cache of a node; a quarter of its CPUs if there is one cache.
              commit 026b98a93bbd "sched/numa: Adjust imb_numa_nr to a better approximation of memory
              channels"
          numa_imbalance (seam): halved-few → few
              Now: A difference of at most two tasks, while the local group has few tasks (imb_numa_nr).
              Before: At most two tasks to move, while the local group has few tasks (imb_numa_nr).
          reduced_capacity (seam): ignored → misfit
              Now: For an idle CPU its task counts as one that needs a bigger CPU. Before: It is no reason
              to take a group for busier.
          energy_aware (seam): per-domain → any-saving
              Now: What a task adds to the energy of each performance domain is compared, its own time added
              apart; any saving is enough. Before: What a task adds to the energy of each performance domain
              is compared; a move must save more than 1/16.
          energy_model (seam): efficient → microwatt
              Now: Power in uW, but points that cost no less than a faster one are left out. Before: Power
              in mW, but points that cost no less than a faster one are left out.
          SIS_PROP (feature): off, was on
              The search for an idle CPU visits as many as average idle time and cost of a visit allow.
              commit 70fb5ccf2ebb "sched/fair: Introduce SIS_UTIL to search idle CPU based on sum of
              util_avg"
          SIS_UTIL (feature): new, on
              The search for an idle CPU visits the fewer, the more the cache domain is used.
              commit 70fb5ccf2ebb "sched/fair: Introduce SIS_UTIL to search idle CPU based on sum of
              util_avg"
    "#]]
    .assert_eq(&ok(&["profile", "diff", "v5.19", "v6.0"]).out);
    let there = ok(&["profile", "diff", "v5.18", "v6.6", "--json"]).json();
    let back = ok(&["profile", "diff", "v6.6", "v5.18", "--json"]).json();
    let rows = |document: &serde_json::Value| document["tables"][0]["rows"].as_array().unwrap().len();
    assert!(rows(&there) > 20 && rows(&there) == rows(&back));
    assert!(ok(&["profile", "show", "v7.2"]).out.contains("PARANOID_AVG"));
    for nothing in ["v4.11", "v5.20", "v7.9", "v6.0+sis-util"] {
        assert_eq!(run(&["profile", "show", nothing]).code, 2, "{nothing}");
    }
    assert_eq!(run(&["run", "--workload", "hog", "--profile", "v5.18"]).code, 2);
}

/// A row of the list says which kernels have the switch, and how it stands there.
#[test]
fn features_are_listed_with_their_kernels() {
    let listed = ok(&["list", "features"]).out;
    let row = |name: &str| listed.lines().find(|line| line.starts_with(name)).unwrap_or_default().to_string();
    for part in ["v4.12–v6.6", "on, off from v6.0"] {
        assert!(row("SIS_PROP ").contains(part), "{listed}");
    }
    assert!(row("ALT_PERIOD ").contains("v5.10, v5.13–v6.5"));
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
        let text = ok(&["completions", shell]).out;
        for name in ["stop-before-event", "epyc-9654-2s", "v6.12", "hackbench", "NO_NEXT_BUDDY"] {
            assert!(text.contains(name), "{shell}: {name}");
        }
    }
    assert!(ok(&["man"]).out.contains("stop\\-before\\-event"));
    let folder = Folder::new();
    let pages = folder.path("man");
    ok(&["man", "--output", &pages]);
    assert!(folder.read("man/fairground-run.1").contains("stop\\-before\\-event"));
    assert_eq!(run(&["man", "--output", &folder.file("taken", "")]).code, 3);
    let help = ok(&["help"]).out;
    for command in ["run", "compare", "reproduce", "replay", "sweep", "convert", "list", "profile", "capture", "diff-runs"] {
        assert!(help.contains(&format!("\n  {command} ")), "{command}: {help}");
    }
}
