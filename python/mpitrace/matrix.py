"""Communication matrices, as mpitrace matrix computes them."""

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


# What mpitrace matrix prints if no message matches; it then writes no file.
_NOTHING = ("nothing that was sent matches", "nothing was sent")


def read(
    run: Path, job: str, kind: str, selection: Sequence[str], by: Union[str, int], size: int, hosts: List[str]
) -> Matrix:
    """Return the matrix of a job of a run.

    selection are flags of mpitrace matrix; by is "rank", "host" or a number of ranks. size
    is the number of ranks, and hosts has the nodes of the job if by is "host".
    """
    # The names of nodes are in the JSON only. A matrix by rank can be large.
    form = "json" if by == "host" else "arrow"
    flags = ["--by", str(by), "--format", form, *selection]
    with tempfile.TemporaryDirectory(prefix="mpitrace-") as dir:
        done = commands.attempt("matrix", *flags, "-o", dir, "--", str(run))
        messages = done.stderr.strip()
        nothing = any(text in messages for text in _NOTHING)
        if done.returncode != 0 and not nothing:
            raise commands.failure("matrix", done)
        for path in sorted(Path(dir).glob(f"*_all.{form}")):
            matrix = _json(path, job, kind) if form == "json" else _arrow(path, job, kind, by, size)
            if matrix is not None:
                for line in messages.splitlines():
                    warnings.warn(line, stacklevel=3)
                return matrix
    if messages and not nothing:  # more pairs than --max-pairs
        raise Error(messages)
    return _sparse([], [], [], hosts if by == "host" else _labels(by, size))


def _labels(by: Union[str, int], size: int) -> Labels:
    """Return the ranks, or the names of blocks of ranks: 0-7, 8-15 and so on."""
    if not isinstance(by, int):
        return list(range(size))
    ends = [(first, min(first + by, size) - 1) for first in range(0, size, by)]
    return [str(first) if first == last else f"{first}-{last}" for first, last in ends]


def _arrow(path: Path, job: str, kind: str, by: Union[str, int], size: int) -> Optional[Matrix]:
    with pyarrow.ipc.open_file(str(path)) as file:
        about = file.schema.metadata
        if about[b"mpitrace.run"].decode() != job:
            return None
        table = file.read_all()
    lines = table["sender"].to_numpy(), table["receiver"].to_numpy()
    n = int(about[b"mpitrace.n"])
    least = n if isinstance(by, str) else 1 + (n - 1) * by
    return _sparse(*lines, table[kind].to_numpy(), _labels(by, max(size, least)))


def _json(path: Path, job: str, kind: str) -> Optional[Matrix]:
    found = json.loads(path.read_text(encoding="utf-8"))
    if found["run"] != job:
        return None
    at = found["columns"].index(kind)
    entries = found["entries"]
    return _sparse([e[0] for e in entries], [e[1] for e in entries], [e[at] for e in entries], found["labels"])


def _sparse(rows: Any, columns: Any, values: Any, labels: Labels) -> Matrix:
    n = len(labels)
    pairs = numpy.asarray(rows, "i4"), numpy.asarray(columns, "i4")
    matrix = Matrix((numpy.asarray(values, "u8"), pairs), shape=(n, n))
    matrix.eliminate_zeros()  # a pair may have messages without bytes
    matrix.labels = labels
    return matrix
