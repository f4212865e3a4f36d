"""The events of a process, trace.<rank>.arrow, open in pandas, pyarrow, polars and
DuckDB, and add up to what arithmetic says.

Environment:
  MPITRACE_TRACE  the file of a process that exchanges, n times, with six
                  neighbours, of world ranks 1, 4, 7 ... 16: a message of 8000,
                  8000, 16000, 16000, 32000, 32000 bytes each way (Irecv, Isend,
                  Waitall), and after every fifth time does an Allreduce of 8 bytes
  MPITRACE_TIMES  n
"""

import json
import os

import duckdb
import pandas
import polars
import pyarrow
import pyarrow.feather
import pytest

TRACE = os.environ["MPITRACE_TRACE"]
TIMES = int(os.environ["MPITRACE_TIMES"])
BYTES = 2 * (8000 + 16000 + 32000)

# Events and bytes, by call and action.
KNOWN = {
    ("Irecv", "call"): (6 * TIMES, 0),
    ("Irecv", "message"): (6 * TIMES, BYTES * TIMES),
    ("Isend", "call"): (6 * TIMES, BYTES * TIMES),
    ("Isend", "completed"): (6 * TIMES, 0),
    ("Waitall", "call"): (TIMES, 0),
    ("Allreduce", "call"): (TIMES // 5, 8 * (TIMES // 5)),
}

ARROW = {
    "start_ns": pyarrow.int64(),
    "duration_ns": pyarrow.int64(),
    "bytes": pyarrow.uint64(),
    "tag": pyarrow.int32(),
    "link": pyarrow.int32(),
    "seq": pyarrow.uint32(),
    "kind": pyarrow.uint32(),
    "call": pyarrow.dictionary(pyarrow.int32(), pyarrow.utf8()),
    "class": pyarrow.dictionary(pyarrow.int8(), pyarrow.utf8()),
    "action": pyarrow.dictionary(pyarrow.int8(), pyarrow.utf8()),
    "direction": pyarrow.dictionary(pyarrow.int8(), pyarrow.utf8()),
    "comm": pyarrow.dictionary(pyarrow.int32(), pyarrow.utf8()),
    "peer": pyarrow.int32(),
    "peer_kind": pyarrow.dictionary(pyarrow.int8(), pyarrow.utf8()),
    "callsite": pyarrow.dictionary(pyarrow.int32(), pyarrow.utf8()),
    "slice": pyarrow.dictionary(pyarrow.int32(), pyarrow.utf8()),
    "thread": pyarrow.int32(),
    "window": pyarrow.int32(),
}
NULLABLE = ["tag", "comm", "peer", "window"]
TEXTS = [name for name, typ in ARROW.items() if pyarrow.types.is_dictionary(typ)]


def test_types():
    table = pyarrow.feather.read_table(TRACE)
    table.validate(full=True)
    assert {f.name: f.type for f in table.schema} == ARROW
    assert [f.name for f in table.schema if f.nullable] == NULLABLE
    assert all(set(f.metadata) == {b"unit", b"doc"} for f in table.schema)


def sums_of_pandas():
    frame = pandas.read_feather(TRACE).groupby(["call", "action"], observed=True)["bytes"].agg(["size", "sum"])
    return {key: (row["size"], row["sum"]) for key, row in frame.iterrows()}


def sums_of_pyarrow():
    table = pyarrow.feather.read_table(TRACE).group_by(["call", "action"]).aggregate([([], "count_all"), ("bytes", "sum")])
    return {(row["call"], row["action"]): (row["count_all"], row["bytes_sum"]) for row in table.to_pylist()}


def sums_of_polars():
    frame = polars.scan_ipc(TRACE).group_by("call", "action").agg(polars.len(), polars.col("bytes").sum()).collect()
    return {(call, action): (events, total) for call, action, events, total in frame.rows()}


def sums_of_duckdb():
    table = pyarrow.feather.read_table(TRACE)
    rows = duckdb_with(table).sql("select call, action, count(*), sum(bytes) from events group by all")
    return {(call, action): (events, int(total)) for call, action, events, total in rows.fetchall()}


def duckdb_with(table):
    connection = duckdb.connect()
    connection.register("events", table)
    return connection


@pytest.mark.parametrize("sums", [sums_of_pandas, sums_of_pyarrow, sums_of_polars, sums_of_duckdb])
def test_sums(sums):
    assert sums() == KNOWN


def test_all_read_the_same():
    """Each value of each column, as pyarrow, polars and pandas have it."""
    table = pyarrow.feather.read_table(TRACE)
    texts = pyarrow.schema([(f.name, pyarrow.utf8() if f.name in TEXTS else f.type) for f in table.schema])
    want = table.cast(texts).to_pydict()
    frame = polars.read_ipc(TRACE)
    assert frame.with_columns(polars.col(TEXTS).cast(polars.String)).to_dict(as_series=False) == want
    nullable = pandas.read_feather(TRACE, dtype_backend="pyarrow")
    assert {name: [None if value is pandas.NA else value for value in nullable[name].tolist()] for name in nullable} == want


def test_links_lead_to_and_fro():
    frame = pandas.read_feather(TRACE)
    linked = frame[frame["link"] != 0]
    ends = frame.loc[linked.index + linked["link"]]
    assert (ends["link"].to_numpy() == -linked["link"].to_numpy()).all()
    assert (ends["peer"].to_numpy() == linked["peer"].to_numpy()).all()
    assert len(linked) == 24 * TIMES


def test_null_is_what_is_not_there():
    frame = pandas.read_feather(TRACE)
    alone = frame["call"].isin(["Waitall", "Allreduce"])
    assert (frame["peer"].isna() == alone).all() and (frame["tag"].isna() == alone).all()
    assert ((frame["peer_kind"] == "none") == alone).all()
    assert sorted(frame["peer"].dropna().unique()) == [1, 4, 7, 10, 13, 16]


def test_circumstances():
    trace = json.loads(pyarrow.feather.read_table(TRACE).schema.metadata[b"mpitrace.trace"])
    assert trace["rank"] == 3 and trace["size"] == 8
    assert trace["events"] == 25 * TIMES + TIMES // 5
