use super::*;
use crate::table::{Cell, Column};
use fairground_metrics::TimelineSink;
use fairground_model::{PrevState, Sink, TraceEvent};
use fairground_stdx::{CpuId, Instant, Ns, TaskId};

const NASTY: &str = "<img src=x onerror=alert(1)>\"'&</script>";

fn table() -> Table {
    let mut table = Table::new("tasks", "Tasks", vec![Column::left("task", "task"), Column::right("wait max", "wait_max_ns")]);
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
