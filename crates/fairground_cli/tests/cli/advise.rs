//! `advise`: tables, document, exit codes, inputs.

use crate::support::{Folder, ok, run};

const SERVICE: &str = "title = \"a small service\"\nduration = \"4s\"\n[machine]\npreset = \"smp-5\"\ncosts = \"zero\"\n\
    [profile]\nkernel = \"6.12\"\n[[group]]\npath = \"/app\"\n\"cpu.max\" = \"QUOTA 100000\"\n\
    [[workload]]\nname = \"service\"\ngroup = \"/app\"\n\
    args = { arrivals = \"fixed\", every = \"10ms\", service = \"5ms\", spread = \"const\", workers = 4, cpus = \"0-3\", client-cpus = \"4\" }\n";

fn scenario(folder: &Folder, quota: &str) -> String {
    folder.file("service.toml", SERVICE.replace("QUOTA", quota))
}

#[test]
fn a_limit_that_is_far_above_the_demand_is_fine() {
    let folder = Folder::new();
    let args = ["advise", &scenario(&folder, "200000"), "--goal", "p99=6ms", "--seeds", "10", "--check", "10"];
    let ran = ok(&args);
    for part in
        ["OK: the limit of 2.00 CPUs", "Smallest limit for p99 <= 6ms", "fresh seeds: the goal holds with 10 of 10", "CPUQuota="]
    {
        assert!(ran.out.contains(part), "{part}: {}", ran.out);
    }
    let document = ok(&[&args[..], &["--json"]].concat()).json();
    assert_eq!((&document["command"], &document["verdict"]["verdict"]), (&"advise".into(), &"OK".into()));
    // Half a CPU is asked for; each request comes alone, so that little more than that is enough.
    let quota = document["smallest"][0]["limit"]["quota_us"].as_u64().unwrap();
    assert!((48_000..=60_000).contains(&quota), "{quota}");
    let names: Vec<&str> = document["tables"].as_array().unwrap().iter().filter_map(|table| table["name"].as_str()).collect();
    assert_eq!(names, ["verdict", "smallest", "curve", "grid", "others", "snippet", "validity"]);
    assert_eq!(ok(&[&args[..], &["--json"]].concat()).json()["digest"], document["digest"]);
}

#[test]
fn a_limit_below_the_demand_is_unstable_and_a_goal_may_be_out_of_reach() {
    let folder = Folder::new();
    let ran = run(&["advise", &scenario(&folder, "45000"), "--json"]);
    assert_eq!((ran.code, ran.json()["verdict"]["verdict"].as_str()), (1, Some("UNSTABLE")));
    let ran = run(&["advise", &scenario(&folder, "max"), "--goal", "p50=4ms", "--seeds", "10"]);
    assert_eq!(ran.code, 1);
    assert!(ran.out.contains("with 10 of 10 seeds the goal does not hold on any rung"), "{}", ran.out);
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
    assert_eq!(names, ["counters", "fit", "smallest", "account"]);
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
    for (args, part) in [
        (vec!["advise", &service, "--goal", "p99=fast"], "--goal p99=50ms"),
        (vec!["advise", &service, "--cgroup", "/web"], "Groups: /app."),
        (vec!["advise", &service, "--workers", "3"], "are for tables"),
        (vec!["advise", &odd], "neither a log of requests nor samples of counters"),
        (vec!["advise", &log], "--workers N"),
        (vec!["advise", &log, "--workers", "2", "--cpu-max", "500 100000"], "too few"),
        (vec!["advise", "trace.dat"], "not built yet"),
        (vec!["advise", &counters, "--profile", "v5.4"], "take --seed only"),
    ] {
        let ran = run(&args);
        assert!(ran.code == 2 && ran.err.contains(part), "{args:?}: {}", ran.err);
    }
}
