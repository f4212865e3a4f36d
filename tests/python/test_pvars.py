"""The readings of performance variables, pvars.arrow, open in pandas, pyarrow and
polars, and hold what arithmetic says.

Environment:
  MPITRACE_RUN  a run directory with pvars.arrow, comms.arrow and ranks.arrow of
                the jobs one and two of jobs.Readings: 4 ranks each, of which
                rank r began r ms after the first
"""

import os
from pathlib import Path

import duckdb
import pandas
import polars
import pyarrow
import pyarrow.feather

RUN = Path(os.environ["MPITRACE_RUN"])
PVARS = RUN / "pvars.arrow"
JOBS = ["one", "two"]


def test_pandas():
    frame = pandas.read_feather(PVARS)
    assert len(frame) == len(JOBS) * 4 * 8
    queue = frame[(frame["name"] == "queue") & (frame["moment"] == "slice")]
    longest = queue.groupby(["run", "rank"], observed=True)["value"].max()
    assert longest.to_dict() == {(run, rank): 10.0 * rank for run in JOBS for rank in range(4)}
    # Dots on a line: seconds since the job began, as one scale of all ranks.
    seconds = frame[frame["moment"] == "init"].set_index(["run", "rank"])["time_ns"] / 1e9
    assert seconds.to_dict() == {(run, rank): 1 + rank / 1000 for run in JOBS for rank in range(4)}
    assert (frame["class"].cat.categories.isin(["level", "counter", "percentage", "generic"])).all()


def test_times_are_those_of_ranks():
    """The columns at and time_ns tell the same moment; time_ns counts from the first process's start."""
    frame = pandas.read_feather(PVARS).merge(
        pandas.read_feather(RUN / "ranks.arrow").groupby("run", observed=True)["start"].min().rename("began").reset_index(), on="run"
    )
    assert (frame["at"] - frame["began"]).dt.as_unit("ns").astype("int64").tolist() == frame["time_ns"].tolist()


def test_integers_are_exact():
    """A double holds integers up to 2^53: those beyond are in columns of their own."""
    table = polars.read_ipc(PVARS).filter(polars.col("name") == "bytes", polars.col("index") == 0, polars.col("run") == "one").sort("rank")
    assert table["value_u64"].to_list() == [2**60 + rank for rank in range(4)]
    assert table["value"].to_list() == [float(2**60)] * 4
    balance = polars.read_ipc(PVARS).filter(polars.col("name") == "balance", polars.col("run") == "one").sort("rank")
    assert balance["value_i64"].to_list() == balance["value"].to_list() == [0, -1, -2, -3]
    frame = pandas.read_feather(PVARS, dtype_backend="pyarrow")
    assert frame[frame["name"] == "bytes"]["value_u64"].max() == 2**60 + 3


def test_each_value_is_in_its_column():
    for row in polars.read_ipc(PVARS).iter_rows(named=True):
        found = [column for column in ["value_u64", "value_i64", "text"] if row[column] is not None]
        assert found == {"queue": ["value_u64"], "bytes": ["value_u64"], "balance": ["value_i64"], "share": [], "pml": ["text"]}[row["name"]]
        assert (row["value"] is None) == (row["name"] == "pml")
        assert row["value"] is None or not found or row["value"] == float(row[found[0]])
    assert set(polars.read_ipc(PVARS)["text"].drop_nulls()) == {"ob1"}


def test_objects_are_communicators():
    readings, comms = polars.read_ipc(PVARS), polars.read_ipc(RUN / "comms.arrow")
    of = set(readings.drop_nulls("object").select("run", "object").iter_rows())
    assert len(of) == 4 and of <= set(comms.select("run", "comm").iter_rows())
    assert set(readings.filter(polars.col("object").is_null())["binding"]) == {"none"}


def test_duckdb():
    readings = pyarrow.feather.read_table(PVARS)
    rows = duckdb.sql("select name, count(*), max(value) from readings group by name order by name").fetchall()
    assert rows == [("balance", 8, 0), ("bytes", 16, 2**60), ("pml", 8, None), ("queue", 24, 30), ("share", 8, 0.25)]
