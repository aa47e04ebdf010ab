//! Files of `-o` for other programs: Parquet and HdrHistogram, and that equal runs give equal files.

use crate::support::{Folder, SMALL, ok, run};
use parquet::file::reader::{FileReader, SerializedFileReader};
use std::collections::BTreeMap;
use std::fs::{self, File};

#[test]
fn equal_runs_give_equal_files() {
    let folder = Folder::new();
    let path = folder.file("a.toml", SMALL);
    let endings = ["html", "hgrm", "parquet"];
    for name in ["one", "two"] {
        for ending in endings {
            ok(&["run", &path, "-o", &folder.path(&format!("{name}.{ending}"))]);
        }
        let files: Vec<String> =
            ["html", "parquet", "csv", "json"].iter().map(|ending| folder.path(&format!("{name}-ab.{ending}"))).collect();
        let flags = files.iter().flat_map(|file| ["-o", file.as_str()]);
        let args: Vec<&str> = ["compare", &path, "--change", "NO_START_DEBIT", "--runs", "2"].into_iter().chain(flags).collect();
        assert!([0, 1, 4].contains(&run(&args).code));
    }
    for name in ["html", "hgrm", "parquet"]
        .map(|ending| format!(".{ending}"))
        .into_iter()
        .chain(["html", "parquet", "csv", "json"].map(|ending| format!("-ab.{ending}")))
    {
        let read = |side: &str| fs::read(folder.path(&format!("{side}{name}"))).unwrap();
        assert!(!read("one").is_empty() && read("one") == read("two"), "{name}");
    }
}

/// The rows of a file, each a map of its columns that are not null.
fn rows(path: &str) -> Vec<BTreeMap<String, String>> {
    let reader = SerializedFileReader::new(File::open(path).unwrap()).unwrap();
    let row = |row: parquet::record::Row| {
        let cells = row.get_column_iter().map(|(name, cell)| (name.clone(), cell.to_string().trim_matches('"').to_string()));
        cells.filter(|cell| cell.1 != "null").collect()
    };
    reader.get_row_iter(None).unwrap().map(|found| row(found.unwrap())).collect()
}

#[test]
fn parquet_has_a_row_for_each_event() {
    let folder = Folder::new();
    let (parquet, csv) = (folder.path("x.parquet"), folder.path("x.csv"));
    ok(&["run", &folder.file("a.toml", SMALL), "-o", &parquet, "-o", &csv]);
    let found = rows(&parquet);
    let lines: Vec<String> =
        folder.read("x.csv").lines().skip(1).filter(|line| !line.starts_with(',')).map(str::to_string).collect();
    assert_eq!(found.len(), lines.len());
    for (row, line) in found.iter().zip(&lines) {
        let cells = ["t_ns", "cpu", "event", "task", "other_task", "from_cpu", "to_cpu", "what", "value", "value2", "value3"];
        let shown: Vec<&str> = cells.iter().map(|name| row.get(*name).map_or("", String::as_str)).collect();
        assert_eq!(shown.join(","), *line);
    }
    assert!(found.iter().any(|row| row.get("comm").is_some_and(|comm| comm == "player")));
    // What was written from a recording is the same as what was written from the run.
    ok(&["convert", &csv, &folder.path("y.parquet")]);
    assert_eq!(rows(&folder.path("y.parquet")).len(), found.len());
}

#[test]
fn parquet_has_a_row_for_each_run() {
    let folder = Folder::new();
    let path = folder.file("a.toml", SMALL);
    let ran = run(&["compare", &path, "--change", "NO_START_DEBIT", "--runs", "3", "-o", &folder.path("x.parquet"), "--json"]);
    let document = ran.json();
    let found = rows(&folder.path("x.parquet"));
    let sides: Vec<&str> = found.iter().map(|row| row["side"].as_str()).collect();
    assert_eq!(sides, ["baseline", "compare"].repeat(3));
    assert_eq!(found.iter().map(|row| row["seed"].as_str()).collect::<Vec<_>>(), ["1", "1", "2", "2", "3", "3"]);
    let switches = |side: &str| -> Vec<f64> {
        found.iter().filter(|row| row["side"] == side).map(|row| row["switches"].parse().unwrap()).collect()
    };
    let wanted = document["rows"].as_array().unwrap().iter().find(|row| row["metric"] == "switches").unwrap();
    let mean = |values: Vec<f64>| values.iter().sum::<f64>() / values.len() as f64;
    assert!((mean(switches("baseline")) - wanted["baseline"]["mean"].as_f64().unwrap()).abs() < 1e-9);
    assert!((mean(switches("compare")) - wanted["compare"]["mean"].as_f64().unwrap()).abs() < 1e-9);
    let sweep = folder.file("s.toml", "base = \"a.toml\"\n[axes]\nseed = [1, 2]\n");
    ok(&[
        "sweep",
        &sweep,
        "--seeds-apart",
        "-o",
        &folder.path("s.parquet"),
        "-o",
        &folder.path("s.html"),
        "-o",
        &folder.path("s.csv"),
    ]);
    let swept = rows(&folder.path("s.parquet"));
    assert_eq!((swept.len(), swept[1]["run"].as_str(), swept[1]["seed"].as_str()), (2, "1", "2"));
    assert!(folder.read("s.html").contains("<td class=\"n\">1</td>"));
}

