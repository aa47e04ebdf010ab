"""What other tools get, and what comes back from them."""

from __future__ import annotations

import http.server
import io
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest

import fairground as fg
from fairground.bridges import from_lisa, from_perfetto, to_lisa, to_perfetto

if TYPE_CHECKING:
    from fairground import RunResult, Trace

ROOT = Path(__file__).resolve().parents[2]
RECORDING = ROOT / "recordings/k6.1-press-8cpu/c_press24_120/trace.csv.zst"
# Interrupts of a device, forks, ends, a group with a quota, frequencies: what has a tracepoint is in it.
MIXED = (
    fg.Scenario(duration="300ms", machine="sm8150", kernel="6.12", seed=3)
    .hog("hog", count=9)
    .task("player", run="3ms", period="16ms")
    .task("short lived", program=["run 5ms"], start="20ms")
    .workload("hackbench", {"groups": 1, "fds": 2, "loops": 5, "pipe": True})
    .workload("irq-noise", {"every": "5ms"})
)
KINDS = ["sched_switch", "sched_waking", "sched_wakeup", "sched_wakeup_new", "sched_migrate_task", "sched_stat_runtime"]


@pytest.fixture(scope="module", params=["simulated", "recorded"])
def source(request: pytest.FixtureRequest) -> RunResult | Trace:
    return fg.run(MIXED, events=True) if request.param == "simulated" else fg.read(RECORDING)


def rows(frames: dict[str, pd.DataFrame]) -> dict[str, list[tuple[Any, ...]]]:
    """The records as values: times in ns, without their numbers."""
    made = {}
    for event, frame in frames.items():
        frame = frame.reset_index().drop(columns="__record")
        frame["Time"] = (frame["Time"] * 1e9).round().astype("int64")
        made[event] = [tuple(row) for row in frame.astype("object").itertuples(index=False)]
    return made


def test_frames_have_the_columns_and_types_that_lisa_has(source: RunResult | Trace) -> None:
    frames = to_lisa(source)
    assert set(KINDS) <= set(frames)
    switch = frames["sched_switch"]
    fields = ["prev_comm", "prev_pid", "prev_prio", "prev_state", "next_comm", "next_pid", "next_prio"]
    assert list(switch.columns) == ["__record", "__cpu", "__pid", "__comm", *fields]
    assert switch.index.name == "Time" and switch.index.dtype == "float64"
    assert {str(switch[name].dtype) for name in ("__pid", "prev_pid", "next_pid", "prev_state")} == {"int64"}
    assert list(frames["sched_waking"].columns[4:]) == ["comm", "pid", "prio", "target_cpu", "common_flags"]
    assert list(frames["sched_migrate_task"].columns[4:]) == ["comm", "pid", "prio", "orig_cpu", "dest_cpu"]


def test_the_task_of_a_record_is_the_one_that_ran_there(source: RunResult | Trace) -> None:
    frames = to_lisa(source)
    switch = frames["sched_switch"]
    # A switch is written by the task that leaves.
    assert (switch["__pid"] == switch["prev_pid"]).all()
    ran = frames["sched_stat_runtime"]
    # But for accounts that another CPU asks for, such as a waker.
    assert (ran["__pid"] == ran["pid"]).mean() > 0.95
    idle = switch[switch.next_pid == 0]
    assert (idle.next_comm == "swapper/" + idle["__cpu"].astype("str")).all()


def test_frames_that_come_back_are_the_same(source: RunResult | Trace, tmp_path: Path) -> None:
    frames = to_lisa(source)
    back = from_lisa(frames, tmp_path / "trace.txt")
    assert back.format == "ftrace" and sum(len(frame) for frame in frames.values()) == len(back.events)
    again = to_lisa(back)
    assert list(again) == list(frames)
    for event, expected in rows(frames).items():
        assert rows(again)[event] == expected, event


