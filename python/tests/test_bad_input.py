"""Whatever comes in, what comes out is an exception that says what is wrong."""

from __future__ import annotations

import datetime
import math
from pathlib import Path
from typing import Any

import pytest

import fairground as fg


def scenario(**keys: Any) -> dict[str, Any]:
    task = {"name": "a", "hog": True} | keys.pop("task", {})
    return {"duration": "10ms", "machine": {"preset": "smp-1"}, "profile": {"kernel": "6.12"}, "workload": [{"tasks": [task]}]} | keys


def mistakes(given: Any, **changes: Any) -> list[fg.Mistake]:
    with pytest.raises(fg.InputError) as raised:
        fg.run(given, **changes)
    assert raised.value.mistakes and all(mistake.message and mistake.hint for mistake in raised.value.mistakes)
    assert len(str(raised.value).splitlines()) >= len(raised.value.mistakes)
    return raised.value.mistakes


def test_all_mistakes_are_told_at_once_by_dotted_path() -> None:
    found = mistakes(scenario(duration=3, sed=1, task={"nice": 99, "hogg": True}))
    assert {"duration", "sed", "workload[0].tasks[0].nice", "workload[0].tasks[0].hogg"} <= {row.path for row in found}
    assert any("seed" in row.hint for row in found if row.path == "sed")


def test_of_a_text_the_line_is_told(tmp_path: Path) -> None:
    text = 'duration = "10ms"\nmachin = 1\n'
    assert [(row.line, row.path) for row in mistakes(text) if "`machin`" in row.message] == [(2, None)]
    file = tmp_path / "a.toml"
    file.write_text(text)
    assert [row.line for row in mistakes(file) if row.file == str(file) and "`machin`" in row.message] == [2]


@pytest.mark.parametrize(
    "value",
    [math.nan, math.inf, -math.inf, 10**30, -(10**30), None, object(), 1 + 2j, b"3ms", {1, 2}, "\ud800", datetime.timedelta(-1), {1: 2}],
)
def test_no_value_that_a_file_cannot_hold_gets_further(value: Any) -> None:
    for given in (scenario(duration=value), scenario(task={"run": value}), scenario(machine={"hz": value})):
        assert all(row.path is not None or ":" in row.message for row in mistakes(given))


@pytest.mark.parametrize("value", [True, -1, 0, 2**63 - 1, 0.5, "", "x", "\n", [], {}, [[]], "9" * 400, "1e99s", "\0"])
def test_no_value_makes_it_panic(value: Any) -> None:
    for key in ("duration", "machine", "profile", "workload", "group", "at", "expect", "window", "seed", "title", "session", "new"):
        try:
            fg.run(scenario(**{key: value}))
        except fg.InputError as error:
            assert error.mistakes
    for key in ("count", "nice", "cpus", "policy", "run", "period", "do", "program", "start", "group"):
        try:
            fg.run(scenario(task={key: value}))
        except fg.InputError as error:
            assert error.mistakes


def test_a_dictionary_that_holds_itself_ends() -> None:
    given = scenario()
    given["machine"]["machine"] = given
    mistakes(given)


@pytest.mark.parametrize("given", [None, 3, 3.5, [], object(), b"a\n"])
def test_what_is_no_scenario_is_a_type_error(given: Any) -> None:
    with pytest.raises((TypeError, fg.WorldError, fg.InputError)):
        fg.run(given)


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"seed": -1}, fg.InputError),
        ({"seed": 2**64}, fg.InputError),
        ({"seed": "one"}, TypeError),
        ({"seed": math.nan}, TypeError),
        ({"duration": 3}, TypeError),
        ({"features": "NEXT_BUDDY"}, TypeError),
        ({"kernl": "v6.12"}, TypeError),
        ({"kernel": "v99"}, fg.InputError),
        ({"machine": "nothing-8"}, (fg.InputError, fg.WorldError)),
        ({"set": {"no_such": 1}}, fg.InputError),
        ({"set": {"machine.hz": math.nan}}, fg.InputError),
        ({"duration": "3 parsecs"}, fg.InputError),
    ],
)
def test_wrong_changes_are_refused(changes: Any, error: Any) -> None:
    with pytest.raises(error):
        fg.run(scenario(), **changes)


def test_a_missing_file_is_an_os_error_that_names_it() -> None:
    for call in (fg.run, fg.replay, fg.explain, fg.latency, fg.conform, fg.advise, fg.sweep, fg.compare):
        with pytest.raises(OSError, match="nothing-here") as raised:
            call("nothing-here.toml")
        assert isinstance(raised.value, fg.WorldError)


def test_a_file_that_cannot_be_written_is_an_os_error(tmp_path: Path) -> None:
    with pytest.raises(fg.WorldError, match="no-folder"):
        fg.run(scenario()).save(tmp_path / "no-folder" / "a.csv")


def test_a_file_of_rubbish_is_an_input_error(tmp_path: Path) -> None:
    file = tmp_path / "rubbish.dat"
    file.write_bytes(bytes(range(256)) * 10)
    for call in (fg.replay, fg.conform, fg.advise, fg.latency, fg.explain):
        with pytest.raises((fg.InputError, fg.WorldError)):
            call(file)


def test_numbers_out_of_range_are_refused_by_each_function() -> None:
    with pytest.raises(fg.InputError, match="worth_pct"):
        fg.compare(scenario(), b="v5.19", worth_pct=math.nan)
    with pytest.raises(fg.InputError, match="both sides"):
        fg.compare(scenario())
    for wrong in (-1, 0, 10**9, 10**30):
        with pytest.raises(fg.InputError, match="runs"):
            fg.compare(scenario(), b="v5.19", runs=wrong)
    with pytest.raises(fg.InputError):
        fg.explain(scenario(), percentile=math.nan)
    with pytest.raises(fg.InputError, match="confidence"):
        fg.advise(scenario(), confidence=3)
    with pytest.raises(fg.InputError, match="sort"):
        fg.latency(scenario(), sort="size")
    with pytest.raises(fg.InputError, match="CPU 77"):
        fg.list_domains("smp-2", cpu=77)
