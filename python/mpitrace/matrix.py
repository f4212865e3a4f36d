"""Communication matrices, as profile2mat computes them."""

import json
import tempfile
import warnings
from pathlib import Path
from typing import Any, List, Optional, Sequence, Union

import numpy
import pyarrow.ipc
import scipy.sparse

from . import commands
from .errors import Error, optional

Labels = Union[List[int], List[str]]


class Matrix(scipy.sparse.csr_array):
    """A scipy.sparse.csr_array with a label for each row and column.

    Labels are ranks, or the names of nodes or blocks of ranks. Arrays that are
    computed from it, and parts of it, have no labels: None.
    """

    labels: Optional[Labels] = None

    def to_pandas(self) -> Any:
        """Return a sparse pandas.DataFrame: rows are senders, columns are receivers."""
        pandas = optional("pandas", "pandas")
        index = range(self.shape[0]) if self.labels is None else self.labels
        frame = pandas.DataFrame.sparse.from_spmatrix(scipy.sparse.csr_matrix(self), index=index, columns=index)
        return frame.rename_axis(index="sender", columns="receiver")


def read(run: Path, job: str, kind: str, selection: Sequence[str], by: Union[str, int], size: int) -> Matrix:
    """Return the matrix of a job of a run. selection are flags of profile2mat."""
    # Labels of nodes and blocks are in the JSON only. Matrices by rank can be large.
    form = "arrow" if by == "rank" else "json"
    flags = ["--by", str(by), "--format", form, *selection]
    with tempfile.TemporaryDirectory(prefix="mpitrace-") as dir:
        done = commands.attempt("profile2mat", *flags, "-o", dir, "--", str(run))
        if done.returncode != 0 and "nothing that was sent matches" in done.stderr and by == "rank":
            return _sparse([], [], [], list(range(size)))
        if done.returncode != 0:
            raise commands.failure("profile2mat", done)
        for line in done.stderr.splitlines():
            warnings.warn(line, stacklevel=3)
        for path in sorted(Path(dir).glob(f"*_all.{form}")):
            matrix = _arrow(path, job, kind) if form == "arrow" else _json(path, job, kind)
            if matrix is None:
                continue
            if isinstance(by, int):
                matrix.labels = [_block(i * by, min((i + 1) * by, size)) for i in range(matrix.shape[0])]
            return matrix
    if by == "rank" and not done.stderr.strip():  # other jobs sent something
        return _sparse([], [], [], list(range(size)))
    raise Error(done.stderr.strip() or "nothing was sent, so there is no matrix")


def _block(first: int, end: int) -> str:
    return str(first) if end == first + 1 else f"{first}-{end - 1}"


def _arrow(path: Path, job: str, kind: str) -> Optional[Matrix]:
    with pyarrow.ipc.open_file(str(path)) as file:
        about = file.schema.metadata
        if about[b"mpitrace.run"].decode() != job:
            return None
        table = file.read_all()
    lines = table["sender"].to_numpy(), table["receiver"].to_numpy()
    return _sparse(*lines, table[kind].to_numpy(), list(range(int(about[b"mpitrace.n"]))))


def _json(path: Path, job: str, kind: str) -> Optional[Matrix]:
    found = json.loads(path.read_text(encoding="utf-8"))
    if found["run"] != job:
        return None
    at = found["columns"].index(kind)
    entries = found["entries"]
    labels = found.get("labels") or list(range(found["n"]))
    return _sparse([e[0] for e in entries], [e[1] for e in entries], [e[at] for e in entries], labels)


def _sparse(rows: Any, columns: Any, values: Any, labels: Labels) -> Matrix:
    n = len(labels)
    pairs = numpy.asarray(rows, "i4"), numpy.asarray(columns, "i4")
    matrix = Matrix((numpy.asarray(values, "u8"), pairs), shape=(n, n))
    matrix.eliminate_zeros()  # a pair may have messages without bytes
    matrix.labels = labels
    return matrix
