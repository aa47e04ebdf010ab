"""Sweeps on a Ray cluster of several nodes, all on this host."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import ray
from ray.cluster_utils import Cluster

import fairground as fg
from fairground import _native, _ray

SWEEP: dict[str, Any] = {
    "title": "hogs and a player",
    "metrics": ["tasks.player.max_wait_ms", "switches"],
    "axes": {"workload.0.tasks.hog.count": [1, 2, 3], "profile": ["v6.1", "v6.12"], "seed": "1..4"},
    "base": {
        "duration": "50ms",
        "machine": {"preset": "smp-2"},
        "workload": [{"tasks": [{"name": "hog", "hog": True, "count": 1}, {"name": "player", "run": "1ms", "period": "5ms"}]}],
    },
}


def long() -> dict[str, Any]:
    """Some seconds of work: 240 runs."""
    return {**SWEEP, "axes": {**SWEEP["axes"], "seed": "1..40"}, "base": {**SWEEP["base"], "duration": "10s"}}


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    made = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    made.add_node(num_cpus=1)
    ray.init(address=made.address, log_to_driver=False, logging_level="error")
    yield made
    ray.shutdown()
    made.shutdown()


def workers() -> list[int]:
    """Processes that make a batch."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                if b"ray::fairground" in (entry / "cmdline").read_bytes():
                    found.append(int(entry.name))
            except OSError:
                continue
    return found


def when(there: Any, act: Any) -> threading.Thread:
    """Does something as soon as a condition holds, beside the caller."""

    def wait() -> None:
        end = time.monotonic() + 30
        while not there():
            if time.monotonic() > end:
                return
            time.sleep(0.02)
        act()

    thread = threading.Thread(target=wait)
    thread.start()
    return thread


def lines_of(journal: Path) -> int:
    return journal.read_text().count("\n") if journal.exists() else 0


@pytest.mark.parametrize("until", [None, "20%"])
def test_the_report_is_that_of_the_local_engine(cluster: Any, until: str | None) -> None:
    here, there = fg.sweep(SWEEP, until=until), fg.sweep(SWEEP, until=until, engine="ray")
    assert (there.document, there.summary, there.html()) == (here.document, here.summary, here.html())


@pytest.mark.parametrize("first", ["local", "ray"])
def test_a_sweep_begun_with_one_engine_is_finished_with_the_other(cluster: Any, tmp_path: Path, first: str) -> None:
    engines = ("local", "ray") if first == "local" else ("ray", "local")
    journal = tmp_path / "journal"
    part = {**SWEEP, "axes": {**SWEEP["axes"], "seed": "1..2"}}
    fg.sweep(part, engine=engines[0], journal=journal)
    assert lines_of(journal) == 12
    whole = fg.sweep(SWEEP, engine=engines[1], journal=journal)
    assert lines_of(journal) == 24
    assert whole.tables["sweep"].to_dicts() == fg.sweep(SWEEP).tables["sweep"].to_dicts()


def test_a_run_that_is_refused_is_a_row(cluster: Any) -> None:
    base = {**SWEEP["base"], "machine": {"preset": "smp-4"}}
    sweep = {"axes": {"machine": ["smp-2", "smp-4"], "workload.0.tasks.hog.cpus": ["0", "3"]}, "base": base}
    here, there = fg.sweep(sweep), fg.sweep(sweep, engine="ray")
    states = [row["state"] for row in there.tables["sweep"].to_dicts()]
    assert sorted(states) == ["done", "done", "done", "refused"]
    assert (there.document, there.exit_code) == (here.document, here.exit_code)


def test_a_worker_and_a_node_that_are_lost_change_nothing(cluster: Any, tmp_path: Path) -> None:
    sweep, journal = long(), tmp_path / "journal"
    node = cluster.add_node(num_cpus=1)
    killed: list[int] = []

    def kill() -> None:
        for worker in workers():
            os.kill(worker, signal.SIGKILL)
            killed.append(worker)

    threads = [when(lambda: lines_of(journal) > 5 and workers(), kill), when(lambda: lines_of(journal) > 20, lambda: cluster.remove_node(node))]
    there = fg.sweep(sweep, engine="ray", journal=journal)
    for thread in threads:
        thread.join()
    assert killed
    assert node not in cluster.list_all_nodes()
    assert there.document == fg.sweep(sweep).document


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_a_driver_that_is_stopped_is_resumed(cluster: Any, tmp_path: Path, how: signal.Signals) -> None:
    journal = tmp_path / "journal"
    code = f"import fairground as fg\nfg.sweep({long()!r}, engine='ray', address={cluster.address!r}, journal={str(journal)!r})"
    driver = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    end = time.monotonic() + 60
    while lines_of(journal) < 10 and driver.poll() is None and time.monotonic() < end:
        time.sleep(0.02)
    driver.send_signal(how)
    assert driver.wait() != 0
    done = lines_of(journal)
    assert 10 <= done < 240
    there = fg.sweep(long(), engine="ray", journal=journal)
    assert there.document == fg.sweep(long()).document


def test_a_worker_of_another_version_is_refused_by_name(cluster: Any, tmp_path: Path) -> None:
    plan = _native.SweepPlan(SWEEP, None, None, False)
    with pytest.raises(fg.InputError, match=rf"the worker .+ has fairground {fg.__version__}, and this is 0\.0\.1"):
        _ray.swept(plan, None, tmp_path / "journal", False, None, version="0.0.1")


def test_an_address_where_nobody_answers_is_told_soon(cluster: Any) -> None:
    begin = time.monotonic()
    with pytest.raises(fg.WorldError, match="no Ray cluster answers at 127.0.0.1:1:"):
        fg.sweep(SWEEP, engine="ray", address="127.0.0.1:1")
    with socket.create_server(("127.0.0.1", 0)) as silent, pytest.raises(fg.WorldError, match="no Ray cluster answers at"):
        fg.sweep(SWEEP, engine="ray", address=f"127.0.0.1:{silent.getsockname()[1]}")
    assert time.monotonic() - begin < 10
    with pytest.raises(fg.InputError, match="is no address"):
        fg.sweep(SWEEP, engine="ray", address="nowhere")


def test_a_full_object_store_is_told_by_name(cluster: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: object) -> None:
        raise ray.exceptions.ObjectStoreFullError("no room")

    journal = tmp_path / "journal"
    fg.sweep({**SWEEP, "axes": {**SWEEP["axes"], "seed": "1..2"}}, journal=journal)
    monkeypatch.setattr(ray, "put", full)
    with pytest.raises(fg.WorldError, match=r"out of room \(ObjectStoreFullError\); finished runs are kept"):
        fg.sweep(SWEEP, engine="ray", journal=journal)
    assert lines_of(journal) == 12


def test_engines_and_addresses_are_checked() -> None:
    with pytest.raises(fg.InputError, match="no engine 'dask'"):
        fg.sweep(SWEEP, engine="dask")
    with pytest.raises(fg.InputError, match="no address"):
        fg.sweep(SWEEP, address="auto")
