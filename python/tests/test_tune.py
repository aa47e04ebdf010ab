"""The tuner finds what is planted, claims nothing where nothing is, and gives one study for one seed."""

from __future__ import annotations

import json
import math
import random
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import fairground as fg
from fairground import _tune_judge as judge

P99 = "wakeup_latency_us.p99"
SLICE = "profile.tunables.base_slice_ns"
NICE = "workload.0.tasks.player.nice"
# Real-time tasks only are held to it, and there are none.
IDLE = "profile.tunables.sched_rt_runtime_us"


def noisy() -> fg.Scenario:
    steps = ["run 1ms..3ms", "sleep 3ms..9ms"]
    return fg.Scenario(duration="200ms", machine="smp-2", kernel="v6.12").hog("hog", count=3).task("player", do=steps, count=2)


def tune(space: Any, objectives: Any = P99, budget: int = 240, **more: Any) -> fg.Tuned:
    return fg.tune(noisy(), space, objectives, budget, progress=False, **{"seeds": 8, "check": 12, **more})


PLANTED = {NICE: list(range(-10, 11, 5)), IDLE: {"from": 500_000, "to": 950_000, "step": 50_000}}


def swept(folder: Path, axes: str, seeds: int) -> list[dict[str, Any]]:
    (folder / "base.toml").write_text(noisy().to_toml())
    file = folder / "sweep.toml"
    file.write_text(f'base = "base.toml"\nmetrics = ["{P99}"]\nseeds = "apart"\n[axes]\n{axes}\nseed = "1..{seeds}"\n')
    return fg.sweep(file, progress=False).tables["sweep"].to_dicts()


def test_equal_arguments_give_an_equal_study() -> None:
    first, second = (tune(PLANTED | {SLICE: {"from": "500us", "to": "10ms", "log": True}}, budget=180, threads=threads) for threads in (1, 2))
    assert first.trials == second.trials and first.check == second.check and first.summary == second.summary
    assert first._repr_html_() == second._repr_html_()
    other = tune(PLANTED | {SLICE: {"from": "500us", "to": "10ms", "log": True}}, budget=64, check=0, sampler_seed=2)
    assert [row[IDLE] for row in other.trials] != [row[IDLE] for row in first.trials[: len(other.trials)]]
    lengths = [row[SLICE] for row in first.trials[1:]]
    assert all(re.fullmatch(r"\d+ns", length) and 500_000 <= int(length[:-2]) <= 10_000_000 for length in lengths)


def test_a_study_goes_on_where_it_was_stopped(tmp_path: Path) -> None:
    whole = tune(PLANTED, check=0)
    journal = tmp_path / "study.jsonl"
    tune(PLANTED, budget=100, check=0, journal=journal)
    kept = journal.read_text().splitlines()
    # As if it had been killed while it wrote its last line.
    journal.write_text("\n".join(kept[:-1]) + "\n" + kept[-1][:20])
    resumed = tune(PLANTED, check=0, journal=journal)
    assert resumed.trials == whole.trials and resumed.front == whole.front and resumed.importance == whole.importance
    assert 0 < resumed.runs < whole.runs
    assert tune(PLANTED, check=0, journal=journal).runs == 0
    with pytest.raises(fg.InputError, match="another study"):
        tune(PLANTED, check=0, journal=journal, sampler_seed=5)
    journal.write_text("rubbish\n")
    with pytest.raises(fg.InputError, match="no trial"):
        tune(PLANTED, check=0, journal=journal)


def test_what_matters_is_told_from_what_does_not_and_the_winner_is_near_the_best(tmp_path: Path) -> None:
    found = tune(PLANTED)
    assert [row["axis"] for row in found.importance] == [NICE, IDLE]
    assert found.importance[0]["share"] > 0.8
    rows = swept(tmp_path, f'"{NICE}" = {PLANTED[NICE]}', 8)
    groups = {nice: [row[P99] for row in rows if row[NICE] == nice] for nice in (-10, -5, 0, 5, 10)}
    best = min(judge.median(group) for group in groups.values())
    assert found.front[0][P99] <= 1.05 * best
    assert found.gain and found.best[NICE] < 0 and found.summary.startswith("A gain was shown")
    assert {row["verdict"] for row in found.check} == {"better"}


