"""Sweeps on Ray under random failures: ``python tests/chaos_ray.py ROUNDS [FIRST_SEED]``.

In each round workers are killed, nodes are removed and drivers are killed or interrupted, at random. A driver that was stopped is
started again with the same journal, at times with the local engine. The round fails if the report is not, byte for byte, that of an
undisturbed local sweep. A round is repeated by its seed, as far as the moments are.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

from ray.cluster_utils import Cluster

RUNS = 120
DISTURBANCES = 6
"""At most so many in a round, so that it ends."""
ROUND_S = 300.0
SWEEP: dict[str, Any] = {
    "metrics": ["tasks.player.max_wait_ms", "switches"],
    "axes": {"workload.0.tasks.hog.count": [1, 2, 3], "profile": ["v6.1", "v6.12"], "seed": f"1..{RUNS // 6}"},
    "base": {
        "duration": "5s",
        "machine": {"preset": "smp-2"},
        "workload": [{"tasks": [{"name": "hog", "hog": True, "count": 1}, {"name": "player", "run": "1ms", "period": "5ms"}]}],
    },
}


def drive(engine: str, address: str, journal: str, out: str) -> None:
    """What a driver does: sweeps, and writes all of the report."""
    import fairground as fg

    more: dict[str, Any] = {"address": address} if engine == "ray" else {}
    report = fg.sweep(SWEEP, engine=engine, journal=journal, progress=False, **more)
    Path(out).write_text(json.dumps(report.document) + report.summary + report.html())


def start(engine: str, address: str, journal: Path, out: Path) -> subprocess.Popen[bytes]:
    words = [sys.executable, __file__, "--drive", engine, address, str(journal), str(out)]
    return subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def workers() -> list[int]:
    """Processes of Ray that make a batch."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and b"ray::fairground" in (entry / "cmdline").read_bytes():
                found.append(int(entry.name))
        except OSError:
            continue
    return found


def lines_of(journal: Path) -> int:
    return journal.read_bytes().count(b"\n") if journal.exists() else 0


class Round:
    """One sweep with its disturbances."""

    def __init__(self, cluster: Any, nodes: list[Any], seed: int, folder: Path) -> None:
        self.cluster, self.nodes = cluster, nodes
        self.dice = random.Random(seed)
        self.journal, self.out = folder / "journal", folder / "report"
        self.happened: Counter[str] = Counter()
        self.driver = self.begin("ray")

    def begin(self, engine: str) -> subprocess.Popen[bytes]:
        return start(engine, self.cluster.address, self.journal, self.out)

    def disturb(self) -> None:
        kind = self.dice.choice(["worker", "node", "driver killed", "driver interrupted"])
        if kind == "worker":
            found = workers()
            if not found:
                return
            try:
                os.kill(self.dice.choice(found), signal.SIGKILL)
            except ProcessLookupError:
                return
        elif kind == "node":
            self.cluster.remove_node(self.nodes.pop(self.dice.randrange(len(self.nodes))))
            self.nodes.append(self.cluster.add_node(num_cpus=1))
        else:
            self.driver.send_signal(signal.SIGKILL if kind == "driver killed" else signal.SIGINT)
            self.driver.communicate()
            if self.driver.returncode != 0:
                engine = "local" if self.dice.random() < 0.25 else "ray"
                self.happened[f"resumed with {engine}"] += 1
                self.driver = self.begin(engine)
        self.happened[kind] += 1

    def run(self, expected: str) -> str | None:
        """What went wrong, if something did."""
        end = time.monotonic() + ROUND_S
        step = RUNS // (DISTURBANCES + 1)
        due = [self.dice.randrange(step * at, step * (at + 1)) for at in range(DISTURBANCES)]
        while self.driver.poll() is None:
            if due and lines_of(self.journal) >= due[0]:
                del due[0]
                self.disturb()
            if time.monotonic() > end:
                self.driver.kill()
                return f"not done after {ROUND_S:.0f} s"
            time.sleep(0.02)
        _, told = self.driver.communicate()
        if self.driver.returncode != 0:
            return f"exit code {self.driver.returncode}: {told.decode()[-2000:]}"
        return None if self.out.read_text() == expected else "the report differs"


def main(rounds: int, first: int) -> int:
    failed, happened = 0, Counter[str]()
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    nodes = [cluster.add_node(num_cpus=1)]
    try:
        with tempfile.TemporaryDirectory() as name:
            whole = Path(name) / "whole"
            drive("local", "", str(Path(name) / "journal"), str(whole))
            expected = whole.read_text()
            for seed in range(first, first + rounds):
                folder = Path(name) / str(seed)
                folder.mkdir()
                begin = time.monotonic()
                one = Round(cluster, nodes, seed, folder)
                wrong = one.run(expected)
                failed += wrong is not None
                happened += one.happened
                print(f"seed {seed}: {wrong or 'same'}, {time.monotonic() - begin:.0f} s, {dict(one.happened)}", flush=True)
    finally:
        cluster.shutdown()
    print(f"{rounds} rounds, {failed} failed; {dict(happened)}")
    return min(failed, 1)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--drive"]:
        drive(*sys.argv[2:])
        sys.exit(0)
    sys.exit(main(int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 1))
