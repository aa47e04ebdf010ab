//! `advise`: tables, document, exit codes, inputs.

use crate::support::{Folder, ok, run};

const SERVICE: &str = "title = \"a small service\"\nduration = \"4s\"\n[machine]\npreset = \"smp-5\"\ncosts = \"zero\"\n\
    [profile]\nkernel = \"6.12\"\n[[group]]\npath = \"/app\"\n\"cpu.max\" = \"QUOTA 100000\"\n\
    [[workload]]\nname = \"service\"\ngroup = \"/app\"\n\
    args = { arrivals = \"fixed\", every = \"10ms\", service = \"5ms\", spread = \"const\", workers = 4, cpus = \"0-3\", client-cpus = \"4\" }\n";

/// A thread that never sleeps.
const HOG: &str = "# tracer: nop\n\
    <idle>-0 [000] d..2. 1.000000: sched_switch: prev_comm=swapper/0 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=web next_pid=7 next_prio=120\n\
    web-7 [000] d..2. 1.500000: sched_switch: prev_comm=web prev_pid=7 prev_prio=120 prev_state=R ==> next_comm=swapper/0 next_pid=0 next_prio=120\n";

fn scenario(folder: &Folder, quota: &str) -> String {
    folder.file("service.toml", SERVICE.replace("QUOTA", quota))
}

#[test]
fn a_limit_that_is_far_above_the_demand_is_fine() {
    let folder = Folder::new();
    let args = ["advise", &scenario(&folder, "200000"), "--goal", "p99=6ms", "--seeds", "10", "--check", "10"];
    let ran = ok(&args);
    for part in [
        "MET: p99 <= 6ms holds with 2.00 CPUs",
        "OK: the limit of 2.00 CPUs",
        "Smallest limit for p99 <= 6ms",
        "fresh seeds: the goal holds with 10 of 10",
        "CPUQuota=",
    ] {
        assert!(ran.out.contains(part), "{part}: {}", ran.out);
    }
    let document = ok(&[&args[..], &["--json"]].concat()).json();
    assert_eq!((&document["command"], &document["verdict"]["verdict"]), (&"advise".into(), &"OK".into()));
    // Half a CPU is asked for; each request comes alone, so that little more than that is enough.
    let quota = document["smallest"][0]["limit"]["quota_us"].as_u64().unwrap();
    assert!((48_000..=60_000).contains(&quota), "{quota}");
    let names: Vec<&str> = document["tables"].as_array().unwrap().iter().filter_map(|table| table["name"].as_str()).collect();
    let wanted =
        ["goal", "smallest", "alternatives", "verdict", "curve", "shares", "slowest", "stalls", "others", "snippet", "validity"];
    assert_eq!(names, wanted);
    assert_eq!(ok(&[&args[..], &["--json"]].concat()).json()["digest"], document["digest"]);
}

#[test]
fn a_limit_below_the_demand_is_unstable_and_a_goal_may_be_out_of_reach() {
    let folder = Folder::new();
    let ran = run(&["advise", &scenario(&folder, "45000"), "--json"]);
    assert_eq!((ran.code, ran.json()["verdict"]["verdict"].as_str()), (1, Some("UNSTABLE")));
    let ran = run(&["advise", &scenario(&folder, "max"), "--goal", "p50=4ms", "--seeds", "10"]);
    assert_eq!(ran.code, 1);
    for part in [
        "MISSED: p50 <= 4ms does not hold",
        "no limit meets it: without any it is missed in 10 of 10 runs",
        "why: time of requests",
    ] {
        assert!(ran.out.contains(part), "{part}: {}", ran.out);
    }
    // Less than the service uses.
    let ran = run(&["advise", &scenario(&folder, "45000"), "--goal", "p99=6ms", "--seeds", "10"]);
    assert!(ran.code == 1 && ran.out.contains("MISSED: p99 <= 6ms"), "{}", ran.out);
}

#[test]
fn a_limit_of_the_command_line_replaces_that_of_a_scenario() {
    let folder = Folder::new();
    let ran = run(&["advise", &scenario(&folder, "200000"), "--cpu-max", "450m"]);
    assert_eq!(ran.code, 1);
    assert!(ran.out.contains("UNSTABLE: the limit of 0.45 CPUs"), "{}", ran.out);
}

#[test]
fn tables_of_requests_and_counters_are_read() {
    let folder = Folder::new();
    let lines: Vec<String> = (0..400).map(|row| format!("{}.{:02},5,5", row / 100, row % 100)).collect();
    let log = folder.file("requests.csv", format!("arrival_s,latency_ms,cpu_ms\n{}\n", lines.join("\n")));
    let ran = ok(&["advise", &log, "--workers", "4", "--cpus", "4", "--cpu-max", "200000 100000", "--json"]);
    assert_eq!(ran.json()["verdict"]["verdict"], "OK");
}

#[test]
fn services_are_fitted_to_counters() {
    let folder = Folder::new();
    let head = "time_s,usage_usec,nr_periods,nr_throttled,throttled_usec\n0,0,0,0,0\n";
    let counters = folder.file("stat.csv", format!("{head}600,114000000,5950,2980,1668000000\n"));
    let page = folder.path("fit.html");
    let args = ["advise", &counters, "--cpu-max", "30000 100000", "--goal", "p99=1s", "--fit-runs", "2000"];
    let document = run(&[&args[..], &["--json", "-o", &page]].concat()).json();
    assert_eq!(document["usage_ns_per_s"].as_u64(), Some(190_000_000));
    assert!(document["fit"]["accepted"].as_u64().unwrap() >= 10, "{document}");
    assert!(document["fit"]["latency_ns"]["low"].as_u64() < document["fit"]["latency_ns"]["median"].as_u64());
    let names: Vec<&str> = document["tables"].as_array().unwrap().iter().filter_map(|table| table["name"].as_str()).collect();
    assert_eq!(names, ["goal", "counters", "fit", "smallest", "account"]);
    assert!(std::fs::read_to_string(&page).unwrap().contains("What counters say: stat.csv"));
    let ran = run(&["advise", &counters]);
    assert!(ran.code == 4 && ran.out.contains("give --cpu-max"), "{}", ran.out);
}