class Dice:
    """In place of a sweep: what each run gives is drawn anew, whatever the settings are."""

    def __init__(self, text: str, **_: Any) -> None:
        axes = text.split("[axes]")[1]
        seeds = re.search(r"seed\W+([0-9, ]+)", axes)
        assert seeds is not None
        drawn = ((int(seed), random.Random(axes.split('"seed"')[0] + seed)) for seed in seeds.group(1).split(", "))
        self.rows = [{"seed": seed, "state": "done", P99: dice.lognormvariate(5, 1)} for seed, dice in drawn]

    @property
    def tables(self) -> dict[str, Any]:
        return {"sweep": self}

    def to_dicts(self) -> list[dict[str, Any]]:
        return self.rows


def test_where_nothing_matters_no_gain_is_claimed(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(fg._tune, "sweep", Dice)
        studies = 24
        found = [tune({SLICE: {"from": 500_000 + study, "to": 10**7}}, budget=96, sampler_seed=study) for study in range(studies)]
    # On the seeds of the search nearly every winner is better than the default: that is not what is asked.
    assert sum(study.front[0][P99] < 0.9 * study.trials[0][P99] for study in found) > studies // 2
    gains = sum(study.gain for study in found)
    assert gains <= studies * judge.ERROR, gains
    assert all(study.summary.startswith("No gain") for study in found if not study.gain and "A loss" not in study.summary)
    same = tune({IDLE: {"from": 500_000, "to": 950_000}}, budget=200, seeds=4)
    assert same.best == {} and same.check == [] and same.summary.startswith("No gain was shown")
    assert all(row["share"] == 0 for row in same.importance) and same.importance


def test_trials_that_are_stopped_spare_runs_and_the_winner_stays() -> None:
    stopped, full = (tune(PLANTED, seeds=12, prune=prune, check=0) for prune in (True, False))
    assert stopped.spared > 30 and full.spared == 0
    assert len(stopped.trials) > len(full.trials)
    assert stopped.front[0][P99] <= 1.02 * full.front[0][P99] and stopped.best[NICE] == full.best[NICE]
    assert sum(row["runs"] for row in stopped.trials) == stopped.runs <= 240


def test_a_trial_is_stopped_by_mistake_in_at_most_one_of_twenty() -> None:
    # Coins: all outcomes of eight seeds of which each is lost with a chance of 1/2, looked at after four and six.
    stopped = 0
    for outcome in range(2**8):
        rows = [[float(outcome >> seed & 1)] for seed in range(8)]
        stopped += any(judge.is_clearly_worse(rows[:look], [[[0.5]] * look], ["min"], 2) for look in (4, 6))
    assert 0 < stopped <= 2**8 * judge.ERROR


def test_an_interval_is_that_of_the_sign_test() -> None:
    assert judge.interval(list(range(5)), 0.05) is None
    assert judge.interval(list(range(6)), 0.05) == (0, 5)
    assert judge.interval(list(range(20)), 0.05) == (5, 14)
    assert judge.judge([1.0] * 8, [2.0] * 8, "max", 1.0, 1).verdict == "better"
    assert judge.judge([100.0] * 8, [100.5] * 8, "min", 1.0, 1).verdict == "no difference"
    assert judge.judge([1.0, 2.0] * 4, [2.0, 1.0] * 4, "min", 1.0, 1).verdict == "undecided"


def test_several_objectives_have_a_front_and_places_that_the_search_did_not_see() -> None:
    other = fg.Scenario(duration="200ms", machine="smp-2", kernel="v6.12").hog("hog").task("player", run="2ms", period="7ms")
    space = {NICE: {"from": -10, "to": 10}, "profile.features.RUN_TO_PARITY": [True, False]}
    found = tune(space, {P99: "min", "tasks.hog-0.runtime_ms": "max"}, other_machine="smp-1", other_scenario=noisy().set("seed", 3))
    assert len(found.front) >= 2
    assert [row["tasks.hog-0.runtime_ms"] for row in found.front] == sorted(row["tasks.hog-0.runtime_ms"] for row in found.front)
    places = ["fresh seeds", "machine smp-1", "other scenario"]
    assert [row["where"] for row in found.check] == [place for place in places for _ in range(2)] or found.best == {}
    page = found._repr_html_()
    assert page.count("<svg") == 2 and page.count("<circle") == len(found.trials) and "nan" not in page
    with pytest.raises(fg.InputError, match="hog-0.runtime_ms"):
        tune(space, {P99: "min", "tasks.hog-0.runtime_ms": "max"}, other_scenario=other)


@pytest.mark.skipif(sys.version_info < (3, 11), reason="the text of a scenario is read with tomllib")
def test_the_scenario_of_the_winner_is_what_was_run(tmp_path: Path) -> None:
    space = {NICE: [-10, -5], SLICE: ["2ms", "4ms"], "machine.hz": [250, 1000], "profile.features.RUN_TO_PARITY": [False]}
    found = tune(space, budget=48)
    best = found.best
    axes = "\n".join(f"{json.dumps(name)} = [{json.dumps(value)}]" for name, value in best.items() if "features" not in name)
    rows = swept(tmp_path, axes + '\nfeature = ["NO_RUN_TO_PARITY"]', 2)
    assert set(best) == set(space)
    for row in rows:
        assert fg.run(found.scenario(), seed=row["seed"]).digest == row["digest"]


def test_all_mistakes_are_told_before_anything_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fg._tune, "sweep", lambda *_, **__: pytest.fail("it ran"))
    space = {
        "profile.tunables.base_slice_n": [1],
        "workload.0.tasks.playr.nice": [1],
        NICE: [],
        "machine.hz": [math.nan],
        SLICE: {"form": 1, "to": 3},
        "workload.0.tasks.hog.nice": [0, 400],
        "workload.0.tasks.hog.count": {"from": 5, "to": 1},
        "profile.features.RUN_TO_PARIT": [True],
        "seed": [1, 2],
        IDLE: {"from": 1000, "to": 2000, "step": 10, "log": True},
    }
    with pytest.raises(fg.InputError) as raised:
        tune(space, {"wakeup_latency.p99": "min", "switches": "less"}, 9, worth_pct=math.nan, other_machine="no-such-9")
    found = raised.value.mistakes
    assert {row.path for row in found if row.file == "space"} == set(space)
    assert {row.file for row in found} == {"space", "objectives", "budget", "worth_pct", "other_machine"}
    text = str(raised.value)
    for hint in ("`player`", "`wakeup_latency_us.p99`", "`RUN_TO_PARITY`", "`from`"):
        assert f"Did you mean {hint}?" in text
    for given in ({}, {NICE: [1]}):
        with pytest.raises(fg.InputError, match="no axis|way `switches`"):
            tune(given, ["switches"] if given else P99)


def test_settings_that_cannot_be_run_are_failed_trials() -> None:
    found = tune({"workload.0.tasks.player.cpus": ["0", "1"], "machine.preset": ["smp-1", "smp-2"]}, budget=64, check=0)
    assert {row["state"] for row in found.trials} >= {"done", "failed"}
    assert all(bool(row["why"]) == (row["state"] == "failed") for row in found.trials)


def test_without_optuna_the_error_says_what_to_install() -> None:
    code = "import sys; sys.modules['optuna'] = None\nimport fairground as fg\nfg.tune({}, {}, [], 1)"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert "ImportError" in ran.stderr and "python[tune]" in ran.stderr
