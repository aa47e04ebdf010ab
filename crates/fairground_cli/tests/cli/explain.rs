//! `explain`.

use crate::support::{Folder, ok, run, workspace};

fn delay(name: &str) -> String {
    workspace().join(format!("crates/fairground_explain/tests/data/delays/{name}.toml")).display().to_string()
}

#[test]
fn a_late_wakeup_is_told_as_a_story_and_as_a_document() {
    let path = delay("cache-hot");
    let told = ok(&["explain", &path, "--task", "worker", "--full"]).out;
    for part in [
        "worker was late by 4.80 ms: from 0.005200 s, when its timer was due, to 0.010000 s, when it went on on CPU 0",
        "Cause: cache-hot: ",
        "4.75 ms  hog on CPU 0: WAKEUP_PREEMPTION is off",
        "the waiting task stayed: it counts as cache hot",
        "CPUs that stood idle meanwhile",
        "with one thing changed",
        "sched_migration_cost_ns=0",
    ] {
        assert!(told.contains(part), "{part}: {told}");
    }
    let document = ok(&["explain", &path, "--task", "worker", "--json"]).json();
    assert_eq!((&document["command"], &document["cause"]), (&"explain".into(), &"cache-hot".into()));
    assert_eq!(document["delay_ns"], 4_800_000);
    let parts = document["tables"][0]["rows"].as_array().unwrap();
    let sum: u64 = parts.iter().map(|row| row["time_ns"].as_u64().unwrap()).sum();
    assert_eq!(sum, 4_800_000);
}

#[test]
fn a_wakeup_may_be_chosen_by_time_or_percentile() {
    let path = delay("heavier-task");
    let at = ok(&["explain", &path, "--task", "worker", "--at", "1s", "--json"]).json();
    assert!(at["until_ns"].as_u64().unwrap() > 1_000_000_000, "{at}");
    let worst = ok(&["explain", &path, "--task", "worker", "--worst", "--json"]).json();
    assert!(worst["delay_ns"].as_u64() >= at["delay_ns"].as_u64());
    let some = ok(&["explain", &path, "--task", "worker", "--percentile", "50", "--json"]).json();
    assert_eq!((&some["percentile"], &some["commonest_cause"]), (&"50".into(), &"heavier-task".into()));
    let tables = some["tables"].as_array().unwrap();
    let table = tables.iter().find(|table| table["name"] == "percentile").unwrap();
    let named: u64 = table["rows"].as_array().unwrap().iter().map(|row| row["named"].as_u64().unwrap()).sum();
    assert!(named >= some["delays"].as_u64().unwrap().div_ceil(2), "{table}");
}

#[test]
fn what_is_tried_is_what_was_asked_for() {
    let path = delay("heavier-task");
    let asked =
        ["explain", &path, "--task", "worker", "--what-if", "nice heavy 0", "--what-if", "sched_latency_ns=1ms", "--json"];
    let document = ok(&asked).json();
    let rows = document["tables"].as_array().unwrap().last().unwrap()["rows"].as_array().unwrap().clone();
    let changes: Vec<&str> = rows.iter().map(|row| row["change"].as_str().unwrap()).collect();
    assert_eq!(changes, ["nice heavy 0", "sched_latency_ns=1ms"]);
    assert!(rows[0]["delay_ns"].as_u64().unwrap() * 10 < document["delay_ns"].as_u64().unwrap(), "{rows:?}");
}

#[test]
fn each_mistake_of_the_flags_is_named() {
    let path = delay("heavier-task");
    let many = ["explain", &path, "--task", "worcer", "--percentile", "p99"];
    let ran = run(&many);
    assert_eq!(ran.code, 2);
    for part in ["no task is called `worcer`", "Did you mean `worker`?", "`p99` is no percentile"] {
        assert!(ran.err.contains(part), "{part}: {}", ran.err);
    }
    for (flags, part) in [
        (["--at", "5"], "--at: `5`"),
        (["--at", "10s"], "the run ends at 2.000000 s, before 10.000000 s"),
        (["--what-if", "no-such-patch"], "no-such-patch"),
        (["--what-if", "NO_SUCH_FEATURE"], "has no feature"),
        (["--what-if", "sched_latency_ns=x"], "sched_latency_ns"),
        (["--what-if", "nice nobody 5"], "no task is called `nobody`"),
        (["--what-if", "nise worker 5"], "unknown change `nise`"),
    ] {
        let ran = run(&["explain", &path, "--task", "worker", flags[0], flags[1]]);
        assert_eq!(ran.code, 2, "{flags:?}");
        assert!(ran.err.contains(part) && ran.err.contains("help: "), "{flags:?}: {}", ran.err);
    }
    let folder = Folder::new();
    let hogs = folder.file(
        "hogs.toml",
        "duration = \"1s\"\n[machine]\npreset = \"smp-1\"\ncosts = \"zero\"\n[profile]\nkernel = \"5.19\"\n[[workload]]\ntasks = [{ name = \"a\", hog = true }]\n",
    );
    let never = run(&["explain", &hogs]);
    assert_eq!((never.code, never.out.starts_with("No task was ever late")), (0, true), "{}{}", never.out, never.err);
    assert_eq!(run(&["explain", "missing.toml"]).code, 3);
    assert_eq!(run(&["explain", &path, "--worst", "--percentile", "99"]).code, 2);
}

