"""The other commands: each gives what the command of the same name does."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

import fairground as fg
from fairground import _native
from fairground._native import SweepPlan

ROOT = Path(__file__).resolve().parents[2]
PLAYER = ROOT / "scenarios/examples/hog-and-player.toml"
SET = ROOT / "recordings/k6.1-press-8cpu/c_press24_120"


def test_compare_finds_what_a_kernel_changes() -> None:
    report = fg.compare(PLAYER, a="v5.19", b="v6.12", runs=8, metrics=["wakeup_latency_us.p99"])
    assert report.command == "compare" and report.exit_code in (0, 1, 4)
    assert "v6.12" in report.summary
    assert len(report.tables["compare"]) == 1 and report.html().startswith("<!")
    assert report._repr_html_().startswith("<iframe")


def test_compare_of_two_recordings(tmp_path: Path) -> None:
    files = [tmp_path / "a.csv", tmp_path / "b.csv"]
    for seed, file in enumerate(files):
        fg.run(PLAYER, seed=seed + 1, duration="2s").save(file)
    report = fg.compare(files[0], files[1], tasks=["player"])
    assert report.tables and report.summary


def test_explain_says_why_a_task_was_late() -> None:
    report = fg.explain(PLAYER, task="player", duration="1s")
    assert "player" in report.summary and report.tables and report.document["command"] == "explain"
    assert "<table>" in report._repr_html_() and "<pre style" in report._repr_html_()
    with pytest.raises(fg.InputError, match="playr"):
        fg.explain(PLAYER, task="playr", duration="1s")


def test_latency_of_a_scenario_and_of_its_trace_are_equal(tmp_path: Path) -> None:
    made = fg.Scenario(duration="200ms", machine="smp-1", kernel="6.12").hog("hog").task("player", run="3ms", period="16ms")
    fg.run(made).save(tmp_path / "a.csv")
    of_run, of_trace = fg.latency(made), fg.latency(tmp_path / "a.csv")
    first = list(of_run.tables)[0]
    assert of_run.tables[first].to_dicts() == of_trace.tables[first].to_dicts()


def test_conform_and_replay_of_a_recorded_set() -> None:
    report = fg.conform(SET)
    assert report.summary and report.tables and report.document["command"] == "conform"
    result = fg.run(SET)
    assert "expect" in " ".join(result.tables) and "figures" in result.document


def test_advise_finds_a_limit() -> None:
    report = fg.advise(ROOT / "scenarios/examples/service.toml", goals="p99=50ms", seeds=20)
    assert report.exit_code in (0, 1, 4) and report.tables and report.document["command"] == "advise"


def test_a_sweep_is_a_file_a_text_or_a_dictionary(tmp_path: Path) -> None:
    base = fg.Scenario(duration="50ms", machine="smp-2", kernel="v6.12").hog("hog", count=2)
    (tmp_path / "base.toml").write_text(base.to_toml())
    (tmp_path / "sweep.toml").write_text("base = 'base.toml'\n[axes]\n'workload.0.tasks.hog.count' = [1, 2, 3]\n")
    axes = {"workload.0.tasks.hog.count": [1, 2, 3]}
    rows = [
        fg.sweep(tmp_path / "sweep.toml", journal=tmp_path / "journal").tables["sweep"].to_dicts(),
        fg.sweep({"axes": axes}, base=base).tables["sweep"].to_dicts(),
        fg.sweep({"axes": axes, "base": base.to_dict()}).tables["sweep"].to_dicts(),
        fg.sweep("[axes]\n'workload.0.tasks.hog.count' = [1, 2, 3]\n", base=tmp_path / "base.toml").tables["sweep"].to_dicts(),
    ]
    assert all(other == rows[0] for other in rows)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["base.toml", "journal", "sweep.toml"]
    with pytest.raises(fg.InputError, match="Did you mean `hog`|no entry `hgo`"):
        fg.sweep({"axes": {"workload.0.tasks.hgo.count": [1]}}, base=base)


def test_the_scenario_of_a_run_of_a_sweep_has_the_digest_of_its_row() -> None:
    base = fg.Scenario(duration="50ms", machine="smp-2", kernel="v6.12").hog("hog", count=3).task("a", run="1ms", period="4ms").to_toml()
    axes = "[axes]\n'workload.0.tasks.a.nice' = [0, 5]\n'profile.tunables.base_slice_ns' = ['1ms', '4ms']\nseed = [7]\n"
    plan = _native.SweepPlan(axes, base, None, True)
    rows = fg.sweep(axes, base=base, seeds_apart=True).tables["sweep"].to_dicts()
    digests = [fg.run(plan.scenario(number)).digest for number in range(len(plan))]
    assert digests == [row["digest"] for row in rows] and len(set(digests)) == 4
    with pytest.raises(IndexError, match="run 4 of 4"):
        plan.scenario(4)


def test_sweep_has_a_row_for_each_run_and_goes_on_where_it_was(tmp_path: Path) -> None:
    (tmp_path / "base.toml").write_text("duration = '20ms'\nworkload = [{ tasks = [{ name = 'a', hog = true, count = 3 }] }]\n")
    (tmp_path / "sweep.toml").write_text("base = 'base.toml'\naxes = { profile = ['v5.19', 'v6.12'], machine = ['smp-1', 'smp-2'] }")
    first = fg.sweep(tmp_path / "sweep.toml")
    again = fg.sweep(tmp_path / "sweep.toml")
    assert len(first.tables["sweep"]) == 4
    assert first.tables["sweep"].to_dicts() == again.tables["sweep"].to_dicts()


def test_sweep_takes_a_text_a_dictionary_and_any_base(tmp_path: Path) -> None:
    base = fg.Scenario(duration="20ms", machine="smp-1").hog("a", count=3)
    as_dict = {"axes": {"workload.0.tasks.0.nice": [0, 5], "seed": "1..3"}, "metrics": ["switches"]}
    of_dict = fg.sweep(as_dict, base=base)
    text = 'metrics = ["switches"]\n[axes]\n"workload.0.tasks.0.nice" = [0, 5]\nseed = "1..3"\n'
    of_text = fg.sweep(text, base=base.to_toml(), journal=tmp_path / "journal")
    assert of_dict.tables["sweep"].to_dicts() == of_text.tables["sweep"].to_dicts() and len(of_dict.tables["sweep"]) == 2
    assert len((tmp_path / "journal").read_text().splitlines()) == 1 + 6 and list(tmp_path.iterdir()) == [tmp_path / "journal"]
    assert len(fg.sweep(as_dict | {"base": base.to_dict()}, seeds_apart=True).tables["sweep"]) == 6
    with pytest.raises(fg.InputError) as wrong:
        fg.sweep({"axes": {"workload.0.tasks.0.nice": [0, 99]}}, base={"duration": "1s", "machine": {"preset": "smp-1"}, "workload": [{"tasks": [{"name": "a", "hogg": True}]}]})
    paths = {(mistake.file, mistake.path) for mistake in wrong.value.mistakes}
    assert ("base", "workload[0].tasks[0].hogg") in paths, wrong.value


def test_a_sweep_is_made_in_parts_without_any_file_of_its_beginning(tmp_path: Path) -> None:
    rtapp = '{"tasks": {"a": {"loop": 5, "run": 1000, "sleep": 4000}}, "global": {"duration": 1}}'
    (tmp_path / "a.json").write_text(rtapp)
    base = "duration = '20ms'\nmachine = { preset = 'smp-1' }\nworkload = [{ rtapp = 'a.json' }]\n"
    (tmp_path / "base.toml").write_text(base)
    (tmp_path / "sweep.toml").write_text("base = 'base.toml'\naxes = { profile = ['v5.19', 'v6.12'], seed = '1..3' }")
    here = fg.sweep(tmp_path / "sweep.toml", journal=tmp_path / "here")
    plan = SweepPlan(tmp_path / "sweep.toml", None, None, False)
    carried = pickle.loads(pickle.dumps(plan.carried()))
    for file in ("a.json", "base.toml"):
        (tmp_path / file).unlink()
    assert plan.open(tmp_path / "there", False) == list(range(len(plan))) == list(range(6))
    for first in (4, 2, 0):
        assert plan.note(SweepPlan.of_carried(carried).run_lines(first, first + 2)) == 2
    assert plan.finish().document == here.document
    lines = [sorted((tmp_path / name).read_text().splitlines()) for name in ("here", "there")]
    assert lines[0] == lines[1]
    with pytest.raises(RuntimeError, match="not open"):
        plan.finish()


def test_lists_have_a_name_and_a_sentence() -> None:
    for table in (fg.list_profiles(), fg.list_machines(), fg.list_features(), fg.list_reasons()):
        assert all(row["name"] and row["sentence"] for row in table.to_dicts())
    assert any(row["name"] == "v6.12" for row in fg.list_profiles().to_dicts())
    assert len(fg.list_domains("smp-2", "v6.12")) > 0


def test_the_block_of_the_readme_runs(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for file in (ROOT / "README.md", ROOT / "python/README.md", ROOT / "docs/python.md"):
        blocks = file.read_text().split("```python\n")[1:]
        assert blocks, file
        space: dict[str, object] = {}
        for block in blocks:
            exec(compile(block.split("```")[0], str(file), "exec"), space)
    assert capsys.readouterr().out
