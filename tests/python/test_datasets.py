"""Parquet files, and Parquet and Arrow datasets partitioned by rank block, open
in pandas, pyarrow, polars and DuckDB, and add up to the sums that are known of
the job; so do CSV and JSON lines.

Environment:
  MPITRACE_EXPORTS  a directory with profile.{parquet,csv,jsonl}, the datasets
                    parquet/ and arrow/, and sums.json: {"ranks": n, "block": n,
                    "calls": {call: [calls, messages, bytes, time_ns]},
                    "by_rank": [[calls, messages, bytes, time_ns]]}
"""

import json
import os
from pathlib import Path

import duckdb
import pandas
import polars
import pyarrow
import pyarrow.dataset
import pyarrow.parquet
import pytest

SUMS = ["calls", "messages", "bytes", "time_ns"]
TOTALS = ", ".join(f"sum({name})" for name in SUMS)

EXPORTS = Path(os.environ["MPITRACE_EXPORTS"])
KNOWN = json.loads((EXPORTS / "sums.json").read_text())
CALLS = {call: tuple(sums) for call, sums in KNOWN["calls"].items()}
RANKS = {rank: tuple(sums) for rank, sums in enumerate(KNOWN["by_rank"])}
BLOCKS = {}
for rank, sums in RANKS.items():
    block = rank // KNOWN["block"]
    BLOCKS[block] = tuple(a + b for a, b in zip(BLOCKS.get(block, (0,) * 4), sums))


def of_pandas(frame, key):
    sums = frame.groupby(key, observed=True)[SUMS].sum()
    return {k: tuple(map(int, row)) for k, row in zip(sums.index, sums.itertuples(index=False))}


def of_pyarrow(table, key):
    sums = table.group_by(key).aggregate([(name, "sum") for name in SUMS]).to_pylist()
    return {row[key]: tuple(row[name + "_sum"] for name in SUMS) for row in sums}


def of_polars(frame, key):
    sums = frame.lazy().group_by(key).agg(polars.col(SUMS).sum()).collect()
    return {row[key]: tuple(row[name] for name in SUMS) for row in sums.iter_rows(named=True)}


def of_duckdb(table, key):
    rows = duckdb.sql(f"select {key}, {TOTALS} from {table} group by {key}").fetchall()
    return {row[0]: tuple(map(int, row[1:])) for row in rows}


def arrow_dataset(name):
    return pyarrow.dataset.dataset(EXPORTS / name, format="ipc" if name == "arrow" else name, partitioning="hive")


FILES = {
    "pandas, parquet": lambda: (of_pandas, pandas.read_parquet(EXPORTS / "profile.parquet")),
    "pyarrow, parquet": lambda: (of_pyarrow, pyarrow.parquet.read_table(EXPORTS / "profile.parquet")),
    "polars, parquet": lambda: (of_polars, polars.scan_parquet(EXPORTS / "profile.parquet")),
    "duckdb, parquet": lambda: (of_duckdb, f"'{EXPORTS}/profile.parquet'"),
    "pandas, csv": lambda: (of_pandas, pandas.read_csv(EXPORTS / "profile.csv")),
    "polars, csv": lambda: (of_polars, polars.scan_csv(EXPORTS / "profile.csv")),
    "duckdb, csv": lambda: (of_duckdb, f"'{EXPORTS}/profile.csv'"),
    "pandas, json": lambda: (of_pandas, pandas.read_json(EXPORTS / "profile.jsonl", lines=True)),
    "polars, json": lambda: (of_polars, polars.scan_ndjson(EXPORTS / "profile.jsonl")),
    "duckdb, json": lambda: (of_duckdb, f"read_json('{EXPORTS}/profile.jsonl')"),
}

DATASETS = {
    "pandas, parquet": lambda: (of_pandas, pandas.read_parquet(EXPORTS / "parquet")),
    "pyarrow, parquet": lambda: (of_pyarrow, arrow_dataset("parquet").to_table()),
    "polars, parquet": lambda: (of_polars, polars.scan_parquet(EXPORTS / "parquet", hive_partitioning=True)),
    "duckdb, parquet": lambda: (of_duckdb, f"'{EXPORTS}/parquet/*/*.parquet'"),
    "pyarrow, arrow": lambda: (of_pyarrow, arrow_dataset("arrow").to_table()),
    "polars, arrow": lambda: (of_polars, polars.scan_ipc(EXPORTS / "arrow", hive_partitioning=True)),
    "polars, arrow through pyarrow": lambda: (of_polars, polars.scan_pyarrow_dataset(arrow_dataset("arrow"))),
}