#[test]
fn wrong_inputs_are_refused_by_name() {
    let folder = Folder::new();
    let service = scenario(&folder, "50000");
    let odd = folder.file("odd.csv", "a,b\n1,2\n");
    let log = folder.file("log.csv", "arrival_s,latency_s\n1,2\n");
    let counters = folder.file("stat.csv", "time_s,usage_usec\n0,0\n9,9\n");
    let missing = run(&["advise", "nothing.csv"]);
    assert!(missing.code == 3 && missing.err.contains("hint: Check the name"), "{}", missing.err);
    let text = folder.file("x.dat", "hello\n");
    let trace = folder.file("a.txt", HOG);
    for (args, part) in [
        (vec!["advise", &service, "--goal", "p99=fast"], "--goal p99=50ms"),
        (vec!["advise", &service, "--cgroup", "/web"], "Groups: /app."),
        (vec!["advise", &service, "--workers", "3"], "are for tables"),
        (vec!["advise", &service, "--cpu-max", "two"], "millicores (`2000m`)"),
        (vec!["advise", &service, "--cpu-max", "5m"], "below 1 ms"),
        (vec!["advise", &odd], "nothing that `advise` reads"),
        (vec!["advise", &log], "--workers N"),
        (vec!["advise", &log, "--workers", "2", "--cpu-max", "500 100000"], "below 1 ms"),
        (vec!["advise", &log, "--workers", "2", "--cpu-max", "2"], "too few"),
        (vec!["advise", &counters, "--profile", "v5.4"], "take --seed only"),
        (vec!["advise", &log, "--comm", "x"], "are for traces"),
        (vec!["advise", &text], "See `fairground list formats`"),
        (vec!["advise"], "<INPUTS>..."),
        (vec!["advise", &trace], "does not tell which threads are in which cgroup"),
        (vec!["advise", &trace, "--comm", "java*"], "no thread of a.txt is called `java*`"),
        (vec!["advise", &trace, "--comm", "web"], "is woken and sleeps again"),
        (vec!["advise", &trace, "--comm", "web", "--workers", "3"], "not for traces"),
        (vec!["advise", &trace, "--comm", "web", "--cpu-max", "500 100000"], "below 1 ms"),
    ] {
        let ran = run(&args);
        assert!(ran.code == 2 && ran.err.contains(part), "{args:?}: {}", ran.err);
    }
}

/// Pieces of work of 20 ms each, which the limit cut in two.
#[test]
fn a_trace_is_run_under_other_limits() {
    let folder = Folder::new();
    let mut lines = vec!["# tracer: nop".to_string()];
    for row in 0..200 {
        let at = |ms: u64| format!("{}.{:03}000", (1000 + row * 100 + ms) / 1000, (1000 + row * 100 + ms) % 1000);
        let idle = "prev_comm=swapper/0 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=web next_pid=7 next_prio=120";
        let off = |state| {
            format!("prev_comm=web prev_pid=7 prev_prio=120 prev_state={state} ==> next_comm=swapper/0 next_pid=0 next_prio=120")
        };
        lines.push(format!("<idle>-0 [000] d.h2. {}: sched_waking: comm=web pid=7 prio=120 target_cpu=000", at(0)));
        lines.push(format!("<idle>-0 [000] d..2. {}: sched_switch: {idle}", at(0)));
        lines.push(format!("web-7 [000] d..2. {}: sched_switch: {}", at(10), off("R")));
        lines.push(format!("<idle>-0 [000] d..2. {}: sched_switch: {idle}", at(50)));
        lines.push(format!("web-7 [000] d..2. {}: sched_switch: {}", at(60), off("S")));
    }
    let trace = folder.file("a.txt", lines.join("\n"));
    let args = [
        "advise",
        &trace,
        "--comm",
        "w?b",
        "--cpu-max",
        "10000 50000",
        "--cgroup",
        "/web",
        "--goal",
        "p90=21ms",
        "--seeds",
        "10",
        "--json",
    ];
    let ran = run(&args);
    let document = ran.json();
    assert_eq!((&document["group"], &document["trace"]["loop"]), (&"/web".into(), &"open".into()), "{}", ran.err);
    assert_eq!(document["trace"]["pieces"], 200);
    let table =
        |name: &str| document["tables"].as_array().unwrap().iter().find(|table| table["name"] == name).unwrap()["rows"].clone();
    let rows = table("trace");
    let p90 = |row: usize| rows[row]["p90_ns"].as_u64().unwrap();
    assert_eq!((p90(0), rows[0]["what"].as_str()), (60_000_000, Some("recorded")));
    assert!((20_000_000..21_000_000).contains(&p90(2)), "{rows:?}");
    // 20 ms at once need 20 ms of quota within 50 ms, and more by luck: where a refill lies is drawn.
    let quota = document["smallest"][0]["limit"]["quota_us"].as_u64().unwrap();
    assert!((19_000..=30_000).contains(&quota), "{quota}");
    let closed = run(&[&args[..], &["--closed-loop"]].concat()).json();
    assert_eq!(closed["trace"]["loop"], "closed");
}
