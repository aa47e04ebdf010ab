"""What a tuner found."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from . import _tune_space
from ._tune_judge import Direction
from ._tune_optuna import importances, optuna
from ._tune_page import page

if TYPE_CHECKING:
    from ._tune import Study, Trial

_LEAST_TRIALS = 20
"""Fewer trials have no importance: the best quarter would be fewer than five."""


def figure(metric: str, value: float | None, *, sign: bool = False) -> str:
    """A value in the unit of the metric's name."""
    if value is None:
        return "-"
    unit = re.search(r"_(ns|us|ms|pct)(?=\.|$)", metric)
    word = {"pct": " %"}.get(unit.group(1), f" {unit.group(1)}") if unit else ""
    return (f"{value:+.4g}" if sign else f"{value:.4g}") + word


class Tuned:
    """What :func:`fairground.tune` found. ``pandas.DataFrame(tuned.trials)`` and ``polars.DataFrame(tuned.trials)`` make tables of
    its lists. Values of metrics are in the unit of their names."""

    def __init__(
        self, study: Study, text: str, ways: Mapping[str, Direction], best: Trial, check: Sequence[Mapping[str, Any]], runs: int
    ) -> None:
        self._study, self._text, self._ways, self._best = study, text, dict(ways), best
        self._front = {trial.number for trial in study.front()}
        self.check: list[dict[str, Any]] = [dict(row) for row in check]
        """The winner against the default over pairs of fresh seeds, a row for each objective and place: ``where``, ``objective``,
        ``pairs``, the medians ``default`` and ``winner``, ``effect`` (the median of the differences), ``effect_pct``, its interval
        ``low`` and ``high``, and ``verdict``: better, worse, no difference, undecided. Empty if the default won."""
        self.runs: int = runs
        """Runs of the search that were made now, without those that stood in the journal and without the check."""
        self.spared: int = sum(len(study.seeds) - len(trial.rows) for trial in study.trials if trial.state == "pruned")
        """Runs that were not needed, since their trials were stopped."""
        self.importance: list[dict[str, Any]] = self._importance()
        """The share of each axis in reaching the best quarter of the trials, a row for each axis and objective: ``objective``,
        ``axis``, ``share`` (all shares of an objective add up to 1, or are 0 if nothing varied). Empty below 20 trials."""

    @property
    def trials(self) -> list[dict[str, Any]]:
        """All trials in their order: ``trial``, ``state`` (done, pruned, failed), ``runs``, ``front``, ``why`` it failed, the axes
        (None in trial 0, the default settings), and the medians of the objectives over the seeds that were run."""
        return [self._row(trial) for trial in self._study.trials]

    def _row(self, trial: Trial) -> dict[str, Any]:
        axes = {axis.name: (trial.values or {}).get(axis.name) for axis in self._study.axes}
        medians = dict(zip(self._ways, trial.medians)) if trial.state != "failed" else dict.fromkeys(self._ways)
        head = {"trial": trial.number, "state": trial.state, "runs": len(trial.rows), "front": trial.number in self._front, "why": trial.why}
        return head | axes | medians

    @property
    def front(self) -> list[dict[str, Any]]:
        """The Pareto front: finished trials than which no other one is better in one objective and worse in none, as in ``trials``,
        ordered by the first objective. With one objective it is the best trial."""
        first = next(iter(self._ways))
        return sorted((row for row in self.trials if row["front"]), key=lambda row: (row[first], row["trial"]))

    @property
    def best(self) -> dict[str, Any]:
        """The values of the winner, by axis; empty if the default won."""
        return dict(self._best.values or {})

    def scenario(self) -> str:
        """The scenario with the winner's values, as a file: ready for :func:`fairground.run`."""
        return _tune_space.applied(self._text, self.best)

    @property
    def gain(self) -> bool:
        """Whether the check with fresh seeds showed that the winner is better in one objective and worse in none."""
        verdicts = [row["verdict"] for row in self.check if row["where"] == "fresh seeds"]
        return "better" in verdicts and set(verdicts) <= {"better", "no difference", "undecided"}

    @property
    def summary(self) -> str:
        """The answer first: whether the winner is better than the default, with intervals; then how it was found."""
        states = [trial.state for trial in self._study.trials]
        settings = ", ".join(f"{name} = {value}" for name, value in self.best.items()) or "the default settings"
        counts = f"{len(states)} trials of up to {len(self._study.seeds)} seeds, {states.count('pruned')} stopped early"
        counts += f" ({self.spared} runs spared), {states.count('failed')} failed; {len(self._front)} on the front"
        lines = [self._answer(), f"winner      {settings}", f"search      {counts}"]
        if self._study.exhausted:
            lines.append("            it ended before its budget: the sampler proposed nothing new")
        lines += [f"{'check' if not number else '':12}{self._checked(row)}" for number, row in enumerate(self.check)]
        for metric in self._ways:
            shares = [f"{row['axis']} {100 * row['share']:.0f} %" for row in self.importance if row["objective"] == metric]
            if shares:
                lines.append(f"importance  for {metric}: {', '.join(shares)}")
        return "\n".join(lines)

    def _answer(self) -> str:
        fresh = [row for row in self.check if row["where"] == "fresh seeds"]
        better = [self._effect(row) for row in fresh if row["verdict"] == "better"]
        worse = [self._effect(row) for row in fresh if row["verdict"] == "worse"]
        if self._best.number == 0:
            return "No gain was shown: no trial was better than the default in the first objective while it kept the others."
        if not fresh:
            return "Not checked: the winner was best on the seeds of the search, which favour it."
        if any(row["verdict"].startswith("cannot") for row in fresh):
            return f"No gain was shown: {fresh[0]['verdict']}."
        if better and worse:
            return f"A trade: with fresh seeds the winner is better in {', '.join(better)}, but worse in {', '.join(worse)}."
        if better:
            return f"A gain was shown: with fresh seeds the winner is better in {', '.join(better)}."
        if worse:
            return f"A loss was shown: with fresh seeds the winner is worse in {', '.join(worse)}."
        return f"No gain was shown: over {fresh[0]['pairs']} fresh seeds the winner does not differ from the default by more than chance."

    @staticmethod
    def _effect(row: Mapping[str, Any]) -> str:
        pct = "" if row["effect_pct"] is None else f", {row['effect_pct']:+.1f} %"
        metric = row["objective"]
        ends = f"{figure(metric, row['low'], sign=True)} to {figure(metric, row['high'], sign=True)}"
        return f"{metric} by {figure(metric, row['effect'], sign=True)} ({ends}{pct})"

    def _checked(self, row: Mapping[str, Any]) -> str:
        metric = row["objective"]
        sides = f"{figure(metric, row['default'])} to {figure(metric, row['winner'])}"
        ends = f"{figure(metric, row['low'], sign=True)} to {figure(metric, row['high'], sign=True)}"
        return f"{row['where']}: {metric} {row['verdict']}: {sides}; difference {figure(metric, row['effect'], sign=True)}, interval {ends}"

    def _importance(self) -> list[dict[str, Any]]:
        complete = optuna().trial.TrialState.COMPLETE
        done = [trial for trial in self._study.optuna.trials if trial.state == complete]
        if len(done) < _LEAST_TRIALS:
            return []
        found = []
        for place, (metric, way) in enumerate(self._ways.items()):
            values = [trial.values[place] for trial in done]
            shares = {axis.name: 0.0 for axis in self._study.axes}
            if min(values) < max(values):
                shares |= importances(done, values, way)
            rows = [{"objective": metric, "axis": name, "share": share} for name, share in shares.items()]
            found += sorted(rows, key=lambda row: -float(str(row["share"])))
        return found

    def to_dicts(self) -> list[dict[str, Any]]:
        """The trials, as ``trials``."""
        return self.trials

    def _repr_html_(self) -> str:
        return page(self.summary, self.trials, self.front, self.importance, self.check, list(self._ways))

    def __repr__(self) -> str:
        return f"Tuned: {self._answer()}"
