"""Runs: what comes out, and that it is what the command prints."""

from __future__ import annotations

from pathlib import Path

import pytest

import fairground as fg

ROOT = Path(__file__).resolve().parents[2]
PAIR = {
    "duration": "100ms",
    "machine": {"preset": "smp-1"},
    "profile": {"kernel": "6.12"},
    "workload": [{"tasks": [{"name": "a", "hog": True}, {"name": "b", "run": "1ms", "period": "4ms"}]}],
}


def builder() -> fg.Scenario:
    return fg.Scenario(duration="100ms", machine="smp-1", kernel="6.12").hog("a").task("b", run="1ms", period="4ms")


def test_a_file_a_text_a_dictionary_and_a_builder_are_one_scenario(tmp_path: Path) -> None:
    made = builder()
    text = made.to_toml()
    file = tmp_path / "pair.toml"
    file.write_text(text)
    digests = {fg.run(one).digest for one in (made, PAIR, text, file, str(file), made.copy())}
    assert len(digests) == 1


def test_two_hogs_share_a_cpu_and_times_are_whole_nanoseconds() -> None:
    result = fg.run(fg.Scenario(duration="1s", machine="smp-1", kernel="6.12").hog("a").hog("b"))
    metric = result.metrics["tasks.a.runtime_ms"]
    assert isinstance(metric.value, int) and 490_000_000 < metric.value < 510_000_000
    assert (metric.unit, metric.better) == ("ns", None) or metric.better == "higher"
    assert float(metric) == metric.value
    assert result.simulated_ns == 1_000_000_000 and result.holds and result.wall_s > 0
    assert "v6.12 on smp-1" in result.summary
    assert result.document["digest"] == result.digest


def test_percentages_are_percent() -> None:
    metric = fg.run(builder()).metrics["kernel_pct"]
    assert metric.unit == "%" and isinstance(metric.value, float) and 0 < metric.value < 10


def test_changes_are_those_of_the_flags() -> None:
    base = fg.run(PAIR)
    assert fg.run(PAIR, seed=1).digest == base.digest
    changed = fg.run(PAIR, kernel="v5.19", machine="smp-2", duration="50ms", seed=2, set={"machine.hz": 1000})
    assert changed.simulated_ns == 50_000_000 and changed.seed == 2
    assert "v5.19 on smp-2" in changed.summary and "hz = 1000" in changed.scenario


def test_tables_have_the_rows_of_the_command() -> None:
    result = fg.run(PAIR)
    rows = result.tables["tasks"].to_dicts()
    assert [row["task"] for row in rows] == ["a", "b"]
    assert len(result.tables["tasks"]) == 2 and "task" in result.tables["tasks"].columns
    assert "switches" in str(result.tables["tasks"])


def test_the_builder_writes_what_a_file_may_hold() -> None:
    made = (
        fg.Scenario(duration="1s", machine="smp-4", kernel="6.12", features=["NO_NEXT_BUDDY"], seed=3, title="all of it", window=("100ms", "1s"))
        .group("/web", {"cpu.max": "20000 100000"})
        .task("w", do=["run 1ms..3ms", "sleep 5ms"], count=2, nice=1, cpus="0-1", group="/web")
        .at("500ms", "nice w-0 5")
        .expect("tasks.w-0.max_wait_ms", max="100ms", why="a fifth of a CPU")
        .workload("hackbench", {"groups": 1, "loops": 5})
        .set("machine.hz", 250)
    )
    made.check()
    assert fg.run(made).digest == fg.run(made.to_toml()).digest


def test_a_copy_of_a_builder_is_its_own() -> None:
    first = builder()
    second = first.copy().hog("c")
    names = [[task["name"] for task in made.to_dict()["workload"][0]["tasks"]] for made in (first, second)]
    assert names == [["a", "b"], ["a", "b", "c"]]


def test_the_page_stands_in_a_frame_and_what_is_in_it_is_escaped() -> None:
    result = fg.run(builder())
    shown = result._repr_html_()
    assert shown.startswith("<iframe") and shown.endswith("</iframe>")
    inside = shown.split('srcdoc="', 1)[1].rsplit('"', 1)[0]
    assert '"' not in inside and "<" not in inside
    assert "What each CPU did" in result.html()


def test_files_are_those_of_the_command(tmp_path: Path) -> None:
    result = fg.run(builder())
    names = ["a.pftrace", "a.csv", "a.html", "a.parquet", "a.hgrm"]
    result.save(*[tmp_path / name for name in names])
    assert sorted(file.name for file in tmp_path.iterdir()) == sorted(names)
    again = fg.replay(tmp_path / "a.csv", machine="smp-1", kernel="6.12")
    assert "recorded" in again.tables["replay"].columns
    with pytest.raises(fg.InputError, match="-o"):
        result.save(tmp_path / "a.unknown")


def test_the_examples_of_the_project_meet_what_they_expect() -> None:
    for name in ("quota", "nice", "half-frequency"):
        assert fg.run(ROOT / f"scenarios/examples/{name}.toml").holds
