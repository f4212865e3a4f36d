"""A run directory."""

import json
import operator
import os
import re
import tempfile
import warnings
from functools import cached_property
from pathlib import Path
from typing import (
    TYPE_CHECKING,
    Any,
    Dict,
    Iterable,
    Iterator,
    List,
    Optional,
    Sequence,
    Set,
    SupportsIndex,
    Tuple,
    Union,
)

import pyarrow
import pyarrow.compute
import pyarrow.dataset
import pyarrow.fs
import pyarrow.ipc

from . import commands, html
from .errors import CommandNotFoundError, Error, NotARunError, optional
from .table import Table

if TYPE_CHECKING:
    from .matrix import Matrix

_TRACE = re.compile(r"trace\.(?:job(\d+)\.)?(\d+)\.arrow")
_RANK = pyarrow.field("rank", pyarrow.int32(), False, {b"unit": b"world rank", b"doc": b"rank in MPI_COMM_WORLD"})


def open(path: "Union[str, os.PathLike[str]]") -> "Run":
    """Open the run directory that `mpitrace run` made.

    Recordings that are not merged yet are merged, by `mpitrace report`. Otherwise
    nothing is read until it is asked for. Raises NotARunError if path is no run.
    """
    return Run(path)


class Run:
    """A recorded run. Columns of its tables are those of docs/schema.md.

    A run may have several jobs. Methods that need one take its id, the value of
    column `run`, as `job`; `jobs` has all of them.
    """

    def __init__(self, path: "Union[str, os.PathLike[str]]") -> None:
        self.path = Path(path)
        if not self.path.exists():
            raise NotARunError(f"{self.path}: no such directory")
        if not self.path.is_dir():
            raise NotARunError(f"{self.path} is a file: give the directory of the run")
        if not (self._stored("profile") or self._file("run", "json").exists() or any(self._recordings())):
            raise NotARunError(f"{self.path} is not a run: it has no recordings and no profile.arrow")
        self._merge()

    @cached_property
    def profile(self) -> Table:
        """A row for each rank, call, direction, communicator, peer, size class, call site and slice."""
        return self._table("profile")

    @cached_property
    def ranks(self) -> Table:
        """A row for each process."""
        return self._table("ranks")

    @cached_property
    def comms(self) -> Table:
        """A row for each communicator."""
        return self._table("comms")

    @cached_property
    def pvars(self) -> Table:
        """A row for each value of a performance variable. Raises Error if none was recorded."""
        if not self._stored("pvars"):
            raise Error(f"{self.path} has no pvars.arrow: record with mpitrace run --pvar")
        return self._table("pvars")

    @cached_property
    def jobs(self) -> List[str]:
        """The ids of the jobs, in the order of ranks.arrow."""
        table = self.ranks if self._stored("ranks") else self.profile
        return list(dict.fromkeys(table.select(["run"]).to_arrow()["run"].to_pylist()))

    def matrix(
        self,
        kind: str = "bytes",
        cls: Union[str, Sequence[str]] = "p2p",
        by: Union[str, int] = "rank",
        *,
        job: Optional[str] = None,
        call: Union[str, Sequence[str]] = (),
        comm: Union[str, Sequence[str]] = (),
        slice: Union[str, Sequence[str]] = (),
    ) -> "Matrix":
        """Return what row i sent to column j, as a scipy.sparse.csr_array of uint64 with `labels`.

        kind   "bytes" or "messages"
        cls    one or more of "p2p", "osc" (one-sided), "coll" (collectives, their logical
               volume), "O2A", "A2O", "A2A", "physical"; or "all"
        by     "rank", "host", or a number of ranks in each block
        job    id of the job; needed if the run has several
        call, comm, slice
               only messages of these MPI functions, communicators, slices of the run

        mpitrace matrix computes the matrix, and its messages are issued as warnings.
        """
        optional("scipy.sparse", "scipy")
        from . import matrix

        if kind not in ("bytes", "messages"):
            raise ValueError(f"kind {kind!r}: it is bytes or messages")
        classes = _list(cls)
        selection = [] if classes == ["all"] else ["--class", ",".join(classes)]
        for flag, values in (("--call", call), ("--comm", comm), ("--slice", slice)):
            for value in _list(values):
                selection += [flag, value]
        name = self._job(job)
        if str(by).isdigit() and int(by) > 0:
            by = int(by)
        elif by not in ("rank", "host"):
            raise ValueError(f"by {by!r}: it is rank, host or a number of ranks")
        hosts = self._hosts(name) if by == "host" else []
        return matrix.read(self.path, name, kind, selection, by, self._size(name), hosts)

    def events(
        self, rank: Union[SupportsIndex, Iterable[SupportsIndex], None] = None, *, job: Optional[str] = None
    ) -> Table:
        """Return the events of one rank, of some, or of all, with the rank as first column.

        Nothing is read yet: `select` and `filter` restrict what will be. The run must
        have been recorded with --trace, otherwise Error is raised.
        """
        wanted = None if rank is None else _ranks(rank)
        files = dict(self._traces(self._job(job)))
        missing = (wanted or set()) - files.keys()
        if not files:
            raise Error(f"{self.path} has no trace: record with mpitrace run --trace")
        if missing:
            raise Error(f"{self.path} has no trace of rank {', '.join(map(str, sorted(missing)))}")
        chosen = [r for r in sorted(files) if wanted is None or r in wanted]
        if not chosen:
            raise ValueError("rank: no rank is given")
        return Table(_with_rank({r: files[r] for r in chosen}))

    def waits(self) -> Table:
        """Return a row for each wait of a traced run, as `mpitrace analyze --waits` writes it."""
        return self._analyzed("waits")

    def causes(self) -> Table:
        """Return why ranks waited: a row for each cause and rank that causes it.

        It is what `mpitrace analyze --causes` writes; the run must have a trace.
        """
        return self._analyzed("causes")

    def _analyzed(self, name: str) -> Table:
        with tempfile.TemporaryDirectory(prefix="mpitrace-") as dir:
            file = Path(dir) / f"{name}.arrow"
            commands.output("analyze", f"--{name}", str(file), "--", str(self.path))
            with pyarrow.OSFile(str(file)) as source:  # not mapped: the file is removed
                rows = pyarrow.ipc.open_file(source).read_all()
        return Table(pyarrow.dataset.dataset(rows))

    def summary(self, rank: Optional[int] = None) -> Dict[str, Any]:
        """Return what `mpitrace report --json` prints: {"run": ..., "jobs": [...]}.

        With rank, the summaries are of that rank in each job that has it.
        """
        one = [] if rank is None else ["--rank", str(rank)]
        done = commands.output("report", "--json", *one, "--", str(self.path))
        found: Dict[str, Any] = json.loads(done.stdout)
        return found

    def __repr__(self) -> str:
        return f"<mpitrace.Run {str(self.path)!r}>"

    def _repr_html_(self) -> str:
        try:
            return html.of(self.path.resolve(), self.summary())
        except Error as error:
            return html.failed(self.path.resolve(), error)

    def _file(self, name: str, extension: str = "arrow") -> Path:
        return self.path / f"{name}.{extension}"

    def _stored(self, name: str) -> List[Path]:
        """Return the files of a table, in order: one, or the parts of a large run."""
        file = self._file(name)
        return [file] if file.exists() else sorted((self.path / name).glob("part-*.arrow"))

    def _table(self, name: str) -> Table:
        files = self._stored(name)
        if not files:
            raise Error(f"{self.path} has no {name}.arrow")
        return Table(pyarrow.dataset.dataset([str(file) for file in files], format="ipc"))

    def _recordings(self) -> Iterator[Path]:
        """Yield the containers and recordings in the run directory, and the recordings of processes that still run on this node."""
        for pattern in ("*.node", "*.rec"):
            yield from (self.path / "recordings").glob(pattern)
        if spool := self._info().get("spool"):
            yield from Path(spool).glob("*.rec")

    def _info(self) -> Dict[str, Any]:
        """Return run.json, or nothing if there is none."""
        try:
            found = json.loads(self._file("run", "json").read_text(encoding="utf-8"))
        except FileNotFoundError:
            return {}
        except ValueError as error:
            raise Error(f"{self._file('run', 'json')}: {error}") from error
        return found if isinstance(found, dict) else {}

    def _merge(self) -> None:
        """Merge the run if a table is missing or older than a recording."""
        tables = [self._stored(name) for name in ("profile", "comms", "ranks")]
        merged = all(tables)
        times = [file.stat().st_mtime_ns for file in self._recordings()]
        if self._stored("profile") and not times:  # a copy without its recordings
            return
        if merged and max(times) <= min(file.stat().st_mtime_ns for files in tables for file in files):
            return
        try:
            commands.output("report", "--json", "--", str(self.path))
        except CommandNotFoundError as error:
            if not merged:
                raise
            warnings.warn(f"{self.path}: there are recordings that are newer than the tables: {error}", stacklevel=4)
        if not self._stored("profile"):
            raise Error(
                f"{self.path}: mpitrace report could not merge the recordings: is the directory writable? "
                f"Runs of more than 10,000 processes are merged by: mpitrace merge {self.path}"
            )

    def _job(self, job: Optional[str]) -> str:
        if job is None and len(self.jobs) == 1:
            return self.jobs[0]
        if job in self.jobs:
            return str(job)
        if not self.jobs:
            raise Error(f"{self.path}: no process was recorded; mpitrace report shows the reason")
        which = "it has several jobs: give one as job" if job is None else f"it has no job {job!r}"
        raise Error(f"{self.path}: {which}: {', '.join(self.jobs)}")

    def _size(self, job: str) -> int:
        """Return the number of ranks of a job."""
        for known in self._info().get("jobs") or []:
            if known.get("run") == job and known.get("size"):
                return int(known["size"])
        rows = self.profile.select(["rank"]).filter(pyarrow.compute.field("run") == job).to_arrow()
        return 1 + int(pyarrow.compute.max(rows["rank"]).as_py())

    def _hosts(self, job: str) -> List[str]:
        """Return the names of the nodes of a job."""
        rows = self.ranks.select(["host"]).filter(pyarrow.compute.field("run") == job).to_arrow()
        return list(dict.fromkeys(rows["host"].to_pylist()))

    def _traces(self, job: str) -> Iterator[Tuple[int, str]]:
        """Yield the rank and file of each trace of a job."""
        with os.scandir(self.path) as entries:
            for entry in entries:
                name = _TRACE.fullmatch(entry.name)
                if name and (len(self.jobs) == 1 or _job_of_trace(entry.path) == job):
                    yield int(name.group(2)), entry.path


