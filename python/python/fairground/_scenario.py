"""Scenarios as builders: thin, they make the dictionary that a scenario file holds."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from datetime import timedelta
from os import PathLike
from typing import Any, Union

from . import _native

Time = Union[str, timedelta]
"""A length of time: text with its unit (``"3ms"``, ``"1ms..3ms"`` where a range may stand), or a timedelta."""
ScenarioLike = Union["Scenario", Mapping[str, Any], str, "PathLike[str]"]
"""A builder; a dictionary as a scenario file holds it; the text of one (a str with a line end); or a path: of a scenario file
(``.toml``), an rt-app file (``.json``), or the folder of a recorded experiment."""


def no_changes() -> dict[str, Any]:
    """No change of a scenario, as the half in Rust takes it."""
    return {"kernel": None, "features": [], "set": [], "machine": None, "capacities": None, "seed": None, "duration": None}


def _given(**keys: Any) -> dict[str, Any]:
    return {key: value for key, value in keys.items() if value is not None}


class Scenario:
    """Everything that decides a run, built step by step. Each method returns the scenario, so that calls can be chained::

        Scenario(duration="1s", machine="smp-2", kernel="v6.12").hog("a", count=3).task("player", run="3ms", period="16ms")

    Nothing is checked here: :func:`fairground.run` and :meth:`check` report all mistakes at once, by dotted path.

    :param duration: how long is simulated, such as ``"10s"``.
    :param machine: a preset (:func:`fairground.list_machines`), or a dictionary as ``[machine]`` of a scenario file.
    :param kernel: such as ``"v6.12"`` (:func:`fairground.list_profiles`).
    :param features: scheduler features as debugfs spells them, such as ``["NO_NEXT_BUDDY"]``.
    :param tunables: such as ``{"base_slice_ns": "3ms"}`` (:func:`fairground.list_tunables`).
    :param seed: seed of all random streams, 1 if left out.
    :param title: what it is about.
    :param window: the part of the run in which measurements count, such as ``("2s", "7s")``.
    """

    def __init__(
        self,
        *,
        duration: Time | None = None,
        machine: str | Mapping[str, Any] | None = None,
        kernel: str | None = None,
        features: Sequence[str] | None = None,
        tunables: Mapping[str, Any] | None = None,
        seed: int | None = None,
        title: str | None = None,
        window: tuple[Time, Time] | None = None,
    ) -> None:
        profile = _given(kernel=kernel, features=features and list(features), tunables=tunables and dict(tunables))
        span = None if window is None else {"from": window[0], "to": window[1]}
        preset = {"preset": machine} if isinstance(machine, str) else None if machine is None else dict(machine)
        self._keys = _given(title=title, seed=seed, duration=duration, window=span, machine=preset, profile=profile or None)

    def _rows(self, key: str) -> list[Any]:
        rows: list[Any] = self._keys.setdefault(key, [])
        return rows

    def _tasks(self) -> list[Any]:
        workloads = self._rows("workload")
        if not workloads or set(workloads[-1]) != {"tasks"}:
            workloads.append({"tasks": []})
        tasks: list[Any] = workloads[-1]["tasks"]
        return tasks

    def hog(self, name: str, **more: Any) -> Scenario:
        """Adds a task that computes for ever; ``more`` as of :meth:`task`."""
        return self.task(name, hog=True, **more)

    def task(
        self,
        name: str,
        *,
        run: Time | None = None,
        period: Time | None = None,
        sleep: Time | None = None,
        do: Sequence[str] | None = None,
        program: Sequence[str] | None = None,
        count: int | None = None,
        nice: int | None = None,
        cpus: str | None = None,
        policy: str | None = None,
        group: str | None = None,
        start: Time | None = None,
        **more: Any,
    ) -> Scenario:
        """Adds a task, or ``count`` of them.

        :param run: computes so long; with ``period`` once in each, with ``sleep`` again and again.
        :param do: steps that are repeated, such as ``["run 1ms..3ms", "sleep 5ms"]``.
        :param program: steps that are gone through once.
        :param cpus: where it may run, such as ``"0-3,8"``.
        :param policy: ``other``, ``batch``, ``idle``, ``fifo:50``, ``rr:50`` or ``deadline``.
        :param group: the path of its cgroup.
        :param more: any other key of a row of ``tasks``.
        """
        steps = {"do": do and list(do), "program": program and list(program)}
        row = _given(name=name, run=run, period=period, sleep=sleep, **steps, count=count, nice=nice)
        row |= _given(cpus=cpus, policy=policy, group=group, start=start)
        self._tasks().append(row | more)
        return self

    def workload(self, name: str, args: Mapping[str, Any] | None = None, **more: Any) -> Scenario:
        """Adds a workload by its name (:func:`fairground.list_workloads`), with the flags of the real program."""
        self._rows("workload").append(_given(name=name, args=args and dict(args)) | more)
        return self

    def group(self, path: str, files: Mapping[str, Any] | None = None) -> Scenario:
        """Adds a cgroup with its files, such as ``group("/web", {"cpu.max": "20000 100000"})``: the units are the kernel's."""
        self._rows("group").append({"path": path} | dict(files or {}))
        return self

    def at(self, time: Time, do: str | Mapping[str, Any]) -> Scenario:
        """Adds a change in mid-run, such as ``at("5s", "nice hog 5")``."""
        self._rows("at").append({"time": time, "do": do if isinstance(do, str) else dict(do)})
        return self

    def expect(self, metric: str, *, min: Any = None, max: Any = None, why: str | None = None) -> Scenario:
        """Adds an expectation: ``holds`` of the result says whether all are met. Limits have units, such as ``max="10ms"``."""
        self._keys.setdefault("expect", {})[metric] = _given(min=min, max=max, why=why)
        return self

    def set(self, path: str, value: Any) -> Scenario:
        """Sets any key by its dotted path, such as ``set("machine.hz", 250)``."""
        *above, last = path.split(".")
        table = self._keys
        for key in above:
            table = table.setdefault(key, {})
        table[last] = value
        return self

    def copy(self) -> Scenario:
        """The same once more: what is added to one is not in the other."""
        return copy.deepcopy(self)

    def to_dict(self) -> dict[str, Any]:
        """What a scenario file holds."""
        return copy.deepcopy(self._keys)

    def to_toml(self) -> str:
        """The scenario as a file, in its one fixed spelling.

        :raises InputError: with all mistakes.
        """
        return _native.written(self, no_changes())

    def check(self) -> None:
        """Reads the scenario and does not run it.

        :raises InputError: with all mistakes.
        """
        self.to_toml()

    def __repr__(self) -> str:
        return f"Scenario({self._keys!r})"
