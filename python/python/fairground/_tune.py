"""Tuning: settings of a scenario that are better in one objective or several, found by Optuna's ask and tell."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from math import isfinite
from os import PathLike
from typing import Any, Union

from . import _native, _tune_space
from ._errors import InputError, Mistake
from ._functions import _whole, sweep
from ._lists import list_metrics
from ._progress import Bar, Progress
from ._scenario import ScenarioLike
from ._tune_judge import Direction, dominates, is_clearly_worse, judge, median
from ._tune_journal import Journal
from ._tune_optuna import new_study, optuna
from ._tune_result import Tuned
from ._tune_space import Axis

_FRESH_SEED = 1_000_001
_REPEATS = 50
"""So many proposals in a row that were tried before end a study: the sampler has nothing new."""

Objectives = Union[str, Sequence[str], Mapping[str, Direction]]
"""A metric, several, or ``{"tasks.build.runtime_ms": "max"}`` where a metric does not say by itself which way is better."""


@dataclass
class Trial:
    """Settings that were tried. ``values`` is None for the default settings."""

    number: int
    values: dict[str, Any] | None
    rows: list[list[float]] = field(default_factory=list)
    state: str = "done"
    why: str | None = None

    @property
    def medians(self) -> list[float]:
        return [median([row[place] for row in self.rows]) for place in range(len(self.rows[0]))]


class Lab:
    """Runs settings of one scenario, and counts the runs."""

    def __init__(self, text: str, metrics: Sequence[str], threads: int, bar: Bar, total: int) -> None:
        self._text, self._metrics, self._threads, self._bar, self._total = text, list(metrics), threads, bar, total
        self.runs = 0

    def measure(self, values: Mapping[str, Any] | None, seeds: Sequence[int], text: str | None = None) -> list[list[float]] | str:
        """The objectives of each seed, or what went wrong: a sweep of one point, of this scenario or of another one's text."""
        base, axes = _tune_space.parted(text or self._text, values or {})
        try:
            plan = _tune_space.sweep_text(axes, seeds, self._metrics)
            rows = sweep(plan, base=base, threads=self._threads, progress=False).tables["sweep"].to_dicts()
        except InputError as error:
            return str(error.mistakes[0].message)
        self.runs += len(seeds)
        if self._bar.tell is not None:
            self._bar.tell(min(self.runs, self._total), self._total)
        found = []
        for row in rows:
            if row["state"] != "done":
                return str(row.get("error") or row["state"])
            figures = [row.get(metric) for metric in self._metrics]
            for metric, figure in zip(self._metrics, figures):
                if figure is None:
                    return f"the run of seed {row['seed']} has no metric `{metric}`"
            found.append([float(figure) for figure in figures if figure is not None])
        return found


