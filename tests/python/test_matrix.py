"""The matrices that profile2mat writes open in scipy, numpy, pandas, pyarrow,
polars and DuckDB with the right types, and hold what a formula says.

Environment:
  MPITRACE_MATRICES  a directory with the directories directed, mean and named;
                     each has {size,msg,avg}.{mat,mtx,npy}, size.{png,svg},
                     matrix.{csv,arrow,parquet,json}, and known.json: {"n", "symmetric",
                     "labels", "bytes": [[]], "messages": [[]]}, the last two
                     of both directions together if symmetric
"""

import json
import os
from pathlib import Path
from xml.etree import ElementTree

import duckdb
import numpy
import pandas
import polars
import pyarrow
import pyarrow.feather
import pyarrow.parquet
import pytest
import scipy.io

COLUMNS = ["sender", "receiver", "messages", "bytes"]
ROOT = Path(os.environ["MPITRACE_MATRICES"])


class Matrix:
    """A directory, and what its files must hold."""

    def __init__(self, name):
        self.path = ROOT / name
        known = json.loads((self.path / "known.json").read_text())
        self.n, self.symmetric, self.labels = known["n"], known["symmetric"], known["labels"]
        halve = (lambda x: x / 2) if self.symmetric else (lambda x: x)
        self.size = [[halve(x) for x in row] for row in known["bytes"]]
        self.msg = [[halve(x) for x in row] for row in known["messages"]]
        self.avg = [[b / m if m else 0 for b, m in zip(*rows)] for rows in zip(self.size, self.msg)]

    def dense(self, quantity):
        return numpy.array(getattr(self, quantity), "f8" if self.symmetric or quantity == "avg" else "u8")

    def rows(self):
        """What sparse files hold, in order."""
        name = self.labels.__getitem__ if self.labels else int
        return [
            (name(i), name(j), self.msg[i][j], self.size[i][j])
            for i in range(self.n)
            for j in range(self.n)
            if self.msg[i][j] or self.size[i][j]
        ]

    def file(self, name):
        return str(self.path / name)


@pytest.fixture(params=["directed", "mean", "named"])
def matrix(request):
    return Matrix(request.param)


@pytest.mark.parametrize("quantity", ["size", "msg", "avg"])
def test_numpy(matrix, quantity):
    found = numpy.load(matrix.file(f"{quantity}.npy"))
    want = matrix.dense(quantity)
    assert found.dtype == want.dtype and found.flags.c_contiguous
    assert numpy.array_equal(found, want)


@pytest.mark.parametrize("quantity", ["size", "msg", "avg"])
def test_scipy(matrix, quantity):
    want = matrix.dense(quantity)
    if want.max() >= 2**63 and want.dtype == "u8":
        with pytest.raises(OverflowError):  # its integers are signed
            scipy.io.mmread(matrix.file(f"{quantity}.mtx"))
        return
    found = scipy.io.mmread(matrix.file(f"{quantity}.mtx"))
    assert found.dtype.kind == ("f" if want.dtype == "f8" else "i")
    rows, columns, entries, form, field, symmetry = scipy.io.mminfo(matrix.file(f"{quantity}.mtx"))
    assert (rows, columns, form) == (matrix.n, matrix.n, "coordinate")
    assert symmetry == ("symmetric" if matrix.symmetric else "general")
    assert numpy.array_equal(found.toarray(), want)


@pytest.mark.parametrize("quantity", ["size", "msg", "avg"])
def test_text(matrix, quantity):
    found = numpy.loadtxt(matrix.file(f"{quantity}.mat"), dtype="f8")
    assert numpy.array_equal(found, numpy.round(matrix.dense(quantity).astype("f8")))


def volume(matrix):
    return "float64" if matrix.symmetric else "uint64"


def same(matrix, frame):
    """Requires that a pandas.DataFrame has the rows of the matrix."""
    assert list(frame.columns) == COLUMNS
    assert [tuple(row) for row in frame.itertuples(index=False)] == matrix.rows()


