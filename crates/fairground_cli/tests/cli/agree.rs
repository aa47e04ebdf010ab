//! The same figure is the same in every output: tables as text, the document, the page, rows of a comparison, the summary.

use crate::support::{Folder, SMALL, ok, run};
use serde_json::Value;

const SCENARIOS: [&str; 5] = [
    "scenarios/examples/service.toml",
    "scenarios/examples/quota.toml",
    "scenarios/examples/hog-and-player.toml",
    "scenarios/examples/groups.toml",
    "scenarios/examples/rwsem-throttled-holder.toml",
];

fn table<'d>(document: &'d Value, name: &str) -> Option<&'d Vec<Value>> {
    let tables = document["tables"].as_array().unwrap();
    tables.iter().find(|table| table["name"] == name).map(|table| table["rows"].as_array().unwrap())
}

fn sum(rows: &[Value], key: &str) -> u64 {
    rows.iter().map(|row| row[key].as_u64().unwrap_or(0)).sum()
}

fn metric(document: &Value, name: &str) -> Option<f64> {
    document["metrics"][name]["value"].as_f64()
}

fn packed(text: &str) -> String {
    text.split_whitespace().collect()
}

/// The rows of the tables of a page, each without blanks.
fn rows_of_page(page: &str) -> Vec<String> {
    let unescaped = |text: &str| {
        text.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&#39;", "'").replace("&amp;", "&")
    };
    let rows = page.split("<tr>").skip(1).filter_map(|row| row.split("</tr>").next());
    let cells = |row: &str| -> String {
        let cells = row.split("<td").skip(1).filter_map(|cell| Some(cell.split_once('>')?.1.split("</td>").next()?.to_string()));
        packed(&unescaped(&cells.collect::<Vec<_>>().concat()))
    };
    rows.map(cells).filter(|row| !row.is_empty()).collect()
}

#[test]
fn text_document_and_page_hold_the_same_figures() {
    let folder = Folder::new();
    for path in SCENARIOS {
        let page = folder.path("run.html");
        let text = run(&["run", path, "--full", "--searches", "-o", &page]).out;
        let document = run(&["run", path, "--json"]).json();
        let lines: Vec<String> = text.lines().map(packed).collect();
        let on_page = rows_of_page(&folder.read("run.html"));
        assert!(on_page.len() > 10, "{path}");
        for row in &on_page {
            assert!(lines.contains(row), "{path}: `{row}` is on the page, and not in the text");
        }
        for (name, metric) in document["metrics"].as_object().unwrap() {
            let rows = table(&document, "metrics").unwrap();
            let row = rows.iter().find(|row| row["metric"] == name.as_str()).unwrap_or_else(|| panic!("{path}: {name}"));
            assert_eq!((&row["value"], &row["unit"]), (&metric["value"], &metric["unit"]), "{path}: {name}");
            assert!(lines.iter().any(|line| line.starts_with(name.as_str())), "{path}: {name}");
        }
        for line in document["summary"].as_array().unwrap() {
            let line = packed(line.as_str().unwrap());
            assert!(lines.contains(&line), "{path}: `{line}` is in the document, and not in the text");
            assert!(
                packed(&folder.read("run.html").replace("&lt;", "<").replace("&amp;", "&")).contains(&line),
                "{path}: {line}"
            );
        }
    }
}

