from collections.abc import Callable
from os import PathLike
from typing import Any, Literal, final

__all__ = [
    "Metric",
    "Report",
    "RunResult",
    "SweepPlan",
    "Table",
    "Trace",
    "__VERSION__",
    "advise",
    "compare",
    "conform",
    "domains",
    "explain",
    "latency",
    "listed",
    "read",
    "replay",
    "run",
    "written",
]

__VERSION__: str

_Progress = Callable[[int, int], object] | None
_Path = str | PathLike[str]

@final
class Table:
    """A table in columns. Libraries read it by the Arrow C data interface, without a copy: ``polars.DataFrame(table)``,
    ``pyarrow.table(table)``, ``pandas.DataFrame.from_arrow(table)`` (pandas 3), DuckDB by the name of the variable in a query."""

    @property
    def name(self) -> str:
        """Its name in documents."""

    @property
    def title(self) -> str:
        """What it shows; empty for one that needs no heading."""

    @property
    def columns(self) -> list[str]:
        """The names of the columns, with their units: ``wait_max_ns``."""

    def to_dicts(self) -> list[dict[str, Any]]:
        """All rows as dictionaries; a missing value is None. For small tables: each row is an object of Python."""

    def __len__(self) -> int: ...
    def _repr_html_(self) -> str: ...
    def __arrow_c_schema__(self) -> object: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...

@final
class Metric:
    """One named number of a run."""

    @property
    def name(self) -> str:
        """Its name, such as ``tasks.player.max_wait_ms``."""

    @property
    def value(self) -> int | float:
        """Its value in its base unit: whole nanoseconds of times, whatever unit the name has; a float of percentages and rates."""

    @property
    def unit(self) -> str:
        """``ns``, ``%``, ``1/s``, or empty for a count."""

    @property
    def better(self) -> Literal["lower", "higher"] | None:
        """Which way is an improvement; None if neither is."""

    def __float__(self) -> float: ...

@final
class RunResult:
    """A run that was made."""

    @property
    def summary(self) -> str:
        """What happened, in about ten lines."""

    @property
    def metrics(self) -> dict[str, Metric]:
        """The named numbers (:func:`fairground.list_metrics`)."""

    @property
    def tables(self) -> dict[str, Table]:
        """The tables of the command by their names: ``tasks``, ``cpus``, …"""

    @property
    def events(self) -> Table:
        """The records: ``t_ns``, ``cpu``, ``event``, ``task``, ``comm``, …, as ``-o run.parquet`` has them. If they were not kept
        (``events=True``) the run is made again, which gives the same ones. About 55 bytes each are held in memory."""

    @property
    def tasks(self) -> Table:
        """Whom the numbers in ``events`` mean: ``task``, ``comm`` (the name), ``pid``, ``prio`` (120 + nice of fair tasks). What the
        tasks did is in ``tables["tasks"]``."""

    @property
    def digest(self) -> str:
        """Digest of the records: equal scenarios have equal ones, on every system."""

    @property
    def seed(self) -> int: ...
    @property
    def simulated_ns(self) -> int:
        """Simulated time."""

    @property
    def wall_s(self) -> float:
        """How long the run took here, in seconds; never part of a result."""

    @property
    def holds(self) -> bool:
        """Whether every expectation of the scenario is met."""

    @property
    def notes(self) -> list[str]:
        """What was assumed."""

    @property
    def scenario(self) -> str:
        """The scenario in its one fixed spelling, as a file."""

    @property
    def document(self) -> dict[str, Any]:
        """The document that ``fairground run --json`` prints."""

    def html(self) -> str:
        """A page with tables, curves and the timeline, as ``-o run.html`` writes it. The run is made again for the timeline."""

    def save(self, *files: _Path) -> None:
        """Writes files, each by its ending: ``.pftrace``, ``.txt``, ``.json``, ``.csv``, ``.parquet``, ``.html``, ``.hgrm``,
        ``.schedstat``. The run is made again for all of them together.

        :raises InputError: for another ending.
        :raises WorldError: if a file cannot be written.
        """

    def _repr_html_(self) -> str: ...

