"""Sweeps on a Ray cluster of two nodes on loopback: whatever happens there, the same bytes come out."""

from __future__ import annotations

import json
import logging
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import fairground as fg

# Warnings of Ray are not ours.
pytestmark = pytest.mark.filterwarnings("ignore")

BASE = """
duration = "300ms"
machine = { preset = "smp-4" }
workload = [{ tasks = [{ name = "a", hog = true, count = 6 }, { name = "b", run = "1ms", period = "5ms" }] }]
"""
SWEEP = """
base = "base.toml"
axes = { profile = ["v5.19", "v6.12"], machine = ["smp-2", "smp-4"], "workload.0.tasks.b.cpus" = ["0", "3"], seed = "1..10" }
"""
RUNS = 80


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    import ray
    from ray.cluster_utils import Cluster

    # Workers find the package and the tests' Python as this process does.
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "object_store_memory": 80_000_000})
    cluster.add_node(num_cpus=1, object_store_memory=80_000_000)
    ray.init(address=cluster.address, log_to_driver=False, logging_level=logging.ERROR)
    yield cluster
    ray.shutdown()
    cluster.shutdown()  # type: ignore[no-untyped-call]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "base.toml").write_text(BASE)
    (tmp_path / "sweep.toml").write_text(SWEEP)
    return tmp_path / "sweep.toml"


def parts(report: fg.Report) -> tuple[str, str]:
    return json.dumps(report.document), report.html()


def test_here_and_there_give_the_same_bytes_and_a_journal_goes_on_in_the_other(cluster: Any, file: Path) -> None:
    here = fg.sweep(file, journal=file.parent / "here")
    steps: list[tuple[int, int]] = []
    there = fg.sweep(file, engine="ray", address=cluster.address, journal=file.parent / "there", progress=lambda done, total: steps.append((done, total)))
    assert parts(here) == parts(there)
    # A combination that cannot be run is a row; the others are made.
    assert here.exit_code == 2 and steps[-1] == (RUNS, RUNS)
    lines = [sorted((file.parent / name).read_text().splitlines(keepends=True)) for name in ("here", "there")]
    # The first line says whose journal it is.
    assert lines[0] == lines[1] and len(lines[0]) == 1 + RUNS * 3 // 4
    for engine in ("ray", "local"):
        (file.parent / "both").write_text("".join(lines[0][:25]) + lines[0][25][:30])
        both = fg.sweep(file, engine=engine, journal=file.parent / "both")
        assert parts(both) == parts(here)
        assert len((file.parent / "both").read_text().splitlines()) == 1 + RUNS * 3 // 4 + 1


def test_seeds_that_end_when_they_are_enough_end_there_too(cluster: Any, file: Path) -> None:
    here = fg.sweep(file, until="switches=50%", journal=file.parent / "here")
    there = fg.sweep(file, until="switches=50%", engine="ray", journal=file.parent / "there")
    assert parts(here) == parts(there)


def test_a_worker_that_is_killed_costs_nothing_but_time(cluster: Any, file: Path) -> None:
    killed: list[int] = []

    def kill(done: int, total: int) -> None:
        for pid in workers(cluster):
            if len(killed) < 3 and pid not in killed:
                os.kill(pid, signal.SIGKILL)
                killed.append(pid)

    there = fg.sweep(file, engine="ray", journal=file.parent / "there", progress=kill)
    assert killed
    assert parts(there) == parts(fg.sweep(file, journal=file.parent / "here"))


def workers(cluster: Any) -> list[int]:
    """The processes that run batches: children of the nodes of this cluster."""
    nodes = {info.process.pid for node in cluster.list_all_nodes() for info in node.all_processes.get("raylet", [])}
    found = []
    for entry in Path("/proc").iterdir():
        try:
            name = (entry / "cmdline").read_bytes()
            parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
        except (OSError, ValueError, IndexError):
            continue
        if name.startswith(b"ray::_batch") and parent in nodes:
            found.append(int(entry.name))
    return found


def test_a_worker_of_another_version_is_refused_by_name(cluster: Any, file: Path, tmp_path: Path) -> None:
    (tmp_path / "fairground").mkdir()
    (tmp_path / "fairground/__init__.py").write_text("__version__ = '0.0.9'\n")
    file.write_text(SWEEP.replace("1..10", "1..400"))
    node = cluster.add_node(num_cpus=2, object_store_memory=80_000_000, env_vars={"PYTHONPATH": str(tmp_path)})
    try:
        with pytest.raises(fg.WorldError, match=rf"worker {socket.gethostname()} has fairground 0.0.9, this is {fg.__version__}"):
            fg.sweep(file, engine="ray", fresh=True)
    finally:
        cluster.remove_node(node)


def test_an_address_without_a_cluster_is_told_at_once(file: Path) -> None:
    # Ports that were bound a moment ago, and one that takes connections and says nothing.
    with socket.socket() as free, socket.socket() as mute:
        free.bind(("127.0.0.1", 0))
        mute.bind(("127.0.0.1", 0))
        mute.listen()
        for port in (free.getsockname()[1], mute.getsockname()[1]):
            code = f"import fairground as fg; fg.sweep({str(file)!r}, engine='ray', address='127.0.0.1:{port}')"
            began = time.monotonic()
            ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
            assert ended.returncode == 1 and f"there is no Ray cluster at 127.0.0.1:{port}" in ended.stderr, ended.stderr
            assert time.monotonic() - began < 15
    with pytest.raises(fg.InputError, match="'nonsense' is no address"):
        from fairground import _ray

        _ray._probe("nonsense")


def test_without_ray_the_error_says_what_to_install(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(fg.InputError, match=r"pip install ../python\[ray\]"):
        fg.sweep(file, engine="ray")
    with pytest.raises(fg.InputError, match="no engine 'spark'"):
        fg.sweep(file, engine="spark")