@pytest.mark.parametrize("reader", FILES)
def test_file_adds_up(reader):
    sums, table = FILES[reader]()
    assert sums(table, "call") == CALLS
    assert sums(table, "rank") == RANKS


@pytest.mark.parametrize("reader", DATASETS)
def test_dataset_adds_up(reader):
    sums, table = DATASETS[reader]()
    assert sums(table, "call") == CALLS
    assert sums(table, "rank") == RANKS
    assert {int(block): total for block, total in sums(table, "rank_block").items()} == BLOCKS


def test_duckdb_reads_an_arrow_dataset():
    """DuckDB reads the dataset through pyarrow."""
    connection = duckdb.connect()
    connection.register("arrow_dataset", arrow_dataset("arrow"))
    rows = connection.execute(f"select rank_block, {TOTALS} from arrow_dataset group by rank_block").fetchall()
    assert {int(row[0]): tuple(map(int, row[1:])) for row in rows} == BLOCKS


def test_a_block_is_read_alone():
    """With a condition on rank_block, a reader opens only the files of matching blocks."""
    block = max(BLOCKS)
    query = f"select {TOTALS} from '{EXPORTS}/parquet/*/*.parquet' where rank_block = {block}"
    assert tuple(map(int, duckdb.sql(query).fetchall()[0])) == BLOCKS[block]
    plan = duckdb.sql("explain analyze " + query).fetchall()[0][1]
    assert f"Scanning Files: 1/{len(BLOCKS)}" in " ".join(plan.split()), plan
    fragments = list(arrow_dataset("parquet").get_fragments(pyarrow.dataset.field("rank_block") == block))
    assert len(fragments) == 1


def test_statistics_are_true():
    """Readers skip row groups whose smallest and largest values exclude a match."""
    table = pyarrow.parquet.read_table(EXPORTS / "profile.parquet")
    for name in SUMS + ["rank", "peer", "line", "min_ns", "max_ns"]:
        top = pyarrow.compute.max(table[name]).as_py()
        count = duckdb.sql(f"select count(*) from '{EXPORTS}/profile.parquet' where {name} = {top}").fetchall()[0][0]
        assert count == table[name].to_pylist().count(top) > 0, name
        chunks = [pyarrow.parquet.ParquetFile(EXPORTS / "profile.parquet").metadata.row_group(0).column(i) for i in range(table.num_columns)]
        stats = next(c.statistics for c in chunks if c.path_in_schema == name)
        assert stats.max == top and stats.min == pyarrow.compute.min(table[name]).as_py(), name


def test_parquet_is_the_arrow_table():
    """Types, nulls, units and meanings are those of profile.arrow."""
    parquet = pyarrow.parquet.read_table(EXPORTS / "profile.parquet")
    arrow = arrow_dataset("arrow").to_table().drop_columns("rank_block")
    assert parquet.schema.equals(arrow.schema, check_metadata=False)
    for ours, theirs in zip(parquet.schema, arrow.schema):
        assert ours.metadata[b"unit"] == theirs.metadata[b"unit"] and ours.metadata[b"doc"] == theirs.metadata[b"doc"]
    order = [(name, "ascending") for name in ["rank", "call", "callsite", "bytes", "time_ns"]]
    dense = lambda table: pyarrow.table({f.name: decoded(table[f.name]) for f in table.schema})
    assert dense(parquet).sort_by(order).equals(dense(arrow).sort_by(order))


def decoded(column):
    return column.cast(pyarrow.string()) if pyarrow.types.is_dictionary(column.type) else column


def test_csv_and_json_are_the_parquet_table():
    want = polars.read_parquet(EXPORTS / "profile.parquet").with_columns(polars.col(polars.Categorical).cast(str))
    for frame in [
        polars.read_csv(EXPORTS / "profile.csv", infer_schema=False),
        polars.read_ndjson(EXPORTS / "profile.jsonl", infer_schema_length=None),
    ]:
        assert frame.columns == want.columns
        assert frame.select(polars.col(name).cast(kind) for name, kind in want.schema.items()).equals(want)
