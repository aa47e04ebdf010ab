//! Pages, opened in a real browser where there is one: what it shows, and that zooming works.

use crate::support::{Folder, SMALL, ok, run};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The browser; the tests that need one are skipped where there is none.
fn browser() -> Option<PathBuf> {
    let folders: Vec<PathBuf> = std::env::var_os("PATH").map(|path| std::env::split_paths(&path).collect()).unwrap_or_default();
    let names = ["chromium", "chromium-browser", "google-chrome", "chrome"];
    let found = names.iter().flat_map(|name| folders.iter().map(move |folder| folder.join(name))).find(|path| path.is_file());
    if found.is_none() {
        eprintln!("skipped: there is no chromium on the path");
    }
    found
}

/// What a page became in the browser.
struct Shown {
    /// The document after its scripts ran.
    dom: String,
    /// What the browser's console got.
    console: Vec<String>,
}

/// Opens a file of the folder. The sandbox is off because it does not start in containers; the page is our own.
fn open(browser: &Path, folder: &Folder, page: &str, hash: &str) -> Shown {
    let output = Command::new(browser)
        .args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--no-first-run",
            "--disable-extensions",
            "--window-size=1280,1000",
        ])
        .args(["--virtual-time-budget=5000", "--enable-logging=stderr", "--dump-dom"])
        .arg(format!("--user-data-dir={}", folder.path("profile")))
        .arg(format!("file://{}{hash}", folder.path(page)))
        .output()
        .unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let console = text(&output.stderr).lines().filter(|line| line.contains("CONSOLE")).map(str::to_string).collect();
    Shown { dom: text(&output.stdout), console }
}

impl Shown {
    /// An attribute of each figure with a timeline.
    fn timelines(&self, attribute: &str) -> Vec<String> {
        let figures = self.dom.match_indices("<figure class=\"timeline\"").map(|found| &self.dom[found.0..]);
        let tags = figures.map(|text| text.split_once('>').unwrap().0);
        tags.map(|tag| {
            tag.split_once(&format!("{attribute}=\"")).map_or("", |(_, rest)| rest.split('"').next().unwrap()).to_string()
        })
        .collect()
    }
    /// The rows of all tables, their cells apart by one blank.
    fn rows(&self) -> Vec<String> {
        self.dom.split("<tr>").skip(1).map(|row| plain(row.split("</tr>").next().unwrap())).collect()
    }
    /// The name of each curve with the number of its points.
    fn curves(&self) -> Vec<(String, usize)> {
        let groups = self.dom.split("<g class=\"s").skip(1).map(|text| text.split("</g>").next().unwrap());
        groups
            .map(|group| {
                let name = group.split_once("data-series=\"").unwrap().1.split('"').next().unwrap();
                let told: usize = group.split_once("data-points=\"").unwrap().1.split('"').next().unwrap().parse().unwrap();
                let points = group.matches("<circle").count();
                assert_eq!(points, told, "{name}");
                assert!(points == 0 || group.contains("<polyline points=\""), "{name}");
                (name.to_string(), points)
            })
            .collect()
    }
}