/// Wake-up latencies, ns, from the records themselves: from the waking of a task that slept to the switch to it.
fn latencies(csv: &str) -> Vec<u64> {
    let (mut since, mut awake) = (BTreeMap::<String, u64>::new(), BTreeMap::<String, bool>::new());
    let mut found = Vec::new();
    for line in csv.lines().skip(1) {
        let fields: Vec<&str> = line.split(',').collect();
        let [t_ns, _, event, task, other, _, _, what, ..] = fields[..] else { panic!("{line}") };
        let at = t_ns.parse().unwrap_or(0);
        match event {
            "sched_waking" | "sched_wakeup" | "sched_wakeup_new" if !awake.contains_key(task) => {
                since.insert(task.to_string(), at);
                awake.insert(task.to_string(), true);
            }
            "sched_switch" => {
                if what != "R" {
                    awake.remove(other);
                }
                if let Some(since) = since.remove(task) {
                    found.push(at - since);
                }
            }
            _ => {}
        }
    }
    found.sort_unstable();
    found
}

#[test]
fn hgrm_has_the_percentiles_of_the_records() {
    let folder = Folder::new();
    let path = "scenarios/examples/hog-and-player.toml";
    ok(&["run", path, "-o", &folder.path("x.hgrm"), "-o", &folder.path("x.csv")]);
    let exact = latencies(&folder.read("x.csv"));
    let text = folder.read("x.hgrm");
    // What HdrHistogram's plotter takes: lines of four numbers, and the last one of three.
    let lines: Vec<Vec<f64>> = text
        .lines()
        .filter(|line| !line.starts_with('#') && !line.trim().is_empty() && !line.contains("Value"))
        .map(|line| line.split_whitespace().map(|number| number.parse().unwrap()).collect())
        .collect();
    assert!(lines.len() > 10 && lines.iter().rev().skip(1).all(|line| line.len() == 4), "{text}");
    for line in &lines {
        let rank = ((line[1] * exact.len() as f64 - 1e-6).ceil().max(1.0)) as usize;
        let wanted = exact[rank - 1] as f64 / 1000.0;
        assert!(line[0] >= wanted - 0.001 && line[0] <= wanted * 1.01 + 0.001, "{line:?} for {wanted}");
        assert!(line[2] as usize >= rank);
    }
    let last = lines.last().unwrap();
    assert_eq!((last.len(), last[2] as usize), (3, exact.len()));
    assert!((last[0] - *exact.last().unwrap() as f64 / 1000.0).abs() < 0.001);
}

#[test]
fn files_of_whole_runs_are_refused_where_there_is_none() {
    let folder = Folder::new();
    let path = folder.file("a.toml", SMALL);
    ok(&["run", &path, "-o", &folder.path("x.csv")]);
    for ending in ["html", "hgrm"] {
        let ran = run(&["convert", &folder.path("x.csv"), &folder.path(&format!("y.{ending}"))]);
        assert_eq!(ran.code, 2, "{}", ran.err);
        assert!(ran.err.contains("what came out of a simulated run"), "{}", ran.err);
    }
    let ran = run(&["compare", &path, "--change", "NO_START_DEBIT", "-o", &folder.path("y.hgrm")]);
    assert_eq!(ran.code, 2, "{}", ran.err);
    assert!(ran.err.contains("does not write this format") && ran.err.contains(".parquet"), "{}", ran.err);
    assert!(!folder.has("y.hgrm.partial"));
}

#[test]
fn a_page_of_a_part_of_a_run_says_so() {
    let folder = Folder::new();
    ok(&["run", &folder.file("a.toml", SMALL), "--stop-before-event", "50", "-o", &folder.path("x.html")]);
    assert!(folder.read("x.html.partial").contains("PARTIAL: stopped at"));
}
