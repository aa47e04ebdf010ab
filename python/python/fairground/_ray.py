"""Sweeps on a Ray cluster.

::

    driver   open runs of the journal  ->  batches of about a second  ->  tasks
    worker   the sweep out of the object store, once per process  ->  rows, a line of text each
    driver   notes each row in the journal as it comes  ->  the report that the local engine makes

A task that is lost with its worker or node is made again by Ray, and gives the same rows. If the driver is lost, the journal has what it
had noted, and the next call makes the rest, here or there.
"""

from __future__ import annotations

import argparse
import itertools
import os
import socket
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from . import _native
from ._errors import InputError, Mistake, WorldError
from ._native import Report, SweepPlan

BATCH_S = 1.0
"""How long a batch is to take."""
IN_FLIGHT = 2
"""Batches per CPU that are under way or wait for one."""
RETRIES = 20
"""How often a batch is made again whose worker or node is lost."""
REACH_S = 5.0
"""For so long the cluster's address is tried."""
HTTP2_PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes([0, 0, 0, 4, 0, 0, 0, 0, 0])
"""What a client of HTTP/2 sends first, with a frame of no settings (RFC 9113, section 3.4)."""
HTTP2_SETTINGS = b"\x04"
"""The type of that frame, its fourth byte."""

Carried = Any


_plans: dict[str, SweepPlan] = {}
"""Of a worker: the plan that it made last, by the name of the object that it was made of."""


def made(carried: Carried, name: str, first: int, end: int) -> tuple[float, str]:
    """Of a worker: makes these runs. Returns how long it took in s, and the rows."""
    if name not in _plans:
        _plans.clear()
        _plans[name] = SweepPlan.of_carried(carried)
    begin = time.monotonic()
    lines = _plans[name].lines(first, end)
    return time.monotonic() - begin, lines


def _task() -> Callable[..., Any]:
    """What is sent to workers. A function in a function is sent as code, so it runs also where another fairground is installed, or none."""

    def batch(carried: Any, name: str, version: str, first: int, end: int) -> tuple[str, str] | tuple[float, str]:
        """The worker's host and version, if that is another one; else the runs."""
        from socket import gethostname

        try:
            from fairground import __version__ as found
        except ImportError:
            return gethostname(), "none"
        if found != version:
            return gethostname(), found
        from fairground._ray import made

        return made(carried, name, first, end)

    return batch


