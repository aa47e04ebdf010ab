"""Sweeps on a Ray cluster. Tasks are batches of runs of about a second; what comes back are lines of the journal.

Lines are sent as one text per batch: the journal needs them as text. 900 lines (1 MB) take 1.1 ms there and back by pickle, and 4.6 ms as
a batch of Arrow (pyarrow IPC, 2 shared cores).
"""

from __future__ import annotations

import argparse
import socket
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from ._errors import BrokenInvariant, InputError, Mistake, WorldError
from ._native import __VERSION__, Report, SweepPlan

_BATCH_S = 1.0
"""How long a batch is to take."""
_SETTINGS = 4
"""The type of the frame that each side of HTTP/2 sends first (RFC 9113, 3.4); it stands after three bytes of length."""
_HELLO = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes([0, 0, 0, _SETTINGS, 0, 0, 0, 0, 0])
_DEATHS = 20
"""So often a batch is begun anew after its worker died."""
_ANSWER_S = 4.0
"""How long the address of a cluster may take to answer."""

_Tell = Callable[[int, int], object] | None
_Range = tuple[int, int]


def sweep(plan: SweepPlan, address: str | None, journal: Any, fresh: bool, tell: _Tell) -> Report:
    """Makes what is open of a plan on the workers of a cluster."""
    _ray()
    queue = _Queue(plan.open(journal, fresh))
    total, done = len(plan), len(plan) - queue.left
    if queue.left:
        with _connected(address) as ray:
            for lines in _results(ray, plan, queue):
                done += plan.note(lines)
                if tell is not None:
                    tell(done, total)
    return plan.finish()


