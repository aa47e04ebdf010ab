use super::*;
use crate::columns;
use crate::table::Cell;
use fairground_metrics::TimelineSink;
use fairground_model::{PrevState, Sink, TraceEvent};
use fairground_stdx::{CpuId, Instant, Ns, TaskId};

const NASTY: &str = "<img src=x onerror=alert(1)>\"'&</script>";

fn table() -> Table {
    let mut table = Table::new("tasks", "Tasks", columns![left "task", right "wait max" "wait_max_ns"]);
    table.push(vec![NASTY.into(), Cell::ns(Ns(8_000_000))]);
    table.note("times are simulated");
    table
}

fn chart(series: Vec<Series>) -> Chart {
    Chart {
        title: "Latency".into(),
        x: Axis::new("percentile", Scale::Log, Quantity::OneOf),
        y: Axis::new("latency", Scale::Log, Quantity::Time),
        series,
        lines: vec![(50_000.0, "goal".into())],
        note: NASTY.into(),
    }
}

fn points() -> Vec<Point> {
    let point = |(x, y): (f64, f64)| Point { x, y, band: Some((y * 0.9, y * 1.1)) };
    [(1.0, 0.0), (10.0, 5_000.0), (100.0, 90_000.0)].map(point).into()
}

fn timeline() -> TimelineBlock {
    let mut sink = TimelineSink::new(Instant::ZERO, 2);
    let task = Some(TaskId::new(0));
    sink.record(
        Instant::from_ns(5),
        CpuId::new(1),
        &TraceEvent::SchedSwitch { prev: None, prev_state: PrevState::Running, next: task },
    );
    let owners = vec![Owner { name: NASTY.into(), group: "/g".into() }];
    TimelineBlock { title: NASTY.into(), timeline: sink.finish(Instant::from_ns(50)), owners, groups: Vec::new() }
}

fn bars() -> Bars {
    let bar = |name: &str, amount: u64| Bar { name: name.into(), amount, text: format!("{amount} {NASTY}"), marked: amount == 3 };
    let bars = vec![bar("0 to 1 ms", 0), bar(NASTY, 1), bar("5 ms and more", 3)];
    Bars { title: NASTY.into(), bars, note: NASTY.into() }
}

fn waterfall() -> Waterfall {
    let lane = |name: &str| Lane {
        name: name.into(),
        stretches: vec![Stretch { from: 0, to: 400, kind: 0 }, Stretch { from: 400, to: 1000, kind: 1 }],
    };
    Waterfall {
        title: NASTY.into(),
        start: 5,
        length: 1000,
        kinds: vec![
            ("running".into(), NASTY.into()),
            ("throttled".into(), "throttled".into()),
            ("asleep".into(), "unused".into()),
        ],
        lanes: vec![lane("the request"), lane(NASTY)],
        marks: vec![250],
        mark: NASTY.into(),
        note: NASTY.into(),
    }
}

fn full() -> Page {
    let mut page = Page::new(NASTY);
    page.fact(NASTY, NASTY).heading("Tables").push(Block::Table(table())).heading("Curves");
    page.push(Block::Chart(chart(vec![Series { name: NASTY.into(), points: points() }])));
    page.push(Block::HeatMap(HeatMap {
        title: "p99".into(),
        x: ("period".into(), vec!["10 ms".into(), "100 ms".into()]),
        y: ("burst".into(), vec![NASTY.into()]),
        cells: vec![vec![
            HeatCell { text: "1 ms".into(), value: Some(1.0), marked: false },
            HeatCell { text: "9 ms".into(), value: Some(9.0), marked: true },
        ]],
        log: true,
        note: String::new(),
    }));
    page.push(Block::Bars(bars())).push(Block::Waterfall(waterfall()));
    page.push(Block::Timeline(timeline())).push(Block::Snippet("cpu.max".into(), NASTY.into())).push(Block::Text(NASTY.into()));
    page
}

#[test]
fn every_block_is_there() {
    let text = full().to_string();
    for part in [
        "<td class=\"n\">8.00 ms</td>",
        "data-points=\"3\"",
        "99 %, 90.00 us (81.00 us to 99.00 us)",
        ">goal</text>",
        "<td class=\"h0\">1 ms</td>",
        "<td class=\"h9 marked\">9 ms</td>",
        "\"tasks\":[5,45,0]",
        "class=\"snippet\"",
        "1 stretches of tasks, 0 of the kernel&#39;s own work.",
        "<a href=\"#h0\">Tables</a>",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
    assert_eq!(text, full().to_string());
}

/// Names come from users and from traces: none of them becomes markup or ends the data of the script.
#[test]
fn no_name_becomes_markup() {
    let text = full().to_string();
    assert!(!text.contains("<img"), "{text}");
    assert_eq!(text.matches("</script>").count(), 2, "the data and the script");
}

/// The browser may load nothing, and nothing is asked for.
#[test]
fn the_page_needs_no_network() {
    let text = full().to_string();
    assert!(text.contains("default-src 'none'"));
    for part in ["http://", "https://", "url(", "@import", "<link", " src="] {
        let own = if part == " src=" { text.matches("img src=").count() } else { 0 };
        assert_eq!(text.matches(part).count(), own, "{part}");
    }
}

#[test]
fn a_page_without_a_timeline_has_no_script() {
    let mut page = Page::new("x");
    page.push(Block::Chart(chart(Vec::new())))
        .push(Block::Chart(chart(vec![Series { name: "none".into(), points: Vec::new() }])));
    let text = page.to_string();
    assert!(!text.contains("<script") && !text.contains("NaN") && !text.contains("inf"), "{text}");
}

#[test]
fn bars_are_as_long_as_their_amounts() {
    let mut page = Page::new("x");
    page.push(Block::Bars(bars()));
    let text = page.to_string();
    let bar = |amount: u64, width: &str| format!("data-amount=\"{amount}\"><i style=\"width:{width}%\">");
    assert!([bar(0, "0.0"), bar(1, "33.3"), bar(3, "100.0")].iter().all(|part| text.contains(part)), "{text}");
    assert_eq!(text.matches("<tr class=\"marked\">").count(), 1);
}

#[test]
fn lanes_share_one_stretch_of_time() {
    let mut page = Page::new("x");
    page.push(Block::Waterfall(waterfall()));
    let text = page.to_string();
    // 664 of 760 are left for 1050 ns, from 76 on, as in a chart.
    let first = "<rect class=\"k-running\" data-from=\"0\" data-length=\"400\" x=\"76.00\" y=\"2.0\" width=\"252.95\"";
    assert!(text.contains(first), "{text}");
    let marks = text.matches("<line class=\"mark\" data-at=\"250\" x1=\"234.1\"").count();
    assert_eq!((text.matches("<rect ").count(), marks), (4, 1));
    assert!(text.contains("data-start=\"5\" data-length=\"1000\"") && !text.contains("unused"));
}