#[test]
fn of_a_trace_it_is_told_who_ran_meanwhile() {
    let folder = Folder::new();
    let trace = folder.path("trace.txt");
    ok(&["run", &delay("heavier-task"), "-o", &trace]);
    let told = ok(&["explain", &trace, "--task", "worker", "--top", "2"]).out;
    for part in [
        "worker:",
        " waited ",
        "heavy:",
        "what its CPU ran meanwhile",
        "the longest of",
        "not by which rule",
        "The model is not asked",
        "--profile",
    ] {
        assert!(told.contains(part), "{part}: {told}");
    }
    let document = ok(&["explain", &trace, "--task", "worker", "--at", "1s", "--json"]).json();
    assert!(document["until_ns"].as_u64().unwrap() > 1_000_000_000);
    let rows = document["tables"][0]["rows"].as_array().unwrap();
    let sum: u64 = rows.iter().map(|row| row["time_ns"].as_u64().unwrap()).sum();
    assert_eq!(sum, document["delay_ns"].as_u64().unwrap(), "each nanosecond is somebody's");
    for (flags, part) in [
        (["--task", "worcer"], "Did you mean `worker`?"),
        (["--at", "soon"], "`soon` is no time"),
        (["--at", "99"], "99.000000 s is not in the trace"),
        (["--what-if", "NEXT_BUDDY"], "nothing is simulated"),
    ] {
        let ran = run(&["explain", &trace, flags[0], flags[1]]);
        assert_eq!(ran.code, 2, "{flags:?}");
        assert!(ran.err.contains(part), "{flags:?}: {}", ran.err);
    }
}

/// A run is a record of the model itself: asked in the same states it decides the same. Without preemption by wake-ups it does not, and the rule is named.
/// The device's interrupt lies in the wait: its time is told, wherever it began.
#[test]
fn of_a_trace_it_is_told_what_interrupts_took() {
    let folder = Folder::new();
    let trace = folder.path("trace.txt");
    let lines = [
        "          <idle>-0       [000] d..3.     1.000000: sched_switch: prev_comm=swapper/0 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=hog next_pid=10 next_prio=120",
        "             hog-10      [000] d.h2.     1.000900: irq_handler_entry: irq=24 name=eth0",
        "             hog-10      [000] d.h3.     1.001000: sched_waking: comm=worker pid=11 prio=120 target_cpu=000",
        "             hog-10      [000] d.h3.     1.001001: sched_wakeup: comm=worker pid=11 prio=120 target_cpu=000",
        "             hog-10      [000] d.h2.     1.001300: irq_handler_exit: irq=24 ret=handled",
        "             hog-10      [000] ..s1.     1.001400: softirq_entry: vec=3 [action=NET_RX]",
        "             hog-10      [000] ..s1.     1.001600: softirq_exit: vec=3 [action=NET_RX]",
        "             hog-10      [000] d..3.     1.005000: sched_switch: prev_comm=hog prev_pid=10 prev_prio=120 prev_state=R ==> next_comm=worker next_pid=11 next_prio=120",
        "             hog-10      [001] d..3.     1.005500: irq_handler_entry: irq=25 name=eth1",
        "             hog-10      [001] d..3.     1.005600: irq_handler_exit: irq=25 ret=handled",
    ];
    std::fs::write(&trace, lines.join("\n") + "\n").unwrap();
    let told = ok(&["explain", &trace, "--task", "worker"]).out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(told.contains("worker:11 waited 4.00 ms: from 1.001000 s, when it was woken, to 1.005000 s."), "{told}");
    let taken = "Of that time interrupts, softirqs and the host took: device_interrupt 299.00 us, net_rx_softirq 200.00 us.";
    assert!(told.contains(taken), "{told}");
    assert!(!told.contains("Not recorded: interrupts"), "{told}");
}

#[test]
fn of_a_trace_it_is_told_where_the_model_parts_from_it() {
    let folder = Folder::new();
    let trace = folder.path("trace.txt");
    ok(&[
        "run",
        "scenarios/examples/hog-and-player.toml",
        "--profile",
        "v5.19",
        "--feature",
        "NO_WAKEUP_PREEMPTION",
        "-o",
        &trace,
    ]);
    let own = ["explain", &trace, "--full", "--task", "player", "--profile", "v5.19", "--feature", "NO_WAKEUP_PREEMPTION"];
    let told = ok(&own).out;
    assert!(told.contains("would have decided the same"), "{told}");
    let told = ok(&["explain", &trace, "--task", "player", "--profile", "v5.19", "--full"]).out;
    assert!(told.contains("parts from the record") && told.contains("where the model would have done otherwise"), "{told}");
    let document = ok(&["explain", &trace, "--task", "player", "--profile", "v5.19", "--json"]).json();
    let tables = document["tables"].as_array().unwrap();
    let partings = tables.iter().find(|table| table["name"] == "partings").unwrap();
    assert_eq!(partings["rows"][0]["kind"], "wakeup_preempt", "{partings}");
    assert_eq!(document["model"], "v5.19");
}