class Study:
    """The search: asks the sampler, runs, stops what is clearly worse, tells."""

    def __init__(self, axes: Sequence[Axis], directions: Sequence[Direction], seeds: int, sampler_seed: int, prune: bool) -> None:
        self.axes, self._directions, self.seeds = axes, directions, list(range(1, seeds + 1))
        self._looks = [at for at in dict.fromkeys(((seeds + 1) // 2, 3 * seeds // 4)) if prune and 0 < at < seeds]
        self.optuna = new_study(directions, sampler_seed, multivariate=len(axes) > 1)
        self._distributions = {axis.name: _distribution(axis) for axis in axes}
        self.trials: list[Trial] = []
        self.exhausted = False

    def front(self) -> list[Trial]:
        """Finished trials that no other one dominates; of equal ones the first."""
        done = list({tuple(trial.medians): trial for trial in reversed(self.trials) if trial.state == "done"}.values())[::-1]
        return [each for each in done if not any(dominates(other.medians, each.medians, self._directions) for other in done)]

    def go(self, lab: Lab, budget: int, journal: Journal) -> None:
        """Goes on while a whole trial fits in the budget."""
        spent = self._try(Trial(0, None), lab, journal)
        seen: dict[str, Trial] = {}
        repeats = 0
        while spent + len(self.seeds) <= budget:
            asked = self.optuna.ask(self._distributions)
            values = {axis.name: axis.value(asked.params[axis.name]) for axis in self.axes}
            key = json.dumps(values)
            if key in seen:
                repeats += 1
                self._tell(asked, seen[key])
                if repeats == _REPEATS:
                    self.exhausted = True
                    return
                continue
            repeats = 0
            seen[key] = Trial(len(self.trials), values)
            spent += self._try(seen[key], lab, journal)
            self._tell(asked, seen[key])

    def _tell(self, asked: Any, trial: Trial) -> None:
        # A trial that was stopped is told with what its seeds gave so far: Optuna prunes with one objective only.
        if trial.state == "failed":
            self.optuna.tell(asked, state=optuna().trial.TrialState.FAIL)
        else:
            self.optuna.tell(asked, trial.medians)

    def _try(self, trial: Trial, lab: Lab, journal: Journal) -> int:
        """Runs a trial, or reads it from the journal. How many runs it is worth."""
        noted = journal.read(trial.number, trial.values)
        if noted is not None:
            trial.rows, trial.state, trial.why = noted["rows"], noted["state"], noted["why"]
            self.trials.append(trial)
            return int(noted["runs"])
        references = [each.rows for each in self.front()]
        at = 0
        for end in [*self._looks, len(self.seeds)]:
            found = lab.measure(trial.values, self.seeds[at:end])
            if isinstance(found, str):
                trial.state, trial.why = "failed", found
                break
            trial.rows += found
            if end < len(self.seeds) and is_clearly_worse(trial.rows, references, self._directions, len(self._looks)):
                trial.state = "pruned"
                break
            at = end
        self.trials.append(trial)
        # A trial that failed is charged for all its seeds, so that a space of failures ends.
        runs = len(self.seeds) if trial.state == "failed" else len(trial.rows)
        journal.note(trial.number, trial.values, {"rows": trial.rows, "state": trial.state, "why": trial.why, "runs": runs})
        return runs


def _distribution(axis: Axis) -> Any:
    made = optuna().distributions
    if axis.is_ordered:
        return made.IntDistribution(0, len(axis.choices) - 1)
    if axis.choices:
        return made.CategoricalDistribution(axis.choices)
    if isinstance(axis.low, int) and isinstance(axis.high, int):
        step = int(axis.step or 1)
        return made.IntDistribution(axis.low, axis.high - (axis.high - axis.low) % step, step=step, log=axis.log)
    return made.FloatDistribution(axis.low, axis.high, step=axis.step, log=axis.log)


def _read_objectives(objectives: Objectives) -> tuple[dict[str, Direction], list[Mistake]]:
    """Each metric and which way is better."""
    given: dict[str, Any] = {}
    found: list[Mistake] = []
    if isinstance(objectives, Mapping):
        given = {str(name): way for name, way in objectives.items()}
    else:
        better = {row["name"]: row["better"] for row in list_metrics().to_dicts()}
        for name in [objectives] if isinstance(objectives, str) else objectives:
            given[name] = _way(name, better)
    for name, way in given.items():
        if way not in ("min", "max"):
            hint = f'Write `{{"{name}": "min"}}` or `"max"`.'
            found.append(Mistake("objectives", None, None, f"it is not said which way `{name}` is better", hint))
    if not given:
        found.append(Mistake("objectives", None, None, "there is no objective", 'Such as `["wakeup_latency_us.p99"]`.'))
    return given, found


def _way(name: str, better: Mapping[str, str]) -> str | None:
    """Which way a metric is better, by the most special row of the list of metrics, where words of capital letters stand for names."""
    stands = re.compile("[A-Z][A-Z_]+")
    fitting = [pattern for pattern in better if re.fullmatch(stands.sub(".+", re.escape(pattern)), name)]
    special = max(fitting, key=lambda pattern: len(stands.sub("", pattern)), default="")
    return {"lower": "min", "higher": "max"}.get(better.get(special, ""))


def tune(
    scenario: ScenarioLike,
    space: Mapping[str, Any],
    objectives: Objectives,
    budget: int,
    *,
    seeds: int = 12,
    prune: bool = True,
    sampler_seed: int = 1,
    check: int = 16,
    worth_pct: float = 1.0,
    other_machine: str | None = None,
    other_scenario: ScenarioLike | None = None,
    journal: str | PathLike[str] | None = None,
    threads: int = 0,
    progress: Progress = True,
) -> Tuned:
    """Looks for settings that are better than those of the scenario, and checks the winner with seeds that the search did not see.

    The settings of the scenario itself are trial 0. All trials have the same seeds. Equal arguments give an equal study, with one
    version of fairground and of Optuna, which must be installed (``pip install './python[tune]'``).

    :param scenario: see :data:`ScenarioLike`.
    :param space: axes as in a sweep file: a path and a list of values, or ``{"from": 1, "to": 9}`` with ``"step"`` or ``"log": True``;
        and ``profile.features.NAME`` with ``[True, False]``.
    :param objectives: see :data:`Objectives`. The winner is the best in the first one among the trials that keep all others.
    :param budget: runs that the search may make; the check makes others.
    :param seeds: runs of a trial.
    :param prune: stops a trial after half or three quarters of its seeds, if a trial of the front dominates it there by a sign test.
    :param check: pairs of fresh seeds of the winner and the default on each place; 0 is no check.
    :param worth_pct: the smallest effect that matters, in percent of the default's median.
    :param other_machine: a machine that the search does not see, for the check.
    :param other_scenario: a scenario that the search does not see, for the check.
    :param journal: a file where finished trials are noted: the same call goes on where it was stopped, also with a larger budget.
    :param threads: 0 is one per CPU of this host.
    :raises InputError: with all mistakes, before anything runs; if the journal is of another study; if the default cannot be run.
    :raises ImportError: without Optuna.
    """
    optuna()
    text = _tune_space.written(scenario)
    ways, mistakes = _read_objectives(objectives)
    axes = _tune_space.flat(space)
    places = [("fresh seeds", text)]
    wrong = {"seeds": (seeds, 1, 10_000), "sampler_seed": (sampler_seed, 0, 2**32 - 1), "check": (check, 0, 10_000), "budget": (budget, 0, 10**9), "threads": (threads, 0, 1024)}
    for name, (value, least, most) in wrong.items():
        try:
            _whole(name, value, least, most)
        except InputError as error:
            mistakes += error.mistakes
    if not (isfinite(worth_pct) and 0 <= worth_pct <= 100):
        mistakes.append(Mistake("worth_pct", None, None, f"{worth_pct} is out of bounds", "A number from 0 to 100."))
    if budget < 2 * seeds:
        hint = f"At least {2 * seeds}; better 20 trials or more, {20 * seeds}."
        mistakes.append(Mistake("budget", None, None, f"{budget} runs are too few for the default and one other trial of {seeds} seeds", hint))
    if not axes:
        mistakes.append(Mistake("space", None, None, "there is no axis", 'Such as `{"profile.tunables.base_slice_ns": {"from": 500_000, "to": 10_000_000}}`.'))
    refused = _tune_space.check_axes(text, axes, "space")
    read = [_tune_space.read_axis(name, given) for name, given in axes.items() if name not in {row.path for row in refused}]
    mistakes += refused + [each for each in read if isinstance(each, Mistake)]
    mistakes += _tune_space.check_metrics(text, list(ways))
    for name, given, machine in (("other_machine", scenario, other_machine), ("other_scenario", other_scenario, None)):
        if given is None or (name == "other_machine" and machine is None):
            continue
        try:
            other = _tune_space.written(given, machine=machine)
        except InputError as error:
            mistakes += [Mistake(name, row.line, row.path, row.message, row.hint) for row in error.mistakes]
            continue
        known = {key: value for key, value in axes.items() if key not in {row.path for row in refused}}
        mistakes += _tune_space.check_axes(other, known, name)
        mistakes += [Mistake(name, None, None, row.message, row.hint) for row in _tune_space.check_metrics(other, list(ways))]
        places.append((f"machine {machine}" if machine is not None else "other scenario", other))
    if mistakes:
        raise InputError(mistakes)
    # What decides the trials. The budget does not: a study may go on with a larger one.
    decides = [_native.__VERSION__, optuna().__version__, text, {key: _tune_space.toml(value) for key, value in axes.items()}, ways, seeds, sampler_seed, prune]
    notes = Journal(journal, sha256(json.dumps(decides).encode()).hexdigest()[:32])
    study = Study([each for each in read if isinstance(each, Axis)], list(ways.values()), seeds, sampler_seed, prune)
    with Bar(progress, "tuning") as bar:
        lab = Lab(text, list(ways), threads, bar, budget)
        study.go(lab, budget, notes)
        default = study.trials[0]
        if default.state == "failed":
            raise InputError([Mistake("scenario", None, None, f"the default settings cannot be run: {default.why}", "Mend the scenario first.")])
        best = _winner(study, list(ways.values()), worth_pct)
    checked, runs = [], lab.runs
    if best.number != 0 and check:
        with Bar(progress, "checking") as bar:
            checker = Lab(text, list(ways), threads, bar, 2 * check * len(places))
            for place, base in places:
                checked += _check(checker, place, base, best.values or {}, ways, check, worth_pct)
        runs += checker.runs
    return Tuned(study, text, ways, best, checked, runs)


def _winner(study: Study, directions: Sequence[Direction], worth_pct: float) -> Trial:
    """The best in the first objective among finished trials that are worse than the default by ``worth_pct`` in no other one."""
    default = study.trials[0].medians
    signs = [1 if direction == "min" else -1 for direction in directions]

    def keeps(trial: Trial) -> bool:
        losses = [sign * (now - before) - abs(before) * worth_pct / 100 for sign, now, before in zip(signs, trial.medians, default)]
        return all(loss <= 0 for loss in losses[1:])

    able = [trial for trial in study.trials if trial.state == "done" and keeps(trial)]
    return min(able, key=lambda trial: ([sign * value for sign, value in zip(signs, trial.medians)], trial.number))


def _check(
    lab: Lab, place: str, text: str, values: Mapping[str, Any], ways: Mapping[str, Direction], pairs: int, worth_pct: float
) -> list[dict[str, Any]]:
    """The verdicts of the winner against the default at one place, over seeds that the search did not see."""
    seeds = range(_FRESH_SEED, _FRESH_SEED + pairs)
    default, winner = lab.measure(None, seeds, text), lab.measure(values, seeds, text)
    found = []
    for number, (metric, way) in enumerate(ways.items()):
        row = {"where": place, "objective": metric, "pairs": pairs}
        failed = default if isinstance(default, str) else winner if isinstance(winner, str) else None
        if failed is not None or isinstance(default, str) or isinstance(winner, str):
            empty = dict.fromkeys(("default", "winner", "effect", "effect_pct", "low", "high"))
            found.append(row | empty | {"verdict": f"cannot be run: {failed}"})
            continue
        sides = [each[number] for each in default], [each[number] for each in winner]
        found.append(row | judge(*sides, way, worth_pct, len(ways)).to_dict())
    return found
