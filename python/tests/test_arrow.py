"""Records and tables in columns, as other libraries read them."""

from __future__ import annotations

import gc
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import fairground as fg

COLUMNS = ["t_ns", "cpu", "event", "task", "comm", "other_task", "other_comm", "from_cpu", "to_cpu", "what", "value", "value2"]


@pytest.fixture(scope="module")
def result() -> fg.RunResult:
    made = fg.Scenario(duration="200ms", machine="smp-2", kernel="6.12").hog("hog", count=3).task("player", run="3ms", period="16ms")
    return fg.run(made, events=True)


def test_records_are_those_of_the_parquet_file(result: fg.RunResult, tmp_path: Path) -> None:
    import pyarrow.compute as compute
    import pyarrow.parquet as parquet

    result.save(tmp_path / "run.parquet")
    file = parquet.read_table(tmp_path / "run.parquet")
    samples = pa.array(["kernel_section", "cfs_sample", "se_sample", "queue_act"])
    file = file.filter(compute.invert(compute.is_in(file["event"], samples)))
    ours = pa.table(result.events)
    assert ours.column_names == COLUMNS and ours.num_rows == file.num_rows > 100
    ours.validate(full=True)
    for name in COLUMNS:
        assert ours[name].to_pylist() == file[name].to_pylist(), name


def test_a_run_that_is_made_again_has_the_same_records(result: fg.RunResult) -> None:
    made = fg.run(result.scenario)
    assert pa.table(made.events).equals(pa.table(result.events))


def test_polars_pandas_and_duckdb_read_them(result: fg.RunResult) -> None:
    import duckdb
    import pandas as pd
    import polars as pl

    events = result.events
    frame = pl.DataFrame(events)
    runtime = frame.filter(pl.col("event") == "sched_stat_runtime").group_by("comm").agg(pl.col("value").sum())
    by_polars = {str(name): value for name, value in runtime.rows()}
    query: Any = duckdb.sql("select comm, sum(value) from events where event = 'sched_stat_runtime' group by comm")
    by_duckdb = dict(query.fetchall())
    read: Any = getattr(pd.DataFrame, "from_arrow", lambda table: pa.table(table).to_pandas())
    pandas = read(events)
    by_pandas = pandas[pandas.event == "sched_stat_runtime"].groupby("comm", observed=True).value.sum().to_dict()
    assert by_polars == by_duckdb == by_pandas and set(by_polars) >= {"hog-0", "player"}
    assert isinstance(pandas, pd.DataFrame) and len(pl.DataFrame(result.tables["tasks"])) == 4


def test_every_table_and_list_is_valid(result: fg.RunResult) -> None:
    lists = [getattr(fg, name)() for name in fg.__all__ if name.startswith("list_")]
    assert len(lists) == 11
    for table in [*result.tables.values(), *lists]:
        read = pa.table(table)
        read.validate(full=True)
        assert read.column_names == table.columns and read.to_pylist() == table.to_dicts()


def test_no_copy_is_made(result: fg.RunResult) -> None:
    first, second = (pa.table(result.events)["t_ns"].chunk(0).buffers()[1].address for _ in range(2))
    assert first == second


def test_what_was_read_outlives_everything_else() -> None:
    made = fg.run(fg.Scenario(duration="50ms", machine="smp-1", kernel="6.12").hog("a").hog("b"), events=True)
    table = pa.table(made.events)
    expected = table.to_pylist()
    del made
    gc.collect()
    table.validate(full=True)
    assert table.to_pylist() == expected


def test_what_was_read_outlives_the_module() -> None:
    code = """
import gc, sys
import fairground as fg, pyarrow as pa
table = pa.table(fg.run(fg.Scenario(duration="50ms", machine="smp-1", kernel="6.12").hog("a").hog("b")).events)
for name in [name for name in sys.modules if name.startswith("fairground")]:
    del sys.modules[name]
del fg
gc.collect()
table.validate(full=True)
print(table.num_rows)
"""
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert ran.returncode == 0 and int(ran.stdout) > 10, ran.stderr


def test_a_capsule_is_consumed_once(result: fg.RunResult) -> None:
    class Once:
        def __init__(self) -> None:
            self.capsule = result.events.__arrow_c_stream__()

        def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
            return self.capsule

    once = Once()
    first = pa.table(once)
    with pytest.raises(pa.ArrowInvalid):
        pa.table(once)
    assert first.equals(pa.table(result.events))


def peak_mb() -> float:
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


@pytest.mark.parametrize("way", ["never consumed", "consumed", "schema"])
def test_what_a_capsule_holds_is_released(way: str) -> None:
    """A leak of one run's records is about 8 MB; a leak of one schema about 2 KiB."""
    made = fg.Scenario(duration="1s", machine="smp-2", kernel="6.12").task("a", run="20us", period="100us", count=6)

    def once() -> None:
        events = fg.run(made, events=True).events
        assert len(events) > 100_000
        if way == "never consumed":
            events.__arrow_c_stream__()
        elif way == "consumed":
            assert pa.table(events).num_rows == len(events)
        else:
            for _ in range(5_000):
                events.__arrow_c_schema__()

    for _ in range(3):
        once()
    before = peak_mb()
    for _ in range(8):
        once()
    assert peak_mb() - before < 30


def test_a_stream_that_is_left_in_the_middle_is_released(result: fg.RunResult) -> None:
    reader = pa.RecordBatchReader.from_stream(result.events)
    batch = reader.read_next_batch()
    del reader
    gc.collect()
    batch.validate(full=True)
    assert batch.num_rows > 0


def test_a_run_without_records_is_a_table_without_rows() -> None:
    made = fg.run(fg.Scenario(duration="1us", machine="smp-1", kernel="6.12").task("a", run="1ms", period="4ms", start="1ms"))
    table = pa.table(made.events)
    assert table.column_names == COLUMNS
    table.validate(full=True)
