//! `advise`: inputs as people have them, told by their content.

use crate::support::{Folder, ok, run, workspace};
use std::io::{Read, Write};
use std::net::TcpListener;

fn example(name: &str) -> String {
    workspace().join("examples/advise").join(name).display().to_string()
}

/// A quarter of an hour of a container that uses 0.19 CPUs of 0.3 and is throttled in half of its periods.
fn counters(at: u64) -> [(&'static str, String); 4] {
    [
        ("container_cpu_usage_seconds_total", format!("{}", 7.5 + 0.19 * at as f64)),
        ("container_cpu_cfs_periods_total", format!("{}", 100 + at * 10)),
        ("container_cpu_cfs_throttled_periods_total", format!("{}", 50 + at * 5)),
        ("container_cpu_cfs_throttled_seconds_total", format!("{}", 2.78 * at as f64)),
    ]
}

const LABELS: &str = "container=\"app\",namespace=\"shop\",pod=\"web-1\"";

const JSON_LABELS: &str = "\"container\":\"app\",\"namespace\":\"shop\",\"pod\":\"web-1\"";

#[test]
fn counters_are_the_same_in_each_form() {
    let folder = Folder::new();
    let times: Vec<u64> = (0..=60).map(|row| row * 15).collect();
    let json = |place: usize| {
        let values: Vec<String> =
            times.iter().map(|at| format!("[{},\"{}\"]", 1_776_000_000 + at, counters(*at)[place].1)).collect();
        format!("{{\"metric\":{{\"__name__\":\"{}\",{JSON_LABELS}}},\"values\":[{}]}}", counters(0)[place].0, values.join(","))
    };
    let whole = |rows: &[usize]| {
        let rows: Vec<String> = rows.iter().map(|row| json(*row)).collect();
        format!("{{\"status\":\"success\",\"data\":{{\"resultType\":\"matrix\",\"result\":[{}]}}}}", rows.join(","))
    };
    let matrix = folder.file("all.json", whole(&[0, 1, 2, 3]));
    let [usage, throttling] = [folder.file("usage.json", whole(&[0])), folder.file("throttling.json", whole(&[1, 2, 3]))];
    std::fs::create_dir(folder.path("scrapes")).unwrap();
    for at in &times {
        let lines: String = counters(*at)
            .iter()
            .map(|(name, value)| format!("{name}{{{LABELS}}} {value} {}\n", (1_776_000_000 + at) * 1000))
            .collect();
        std::fs::write(folder.path(&format!("scrapes/{at}.txt")), lines).unwrap();
    }
    let stat: String = times
        .iter()
        .map(|at| {
            let of = |row: usize| counters(*at)[row].1.parse::<f64>().unwrap();
            format!(
                "# time {at}\n30000 100000\nusage_usec {:.0}\nnr_periods {}\nnr_throttled {}\nthrottled_usec {:.0}\n",
                of(0) * 1e6,
                of(1),
                of(2),
                of(3) * 1e6
            )
        })
        .collect();
    let stat = folder.file("stat.txt", stat);
    let pod = folder.file(
        "pod.yaml",
        "apiVersion: v1\nkind: Pod\nmetadata:\n  name: web-1\nspec:\n  containers:\n  - name: app\n    resources:\n      limits:\n        cpu: 300m\n",
    );
    let scrapes = folder.path("scrapes");
    for (inputs, has_limit) in [
        (vec![matrix.as_str(), &pod], true),
        (vec![&usage, &throttling, &pod], true),
        (vec![&scrapes], false),
        (vec![&stat], true),
    ] {
        let limit = if has_limit { &[][..] } else { &["--cpu-max", "300m"][..] };
        let args = [&["advise"][..], &inputs, limit, &["--fit-runs", "100", "--json"]].concat();
        let ran = run(&args);
        let document = ran.json();
        assert!(document["usage_ns_per_s"].as_u64().unwrap().abs_diff(190_000_000) < 1000, "{inputs:?}: {}", ran.err);
        assert_eq!(document["throttled_pct"].as_f64(), Some(50.0), "{inputs:?}");
        assert!(document["fit"]["drawn"].as_u64().is_some(), "{inputs:?}: {document}");
    }
}

#[test]
fn a_server_is_asked_and_the_queries_are_said() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let text = std::fs::read_to_string(example("counters.json")).unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut head = Vec::new();
            let mut byte = [0];
            while !head.ends_with(b"\r\n\r\n") && stream.read(&mut byte).unwrap() == 1 {
                head.push(byte[0]);
            }
            let asked = String::from_utf8(head).unwrap();
            // One row of the file per metric that is asked for.
            let rows: Vec<&str> =
                text.lines().filter(|line| line.contains("__name__")).map(|line| line.trim_end_matches(',')).collect();
            let is_asked = |row: &&&str| asked.contains(row.split("\"__name__\":\"").nth(1).unwrap().split('"').next().unwrap());
            let rows: Vec<&str> = rows.iter().filter(is_asked).copied().collect();
            let body =
                format!("{{\"status\":\"success\",\"data\":{{\"resultType\":\"matrix\",\"result\":[{}]}}}}", rows.join(","));
            let _ = write!(stream, "HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}", body.len());
        }
    });
    let args =
        ["advise", "--prometheus", &url, "--pod", "web-*", "--last", "30m", "--goal", "p99=60ms", "--fit-runs", "200", "--json"];
    let document = run(&args).json();
    assert_eq!(document["usage_ns_per_s"], 1_963_800_000);
    let asked: Vec<&str> =
        document["notes"].as_array().unwrap().iter().filter_map(|note| note.as_str()?.strip_prefix("asked ")).collect();
    assert!(asked.len() == 1 && asked[0].matches("container_").count() == 7, "{asked:?}");
    assert!(
        document["goal_reached"].is_string() && document["headline"][0].as_str().unwrap().contains("p99 <= 60ms"),
        "{document}"
    );
    assert!(run(&["advise", "--prometheus", &url]).err.contains("--pod"));
}

