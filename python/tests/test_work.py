"""Long work: the interpreter is free, Ctrl-C works, progress is told."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time

import pytest

import fairground as fg

# Minutes of work on any host, if nobody stops it.
LONG = """
import fairground as fg
scenario = fg.Scenario(duration="1h", machine="smp-8", kernel="6.12").task("a", run="20us", period="100us", count=64)
"""


def small() -> fg.Scenario:
    return fg.Scenario(duration="200ms", machine="smp-2", kernel="6.12").hog("hog", count=3).task("a", run="1ms", period="4ms")


@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGINT for one process")
@pytest.mark.parametrize("call", ["fg.run(scenario)", "fg.compare(scenario, b='v5.19')", "fg.latency(scenario)"])
def test_ctrl_c_stops_it(call: str) -> None:
    code = f"{LONG}\nprint('begins', flush=True)\ntry:\n    {call}\nexcept KeyboardInterrupt:\n    print('stopped')\n"
    child = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert child.stdout is not None and child.stdout.readline() == "begins\n"
    time.sleep(0.5)
    child.send_signal(signal.SIGINT)
    out, err = child.communicate(timeout=60)
    assert out == "stopped\n" and child.returncode == 0, err


def test_an_exception_of_the_progress_function_stops_it() -> None:
    class Enough(Exception):
        pass

    def progress(done: int, total: int) -> None:
        raise Enough

    space: dict[str, object] = {}
    exec(LONG, space)
    with pytest.raises(Enough):
        fg.run(space["scenario"], progress=progress)  # type: ignore[arg-type]


def test_progress_is_told_up_to_the_end() -> None:
    seen: list[tuple[int, int]] = []
    fg.compare(small(), b="v5.19", runs=3, progress=lambda done, total: seen.append((done, total)))
    assert seen[-1] == (6, 6) and seen == sorted(seen)


def test_other_threads_go_on_meanwhile() -> None:
    turns, stop = [0], threading.Event()

    def count() -> None:
        while not stop.is_set():
            turns[0] += 1
            time.sleep(0.001)

    thread = threading.Thread(target=count)
    thread.start()
    result = fg.run(fg.Scenario(duration="60s", machine="smp-4", kernel="6.12").task("a", run="50us", period="200us", count=8))
    stop.set()
    thread.join()
    assert turns[0] > 20 and result.wall_s > 0


def test_two_threads_at_once_have_the_results_of_one_after_the_other() -> None:
    expected = [fg.run(small(), seed=seed).digest for seed in range(1, 9)]
    found = [""] * 8

    def work(numbers: range) -> None:
        for number in numbers:
            found[number] = fg.run(small(), seed=number + 1).digest

    threads = [threading.Thread(target=work, args=(range(first, 8, 2),)) for first in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == expected


def test_one_result_is_read_by_many_threads() -> None:
    result = fg.run(small())
    found: list[int] = []
    threads = [threading.Thread(target=lambda: found.append(len(result.events))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(found)) == 1 and len(found) == 4


def test_a_bar_of_tqdm_appears_only_when_work_is_long(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    from fairground import _progress

    fg.compare(small(), b="v5.19", runs=1)
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(_progress, "_PATIENCE_S", 0.0)
    fg.compare(small(), b="v5.19", runs=1)
    assert "comparing" in capsys.readouterr().err
    fg.compare(small(), b="v5.19", runs=1, progress=False)
    assert capsys.readouterr().err == ""


def test_importing_loads_nothing_else() -> None:
    others = ("tqdm", "pyarrow", "polars", "pandas", "numpy", "ray", "optuna")
    code = f"import sys, fairground; print([name for name in sys.modules if name in {others} or name.startswith('fairground._tune')])"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert ran.stdout.strip() == "[]"


def test_what_is_loaded_late_is_there_when_asked_for() -> None:
    code = "import fairground; print({'tune', 'Tuned', 'Objectives'} <= set(dir(fairground))); from fairground import *; print(tune.__name__)"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert ran.stdout.split() == ["True", "tune"]
    with pytest.raises(AttributeError, match="nothing"):
        getattr(fg, "nothing")  # noqa: B009
