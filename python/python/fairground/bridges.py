"""Recordings and runs as other tools hold them: LISA's frames of events, and Perfetto's traces.

LISA (``lisa.trace.Trace.df_event``) has a pandas frame for each tracepoint. Its index ``Time`` is in seconds. A column stands for each field
of the tracepoint, by the kernel's name, besides ``__cpu``, ``__pid`` and ``__comm`` (the task that ran there). :func:`to_lisa` makes such
frames, :func:`from_lisa` reads them::

    frames = to_lisa(fairground.run("scenario.toml"))
    lisa.trace.Trace(parser=lisa.trace.MockTraceParser(frames)).ana.tasks.df_tasks_states()

Perfetto's ``TraceProcessor`` takes what :func:`to_perfetto` gives, and :func:`from_perfetto` takes a trace that its classes have built::

    perfetto.trace_processor.TraceProcessor(trace=io.BytesIO(to_perfetto(result)))

Needs pandas and pyarrow for frames (``pip install './python[pandas]'``); Perfetto's package is needed by neither direction.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, Union

from ._errors import InputError, Mistake
from ._functions import read
from ._native import RunResult, Table, Trace

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["from_lisa", "from_perfetto", "to_lisa", "to_perfetto"]

# A process id for a task whose trace tells none: as the writers of traces have it, above the usual pid_max of 2^22.
_PID_FOR_NONE = 1 << 23
# prev_state as kernels from 4.14 on report it: the letter of each state, and its bits.
_STATES = {"R": 0, "S": 1, "D": 2, "X": 16, "I": 128}
# common_flags: TRACE_FLAG_HARDIRQ and TRACE_FLAG_SOFTIRQ.
_FLAGS = {"task": 0, "hardirq": 8, "softirq": 16}
_TASK = ["comm", "pid", "prio"]
# The fields of each tracepoint, in the order in which the kernel wrote them at equal times on one CPU.
_FIELDS = {
    "sched_process_fork": ["parent_comm", "parent_pid", "child_comm", "child_pid"],
    "sched_process_exit": _TASK,
    "sched_waking": [*_TASK, "target_cpu", "common_flags"],
    "sched_migrate_task": [*_TASK, "orig_cpu", "dest_cpu"],
    "sched_wakeup_new": [*_TASK, "target_cpu"],
    "sched_wakeup": [*_TASK, "target_cpu"],
    "sched_stat_runtime": ["comm", "pid", "runtime", "vruntime"],
    "sched_switch": ["prev_comm", "prev_pid", "prev_prio", "prev_state", "next_comm", "next_pid", "next_prio"],
    "cpu_frequency": ["state", "cpu_id"],
}
# What a reader can do without.
_OPTIONAL = {"common_flags", "vruntime", "prio", "prev_prio", "next_prio"}


class _Message(Protocol):
    def SerializeToString(self) -> bytes: ...


def _frame(table: Table) -> pd.DataFrame:
    from importlib import import_module

    frame: pd.DataFrame = import_module("pyarrow").table(table).to_pandas()
    return frame


class _Tasks:
    """Process ids, priorities and names by the numbers of tasks; without a number it is the idle task of the CPU."""

    def __init__(self, tasks: Table) -> None:
        rows = tasks.to_dicts()
        self._pid = {row["task"]: _PID_FOR_NONE + row["task"] if row["pid"] is None else row["pid"] for row in rows}
        self._prio = {row["task"]: row["prio"] for row in rows}

    def columns(self, task: pd.Series[Any], comm: pd.Series[Any], cpu: pd.Series[Any]) -> tuple[Any, Any, Any]:
        idle = "swapper/" + cpu.astype("str")
        names = comm.astype("object").where(task.notna(), idle)
        return names, task.map(self._pid).fillna(0).astype("int64"), task.map(self._prio).fillna(120).astype("int64")


def to_lisa(source: RunResult | Trace, *, unique: bool = False) -> dict[str, pd.DataFrame]:
    """The records of a run or a trace as LISA's frames, by the names of the tracepoints; those without a record are left out.

    Times are those of the recording's own clock, exact to the ns within 26 days of its start. Decisions, sections and markers have no
    tracepoint and are left out. ``__record`` is the number of a record in ``source.events``.

    :param unique: moves records of equal times apart by 1 ns: LISA asks for it.
    :returns: ``sched_switch``: ``prev_comm``, ``prev_pid``, ``prev_prio``, ``prev_state`` (bits, as LISA has them), ``next_comm``,
        ``next_pid``, ``next_prio``. ``sched_waking``: ``comm``, ``pid``, ``prio``, ``target_cpu``, ``common_flags`` (8 in a hard
        interrupt, 16 in a soft one). ``sched_wakeup``, ``sched_migrate_task`` and so on: the kernel's fields.
    """
    import numpy as np

    events = _frame(source.events)
    tasks = _Tasks(source.tasks)
    epoch = source.epoch_ns if isinstance(source, Trace) else 0
    ns = events["t_ns"].to_numpy() + epoch
    if unique:
        rows = np.arange(len(ns))
        ns = np.maximum.accumulate(ns - rows) + rows
    events["Time"] = ns / 1e9
    events["__record"] = np.arange(len(ns))
    comm, pid, prio = tasks.columns(events["task"], events["comm"], events["cpu"])
    other_comm, other_pid, other_prio = tasks.columns(events["other_task"], events["other_comm"], events["cpu"])
    own = {"comm": comm, "pid": pid, "prio": prio}
    what = events["what"].astype("object")
    is_waking = events["event"] == "sched_waking"
    # Who ran on the CPU when a record was written: whom the last switch brought; at first, whom the first one takes away.
    switch = events["event"] == "sched_switch"
    by_cpu = events["cpu"]
    ran = {}
    for key, to, since in (("__pid", pid, other_pid), ("__comm", comm, other_comm)):
        behind = to.astype("object").where(switch).groupby(by_cpu).ffill().groupby(by_cpu).shift()
        ran[key] = behind.fillna(since.astype("object").where(switch).groupby(by_cpu).bfill())
    has_waker = is_waking & events["other_task"].notna()
    idle = {"__pid": 0, "__comm": "<idle>"}
    for key, other in (("__pid", other_pid), ("__comm", other_comm)):
        ran[key] = ran[key].where(~has_waker, other).fillna(idle[key])
    ran["__comm"] = ran["__comm"].where(ran["__pid"] != 0, "<idle>")
    values: dict[str, dict[str, Any]] = {
        "sched_switch": {f"next_{name}": column for name, column in own.items()}
        | {"prev_comm": other_comm, "prev_pid": other_pid, "prev_prio": other_prio, "prev_state": what.map(_STATES)},
        "sched_waking": own | {"target_cpu": events["from_cpu"], "common_flags": what.map(_FLAGS)},
        "sched_wakeup": own | {"target_cpu": events["to_cpu"]},
        "sched_wakeup_new": own | {"target_cpu": events["to_cpu"]},
        "sched_migrate_task": own | {"orig_cpu": events["from_cpu"], "dest_cpu": events["to_cpu"]},
        "sched_stat_runtime": own | {"runtime": events["value"], "vruntime": events["value2"]},
        "sched_process_fork": {"parent_comm": other_comm, "parent_pid": other_pid, "child_comm": comm, "child_pid": pid},
        "sched_process_exit": own,
        "cpu_frequency": {"state": events["value"], "cpu_id": events["to_cpu"]},
    }
    frames = {}
    for event, fields in _FIELDS.items():
        picked = events["event"] == event
        if not picked.any():
            continue
        frame = events.loc[picked, ["Time", "__record"]].assign(__cpu=events["cpu"].astype("uint32"))
        frame["__pid"] = ran["__pid"][picked].astype("int64")
        frame["__comm"] = ran["__comm"][picked].astype("str")
        for field in fields:
            column = values[event][field][picked]
            # A kernel without virtual times in its records has no such field.
            if field == "vruntime":
                if column.notna().any():
                    frame[field] = column.astype("Int64")
            else:
                frame[field] = column.astype("str" if field.endswith("comm") else "int64")
        frames[event] = frame.set_index("Time")
    return frames


def _wrong(event: str, message: str, hint: str) -> InputError:
    return InputError([Mistake(event, None, None, message, hint)])


def _lines(event: str, frame: pd.DataFrame) -> pd.DataFrame:
    """The records of a tracepoint as lines of ftrace text, with what orders them."""
    import pandas as pd

    if frame.index.name == "Time":
        frame = frame.reset_index()
    needed = ["Time", "__cpu", *(field for field in _FIELDS[event] if field not in _OPTIONAL)]
    missing = [column for column in needed if column not in frame]
    if missing:
        raise _wrong(event, f"the frame has no {', '.join(missing)}", f"It has the index Time, and {', '.join(needed[1:])}.")
    if frame[needed].isna().to_numpy().any():
        raise _wrong(event, "a value is missing", "Drop rows without a value first.")

    def text(column: str, otherwise: str = "120") -> pd.Series[Any]:
        if column not in frame:
            return pd.Series(otherwise, index=frame.index)
        values = frame[column]
        if column.endswith("comm"):
            return values.astype("str").str.replace(r"[\x00-\x1f\x7f]", "?", regex=True)
        return values.astype("int64").astype("str")

    def task(prefix: str = "") -> pd.Series[Any]:
        return f"{prefix}comm=" + text(f"{prefix}comm") + f" {prefix}pid=" + text(f"{prefix}pid")

    def with_prio(prefix: str = "") -> pd.Series[Any]:
        return task(prefix) + f" {prefix}prio=" + text(f"{prefix}prio")

    if event == "sched_switch":
        states = frame["prev_state"]
        shown = states.astype("str") if pd.api.types.is_string_dtype(states) else states.astype("int64").map(lambda bits: f"{bits:#x}")
        body = with_prio("prev_") + " prev_state=" + shown + " ==> " + with_prio("next_")
    elif event == "sched_migrate_task":
        body = with_prio() + " orig_cpu=" + text("orig_cpu") + " dest_cpu=" + text("dest_cpu")
    elif event == "sched_stat_runtime":
        body = task() + " runtime=" + text("runtime") + " [ns]"
        if "vruntime" in frame:
            known = frame["vruntime"].notna()
            # As the kernel prints it: a virtual time that wraps is unsigned.
            numbers: pd.Series[str] = frame["vruntime"].fillna(0).astype("int64").astype("uint64").astype("str")
            body = body + (" vruntime=" + numbers + " [ns]").where(known, "")
    elif event == "sched_process_fork":
        parent = "comm=" + text("parent_comm") + " pid=" + text("parent_pid")
        body = parent + " child_comm=" + text("child_comm") + " child_pid=" + text("child_pid")
    elif event == "cpu_frequency":
        body = "state=" + text("state") + " cpu_id=" + text("cpu_id")
    elif event == "sched_process_exit":
        body = with_prio()
    else:
        body = with_prio() + " target_cpu=" + text("target_cpu")
    pid = text("__pid", "0")
    name = text("__comm", "<...>").where(pid != "0", "<idle>")
    bits = frame["common_flags"].astype("int64") if "common_flags" in frame else pd.Series(0, index=frame.index)
    flag: pd.Series[str] = bits.map(lambda bits: "h" if bits & 8 else "s" if bits & 16 else ".")
    ns = (frame["Time"].astype("float64") * 1e9).round().astype("int64")
    seconds = (ns // 10**9).astype("str") + "." + (ns % 10**9).astype("str").str.zfill(9)
    cpu = frame["__cpu"].astype("int64").astype("str").str.zfill(3)
    line = name + "-" + pid + " [" + cpu + "] d." + flag + "2. " + seconds + f": {event}: " + body
    record = frame["__record"] if "__record" in frame else pd.Series(-1, index=frame.index)
    lines: pd.DataFrame = pd.DataFrame({"ns": ns, "record": record, "rank": list(_FIELDS).index(event), "line": line})
    return lines


def from_lisa(frames: Mapping[str, pd.DataFrame], file: Union[str, PathLike[str]]) -> Trace:
    """Writes LISA's frames as a trace, which every function takes that takes a trace, and reads it.

    :param frames: a frame for each tracepoint, such as ``{"sched_switch": trace.df_event("sched_switch"), …}``. Needed is
        ``sched_switch``; docs/how-to-record.md says what each other one is good for. Others than those of :func:`to_lisa` are not used.
        Fields that may be missing are priorities, ``common_flags``, ``vruntime``, ``__pid`` and ``__comm``.
    :param file: where the trace is written, as text of ftrace.
    :raises InputError: if a frame has not the fields of its tracepoint.
    :raises OSError: if the file cannot be written.
    """
    import pandas as pd

    if "sched_switch" not in frames:
        raise _wrong("frames", "there is no sched_switch", "Without it nobody knows who ran.")
    parts = [_lines(event, frames[event]) for event in _FIELDS if event in frames]
    lines = pd.concat(parts, ignore_index=True).sort_values(["ns", "record", "rank"], kind="stable")["line"]
    Path(file).write_text("# tracer: nop\n" + "\n".join(lines) + "\n", encoding="utf-8")
    return read(fspath(file))


def to_perfetto(source: RunResult | Trace) -> bytes:
    """A run or a trace as Perfetto's own format, as ``save("x.pftrace")`` writes it."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "trace.pftrace")
        source.save(file)
        return file.read_bytes()


def from_perfetto(trace: bytes | _Message, file: Union[str, PathLike[str]]) -> Trace:
    """Writes a trace of Perfetto to a file, which every function takes that takes a trace, and reads it.

    :param trace: its bytes, or the message ``perfetto_trace_pb2.Trace``.
    :param file: where it is written.
    :raises InputError: if it has no events of the scheduler.
    :raises OSError: if the file cannot be written.
    """
    Path(file).write_bytes(trace if isinstance(trace, bytes) else trace.SerializeToString())
    return read(fspath(file))