/// The text of a piece of HTML.
fn plain(html: &str) -> String {
    let mut text = String::new();
    for part in html.split('<') {
        text.push_str(part.split_once('>').map_or(part, |(_, rest)| rest));
        text.push(' ');
    }
    let text = text.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&#39;", "'").replace("&amp;", "&");
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Two CPUs with kernel time, a group with a quota, and tasks with names that could break a page.
const SHOWN: &str = "
title = \"two CPUs & a <quota>\"
duration = \"1s\"
[machine]
preset = \"smp-2\"
[profile]
kernel = \"5.19\"
[[group]]
path = \"/batch\"
\"cpu.max\" = \"20000 100000\"
[[workload]]
tasks = [{ name = \"player\", run = \"2ms\", period = \"20ms\" }]
[[workload]]
group = \"/batch\"
tasks = [{ name = \"job\", hog = true, count = 2 }]
";

/// Every row of every table that the command prints stands in the page.
fn has_all_rows(shown: &Shown, printed: &str) {
    let rows = shown.rows();
    let mut found = 0;
    let dashes = |line: &&str| !line.is_empty() && line.chars().all(|c| c == '-' || c == ' ');
    let mut lines = printed.lines().peekable();
    while let Some(line) = lines.next() {
        if lines.peek().is_none_or(|next| !dashes(next)) {
            continue;
        }
        let width = line.split_whitespace().count();
        lines.next();
        while let Some(row) = lines.peek().filter(|row| row.split_whitespace().count() >= width.min(3) && row.contains("  ")) {
            let row = row.split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(rows.contains(&row), "{row}\n{rows:#?}");
            found += 1;
            lines.next();
        }
    }
    assert!(found > 10, "{printed}");
}

#[test]
fn the_page_of_a_run_shows_tables_curves_and_cpus() {
    let Some(browser) = browser() else { return };
    let folder = Folder::new();
    // A page has all columns.
    let printed = ok(&["run", &folder.file("a.toml", SHOWN), "--full", "-o", &folder.path("x.html")]).out;
    let shown = open(&browser, &folder, "x.html", "");
    assert!(shown.console.is_empty(), "{:?}", shown.console);
    assert!(plain(&shown.dom).contains("two CPUs & a <quota>"));
    has_all_rows(&shown, &printed);
    let (name, points) = &shown.curves()[0];
    assert!(name == "all tasks" && *points > 10, "{name}: {points}");
    // Two CPUs and the group that waits for quota, over the whole second.
    let one = |attribute| shown.timelines(attribute).join(" ");
    assert_eq!((one("data-rows"), one("data-from"), one("data-to")), ("3".into(), "0".into(), "1000000000".into()));
    let rows = shown.rows();
    for cpu in ["CPU 0 ", "CPU 1 "] {
        assert!(rows.iter().any(|row| row.starts_with(cpu)), "{cpu}: {rows:?}");
    }
    assert!(plain(&shown.dom).contains("throttled: the higher, the more CPUs"));
}

#[test]
fn the_address_of_a_page_zooms_it() {
    let Some(browser) = browser() else { return };
    let folder = Folder::new();
    ok(&["run", &folder.file("a.toml", SHOWN), "-o", &folder.path("x.html")]);
    let seen = |hash: &str| {
        let shown = open(&browser, &folder, "x.html", hash);
        assert!(shown.console.is_empty(), "{hash}: {:?}", shown.console);
        let one = |attribute| shown.timelines(attribute)[0].parse::<u64>().unwrap();
        (one("data-from"), one("data-to"), one("data-seen"))
    };
    let (whole, part) = (seen(""), seen("#t=100ms-0.2s"));
    assert_eq!((part.0, part.1), (100_000_000, 200_000_000));
    assert!(part.2 > 0 && part.2 * 5 < whole.2, "{part:?} of {whole:?}");
    // What is beyond the ends or makes no sense shows the whole run, or what there is of it.
    assert_eq!(seen("#t=5s-2s"), whole);
    assert_eq!(seen("#t=nonsense"), whole);
    let beyond = seen("#t=900ms-1100ms");
    assert_eq!((beyond.0, beyond.1), (800_000_000, 1_000_000_000));
}

/// The events that a person makes, one after the other, and what is in view after each.
const HANDS: &str = "<script>
  const canvas = document.querySelector('canvas'), told = [];
  const tell = (event) => { canvas.dispatchEvent(event); update(); told.push([view.from, view.to].map((time) => Math.round(time / 1e6)).join('-')); };
  const key = (name) => tell(new KeyboardEvent('keydown', { key: name }));
  ['+', '+', 'ArrowRight', '-', 'Home', 'ArrowLeft'].forEach(key);
  const box = canvas.getBoundingClientRect();
  tell(new WheelEvent('wheel', { deltaY: -1, clientX: box.right, clientY: box.top + 30 }));
  tell(new WheelEvent('wheel', { deltaY: -1, shiftKey: true }));
  document.body.dataset.told = told.join(' ');
</script></body>";

#[test]
fn keys_and_the_wheel_zoom_and_move() {
    let Some(browser) = browser() else { return };
    let folder = Folder::new();
    ok(&["run", &folder.file("a.toml", SMALL), "-o", &folder.path("x.html")]);
    folder.file("hands.html", folder.read("x.html").replace("</body>", HANDS));
    let shown = open(&browser, &folder, "hands.html", "");
    assert!(shown.console.is_empty(), "{:?}", shown.console);
    let told = shown.dom.split_once("data-told=\"").unwrap().1.split('"').next().unwrap();
    assert_eq!(told, "250-750 375-625 425-675 300-800 0-1000 0-1000 200-1000 120-920");
}

/// The tests above would not see an error if this one did not.
#[test]
fn an_error_of_a_script_is_seen() {
    let Some(browser) = browser() else { return };
    let folder = Folder::new();
    folder.file("wrong.html", "<!doctype html><script>throw new Error('wrong')</script>");
    assert_eq!(open(&browser, &folder, "wrong.html", "").console.len(), 1);
}

#[test]
fn the_page_of_a_comparison_shows_both_sides() {
    let Some(browser) = browser() else { return };
    let folder = Folder::new();
    let path = folder.file("a.toml", SHOWN);
    let ran = run(&["compare", &path, "--b", "v6.12", "--runs", "3", "-o", &folder.path("x.html")]);
    assert!([0, 1, 4].contains(&ran.code), "{}", ran.err);
    let shown = open(&browser, &folder, "x.html", "#t=0ms-100ms");
    assert!(shown.console.is_empty(), "{:?}", shown.console);
    has_all_rows(&shown, &ran.out);
    let curves = shown.curves();
    assert_eq!([&curves[0].0, &curves[1].0], ["v5.19", "v6.12"]);
    assert!(curves[0].1 > 10 && shown.dom.contains("<polygon points="), "curves with bands: {curves:?}");
    // One view for both timelines.
    assert_eq!(shown.timelines("data-to"), ["100000000", "100000000"]);
    assert_eq!(shown.timelines("data-rows"), ["3", "3"]);
}

/// A service with 30 % to spare, for a short while.
const ADVISED: &str = "
title = \"a service\"
duration = \"4s\"
[machine]
preset = \"smp-9\"
costs = \"zero\"
[profile]
kernel = \"6.12\"
[[group]]
path = \"/service\"
\"cpu.max\" = \"260000 100000\"
[[workload]]
name = \"service\"
group = \"/service\"
args = { every = \"5ms\", service = \"10ms\", workers = 8, cpus = \"0-7\", client-cpus = \"8\" }
";

#[test]
fn the_page_of_advice_shows_the_curve_and_a_heat_map() {
    let Some(browser) = browser() else { return };
    let folder = Folder::new();
    let path = folder.file("a.toml", ADVISED);
    let files = ["x.html", "x.json", "x.parquet"].map(|name| folder.path(name));
    let goal = ["advise", &path, "--goal", "p90=60ms", "--seeds", "10", "--full"];
    let ran = run(&[&goal[..], &["-o", &files[0], "-o", &files[1], "-o", &files[2]]].concat());
    assert!([0, 1].contains(&ran.code), "{}", ran.err);
    let shown = open(&browser, &folder, "x.html", "");
    assert!(shown.console.is_empty(), "{:?}", shown.console);
    has_all_rows(&shown, &ran.out);
    let curves = shown.curves();
    assert!(curves[0].0 == "p90" && curves[0].1 >= 6 && shown.dom.contains("<polygon points="), "{curves:?}");
    assert!(shown.dom.contains(">goal p90 &lt;= 60ms</text>"));
    assert!(shown.dom.matches("<td class=\"h").count() >= 3 && shown.dom.matches("marked\">").count() == 1);
    assert!(plain(&shown.dom).contains("/sys/fs/cgroup/service/cpu.max"));
    let document: serde_json::Value = serde_json::from_str(&folder.read("x.json")).unwrap();
    shows_the_slowest_request(&shown, &document);
    let parquet = std::fs::read(&files[2]).unwrap();
    assert!(parquet.starts_with(b"PAR1") && parquet.ends_with(b"PAR1"), "{}", parquet.len());
}

/// The value of an attribute in each piece of a page that begins with `tag`, as a number.
fn numbers(dom: &str, tag: &str, attribute: &str) -> Vec<u64> {
    let pieces = dom.split(tag).skip(1).map(|piece| piece.split_once('>').unwrap().0);
    let value = |piece: &str| piece.split_once(&format!("{attribute}=\"")).unwrap().1.split('"').next().unwrap().parse().unwrap();
    pieces.map(value).collect()
}

/// The waterfall, the pool and the stalls have the figures of the document.
fn shows_the_slowest_request(shown: &Shown, document: &serde_json::Value) {
    let slowest = &document["slowest"];
    let ns = |value: &serde_json::Value| value.as_u64().unwrap();
    let figure = shown.dom.split_once("<figure class=\"chart waterfall\"").unwrap().1;
    let (tag, figure) = figure.split_once('>').unwrap();
    let figure = figure.split("</figure>").next().unwrap();
    let from = ns(&slowest["used_from_ns"]);
    let done = ns(&slowest["arrived_ns"]) + ns(&slowest["latency_ns"]);
    assert!(tag.contains(&format!("data-start=\"{from}\" data-length=\"{}\"", done - from)), "{tag}");
    assert_eq!(numbers(figure, "<line class=\"mark\"", "data-at").len(), slowest["refills_ns"].as_array().unwrap().len());
    // The request first: how long it was in each state; then the threads: how long each ran.
    let lanes: Vec<&str> = figure.split("<g class=\"lane\"").skip(1).collect();
    let sum = |lane: &str, key: &str| numbers(lane, &format!("<rect class=\"k-{key}\""), "data-length").iter().sum::<u64>();
    for key in ["queued", "running", "waiting", "throttled", "asleep"] {
        assert_eq!(sum(lanes[0], key), ns(&slowest["parts"][format!("{key}_ns")]), "{key}");
    }
    let parts: u64 = slowest["parts"].as_object().unwrap().values().map(ns).sum();
    assert_eq!(parts, ns(&slowest["latency_ns"]));
    let used = slowest["used"].as_array().unwrap();
    assert!(used.len() == 8 && lanes.len() == 9, "{} {}", used.len(), lanes.len());
    for (lane, thread) in lanes[1..].iter().zip(used) {
        assert!(lane.contains(&format!("data-lane=\"{}\"", thread["thread"].as_str().unwrap())));
        assert_eq!(sum(lane, "running"), ns(&thread["ran_ns"]));
    }
    let curves = shown.curves();
    assert!(curves.iter().any(|curve| curve.0 == "in the pool" && curve.1 > 10), "{curves:?}");
    let table = document["tables"].as_array().unwrap().iter().find(|table| table["name"] == "stalls").unwrap();
    let counts: Vec<u64> = table["rows"].as_array().unwrap().iter().map(|row| ns(&row["count"])).collect();
    assert!(counts.iter().sum::<u64>() > 0);
    assert_eq!(numbers(&shown.dom, "<td class=\"bar\"", "data-amount"), counts);
}
