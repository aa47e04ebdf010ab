"""How a tuner decides, by sign tests: they hold for any distribution, and are exact."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import comb
from typing import Any, Literal

Direction = str
"""``min`` or ``max``: which way is better."""
ERROR = 0.05
"""The chance of a wrong verdict that is allowed: of a check over all its objectives, of stopping a trial over all looks at it."""


def tail(least: int, n: int) -> float:
    """P(B >= least), where B is binomial of n and 1/2."""
    return float(sum(comb(n, k) for k in range(least, n + 1)) / 2**n)


def median(values: Sequence[float]) -> float:
    """The median; of an even number of values the larger of the two in the middle, as in the rows of a sweep."""
    return sorted(values)[len(values) // 2]


def interval(values: Sequence[float], error: float) -> tuple[float, float] | None:
    """The interval of the median: the k-th smallest and k-th largest value, with the largest k for which 2 P(B < k) <= error.

    None if there are too few values for any.
    """
    n = len(values)
    k = 0
    while k < n // 2 and 2 * tail(n - k, n) <= error:
        k += 1
    ordered = sorted(values)
    return None if k == 0 else (ordered[k - 1], ordered[n - k])


def dominates(a: Sequence[float], b: Sequence[float], directions: Sequence[Direction]) -> bool:
    """Whether a is better than b in one objective, and worse in none."""
    signs = [1 if direction == "min" else -1 for direction in directions]
    gains = [sign * (y - x) for x, y, sign in zip(a, b, signs)]
    return min(gains) >= 0 and max(gains) > 0


def is_clearly_worse(
    trial: Sequence[Sequence[float]],
    finished: Sequence[Sequence[Sequence[float]]],
    directions: Sequence[Direction],
    looks: int,
) -> bool:
    """Whether a finished trial dominates this one on so many of its seeds that chance does not explain it.

    ``trial`` has the objectives of its seeds so far, each of ``finished`` those of the same seeds in the same order. If a fixed
    finished trial dominated with a chance of at most 1/2 per seed, it would dominate m of n seeds with P(B >= m). That is held
    against ERROR / (looks * finished trials), by Bonferroni's inequality.
    """
    n = len(trial)
    for other in finished:
        lost = sum(dominates(theirs, ours, directions) for theirs, ours in zip(other, trial))
        if tail(lost, n) <= ERROR / (looks * len(finished)):
            return True
    return False


@dataclass(frozen=True)
class Verdict:
    """One objective of the default and of the winner over paired seeds."""

    default: float
    winner: float
    effect: float
    low: float | None
    high: float | None
    verdict: Literal["better", "worse", "no difference", "undecided"]

    def to_dict(self) -> dict[str, Any]:
        pct = 100 * self.effect / abs(self.default) if self.default else None
        ends = {"low": self.low, "high": self.high}
        return {"default": self.default, "winner": self.winner, "effect": self.effect, "effect_pct": pct} | ends | {"verdict": self.verdict}


def judge(default: Sequence[float], winner: Sequence[float], direction: Direction, worth_pct: float, objectives: int) -> Verdict:
    """The verdict of pairs: the median of their differences and its interval, for one of so many objectives.

    ``better`` and ``worse``: the whole interval is on that side of 0, and the effect is at least ``worth_pct`` of the default's
    median. ``no difference``: the whole interval is smaller than that, or all differences are 0.
    """
    differences = [b - a for a, b in zip(default, winner)]
    before, effect = median(default), median(differences)
    ends = interval(differences, ERROR / objectives)
    worth = abs(before) * worth_pct / 100
    found: Literal["better", "worse", "no difference", "undecided"] = "undecided"
    if not any(differences) or (ends is not None and max(abs(ends[0]), abs(ends[1])) < worth):
        found = "no difference"
    elif ends is not None and abs(effect) >= worth and (ends[0] > 0 or ends[1] < 0):
        found = "better" if (effect < 0) == (direction == "min") else "worse"
    low, high = ends if ends is not None else (None, None)
    return Verdict(before, median(winner), effect, low, high, found)
