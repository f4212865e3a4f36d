"""Rewrite the tables of a run with pandas, polars and pyarrow, as users do.

usage: rewrite.py RUN OUT

Each directory in OUT has the tables of RUN, rewritten in one way. Directories
whose names begin with "some-" have the rows of ranks 0 and 1 only.
"""

import sys
from pathlib import Path

import pandas
import polars
import pyarrow
import pyarrow.compute as pc
import pyarrow.feather
import pyarrow.ipc

run, out = Path(sys.argv[1]), Path(sys.argv[2])
TABLES = [path.stem for path in run.glob("*.arrow")]


def arrow(name, change, **write):
    """Rewrite all tables with pyarrow."""
    (out / name).mkdir(parents=True)
    for table in TABLES:
        changed = change(pyarrow.feather.read_table(run / f"{table}.arrow"))
        pyarrow.feather.write_feather(changed, out / name / f"{table}.arrow", **write)


def with_polars(name, change, **write):
    (out / name).mkdir(parents=True)
    for table in TABLES:
        change(polars.read_ipc(run / f"{table}.arrow")).write_ipc(out / name / f"{table}.arrow", **write)


def with_pandas(name, change):
    (out / name).mkdir(parents=True)
    for table in TABLES:
        change(pandas.read_feather(run / f"{table}.arrow")).to_feather(out / name / f"{table}.arrow")


def plain(table, text=pyarrow.string()):
    fields = [f.with_type(text) if pyarrow.types.is_dictionary(f.type) else f for f in table.schema]
    return table.cast(pyarrow.schema(fields))


def wide(table):
    """64-bit integers, with doubles where there are nulls, and large texts and lists."""
    fields = []
    for f in table.schema:
        if f.type in (pyarrow.int32(), pyarrow.uint8()):
            f = f.with_type(pyarrow.float64() if table[f.name].null_count else pyarrow.int64())
        elif pyarrow.types.is_dictionary(f.type):
            f = f.with_type(pyarrow.large_string())
        elif pyarrow.types.is_list(f.type):
            f = f.with_type(pyarrow.large_list(pyarrow.int64()))
        fields.append(f)
    return table.cast(pyarrow.schema(fields))


def shuffled(table):
    return table.take(pyarrow.array(sorted(range(table.num_rows), key=lambda i: (i * 7919) % 1009)))


def small_batches(name):
    (out / name).mkdir(parents=True)
    for table in TABLES:
        all_rows = pyarrow.feather.read_table(run / f"{table}.arrow")
        with pyarrow.ipc.new_file(out / name / f"{table}.arrow", all_rows.schema) as file:
            for batch in all_rows.to_batches(max_chunksize=3):
                file.write_batch(batch)


def some(table):
    if "rank" not in table.column_names:
        return table
    return table.filter(pc.less(table["rank"], 2))


for compression in ["lz4", "zstd", "uncompressed"]:
    arrow(compression, lambda table: table, compression=compression)
arrow("plain texts", plain)
arrow("large texts", lambda table: plain(table, pyarrow.large_string()))
arrow("text views", lambda table: plain(plain(table), pyarrow.string_view()))
arrow("wide numbers", wide)
arrow("shuffled", shuffled)
arrow("columns in another order", lambda table: table.select(sorted(table.column_names, reverse=True)))
arrow("a column more", lambda table: table.append_column("mine", pyarrow.array([{"a": [1]}] * table.num_rows)))
arrow("some-ranks", some)
small_batches("small batches")
with_polars("polars", lambda frame: frame)
with_polars("polars, sorted", lambda frame: frame.sort("bytes", descending=True) if "bytes" in frame.columns else frame, compression="lz4")
with_polars("polars, texts", lambda frame: frame.with_columns(polars.col(polars.Categorical).cast(polars.String)), compression="zstd")
with_polars("some-polars", lambda frame: frame.filter(polars.col("rank") < 2) if "rank" in frame.columns else frame)
with_pandas("pandas", lambda frame: frame)
with_pandas("pandas, index", lambda frame: frame.sort_values("rank").reset_index() if "rank" in frame.columns else frame)
with_pandas("pandas, joined", lambda frame: pandas.concat([frame[frame["rank"] > 1], frame[frame["rank"] <= 1]]).reset_index(drop=True) if "rank" in frame.columns else frame)
with_pandas("some-pandas", lambda frame: frame[frame["rank"] < 2].reset_index(drop=True) if "rank" in frame.columns else frame)
