"""A function for each command."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import index
from os import PathLike
from typing import TYPE_CHECKING, Any, TypedDict, Union

from . import _native
from ._errors import InputError, Mistake
from ._native import Report, RunResult, Trace
from ._progress import Bar, Progress
from ._scenario import ScenarioLike

if TYPE_CHECKING:
    from typing_extensions import Unpack

Path = Union[str, "PathLike[str]"]


class Changes(TypedDict, total=False):
    """What may be changed of any scenario or recording."""

    kernel: str | None
    """The kernel and overlays, such as ``"v5.19"``; what the scenario sets beside its own is kept."""
    machine: str | None
    """A preset, a machine file, an lstopo file or an hwloc synthetic string."""
    features: Sequence[str]
    """Features as debugfs spells them, such as ``["NO_NEXT_BUDDY"]``."""
    set: Mapping[str, Any]
    """Tunables, seams and keys of the machine, such as ``{"base_slice_ns": 3_000_000, "machine.hz": 1000}``."""
    capacities: str | None
    """Capacities of CPUs, such as ``"0-3=512,4-7=1024"``."""
    seed: int | None
    """Seed of all random streams, below 2^63."""
    duration: str | None
    """How long is simulated, such as ``"10s"``."""


def _changes(changes: Changes) -> dict[str, Any]:
    names = ("kernel", "machine", "features", "set", "capacities", "seed", "duration")
    unknown = [name for name in changes if name not in names]
    if unknown:
        raise TypeError(f"unknown argument {unknown[0]!r}; a scenario is changed by {', '.join(names)}")
    rows = [f"{name}={_word(value)}" for name, value in dict(changes.get("set", {})).items()]
    features = _texts("features", changes.get("features", ()))
    keys: dict[str, Any] = {name: _text(name, changes.get(name)) for name in ("kernel", "machine", "capacities", "duration")}
    return keys | {"seed": _whole("seed", changes.get("seed"), 0, 2**63 - 1), "features": features, "set": rows}


def _word(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _wrong(name: str, message: str, hint: str) -> InputError:
    return InputError([Mistake(name, None, None, message, hint)])


def _text(name: str, value: object) -> str | None:
    if value is not None and not isinstance(value, str):
        raise TypeError(f"{name} is a str, not {type(value).__name__}")
    return value


def _whole(name: str, value: object, least: int, most: int) -> int | None:
    """A whole number in these bounds, or None."""
    if value is None:
        return None
    try:
        number = index(value)  # type: ignore[arg-type]
    except TypeError:
        raise TypeError(f"{name} is an int, not {type(value).__name__}") from None
    if not least <= number <= most:
        raise _wrong(name, f"{number} is out of bounds", f"A whole number from {least} to {most}.")
    return number


def _texts(name: str, texts: Sequence[str]) -> list[str]:
    if isinstance(texts, str):
        raise TypeError(f"{name} is a list of str, not one str")
    return list(texts)


def run(
    scenario: ScenarioLike,
    *,
    events: bool = False,
    paranoid: bool = False,
    progress: Progress = True,
    **changes: Unpack[Changes],
) -> RunResult:
    """Simulates a scenario.

    :param scenario: see :data:`ScenarioLike`.
    :param events: keeps the records while it runs, about 55 bytes each; else ``result.events`` makes the run again.
    :param paranoid: checks every invariant again and again.
    :param progress: see :data:`Progress`.
    :param changes: see :class:`Changes`, such as ``kernel="v6.12"`` or ``seed=7``.
    :raises InputError: with all mistakes of the scenario.
    :raises WorldError: if a file cannot be read.
    :raises BrokenInvariant: for a bug of fairground.
    """
    with Bar(progress, "simulating") as bar:
        return _native.run(scenario, _changes(changes), events, paranoid, bar.tell)


def read(trace: Path, *, time: str | None = None, progress: Progress = True) -> Trace:
    """Reads a recorded trace into tables, as it was recorded: nothing is simulated.

    :param trace: a trace (:func:`list_formats`), or the folder of a recorded experiment.
    :param time: only this part, ``"A,B"`` in seconds.
    :raises InputError: if it is no trace, or does not have this time.
    :raises WorldError: if it cannot be read.
    """
    with Bar(progress, "reading") as bar:
        return _native.read(trace, time, bar.tell)


def replay(
    trace: Path, *, strict: bool = False, events: bool = False, progress: Progress = True, **changes: Unpack[Changes]
) -> RunResult:
    """Makes tasks of a recorded trace and runs them, on the recorded machine and kernel or on others.

    ``result.tables["replay"]`` has the figures of the recording beside those of the replay.

    :param trace: a trace (:func:`list_formats`), or the folder of a recorded experiment.
    :param strict: refuses a recording with lost or unreadable records.
    :raises InputError: if it is no trace, or a change is wrong.
    :raises WorldError: if it cannot be read.
    """
    with Bar(progress, "replaying") as bar:
        return _native.replay(trace, _changes(changes), strict, events, bar.tell)


def compare(
    scenario: ScenarioLike,
    other: Path | None = None,
    *,
    a: str | None = None,
    b: str | None = None,
    change: Sequence[str] = (),
    metrics: Sequence[str] = (),
    runs: int = 12,
    worth_pct: float = 0.5,
    tasks: Sequence[str] = (),
    windows: int = 12,
    progress: Progress = True,
    **changes: Unpack[Changes],
) -> Report:
    """Compares two kernels or settings of a scenario over paired seeds, or two recordings.

    :param scenario: what is run on both sides; with ``other`` the first recording.
    :param other: a second recording: then nothing is simulated.
    :param a: the kernel of the baseline; the scenario's own if left out.
    :param b: the kernel of the other side; the baseline's if left out.
    :param change: what makes the other side out of its kernel: ``"NEXT_BUDDY"``, ``"base_slice_ns=3000000"``, ``"+overlay"``.
    :param metrics: only these; fewer metrics need fewer pairs.
    :param runs: the number of pairs, from 1; fewer than six can decide nothing.
    :param worth_pct: the smallest effect that matters, in percent of the baseline's mean.
    :param tasks: of recordings: only tasks of these names.
    :param windows: of recordings: into how many parts each is split.
    :returns: ``exit_code`` is 0 if nothing speaks against B, 1 if a metric is worse, 4 if the runs do not tell.
    :raises InputError: with all mistakes of the scenario and of the sides.
    """
    asked: dict[str, Any] = {"a": a, "b": b, "changes": _texts("change", change), "metrics": _texts("metrics", metrics), "runs": _whole("runs", runs, 1, 10_000)}
    asked |= {"worth_pct": worth_pct, "tasks": _texts("tasks", tasks), "windows": _whole("windows", windows, 1, 1_000)}
    with Bar(progress, "comparing") as bar:
        return _native.compare(scenario, other, asked, _changes(changes), bar.tell)


def sweep(
    file: Path | Mapping[str, Any],
    *,
    base: ScenarioLike | None = None,
    engine: str = "local",
    address: str | None = None,
    until: str | None = None,
    seeds_apart: bool = False,
    threads: int = 0,
    journal: Path | None = None,
    fresh: bool = False,
    progress: Progress = True,
) -> Report:
    """Runs every combination of the axes of a sweep file. ``tables["sweep"]`` has a row for each point, over its seeds.

    Finished runs stand in a journal, so a sweep that was stopped goes on where it was, with the same engine or the other.

    :param file: the sweep file (``.toml``), its text (a ``str`` with a line end), or a dictionary of what it holds.
    :param base: the scenario that is varied, instead of the one that the sweep file names; see :data:`ScenarioLike`.
    :param engine: ``"local"``: threads of this host; ``"ray"``: the workers of a Ray cluster (``pip install './python[ray]'``).
    :param address: of Ray: the cluster, such as ``"10.0.0.1:6379"``; a cluster that this host is part of, or else one of this host
        alone, if left out.
    :param until: ends the seeds of a point when the 95 % interval of the median is so narrow: ``"1%"`` or ``"METRIC=1%"``.
    :param seeds_apart: a row for each seed.
    :param threads: of ``"local"``: 0 is one per CPU of this host.
    :param journal: where finished runs are noted; beside the sweep file if left out. A sweep without a file has none then.
    :param fresh: forgets finished runs and begins anew.
    :raises InputError: with all mistakes of the sweep file and its base; or if Ray is not installed.
    :raises WorldError: if the journal cannot be written, the cluster cannot be reached or fails, or a worker has another version.
    """
    number = _whole("threads", threads, 0, 1024) or 0
    _text("until", until)
    if engine not in ("local", "ray"):
        raise _wrong("engine", f"there is no engine {engine!r}", 'Write "local" or "ray".')
    if engine == "local" and address is not None:
        raise _wrong("address", "an address without Ray", 'Add engine="ray".')
    with Bar(progress, "sweeping") as bar:
        plan = _native.SweepPlan(file, base, until, seeds_apart)
        if engine == "ray":
            from . import _ray

            return _ray.sweep(plan, address, journal, fresh, bar.tell)
        return plan.run(number, journal, fresh, bar.tell)


def explain(
    scenario: ScenarioLike,
    *,
    task: str | None = None,
    at: str | None = None,
    percentile: float | str | None = None,
    what_if: Sequence[str] = (),
    time: str | None = None,
    top: int = 10,
    progress: Progress = True,
    **changes: Unpack[Changes],
) -> Report:
    """Explains why a task was late: what kept it from its CPU, who ran instead and by which rule, and what would have helped.

    :param scenario: a scenario, or the path of a trace.
    :param task: only delays of tasks of this name; of all tasks if left out.
    :param at: the delay that was under way at this time, such as ``"1.25s"``; the longest if left out.
    :param percentile: the delay at this percentile, such as 99.9.
    :param what_if: changes to try, such as ``["nice worker -5", "NO_WAKEUP_PREEMPTION"]``; what is plausible if left out.
    :param time: of a trace: only this part, ``"A,B"`` in seconds.
    :param top: of a trace: so many of the longest waits are listed.
    :raises InputError: if no such task or time is there.
    """
    asked: dict[str, Any] = {"task": task, "at": at, "percentile": None if percentile is None else str(percentile)}
    asked |= {"what_if": _texts("what_if", what_if), "time": time, "top": _whole("top", top, 0, 2**31)}
    with Bar(progress, "explaining") as bar:
        return _native.explain(scenario, asked, _changes(changes), bar.tell)


def latency(
    scenario: ScenarioLike,
    *,
    tasks: Sequence[str] = (),
    cgroups: Sequence[str] = (),
    time: str | None = None,
    sort: str = "avg",
    mark: str = "waking",
    by_task: bool = False,
    simulate: bool = False,
    progress: Progress = True,
    **changes: Unpack[Changes],
) -> Report:
    """How long tasks wait from becoming runnable to running, as ``perf sched latency`` shows it, with percentiles, histogram, queues
    and who ran meanwhile.

    :param scenario: a scenario, or the path of a trace.
    :param tasks: only these, by name or process id.
    :param cgroups: only tasks of these groups and those below them.
    :param time: of a trace: only this part, ``"A,B"`` in seconds.
    :param sort: ``avg``, ``max``, ``switch`` or ``runtime``.
    :param mark: a wake-up counts from ``waking`` or from ``wakeup``.
    :param by_task: a row for each task, not for each name.
    :param simulate: of the folder of a recorded experiment: simulates it instead of reading its record.
    :raises InputError: if no such task is there, or a recording is to be changed.
    """
    asked: dict[str, Any] = {"tasks": _texts("tasks", tasks), "cgroups": _texts("cgroups", cgroups), "time": time, "sort": sort, "mark": mark}
    asked |= {"by_task": by_task, "simulate": simulate}
    with Bar(progress, "simulating") as bar:
        return _native.latency(scenario, asked, _changes(changes), bar.tell)


def conform(
    trace: Path, *, scenario: Path | None = None, fit_lags: bool = False, progress: Progress = True, **changes: Unpack[Changes]
) -> Report:
    """Compares a recorded trace with the model, decision by decision.

    :param trace: a trace, or the folder of a recorded experiment.
    :param scenario: the scenario file that made the trace: it tells groups, quotas, policies, the kernel and the machine.
    :param fit_lags: also fits the lag of kernel threads that slept before the record (EEVDF).
    :raises InputError: if it is no trace, or does not hold what is needed.
    """
    with Bar(progress, "comparing") as bar:
        return _native.conform(trace, scenario, fit_lags, _changes(changes), bar.tell)


def advise(
    inputs: ScenarioLike | Sequence[ScenarioLike],
    *,
    goals: str | Sequence[str] = (),
    cgroup: str | None = None,
    seeds: int | None = None,
    confidence: int | None = None,
    check: int = 0,
    fit_runs: int = 20_000,
    workers: int | None = None,
    cpus: int | None = None,
    cpu_max: str | None = None,
    comms: Sequence[str] = (),
    pod: str | None = None,
    container: str | None = None,
    namespace: str | None = None,
    log_format: str | None = None,
    cpu_per_request: str | None = None,
    progress: Progress = True,
    **changes: Unpack[Changes],
) -> Report:
    """Finds the smallest CPU limit with which a service meets a goal, and says what the present one does.

    :param inputs: a scenario with a workload ``service``; or files that belong together, each told by its content: a log of requests,
        counters, a trace with ``comms``, a pod.
    :param goals: such as ``"p99=50ms"``; several must all hold.
    :param cgroup: the group whose limit is looked for; may be left out if there is one only.
    :param seeds: runs that the answer rests on, from 10; as many as make it narrow if left out.
    :param confidence: proves with so many percent, from 50 to 99, that at most 5 of 100 runs miss the goal.
    :param check: runs the answer once more with so many fresh seeds.
    :param fit_runs: of counters: most runs of services that are fitted to them.
    :param workers: of a log: threads that serve; of counters, if they are known.
    :param cpus: of a log or of counters: CPUs that the service may use.
    :param cpu_max: the present limit, such as ``"2000m"``.
    :param comms: of a trace: names of the threads, such as ``["nginx*"]``.
    :param pod: the pod, ``container`` and ``namespace``: where an input has several.
    :param log_format: of an access log: its format.
    :param cpu_per_request: of a log without CPU times: the mean, such as ``"3ms"``.
    :returns: ``exit_code`` is 0 if the present limit meets the goal, 1 if it does not, 4 if the runs do not tell.
    :raises InputError: with all mistakes of the inputs and goals.
    """
    one = isinstance(inputs, (str, Mapping)) or hasattr(inputs, "to_dict") or hasattr(inputs, "__fspath__")
    asked: dict[str, Any] = {"goals": [goals] if isinstance(goals, str) else list(goals), "cgroup": cgroup, "seeds": _whole("seeds", seeds, 10, 10_000)}
    asked |= {"confidence": _whole("confidence", confidence, 50, 99), "check": _whole("check", check, 0, 100_000)}
    asked |= {"fit_runs": _whole("fit_runs", fit_runs, 100, 10_000_000), "workers": _whole("workers", workers, 1, 1024)}
    asked |= {"cpus": _whole("cpus", cpus, 1, 1000)}
    asked |= {"cpu_max": cpu_max, "comms": _texts("comms", comms), "pod": pod, "container": container}
    asked |= {"namespace": namespace, "log_format": log_format, "cpu_per_request": cpu_per_request}
    with Bar(progress, "trying limits") as bar:
        return _native.advise([inputs] if one else list(inputs), asked, _changes(changes), bar.tell)  # type: ignore[arg-type]
