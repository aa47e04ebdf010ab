"""Fairground: the Linux CPU scheduler as a program.

A scenario says what to simulate; :func:`run` simulates it. Equal scenarios give equal results, bit for bit, on every system.
Times are whole nanoseconds where a name ends in ``_ns`` and where a :class:`Metric` has the unit ``ns``.

Each function that takes long leaves the interpreter free for other threads, stops on Ctrl-C, and raises

- :class:`InputError` with all mistakes of the input at once,
- :class:`WorldError` if a file cannot be read or written,
- :class:`BrokenInvariant` for a bug of fairground.

Values that are not of the annotated types raise :class:`TypeError`, and whole numbers outside of 64 bits :class:`OverflowError`.
"""

from typing import TYPE_CHECKING, Any

from ._errors import BrokenInvariant, InputError, Mistake, WorldError
from ._functions import advise, compare, conform, explain, latency, read, replay, run, sweep
from ._lists import (
    list_costs,
    list_domains,
    list_features,
    list_formats,
    list_governors,
    list_machines,
    list_metrics,
    list_profiles,
    list_reasons,
    list_tunables,
    list_workloads,
)
from ._native import __VERSION__ as __version__
from ._native import Metric, Report, RunResult, Table, Trace
from ._progress import Progress
from ._scenario import Scenario, ScenarioLike, Time

if TYPE_CHECKING:
    from ._tune import Objectives, tune
    from ._tune_result import Tuned

__all__ = [
    "BrokenInvariant",
    "InputError",
    "Metric",
    "Mistake",
    "Objectives",
    "Progress",
    "Report",
    "RunResult",
    "Scenario",
    "ScenarioLike",
    "Table",
    "Time",
    "Trace",
    "Tuned",
    "WorldError",
    "__version__",
    "advise",
    "compare",
    "conform",
    "explain",
    "latency",
    "list_costs",
    "list_domains",
    "list_features",
    "list_formats",
    "list_governors",
    "list_machines",
    "list_metrics",
    "list_profiles",
    "list_reasons",
    "list_tunables",
    "list_workloads",
    "read",
    "replay",
    "run",
    "sweep",
    "tune",
]

# Tuning needs half of the modules that an import would load. Those who do not tune do not wait for them.
_OF_TUNING = {"Objectives": "_tune", "tune": "_tune", "Tuned": "_tune_result"}


def __getattr__(name: str) -> Any:
    if name not in _OF_TUNING:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    globals()[name] = getattr(import_module(f".{_OF_TUNING[name]}", __name__), name)
    return globals()[name]


def __dir__() -> list[str]:
    return sorted({*globals(), *_OF_TUNING})
