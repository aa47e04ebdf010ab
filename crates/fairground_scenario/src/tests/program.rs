//! Pools, processes, spin locks, marks and parts: what is declared beside tasks, and what is refused with its line.

use super::*;
use fairground_model::{Instr, LockKind, PageSize, SpinSpec};

const SCENARIO: &str = r#"
duration = "100ms"
window = { from = "20ms", to = "100ms" }

[machine]
preset = "smp-2"

[profile]
kernel = "6.12"

[[workload]]
pools = { small = "1000 x 64B", big = "7 x 3MiB on 2MiB" }
locks = { list = "spin", plain = "spin rounds 20 round 1us no-sleep" }
tasks = [
    { name = "p", count = 3, processes = true, do = ["part work", "lock list", "touch small r0 read", "unlock list", "run 1ms", "mark done", "fault 2us", "part other", "sleep 1ms"] },
    { name = "t", count = 2, mm = 5, do = ["touch big 3", "run 1ms", "mark other_one", "sleep 9ms"] },
]
"#;

#[test]
fn what_programs_touch_spin_for_and_count_is_read_and_written_again() {
    let scenario = parse(SCENARIO).unwrap();
    let set = scenario.tasks();
    let pools: Vec<_> = set.pools.iter().map(|pool| (pool.name.as_str(), pool.pages(), pool.page)).collect();
    assert_eq!(pools, [("small", 16, PageSize::K4), ("big", 11, PageSize::M2)]);
    let spaces: Vec<u32> = set.tasks.iter().map(|task| task.mm).collect();
    assert_eq!(spaces, [6, 7, 8, 5, 5], "processes behind the numbers that rows name");
    assert_eq!(set.locks.iter().next().unwrap().kind, LockKind::Spin(SpinSpec::POSTGRES));
    let marks: Vec<&str> = set.markers.iter().map(|spec| spec.name.as_str()).collect();
    assert_eq!(marks, ["marks.done", "marks.other_one"]);
    assert_eq!(set.parts.as_slice(), ["work"]);
    assert!(set.programs.iter().next().unwrap().code.contains(&Instr::Part { part: None }));

    let printed = scenario.canonical();
    let again = parse(&printed).unwrap();
    assert_eq!((again.canonical(), again.tasks()), (printed, set));
}

/// 80 ms of the run count. Each of three processes does a round of some 2 ms, on two CPUs.
#[test]
fn marks_and_parts_are_figures() {
    let names: Vec<String> =
        metrics::metrics_to_come(&parse(SCENARIO).unwrap().tasks()).into_iter().map(|row| row.name).collect();
    for name in [
        "marks.done.count",
        "marks.done.per_second",
        "parts.work.cpu_ms",
        "parts.spin:list.share_pct",
        "parts.other.cpu_ms",
        "locks.list.spun_ms",
    ] {
        assert!(names.iter().any(|known| known == name), "{name}: {names:?}");
    }
    assert!(!names.iter().any(|name| name == "marks.done.p99" || name == "marks.done.mean"), "a mark has no size");
    let value =
        |name: &str| crate::testing::metrics(&parse(SCENARIO).unwrap()).into_iter().find(|row| row.name == name).unwrap().value;
    let count = value("marks.done.count");
    assert!((90..=121).contains(&count), "{count}");
    assert_eq!(value("marks.done.per_second"), count * 1000 * 1000 / 80);
}

#[test]
fn what_cannot_be_is_refused_with_its_line_and_a_hint() {
    for (from, to, line, part, hint) in [
        ("on 2MiB", "on 64KiB", 12, "pool `big`: the machine has no pages of 64KiB", "It has 4KiB, 2MiB, 1GiB"),
        ("1000 x 64B", "0 x 64B", 12, "pool `small`: `0 x 64B` has no pages", "at least one entry"),
        ("1000 x 64B", "1000 pages", 12, "pool `small`: `1000 pages` is no pool", "1000 x 64B"),
        ("processes = true", "processes = true, mm = 3", 15, "`processes` beside `mm`", "leave one of both out"),
        ("touch big 3", "touch bug 3", 16, "no pool of this workload is called `bug`", "Did you mean `big`?"),
        ("touch big 3", "touch", 16, "`touch ` is incomplete", "touch POOL r0"),
        ("\"spin\"", "\"spin rounds none\"", 13, "lock `list`: `none` is no number of rounds", "rounds 10..1000"),
        ("\"spin\"", "\"spinlock\"", 13, "lock `list`: `spinlock` is no lock", "futex and spin"),
        ("lock list", "lock list read", 15, "`list` has no readers", "lock list"),
        ("mark done", "mark all done", 15, "`all done` is no name of a mark or part", "mark transactions"),
        ("fault 2us", "fault 2", 15, "`2`", "has a unit"),
    ] {
        let found = mistakes(&SCENARIO.replacen(from, to, 1));
        assert_eq!(found.len(), 1, "{to}: {found:#?}");
        assert!(found[0].starts_with(&format!("test.toml:{line}")), "{to}: {found:#?}");
        assert!(found[0].contains(part) && found[0].contains(hint), "{to}: {found:#?}");
    }
    let arm = SCENARIO.replacen("preset = \"smp-2\"", "preset = \"smp-2\"\npage_sizes = [\"4KiB\", \"64KiB\"]", 1);
    assert!(parse(&arm.replacen("on 2MiB", "on 64KiB", 1)).is_ok());
    let found = mistakes(&arm);
    assert!(found[0].contains("no pages of 2MiB"), "{found:#?}");
}
