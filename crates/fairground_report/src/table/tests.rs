use super::*;
use expect_test::expect;
use fairground_metrics::Decimal;
use fairground_stdx::Ns;
use proptest::prelude::*;

fn sample() -> Table {
    let columns = columns![left "task", right "nice", right "wait max" "wait_max_ns"];
    let mut table = Table::new("tasks", "Tasks", columns);
    table.push(vec!["vídeo|a".into(), (-5).into(), Cell::ns(Ns(8_000_000))]);
    table.push(vec!["a, \"b\"".into(), 19.into()]);
    table.note("times are simulated");
    table
}

#[test]
fn text() {
    expect![[r#"
        Tasks
        task     nice  wait max
        -------  ----  --------
        vídeo|a    -5   8.00 ms
        a, "b"     19
        times are simulated
    "#]]
    .assert_eq(&sample().to_string());
}

#[test]
fn html_stands_in_any_page_and_says_what_is_left_out() {
    expect![[r#"
        <p><b>Tasks</b></p>
        <div style="overflow-x: auto"><table>
        <thead><tr><th style="text-align: left">task</th><th style="text-align: right">nice</th><th style="text-align: right">wait max</th></tr>
        </thead>
        <tbody>
        <tr><td style="text-align: left">vídeo|a</td><td style="text-align: right">-5</td><td style="text-align: right">8.00 ms</td></tr>
        </tbody>
        </table></div>
        <p>and 1 more</p>
        <p>times are simulated</p>
    "#]]
    .assert_eq(&sample().to_html(1));
    let mut hostile = Table::of_lines("lines", "<i>", ["<script>"]);
    hostile.note("<b>");
    let hostile = hostile.to_html(9);
    assert!(!hostile.contains("<i>") && !hostile.contains("<script>") && hostile.contains("<p>&lt;b&gt;</p>"), "{hostile}");
    assert!(!sample().to_html(2).contains("more"));
}

#[test]
fn csv() {
    expect![[r#"
        task,nice,wait_max_ns
        vídeo|a,-5,8000000
        "a, ""b""",19,
    "#]]
    .assert_eq(&sample().to_csv());
}

#[test]
fn json() {
    expect![[r#"{"name":"tasks","title":"Tasks","rows":[{"task":"vídeo|a","nice":-5,"wait_max_ns":8000000},{"task":"a, \"b\"","nice":19,"wait_max_ns":null}],"notes":["times are simulated"]}"#]]
    .assert_eq(&sample().to_json().to_string());
}

#[test]
fn a_table_without_rows_shows_its_headings() {
    assert_eq!(Table::new("t", "", columns![left "a"]).to_string(), "a\n-\n");
}

#[test]
fn numbers_stay_exact() {
    let shown = |text: &str| number(Decimal::parse(text).unwrap()).to_string();
    for text in ["0", "-3", "18446744073709551615", "0.038", "5.1"] {
        assert_eq!(shown(text), text);
    }
}

proptest! {
    /// Whatever the cells hold, lines of text have equal width apart from cut blanks at their end.
    #[test]
    fn columns_begin_at_the_same_place(cells in prop::collection::vec("[a-zä ]{0,12}", 1..20)) {
        let mut table = Table::new("t", "", columns![left "first", right "last"]);
        for cell in &cells {
            table.push(vec![cell.as_str().into(), "x".into()]);
        }
        let text = table.to_string();
        let widths: Vec<usize> = text.lines().map(|line| line.chars().count()).collect();
        prop_assert!(widths.iter().all(|&width| width == widths[0]), "{}", text);
    }
}

#[test]
fn a_chance_that_rounds_to_nothing_is_shown_as_below_a_thousandth() {
    let shown: Vec<String> = [1.0, 0.0314, 0.0005, 0.0004, 0.0].map(|p| Cell::p_value(p).text).to_vec();
    assert_eq!(shown, ["1.000", "0.031", "0.001", "<0.001", "<0.001"]);
}