class _Queue:
    """The open runs, as ranges of numbers."""

    def __init__(self, numbers: list[int]) -> None:
        self._numbers = sorted(numbers)
        self._at = 0
        self._per_run_s: float | None = None

    @property
    def left(self) -> int:
        return len(self._numbers) - self._at

    def learn(self, runs: int, seconds: float) -> None:
        """A batch of so many runs took so long; the estimate follows within a few batches."""
        per_run_s = max(seconds / max(runs, 1), 1e-6)
        self._per_run_s = per_run_s if self._per_run_s is None else (self._per_run_s + per_run_s) / 2

    def take(self, slots: int) -> _Range:
        """The next batch. Near the end batches become short, so that no worker is left alone with a long one."""
        size = 1 if self._per_run_s is None else round(_BATCH_S / self._per_run_s)
        size = max(1, min(size, -(-self.left // (2 * slots))))
        first = self._numbers[self._at]
        end = first
        while size and self._at < len(self._numbers) and self._numbers[self._at] == end:
            self._at, end, size = self._at + 1, end + 1, size - 1
        return first, end


def _batch(version: str, key: str, carried: Any, first: int, end: int) -> Any:
    """What a worker does. Ray sends this function as code, since a worker may have another version of the package, or none."""
    import socket

    try:
        import fairground
    except ImportError:
        return socket.gethostname(), None
    if fairground.__version__ != version:
        return socket.gethostname(), fairground.__version__
    from fairground import _ray

    return _ray.made(key, carried, first, end)


# Of a function of `__main__` the code is sent, of any other only the name.
_batch.__module__ = "__main__"

_plan: tuple[str, SweepPlan] | None = None
"""The plan that this worker made last, by the key of its sweep."""


def made(key: str, carried: tuple[Any, ...], first: int, end: int) -> tuple[float, int, str]:
    """Seconds, number of runs and lines of a batch, on a worker."""
    global _plan
    if _plan is None or _plan[0] != key:
        _plan = key, SweepPlan.of_carried(carried)
    began = time.monotonic()
    lines = _plan[1].run_lines(first, end)
    return time.monotonic() - began, end - first, lines


def _results(ray: Any, plan: SweepPlan, queue: _Queue) -> Iterator[str]:
    """The lines of all batches as they come."""
    task = ray.remote(num_cpus=1, max_retries=_DEATHS, scheduling_strategy="SPREAD")(_batch)
    key = uuid.uuid4().hex
    pending: dict[Any, _Range] = {}
    try:
        carried = ray.put(plan.carried())
        while queue.left or pending:
            # One batch runs on each CPU and one waits for it.
            slots = max(1, int(ray.cluster_resources().get("CPU", 1)))
            while queue.left and len(pending) < 2 * slots:
                first, end = queue.take(slots)
                pending[task.remote(__VERSION__, key, carried, first, end)] = first, end
            ready, _ = ray.wait(list(pending), num_returns=1, timeout=0.5)
            more, _ = ray.wait(list(pending), num_returns=len(pending), timeout=0)
            for ref in {*ready, *more}:
                first, end = pending[ref]
                result = _got(ray, ref, first, end)
                del pending[ref]
                if len(result) == 2:
                    raise _other_version(*result)
                seconds, runs, lines = result
                queue.learn(runs, seconds)
                yield lines
    except ray.exceptions.RayError as error:
        raise _failed(ray, error, "the cluster") from None
    finally:
        for ref in pending:
            _quietly(ray.cancel, ref, force=True)


def _got(ray: Any, ref: Any, first: int, end: int) -> Any:
    try:
        return ray.get(ref)
    except ray.exceptions.RayError as error:
        raise _failed(ray, error, f"runs {first} to {end - 1}") from None


def _failed(ray: Any, error: Exception, where: str) -> Exception:
    """What Ray says, as one of our exceptions."""
    names = ray.exceptions
    cause = getattr(error, "cause", None)
    if isinstance(cause, (InputError, WorldError, BrokenInvariant)):
        return cause
    kept = "What is finished stands in the journal: the same call goes on there."
    said = str(error).strip().splitlines()[-1] if str(error).strip() else ""
    what = f"{where}: Ray says {type(error).__name__}: {said}"
    if isinstance(error, (names.ObjectStoreFullError, names.OutOfDiskError)):
        what = f"{where}: the object store of Ray is full ({type(error).__name__}); give it more by `ray start --object-store-memory`"
    elif isinstance(error, names.OutOfMemoryError):
        what = f"{where}: a worker of Ray is out of memory (OutOfMemoryError); give its node more, or fewer CPUs by `ray start --num-cpus`"
    elif isinstance(error, names.WorkerCrashedError):
        what = f"{where}: the worker died {_DEATHS + 1} times (WorkerCrashedError)"
    return WorldError(None, f"{what}. {kept}")


def _other_version(host: str, theirs: str | None) -> Exception:
    has = "has no fairground" if theirs is None else f"has fairground {theirs}"
    return WorldError(None, f"worker {host} {has}, this is {__VERSION__}: install the same version on all machines")


def _ray() -> Any:
    try:
        import ray
    except ImportError:
        hint = "pip install './python[ray]'"
        raise InputError([Mistake("engine", None, None, "Ray is not installed", hint)]) from None
    return ray


@contextmanager
def _connected(address: str | None) -> Iterator[Any]:
    """Ray, connected: by the caller, or here and then left at the end."""
    ray = _ray()
    if ray.is_initialized():
        own = ray.get_runtime_context().gcs_address
        if address not in (None, "auto", own):
            raise WorldError(None, f"this process is connected to the cluster {own} already, not to {address}")
        yield ray
        return
    if address not in (None, "auto", "local"):
        _probe(address)
    try:
        ray.init(address=address, log_to_driver=False, logging_level="ERROR")
    # Ray ends the process where it loses the cluster while it connects.
    except (ConnectionError, RuntimeError, ValueError, SystemExit, ray.exceptions.RayError) as error:
        where = "Ray cannot be started here" if address is None else f"there is no Ray cluster at {address}"
        raise WorldError(None, f"{where}: {error}") from None
    try:
        yield ray
    finally:
        _quietly(ray.shutdown)


def _probe(address: str) -> None:
    """Whether a server of gRPC answers. Ray itself tries a dead address for more than a minute."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not host or not port.isdecimal() or int(port) > 65535:
        hint = "HOST:PORT of the head, such as 10.0.0.1:6379."
        raise InputError([Mistake("address", None, None, f"{address!r} is no address", hint)])
    try:
        with socket.create_connection((host.strip("[]"), int(port)), _ANSWER_S) as connection:
            connection.settimeout(_ANSWER_S)
            connection.sendall(_HELLO)
            answer = connection.recv(4)
            if len(answer) < 4 or answer[3] != _SETTINGS:
                raise ConnectionError("another service answers")
    except OSError as error:
        what = f"there is no Ray cluster at {address}: {error}; `ray status` on its head tells the address"
        raise WorldError(error.errno, what) from None


def _quietly(function: Callable[..., Any], *arguments: Any, **named: Any) -> None:
    """Tidies up after an end that has its own exception already."""
    try:
        function(*arguments, **named)
    except Exception:
        pass


def _told(done: int, total: int) -> None:
    """Tells the command how far the work is."""
    print(done, total, flush=True)


def main() -> int:
    """What `fairground sweep --engine ray` starts: fills the journal of a sweep file."""
    parser = argparse.ArgumentParser(prog="python3 -m fairground._ray")
    parser.add_argument("file")
    parser.add_argument("--version", required=True)
    for name in ("--journal", "--address", "--until"):
        parser.add_argument(name)
    for name in ("--fresh", "--seeds-apart"):
        parser.add_argument(name, action="store_true")
    asked = parser.parse_args()
    try:
        if asked.version != __VERSION__:
            hint = "Install the package of the same checkout: pip install ./python"
            message = f"the Python package is version {__VERSION__}, the command {asked.version}"
            raise InputError([Mistake("fairground", None, None, message, hint)])
        sweep(SweepPlan(asked.file, None, asked.until, asked.seeds_apart), asked.address, asked.journal, asked.fresh, _told)
    except (InputError, WorldError, BrokenInvariant) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2 if isinstance(error, InputError) else 3 if isinstance(error, WorldError) else 101
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
