"""Runs of MPI programs that mpitrace recorded, as tables and sparse matrices.

    import mpitrace

    run = mpitrace.open("mpitrace-app-20260102-150405")
    run.profile.to_pandas()                 # a row for each call site, peer, size class ...
    run.matrix(kind="bytes", cls="p2p")     # scipy.sparse: row i, column j is what i sent to j
    run.events(rank=0).to_polars()          # of a run recorded with --trace
    run.waits().to_pandas()                 # why ranks waited
    run.summary()["jobs"][0]["totals"]      # the numbers of `mpitrace report --json`

The columns of the tables are described in docs/schema.md. The module reads files
with pyarrow. It starts the command `mpitrace` to merge recordings and to compute summaries, waits and matrices.
"""

from .errors import CommandNotFoundError, Error, MissingExtraError, NotARunError, optional

optional("pyarrow", "pyarrow")  # it is an extra, because the commands in the same wheel do not need it

from .run import Run, open  # noqa: E402
from .table import Table  # noqa: E402

__all__ = ["CommandNotFoundError", "Error", "MissingExtraError", "NotARunError", "Run", "Table", "open"]