#[test]
fn an_access_log_is_a_service_whose_cpu_times_are_told_beside_it() {
    let log = example("access.log");
    let format = ["--log-format", "$msec $request_time", "--workers", "8"];
    let args = [&["advise", &log][..], &format, &["--cpu-max", "6", "--goal", "p99=90ms", "--seeds", "10", "--json"]].concat();
    let alone = run(&args);
    assert!(alone.err.contains("has no CPU times"), "{}", alone.err);
    assert_eq!(alone.json()["goal_reached"], "MET", "{}", alone.err);
    let halved = ok(&[&args[..], &["--cpu-per-request", "5ms"]].concat());
    let demand = |document: &serde_json::Value| document["demand_ns_per_s"].as_u64().unwrap();
    assert!((demand(&alone.json()) / 2).abs_diff(demand(&halved.json())) < 100_000_000);
    assert!(halved.err.contains("5.00 ms of CPU time in the mean"), "{}", halved.err);
    // Counters of the same service: 2 CPUs by 200 requests per second.
    let counted = ok(&[&args[..], &[&example("counters.json")]].concat());
    assert!(demand(&counted.json()).abs_diff(1_960_000_000) < 150_000_000, "{}", counted.err);
}

#[test]
fn what_does_not_belong_together_or_is_foreign_is_refused_by_name() {
    let folder = Folder::new();
    let [log, counters, pod] = ["access.log", "counters.json", "pod.yaml"].map(example);
    let service = workspace().join("scenarios/examples/service.toml").display().to_string();
    let empty = folder.file("empty.json", "{\"status\":\"success\",\"data\":{\"resultType\":\"matrix\",\"result\":[]}}");
    let once = folder.file("once.txt", "# time 5\nusage_usec 7\n");
    let nginx = folder.file("nginx.log", "1.2.3.4 - - [15/Apr/2026:20:17:00 +0000] \"GET / HTTP/1.1\" 200 1 \"-\" \"x\"\n");
    std::fs::create_dir(folder.path("nothing")).unwrap();
    let nothing = folder.path("nothing");
    for (args, part) in [
        (vec![empty.as_str()], "the query matched nothing"),
        (vec![&once], "fewer than two samples"),
        (vec![&nginx], "looks like an access log"),
        (vec![&nginx, "--log-format", "combined"], "how long a request took"),
        (vec![&nothing], "no files in this folder"),
        (vec![&pod, "--container", "app"], "nothing about the load"),
        (vec![&counters, &pod], "2 containers, each with its own limit"),
        (vec![&counters, "--container", "db"], "the container that was named"),
        (vec![&service, &counters], "about different things"),
        (vec![&service, &service], "another input of this kind"),
        (vec![&log, "--log-format", "$msec $request_time"], "--workers N"),
        (vec![&log, "--log-format", "$msec $request_time", "--workers", "2", "--cpu-per-request", "3"], "a unit is missing"),
        (vec!["--prometheus", "https://localhost:1", "--pod", "x"], "no TLS"),
        (vec!["--prometheus", "http://127.0.0.1:1", "--pod", "x"], "no answer"),
        (vec!["--prometheus", "http://127.0.0.1:1", "--pod", "x", "--last", "soon"], "no length of time"),
    ] {
        let ran = run(&[&["advise"][..], &args].concat());
        assert!(ran.code == 2 && ran.err.contains(part), "{args:?}: {}", ran.err);
    }
}
