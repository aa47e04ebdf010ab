"""The space of a tuner: the axes of a sweep, checked by the sweep's own code, as distributions to draw from."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from . import _native
from ._errors import InputError, Mistake
from ._scenario import ScenarioLike, no_changes

_UNITS_NS = {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9, "min": 60 * 10**9, "h": 3600 * 10**9}
_TIME = re.compile(r"^([0-9]+(?:\.[0-9]+)?)\s*(ns|us|ms|s|min|h)$")
_FEATURE = re.compile(r"^(?:profile\.)?features\.([A-Z0-9_]+)$")
_WORDS = ("from", "to", "step", "log", "scale")


@dataclass(frozen=True)
class Axis:
    """One parameter: either choices, or the numbers from ``low`` to ``high``."""

    name: str
    choices: tuple[Any, ...] = ()
    low: int | float = 0
    high: int | float = 0
    step: int | float | None = None
    log: bool = False
    is_time: bool = False

    @property
    def is_ordered(self) -> bool:
        """Choices that are numbers and grow: the place in the list is what is drawn, so that neighbours are neighbours."""
        numbers = all(isinstance(choice, (int, float)) and not isinstance(choice, bool) for choice in self.choices)
        return len(self.choices) > 2 and numbers and all(a < b for a, b in zip(self.choices, self.choices[1:]))

    @property
    def feature(self) -> str | None:
        """The scheduler feature that the axis switches, if it is one of ``profile.features.NAME``."""
        found = _FEATURE.match(self.name)
        return found.group(1) if found else None

    def value(self, drawn: Any) -> Any:
        """What a sweep file would hold for a drawn number or choice."""
        if self.is_ordered:
            return self.choices[drawn]
        return f"{drawn}ns" if self.is_time else drawn


def toml(value: Any) -> str:
    """A value as a TOML file spells it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, str):
        return json.dumps(value)
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{json.dumps(str(key))} = {toml(each)}" for key, each in value.items()) + " }"
    if isinstance(value, Sequence) and not isinstance(value, (bytes, bytearray)):
        return "[" + ", ".join(toml(each) for each in value) + "]"
    raise TypeError(f"a value of an axis is a str, a number or a bool, not {type(value).__name__}")


def axis_lines(axes: Mapping[str, Any]) -> str:
    """``[axes]`` of a sweep file with a line for each; what is called ``set.NAME`` stands in the table ``set``."""
    rows = [f"{json.dumps(name)} = {toml(value)}" for name, value in axes.items() if not name.startswith("set.")]
    sets = {name[4:]: value for name, value in axes.items() if name.startswith("set.")}
    return "\n".join(rows + ([f"set = {toml(sets)}"] if sets else [])) + "\n"


def sweep_text(axes: Mapping[str, Any], seeds: Sequence[int] = (), metrics: Sequence[str] = ()) -> str:
    """A sweep over these axes with a row for each of the seeds; without any, with the scenario's own."""
    head = 'seeds = "apart"\n' + (f"metrics = {toml(list(metrics))}\n" if metrics else "")
    return head + "[axes]\n" + axis_lines({**axes, **({"seed": list(seeds)} if seeds else {})})


def flat(space: Mapping[str, Any]) -> dict[str, Any]:
    """The space with the entries of ``set`` beside the others."""
    found: dict[str, Any] = {}
    for name, value in space.items():
        if name == "set" and isinstance(value, Mapping) and "from" not in value:
            found |= {f"set.{key}": each for key, each in value.items()}
        else:
            found[str(name)] = value
    return found


def _length_ns(value: Any) -> Fraction | None:
    found = _TIME.match(value.strip()) if isinstance(value, str) else None
    return Fraction(found.group(1)) * _UNITS_NS[found.group(2)] if found else None


def _number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _size(value: Any) -> Any:
    """A number, or a length of time in ns; None of anything else."""
    return value if _number(value) else _length_ns(value)


def read_axis(name: str, given: Any) -> Axis | Mistake:
    """The axis of a value that the sweep's own check let through."""

    def wrong(message: str, hint: str) -> Mistake:
        return Mistake("space", None, name, message, hint)

    if isinstance(given, str) and (ends := re.match(r"^\s*(-?[0-9]+)\.\.(-?[0-9]+)\s*$", given)):
        return Axis(name, low=int(ends.group(1)), high=int(ends.group(2)))
    if not isinstance(given, Mapping):
        choices = tuple(given) if isinstance(given, Sequence) and not isinstance(given, str) else (given,)
        return Axis(name, choices=tuple(dict.fromkeys(choices)) if len({type(each) for each in choices}) == 1 else choices)
    low: Any = given.get("from")
    high: Any = given.get("to")
    step: Any = given.get("step")
    log = given.get("log") is True or given.get("scale") == "log"
    is_time = isinstance(low, str)
    if is_time:
        low, high, step = _length_ns(low), _length_ns(high), None if step is None else _length_ns(step)
        if low is None or high is None or ("step" in given and step is None):
            return wrong("`from`, `to` and `step` are not all lengths of time", 'Such as `{"from": "1ms", "to": "8ms"}`.')
        low, high, step = int(low), int(high), None if step is None else int(step)
    if not _number(low) or not _number(high) or (step is not None and not _number(step)):
        return wrong("`from`, `to` and `step` are not all numbers", "Numbers, or lengths of time in all of them.")
    if log and step is not None:
        return wrong("`step` and `log` are both given", "A logarithmic axis has no steps: leave one out.")
    if log and low <= 0:
        return wrong("a logarithmic axis begins at 0 or below", "Begin above 0, or leave `log` out.")
    if step is not None and not 0 < step <= high - low:
        return wrong(f"`step` is {step}", "A step is above 0, and at most from `from` to `to`.")
    if not all(isinstance(each, int) for each in (low, high) + (() if step is None else (step,))):
        low, high, step = float(low), float(high), None if step is None else float(step)
    return Axis(name, low=low, high=high, step=step, log=log, is_time=is_time)