@pytest.mark.parametrize("read, name", [(pandas.read_feather, "matrix.arrow"), (pandas.read_parquet, "matrix.parquet")])
def test_pandas(matrix, read, name):
    frame = read(matrix.file(name))
    assert str(frame["bytes"].dtype) == str(frame["messages"].dtype) == volume(matrix)
    line = "category" if matrix.labels else "int32"
    assert str(frame["sender"].dtype) == str(frame["receiver"].dtype) == line
    same(matrix, frame)


def test_csv(matrix):
    dtype = {"bytes": volume(matrix), "messages": volume(matrix)}
    same(matrix, pandas.read_csv(matrix.file("matrix.csv"), dtype=dtype))
    kind = polars.Float64 if matrix.symmetric else polars.UInt64
    found = polars.read_csv(matrix.file("matrix.csv"), schema_overrides={"bytes": kind, "messages": kind})
    assert found.columns == COLUMNS and found.rows() == matrix.rows()
    found = duckdb.sql(f"select * from read_csv('{matrix.file('matrix.csv')}', header = true)")
    assert found.columns == COLUMNS
    assert [row[:2] for row in found.fetchall()] == [row[:2] for row in matrix.rows()]


@pytest.mark.parametrize("read, name", [(pyarrow.feather.read_table, "matrix.arrow"), (pyarrow.parquet.read_table, "matrix.parquet")])
def test_pyarrow(matrix, read, name):
    table = read(matrix.file(name))
    assert list(zip(*table.to_pydict().values())) == matrix.rows()
    line = pyarrow.dictionary(pyarrow.int32(), pyarrow.utf8()) if matrix.labels else pyarrow.int32()
    number = pyarrow.float64() if matrix.symmetric else pyarrow.uint64()
    assert table.schema.types == [line, line, number, number]
    units = [table.schema.field(c).metadata[b"unit"] for c in COLUMNS]
    assert units == [b"node" if matrix.labels else b"rank"] * 2 + [b"messages", b"bytes"]
    about = table.schema.metadata
    assert about[b"mpitrace.table"] == b"matrix" and about[b"mpitrace.n"] == str(matrix.n).encode()
    assert about[b"mpitrace.symmetric"] == (b"true" if matrix.symmetric else b"false")


@pytest.mark.parametrize("read, name", [(polars.read_ipc, "matrix.arrow"), (polars.read_parquet, "matrix.parquet")])
def test_polars(matrix, read, name):
    frame = read(matrix.file(name))
    assert frame.columns == COLUMNS and frame.rows() == matrix.rows()
    assert frame.schema["bytes"] == (polars.Float64 if matrix.symmetric else polars.UInt64)


def test_duckdb(matrix):
    found = duckdb.sql(f"select * from '{matrix.file('matrix.parquet')}'")
    assert found.columns == COLUMNS and found.fetchall() == matrix.rows()
    number = "DOUBLE" if matrix.symmetric else "UBIGINT"
    assert [str(t) for t in found.types[2:]] == [number, number]


def test_json(matrix):
    found = json.loads((matrix.path / "matrix.json").read_text())
    assert found["columns"] == COLUMNS and found["n"] == matrix.n and found["symmetric"] == matrix.symmetric
    assert found.get("labels") == matrix.labels
    name = matrix.labels.__getitem__ if matrix.labels else int
    assert [(name(e[0]), name(e[1]), e[2], e[3]) for e in found["entries"]] == matrix.rows()
    assert found["messages"] == sum(map(sum, matrix.msg))
    assert found["bytes"] == sum(map(sum, matrix.size)) % 2**64


def test_pictures(matrix):
    assert (matrix.path / "size.png").read_bytes().startswith(b"\x89PNG\r\n")
    assert ElementTree.parse(matrix.path / "size.svg").getroot().tag.endswith("svg")