class _Batches:
    """Cuts open runs into parts of neighbours, as many at a time as take about a second."""

    def __init__(self, numbers: Sequence[int], cpus: int) -> None:
        neighbours = itertools.groupby(enumerate(numbers), lambda row: row[1] - row[0])
        stretches = ([number for _, number in group] for _, group in neighbours)
        self._stretches = deque((stretch[0], stretch[-1] + 1) for stretch in stretches)
        self._most = max(1, len(numbers) // (4 * cpus))
        self._size = 1

    def took(self, seconds: float, runs: int) -> None:
        """A batch of so many runs took so long."""
        wanted = int(runs * BATCH_S / max(seconds, 1e-6))
        # No more than eight times at once: the first runs may be short ones.
        self._size = max(1, min(wanted, 8 * self._size, self._most))

    def __iter__(self) -> Iterator[tuple[int, int]]:
        while self._stretches:
            first, end = self._stretches.popleft()
            cut = min(first + self._size, end)
            if cut < end:
                self._stretches.appendleft((cut, end))
            yield first, cut


def _ray() -> Any:
    try:
        import ray
    except ImportError as error:
        hint = "Install it: pip install 'fairground[ray]'."
        raise InputError([Mistake("engine", None, None, "Ray is not installed here", hint)]) from error
    return ray


def _check_address(address: str) -> None:
    """Raises WorldError if nobody listens there. Ray itself would wait for a minute."""
    place = address.removeprefix("ray://")
    host, _, port = place.rpartition(":")
    if not host or not port.isdigit():
        hint = 'Write "HOST:PORT", "ray://HOST:PORT" or "auto".'
        raise InputError([Mistake("address", None, None, f"{address!r} is no address of a cluster", hint)])
    try:
        with socket.create_connection((host.strip("[]"), int(port)), REACH_S) as there:
            # Ray speaks gRPC, so HTTP/2: whoever is alive answers the preface with settings. TLS would hide that.
            if os.environ.get("RAY_USE_TLS", "0").lower() not in ("1", "true"):
                there.settimeout(REACH_S / 2)
                there.sendall(HTTP2_PREFACE)
                if there.recv(9)[3:4] != HTTP2_SETTINGS:
                    raise WorldError(None, f"no Ray cluster answers at {address}: what listens there is something else")
    except WorldError:
        raise
    except OSError as error:
        raise WorldError(error.errno, f"no Ray cluster answers at {address}: {error.strerror or error}") from error


def _joined(ray: Any, address: str | None) -> bool:
    """Joins the cluster, if this process has not. Returns whether it has to leave."""
    if address not in (None, "auto", "local"):
        _check_address(str(address))
    if ray.is_initialized():
        return False
    try:
        ray.init(address=address, log_to_driver=False, include_dashboard=None if address else False, logging_level="error")
    except (ConnectionError, RuntimeError, TimeoutError) as error:
        raise WorldError(None, f"no Ray cluster at {address or 'this host'}: {error}") from error
    return True


def swept(
    plan: SweepPlan,
    address: str | None,
    journal: str | os.PathLike[str] | None,
    fresh: bool,
    progress: Callable[[int, int], object] | None,
    version: str = _native.__VERSION__,
) -> Report:
    """Makes the open runs of a plan on a cluster."""
    ray = _ray()
    leaves = _joined(ray, address)
    try:
        _make(ray, plan, plan.begin(journal, fresh), version, progress)
    finally:
        if leaves:
            ray.shutdown()
    return plan.finish()


def _make(ray: Any, plan: SweepPlan, numbers: Sequence[int], version: str, progress: Callable[[int, int], object] | None) -> None:
    cpus = max(1, int(ray.cluster_resources().get("CPU", 1)))
    batches = _Batches(numbers, cpus)
    parts = iter(batches)
    under_way: dict[Any, tuple[int, int]] = {}
    done, total = plan.runs - len(numbers), plan.runs
    try:
        carried = ray.put(plan.carried())
        task = ray.remote(max_retries=RETRIES, num_cpus=1)(_task()).options(name="fairground")
        while True:
            for first, end in itertools.islice(parts, max(0, IN_FLIGHT * cpus - len(under_way))):
                under_way[task.remote(carried, carried.hex(), version, first, end)] = (first, end)
            if not under_way:
                return
            ready, _ = ray.wait(list(under_way), num_returns=1, timeout=0.2)
            for ref in ready:
                first, end = under_way.pop(ref)
                seconds, lines = ray.get(ref)
                if isinstance(seconds, str):
                    raise _other_version(seconds, lines, version)
                batches.took(seconds, end - first)
                done += plan.note(lines)
            if progress is not None:
                progress(min(done, total), total)
    except ray.exceptions.RayError as error:
        raise _told(ray, error) from error
    finally:
        for ref in under_way:
            ray.cancel(ref, force=True)


def _other_version(host: str, found: str, version: str) -> InputError:
    message = f"the worker {host} has fairground {found}, and this is {version}"
    return InputError([Mistake("engine", None, None, message, "Install the same version on all hosts of the cluster.")])


def _told(ray: Any, error: Exception) -> Exception:
    """What a failure of Ray is to the caller. Runs that are finished stand in the journal."""
    cause = getattr(error, "cause", None)
    if isinstance(cause, (InputError, WorldError)):
        return cause
    full = tuple(kind for kind in (getattr(ray.exceptions, name, None) for name in _FULL) if kind)
    if isinstance(error, full):
        return WorldError(None, f"Ray is out of room ({type(error).__name__}); finished runs are kept in the journal: {error}")
    return WorldError(None, f"Ray failed ({type(error).__name__}); finished runs are kept in the journal: {error}")


_FULL = ("ObjectStoreFullError", "OutOfMemoryError", "OutOfDiskError")


def main() -> int:
    """``python3 -m fairground._ray``: what ``fairground sweep --engine ray`` starts. It fills the journal."""
    parser = argparse.ArgumentParser(prog="fairground sweep --engine ray")
    parser.add_argument("sweep")
    parser.add_argument("--address")
    parser.add_argument("--journal")
    parser.add_argument("--fresh", action="store_true")
    parser.add_argument("--until")
    asked = parser.parse_args()
    from ._progress import Bar

    try:
        plan = SweepPlan(asked.sweep, None, asked.until, False)
        with Bar(True, "sweeping") as bar:
            swept(plan, asked.address, asked.journal, asked.fresh, bar.tell)
    except (InputError, WorldError) as error:
        print(error, file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