def test_a_trace_of_frames_answers_as_the_one_they_are_of(tmp_path: Path) -> None:
    expected = fg.latency(RECORDING).tables["latency"].to_dicts()
    from_lisa(to_lisa(fg.read(RECORDING)), tmp_path / "trace.txt")
    assert fg.latency(tmp_path / "trace.txt").tables["latency"].to_dicts() == expected


def test_frames_as_lisa_makes_them_are_read(tmp_path: Path) -> None:
    """No number of records, no flags, letters for states, fields in another order."""
    switch = pd.DataFrame.from_records(
        [
            (1.0, 1, 0, "<idle>", "swapper/1", 0, 120, "R", "a b", 7, 120),
            (1.000_000_5, 1, 7, "a b", "a b", 7, 120, "S", "swapper/1", 0, 120),
        ],
        columns=["Time", "__cpu", "__pid", "__comm", "prev_comm", "prev_pid", "prev_prio", "prev_state", "next_comm", "next_pid", "next_prio"],
        index="Time",
    )
    wakeup = pd.DataFrame.from_records(
        [(0.5, 1, 0, "<idle>", "a b", 7, 120, 1)], columns=["Time", "__cpu", "__pid", "__comm", "comm", "pid", "prio", "target_cpu"], index="Time"
    )
    trace = from_lisa({"sched_switch": switch, "sched_wakeup": wakeup, "sched_unknown": wakeup}, tmp_path / "trace.txt")
    assert trace.epoch_ns == 500_000_000
    assert [(row["t_ns"], row["event"], row["what"]) for row in trace.events.to_dicts()] == [
        (0, "sched_wakeup", None),
        (500_000_000, "sched_switch", "R"),
        (500_000_500, "sched_switch", "S"),
    ]
    assert trace.tasks.to_dicts() == [{"task": 0, "comm": "a b", "pid": 7, "prio": 120}]


def test_equal_times_are_moved_apart_where_lisa_asks_for_it() -> None:
    result = fg.run(MIXED, events=True)
    plain = pd.concat(frame.reset_index()[["Time", "__record"]] for frame in to_lisa(result).values())
    assert plain.Time.duplicated().any()
    moved = pd.concat(frame.reset_index()[["Time", "__record"]] for frame in to_lisa(result, unique=True).values())
    moved = moved.sort_values("__record")
    assert not moved.Time.duplicated().any() and moved.Time.is_monotonic_increasing
    assert (moved.Time.to_numpy() - plain.sort_values("__record").Time.to_numpy()).max() < 100e-6


def test_frames_without_a_field_or_a_value_are_refused(tmp_path: Path) -> None:
    frames = to_lisa(fg.read(RECORDING))
    with pytest.raises(fg.InputError, match="sched_switch: the frame has no prev_pid, next_comm"):
        from_lisa(frames | {"sched_switch": frames["sched_switch"].drop(columns=["prev_pid", "next_comm"])}, tmp_path / "a")
    with pytest.raises(fg.InputError, match="no sched_switch"):
        from_lisa({"sched_wakeup": frames["sched_wakeup"]}, tmp_path / "a")
    holed = frames["sched_wakeup"].assign(pid=frames["sched_wakeup"].pid.where(frames["sched_wakeup"].pid > 170))
    with pytest.raises(fg.InputError, match="sched_wakeup: a value is missing"):
        from_lisa(frames | {"sched_wakeup": holed}, tmp_path / "a")
    assert not (tmp_path / "a").exists()


def test_perfetto_reads_what_we_write(source: RunResult | Trace) -> None:
    from google.protobuf.unknown_fields import UnknownFieldSet
    from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace as Message

    message = Message.FromString(to_perfetto(source))
    assert not any(len(UnknownFieldSet(packet)) for packet in message.packet)
    read: dict[str, list[tuple[int, int]]] = {"sched_switch": [], "sched_waking": [], "sched_wakeup": []}
    for packet in message.packet:
        for event in packet.ftrace_events.event:
            for kind, found in read.items():
                if event.HasField(kind):
                    body = getattr(event, kind)
                    found.append((event.timestamp, body.next_pid if kind == "sched_switch" else body.pid))
    frames = to_lisa(source)
    for kind, found in read.items():
        frame = frames[kind]
        ns = (frame.index.to_numpy() * 1e9).round().astype("int64")
        pids = frame["next_pid" if kind == "sched_switch" else "pid"]
        assert sorted(found) == sorted(zip(ns.tolist(), pids.tolist())), kind