@final
class Trace:
    """A recorded trace (:func:`fairground.read`)."""

    @property
    def name(self) -> str:
        """The name of the file, without its folder."""

    @property
    def format(self) -> str:
        """As what it was read (:func:`fairground.list_formats`)."""

    @property
    def kernel(self) -> str | None:
        """The release of the kernel, if the trace tells it."""

    @property
    def epoch_ns(self) -> int:
        """What the clock of the recording shows, in ns, where ``t_ns`` is 0."""

    @property
    def notes(self) -> list[str]:
        """What was odd in the file, warnings first, and what was read."""

    @property
    def events(self) -> Table:
        """The records, with the columns of :attr:`RunResult.events`."""

    @property
    def tasks(self) -> Table:
        """Whom the numbers in ``events`` mean: ``task``, ``comm`` (the last name), ``pid`` (None if the trace tells none), ``prio``."""

    def save(self, *files: _Path) -> None:
        """Writes files, each by its ending, as ``fairground convert`` does: ``.pftrace``, ``.txt``, ``.json``, ``.csv``, ``.parquet``.

        :raises InputError: for another ending.
        :raises WorldError: if a file cannot be written.
        """

@final
class Report:
    """What a command found."""

    @property
    def command(self) -> str: ...
    @property
    def summary(self) -> str:
        """The answer, as text."""

    @property
    def notes(self) -> list[str]:
        """What was assumed."""

    @property
    def exit_code(self) -> int:
        """The exit code that the command of the same name would have."""

    @property
    def tables(self) -> dict[str, Table]:
        """The tables by their names."""

    @property
    def document(self) -> dict[str, Any]:
        """The document that ``--json`` prints."""

    def html(self) -> str:
        """The page that ``-o FILE.html`` writes; of commands without one the summary and the tables."""

    def _repr_html_(self) -> str: ...

@final
class SweepPlan:
    """A sweep that is checked. Its runs are numbered from 0; ``len`` is how many there are."""

    def __new__(cls, sweep: object, base: object | None, until: str | None, seeds_apart: bool) -> SweepPlan: ...
    @staticmethod
    def of_carried(carried: tuple[Any, ...]) -> SweepPlan:
        """The plan of which ``carried()`` was made, on any machine."""

    def carried(self) -> tuple[Any, ...]:
        """The plan as plain values, with the texts of the files that it names, without the journal."""

    def run(self, threads: int, journal: _Path | None, fresh: bool, progress: _Progress) -> Report:
        """Makes what is not finished, on threads of this host."""

    def open(self, journal: _Path | None, fresh: bool) -> list[int]:
        """Reads the journal and gives the numbers of the runs that are open."""

    def run_lines(self, first: int, end: int) -> str:
        """Makes the runs from ``first`` to before ``end``: a line of the journal for each."""

    def note(self, lines: str) -> int:
        """Takes such lines, notes them in the journal and says how many there were."""

    def finish(self) -> Report:
        """Puts together what was finished before and what was noted."""

    def scenario(self, number: int) -> str:
        """The scenario of one run in its one fixed spelling: what the axes change stands in it."""

    def __len__(self) -> int: ...

def run(
    scenario: object, changes: dict[str, Any], events: bool, paranoid: bool, progress: _Progress
) -> RunResult: ...
def read(trace: _Path, time: str | None, progress: _Progress) -> Trace: ...
def replay(trace: _Path, changes: dict[str, Any], strict: bool, events: bool, progress: _Progress) -> RunResult: ...
def written(scenario: object, changes: dict[str, Any]) -> str: ...
def compare(
    scenario: object, other: _Path | None, asked: dict[str, Any], changes: dict[str, Any], progress: _Progress
) -> Report: ...
def explain(scenario: object, asked: dict[str, Any], changes: dict[str, Any], progress: _Progress) -> Report: ...
def advise(inputs: list[Any], asked: dict[str, Any], changes: dict[str, Any], progress: _Progress) -> Report: ...
def latency(input: object, asked: dict[str, Any], changes: dict[str, Any], progress: _Progress) -> Report: ...
def conform(
    trace: _Path, scenario: _Path | None, fit_lags: bool, changes: dict[str, Any], progress: _Progress
) -> Report: ...
def listed(what: str) -> Table: ...
def domains(changes: dict[str, Any], cpu: int | None) -> Table: ...