def _words(name: str, given: Mapping[str, Any]) -> list[Mistake]:
    found = []
    for word in given:
        if word in ("count", "random", "seed"):
            found.append(Mistake("space", None, name, f"`{word}` makes points for a sweep", "A tuner draws its own: leave it out."))
        elif word not in _WORDS:
            near = difflib.get_close_matches(str(word), _WORDS, 1)
            hint = f"Did you mean `{near[0]}`?" if near else f"It knows {', '.join(f'`{each}`' for each in _WORDS)}."
            found.append(Mistake("space", None, name, f"unknown key `{word}`", hint))
    return found


def _as_swept(given: Any) -> Any:
    """What a sweep is asked to check: of a range without steps its two ends."""
    if not isinstance(given, Mapping):
        return given
    ends = {key: given[key] for key in ("from", "to", "step") if key in given}
    if given.get("log") is True or "scale" in given:
        ends["scale"] = given.get("scale", "log")
    low, high, step = (_size(given.get(key)) for key in ("from", "to", "step"))
    many = step is not None and low is not None and high is not None and 0 < step * 1000 < high - low
    if "step" not in ends or many:
        ends = {key: value for key, value in ends.items() if key != "step"} | {"count": 2}
    return ends


def written(scenario: ScenarioLike, *, machine: str | None = None, features: Sequence[str] = ()) -> str:
    """The scenario as a file, on another machine or with other features."""
    return _native.written(scenario, no_changes() | {"machine": machine, "features": list(features)})


def check_axes(text: str, axes: Mapping[str, Any], place: str) -> list[Mistake]:
    """All mistakes of these axes for the scenario of this text. Each axis is checked by itself, by the code of ``sweep``."""
    found: list[Mistake] = []
    for name, given in axes.items():
        switched = Axis(name).feature
        if name == "seed":
            found.append(Mistake(place, None, name, "the seeds are no parameter", "They are drawn by the tuner: `seeds=12`."))
            continue
        if isinstance(given, Mapping) and (words := _words(name, given)):
            found += words
            continue
        if switched is not None:
            found += _check_feature(text, name, switched, given, place)
            continue
        try:
            _native.SweepPlan(sweep_text({name: _as_swept(given)}, [1]), text, None, False)
        except InputError as error:
            found += [Mistake(place, None, name, row.message, row.hint) for row in error.mistakes]
        except TypeError as error:
            found.append(Mistake(place, None, name, str(error), "Write a list, or `{\"from\": 1, \"to\": 9}`."))
    return found


def _check_feature(text: str, name: str, feature: str, given: Any, place: str) -> list[Mistake]:
    if not isinstance(given, Sequence) or not given or not all(isinstance(each, bool) for each in given):
        return [Mistake(place, None, name, "the values of a feature are not all True or False", "Write `[True, False]`.")]
    try:
        written(text, features=[feature])
    except InputError as error:
        return [Mistake(place, None, name, row.message.removeprefix("--feature: "), row.hint) for row in error.mistakes]
    return []


def check_metrics(text: str, metrics: Sequence[str]) -> list[Mistake]:
    """Objectives that a run of this scenario does not have, by the code that checks ``[expect]``."""
    kept, inside = [], False
    for line in text.splitlines():
        if line.startswith("["):
            inside = line.startswith("[expect")
        if not inside:
            kept.append(line)
    rows = [f"{json.dumps(metric)} = {{ min = 0 }}" for metric in metrics]
    try:
        written("\n".join([*kept, "[expect]", *rows]) + "\n")
    except InputError as error:
        rows_wrong = [row for row in error.mistakes if "no metric" in row.message]
        return [Mistake("objectives", None, None, row.message, row.hint) for row in rows_wrong]
    return []


def parted(text: str, values: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """The scenario with those values that are features, and the others as axes of a single value."""
    features, axes = [], {}
    for name, value in values.items():
        feature = Axis(name).feature
        if feature is None:
            axes[name] = [value]
        else:
            features.append(feature if value else f"NO_{feature}")
    return written(text, features=features), axes


def applied(text: str, values: Mapping[str, Any]) -> str:
    """The text of the scenario with these values of axes: that of the only point of a sweep."""
    base, axes = parted(text, values)
    return _native.SweepPlan(sweep_text(axes), base, None, False).scenario(0) if axes else base