def _list(values: Union[str, Sequence[str]]) -> List[str]:
    return [values] if isinstance(values, str) else list(values)


def _ranks(rank: Union[SupportsIndex, Iterable[SupportsIndex]]) -> Set[int]:
    if isinstance(rank, Iterable):
        return {operator.index(one) for one in rank}
    return {operator.index(rank)}


def _job_of_trace(path: str) -> str:
    with pyarrow.ipc.open_file(path) as file:
        return str(json.loads(file.schema.metadata[b"mpitrace.trace"])["run"])


def _with_rank(files: Dict[int, str]) -> Any:
    """Return a dataset of the files. Its first column, rank, is the key of the row's file."""
    form = pyarrow.dataset.IpcFileFormat()
    disk = pyarrow.fs.LocalFileSystem()
    rank = pyarrow.compute.field("rank")
    parts = [
        form.make_fragment(os.path.abspath(file), disk, partition_expression=rank == pyarrow.scalar(r, pyarrow.int32()))
        for r, file in files.items()
    ]
    schema = parts[0].physical_schema
    schema = pyarrow.schema([_RANK, *schema], {k: v for k, v in schema.metadata.items() if k != b"mpitrace.trace"})
    return pyarrow.dataset.FileSystemDataset(parts, schema, form, disk)