def test_perfetto_brings_back_what_it_got(source: RunResult | Trace, tmp_path: Path) -> None:
    from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace as Message

    back = from_perfetto(Message.FromString(to_perfetto(source)), tmp_path / "trace.pftrace")
    assert back.format == "perfetto"
    expected, got = rows(to_lisa(source)), rows(to_lisa(back))
    # Perfetto has no run times, and no flags of interrupts.
    for event in ("sched_switch", "sched_wakeup", "sched_wakeup_new", "sched_migrate_task"):
        assert sorted(got[event]) == sorted(expected[event]), event
    assert from_perfetto(to_perfetto(back), tmp_path / "again.pftrace").events.to_dicts() == back.events.to_dicts()


def test_a_trace_that_perfettos_classes_build_is_read(tmp_path: Path) -> None:
    from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace as Message

    message = Message()
    bundle = message.packet.add().ftrace_events
    bundle.cpu = 2
    for at, (prev, following) in ((1_000, (0, 7)), (3_000, (7, 0))):
        event = bundle.event.add(timestamp=at, pid=prev)
        switch = event.sched_switch
        switch.prev_comm, switch.next_comm = (f"task{pid}" if pid else "swapper" for pid in (prev, following))
        switch.prev_pid, switch.next_pid, switch.prev_prio, switch.next_prio = prev, following, 120, 120
        switch.prev_state = 1 if prev else 0
    trace = from_perfetto(message, tmp_path / "built.pftrace")
    assert [(row["t_ns"], row["cpu"], row["comm"], row["what"]) for row in trace.events.to_dicts()] == [
        (0, 2, "task7", "R"),
        (2_000, 2, None, "S"),
    ]
    with pytest.raises(fg.InputError):
        from_perfetto(b"no trace at all", tmp_path / "none.pftrace")


def test_trace_processor_hands_our_bytes_on() -> None:
    """Perfetto's class with a stand-in for the program behind it, which no package has: it keeps what it is told to parse."""
    from perfetto.trace_processor import TraceProcessor

    trace = to_perfetto(fg.read(RECORDING))
    chunks: list[bytes] = []

    class StandIn(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            assert self.path == "/parse"
            chunks.append(self.rfile.read(int(self.headers["Content-Length"])))
            self.answer()

        def do_GET(self) -> None:
            self.answer()

        def answer(self) -> None:
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), StandIn) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        with TraceProcessor(trace=io.BytesIO(trace), addr=f"127.0.0.1:{server.server_port}"):
            pass
        server.shutdown()
    assert b"".join(chunks) == trace


def test_a_trace_is_read_as_it_was_recorded_and_in_parts(tmp_path: Path) -> None:
    trace = fg.read(RECORDING)
    assert trace.name == "trace.csv.zst" and trace.format == "recorded" and trace.epoch_ns == 0
    assert len(trace.events) == 6666 and len(trace.tasks) == 48 and "6666 events" in trace.notes[-1]
    part = fg.read(RECORDING, time="+1s,+2s")
    times = [row["t_ns"] for row in part.events.to_dicts()]
    assert 0 < len(times) < 6666 and min(times) >= 10**9 and max(times) <= 2 * 10**9
    part.save(tmp_path / "part.csv", tmp_path / "part.pftrace")
    assert len(fg.read(tmp_path / "part.csv").events) == len(times)
    with pytest.raises(fg.InputError):
        fg.read(RECORDING, time="900,901")
    with pytest.raises(fg.InputError):
        fg.read(ROOT / "README.md")
    with pytest.raises(fg.WorldError):
        fg.read(tmp_path / "none.dat")
