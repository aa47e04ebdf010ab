"""Sweeps on Ray while workers are killed, a node goes and comes, and the driver is killed and begun again.

    python tests/chaos_ray.py [COUNT [SEED]]

Each round must end with the bytes of a local sweep. At the end it says what was killed in how many rounds.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import test_ray

import fairground as fg

DRIVER = "import sys, chaos_ray; print(chaos_ray.digest(sys.argv[1], engine='ray', address=sys.argv[2]))"


def digest(file: str | Path, **how: Any) -> str:
    report = fg.sweep(file, progress=False, **how)
    return hashlib.sha256("".join(test_ray.parts(report)).encode()).hexdigest()


def main(count: int, seed: int) -> None:
    from ray.cluster_utils import Cluster

    chance = random.Random(seed)
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "object_store_memory": 80_000_000})
    second = cluster.add_node(num_cpus=1, object_store_memory=80_000_000)
    hit = {"workers": 0, "nodes": 0, "drivers": 0}
    for number in range(count):
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "sweep.toml"
            (file.parent / "base.toml").write_text(test_ray.BASE)
            file.write_text(test_ray.SWEEP.replace("1..10", f"{number * 100 + 1}..{number * 100 + 60}"))
            wanted = digest(file, journal=file.parent / "here")
            done = {"workers": 0, "nodes": 0, "drivers": 0}
            while True:
                command = [sys.executable, "-c", DRIVER, str(file), cluster.address]
                driver = subprocess.Popen(command, cwd=Path(__file__).parent, stdout=subprocess.PIPE, text=True)
                dies_at = time.monotonic() + chance.uniform(2, 6) if done["drivers"] < 2 and chance.random() < 0.6 else None
                while driver.poll() is None:
                    time.sleep(chance.uniform(0.05, 0.6))
                    pids = test_ray.workers(cluster)
                    if pids and done["workers"] < 6 and chance.random() < 0.5:
                        try:
                            os.kill(chance.choice(pids), signal.SIGKILL)
                            done["workers"] += 1
                        except ProcessLookupError:
                            pass
                    if pids and done["nodes"] < 1 and chance.random() < 0.3:
                        cluster.remove_node(second, allow_graceful=False)
                        second = cluster.add_node(num_cpus=1, object_store_memory=80_000_000)
                        done["nodes"] += 1
                    if dies_at is not None and time.monotonic() > dies_at:
                        driver.kill()
                        done["drivers"] += 1
                        dies_at = None
                # Ray tells of dead workers on stdout too.
                said = driver.communicate()[0]
                if driver.returncode == -signal.SIGKILL:
                    continue
                assert driver.returncode == 0 and said.strip().splitlines()[-1:] == [wanted], (number, seed, driver.returncode, said, wanted)
                break
            print(f"round {number + 1} of {count}: same bytes; {json.dumps(done)} killed", flush=True)
            for what in hit:
                hit[what] += done[what] > 0
    print(f"{count} rounds, all with the same bytes; rounds in which one or more were killed: {json.dumps(hit)}")
    cluster.shutdown()  # type: ignore[no-untyped-call]


if __name__ == "__main__":
    main(*[int(word) for word in (sys.argv[1:] + ["50", "1"][len(sys.argv) - 1 :])[:2]])