#[test]
fn sums_of_tables_are_the_named_numbers() {
    for path in SCENARIOS {
        let document = run(&["run", path, "--json"]).json();
        let (tasks, cpus) = (table(&document, "tasks").unwrap(), table(&document, "cpus").unwrap());
        let named = |name: &str| metric(&document, name).unwrap_or_else(|| panic!("{path}: {name}"));
        assert_eq!(sum(cpus, "switches") as f64, named("switches"), "{path}");
        assert_eq!(sum(tasks, "switches_involuntary") as f64, named("switches_involuntary"), "{path}");
        assert_eq!(sum(tasks, "migrations") as f64, named("migrations"), "{path}");
        let (busy, idle) = (sum(cpus, "busy_ns"), sum(cpus, "idle_ns"));
        let share = busy as f64 / (busy + idle) as f64 * 100.0;
        assert!((share - named("busy_pct")).abs() < 0.001, "{path}: {share}");
        let longest = tasks.iter().filter_map(|row| row["wait_max_ns"].as_u64()).max().unwrap();
        assert_eq!(longest as f64 / 1e6, named("sched_delay_max_ms"), "{path}");
        let latest = tasks.iter().filter_map(|row| row["wakeup_latency_max_ns"].as_u64()).max().unwrap();
        assert_eq!(latest as f64 / 1e3, named("wakeup_latency_us.max"), "{path}");
        for row in tasks {
            let name = format!("tasks.{}.runtime_ms", row["task"].as_str().unwrap());
            if let Some(ran) =
                metric(&document, &name).filter(|_| tasks.iter().filter(|other| other["task"] == row["task"]).count() == 1)
            {
                assert_eq!(row["run_ns"].as_u64().unwrap() as f64 / 1e6, ran, "{path}: {name}");
            }
        }
        for row in table(&document, "quota").into_iter().flatten() {
            let name = format!("quota.{}.", row["group"].as_str().unwrap());
            for (key, metric_name, scale) in
                [("nr_periods", "nr_periods", 1.0), ("nr_throttled", "nr_throttled", 1.0), ("throttled_ns", "throttled_ms", 1e6)]
            {
                if let Some(value) = metric(&document, &format!("{name}{metric_name}")) {
                    assert_eq!(row[key].as_f64().unwrap() / scale, value, "{path}: {name}{metric_name}");
                }
            }
        }
    }
}

/// What a service counted is one number, under one name, in its own table, among the metrics and in the summary.
#[test]
fn requests_of_a_service_agree() {
    let document = run(&["run", SCENARIOS[0], "--json"]).json();
    let own = document["tables"].as_array().unwrap().iter().find(|table| table["rows"][0]["good"].is_number()).unwrap();
    let count = |name: &str| metric(&document, &format!("{name}.count")).unwrap();
    for name in ["good", "timeouts"] {
        let rate = metric(&document, &format!("{name}.per_second")).unwrap();
        let shown = own["rows"][0][name].as_f64().unwrap();
        assert!((rate - shown).abs() <= 0.051, "{name}: {rate} and {shown}");
    }
    let (came, answered, good, late) = (count("requests"), count("request_latency"), count("good"), count("timeouts"));
    assert!(good <= answered && answered + late <= came, "{came} {answered} {good} {late}");
    let p99 = metric(&document, "request_latency.p99").unwrap();
    let shown =
        own["rows"][0].as_object().unwrap().iter().find(|row| row.0.starts_with("p99") && !row.0.contains(".9")).unwrap().1;
    assert!(
        (p99 / 1000.0 - shown.as_f64().unwrap()).abs() < 0.01 || (p99 - shown.as_f64().unwrap()).abs() < 0.6,
        "{p99} {shown}"
    );
    let line = document["summary"].as_array().unwrap().iter().find(|line| line.as_str().unwrap().starts_with("requests"));
    let line: String = line.unwrap().as_str().unwrap().chars().filter(|letter| *letter != ' ').collect();
    assert_eq!(line, format!("requests{came}came,{answered}answered,{good}ofthemintime"));
}

/// A row of a comparison is a run: its columns are the metrics of `run --json` with that seed.
#[test]
fn rows_of_a_comparison_are_runs() {
    let folder = Folder::new();
    let scenario = folder.file("small.toml", SMALL);
    let csv = folder.path("rows.csv");
    run(&["compare", &scenario, "--change", "NO_WAKEUP_PREEMPTION", "--runs", "2", "-o", &csv]);
    let text = folder.read("rows.csv");
    let mut lines = text.lines().map(|line| line.split(',').map(str::to_string).collect::<Vec<_>>());
    let heads = lines.next().unwrap();
    let place = |name: &str| heads.iter().position(|head| head == name).unwrap_or_else(|| panic!("{name}: {heads:?}"));
    for row in lines {
        let seed = row[place("seed")].clone();
        let mut args = vec!["run", &scenario, "--json", "--seed", &seed];
        if row[place("side")] == "compare" {
            args.extend(["--feature", "NO_WAKEUP_PREEMPTION"]);
        }
        let document = ok(&args).json();
        assert_eq!(document["digest"], row[place("digest")].as_str());
        for (name, value) in document["metrics"].as_object().unwrap() {
            assert_eq!(value["value"].to_string(), row[place(name)], "{name}");
        }
    }
}
