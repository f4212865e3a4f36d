"""The package reads a run of examples/halo on 2 x 2 ranks: a plate of 48 x 40
points, 10 steps. In each step a rank sends a row of 20 doubles to the rank above
or below it, and a column of 24 doubles to the rank beside it.

Environment:
  MPITRACE_RUN    the directory of that run, recorded with --trace
  MPITRACE_TWO    a run of two jobs: the same program on 2 and on 4 ranks
  MPITRACE        the command mpitrace
"""

import base64
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import mpitrace
import numpy
import pandas
import polars
import pyarrow
import pyarrow.compute as pc
import pyarrow.feather
import pytest

RUN = Path(os.environ["MPITRACE_RUN"])
ROW, COLUMN = 10 * 20 * 8, 10 * 24 * 8
BYTES = [[0, COLUMN, ROW, 0], [COLUMN, 0, 0, ROW], [ROW, 0, 0, COLUMN], [0, ROW, COLUMN, 0]]


@pytest.fixture
def run():
    return mpitrace.open(RUN)


@pytest.fixture
def copy(tmp_path):
    """A run that was recorded but not merged."""
    dir = tmp_path / "copy"
    shutil.copytree(RUN, dir)
    for file in dir.glob("*.arrow"):
        file.unlink()
    return dir


def test_tables_in_parts(run, tmp_path):
    """A run of many ranks has directories of parts, each of some ranks."""
    low = pc.field("rank") < 2
    parts = {"profile": [run.profile.filter(low), run.profile.filter(~low)], "ranks": [run.ranks.filter(low), run.ranks.filter(~low)], "comms": [run.comms]}
    for name, tables in parts.items():
        (tmp_path / name).mkdir()
        for part, table in enumerate(tables):
            pyarrow.feather.write_feather(table.to_arrow(), str(tmp_path / name / f"part-{part}.arrow"))
    copied = mpitrace.open(tmp_path)
    for one, other in ((run.profile, copied.profile), (run.ranks, copied.ranks), (run.comms, copied.comms)):
        assert one.to_pandas().astype(str).equals(other.to_pandas().astype(str))
    assert copied.jobs == run.jobs
    assert copied.matrix().toarray().tolist() == BYTES


def matrices(tmp_path, *flags):
    """The matrices that mpitrace matrix writes, by name."""
    subprocess.run([os.environ["MPITRACE"], "matrix", "-o", tmp_path, *flags, RUN], check=True, capture_output=True)
    return {path.name: path for path in tmp_path.iterdir()}


def test_matrix_is_known_by_arithmetic(run):
    matrix = run.matrix(kind="bytes", cls="p2p", by="rank")
    assert matrix.dtype == numpy.uint64 and matrix.labels == [0, 1, 2, 3]
    assert matrix.toarray().tolist() == BYTES
    assert run.matrix(kind="messages").toarray().tolist() == [[10 * (b > 0) for b in row] for row in BYTES]


@pytest.mark.parametrize("cls, flags", [("p2p", ["--class", "p2p"]), ("coll", ["--class", "coll"]), ("all", [])])
@pytest.mark.parametrize("kind, quantity", [("bytes", "size"), ("messages", "msg")])
def test_matrix_is_that_of_the_command(run, tmp_path, cls, flags, kind, quantity):
    files = matrices(tmp_path, "--format", "npy", *flags)
    name = next(name for name in files if name.endswith(f"_{quantity}_all.npy"))
    assert numpy.array_equal(run.matrix(kind=kind, cls=cls).toarray(), numpy.load(files[name]))


def test_matrix_is_the_sum_of_the_rows_of_the_profile(run):
    rows = run.profile.to_pandas()
    sent = rows[(rows.direction == "send") & (rows["class"] == "p2p")]
    table = sent.pivot_table(index="rank", columns="peer", values="bytes", aggfunc="sum", fill_value=0)
    assert numpy.array_equal(run.matrix().toarray(), table.to_numpy())


def test_matrix_by_block_and_host(run):
    blocks = run.matrix(by=2)
    assert blocks.labels == ["0-1", "2-3"]
    assert blocks.toarray().tolist() == [[2 * COLUMN, 2 * ROW], [2 * ROW, 2 * COLUMN]]
    hosts = run.matrix(by="host")
    assert hosts.labels == run.ranks["host"].unique().to_pylist()
    assert hosts.toarray().tolist() == [[4 * (ROW + COLUMN)]]


def test_matrix_in_pandas(run):
    frame = run.matrix().to_pandas()
    assert frame.index.name == "sender" and frame.columns.name == "receiver"
    assert frame.loc[0, 2] == ROW and frame.to_numpy().tolist() == BYTES


def test_matrix_of_a_selection(run):
    assert run.matrix(call="Isend").toarray().tolist() == BYTES
    nothing = run.matrix(cls="osc")
    assert nothing.nnz == 0 and nothing.shape == (4, 4) and nothing.labels == [0, 1, 2, 3]
    assert run.matrix(cls="osc", by=3).toarray().tolist() == [[0, 0], [0, 0]]
    assert run.matrix(cls="osc", by=3).labels == ["0-2", "3"] == run.matrix(by=3).labels
    assert run.matrix(cls="osc", by="host").labels == run.matrix(by="host").labels
    with pytest.raises(ValueError, match="by 'core': it is rank, host or a number"):
        run.matrix(by="core")
    with pytest.raises(mpitrace.Error, match="class"):
        run.matrix(cls="p3p")
    with pytest.raises(ValueError, match="bytes or messages"):
        run.matrix(kind="size")


def test_profile_is_the_file(run):
    want = pyarrow.feather.read_table(RUN / "profile.arrow")
    assert run.profile.to_arrow().equals(want) and run.profile.schema.equals(want.schema)
    pandas.testing.assert_frame_equal(run.profile.to_pandas(), pandas.read_feather(RUN / "profile.arrow"))
    assert run.profile.to_polars().equals(polars.read_ipc(RUN / "profile.arrow"))
    assert run.profile.select(["bytes", "rank"]).to_arrow().equals(want.select(["bytes", "rank"]))
    everything = run.profile.filter(pc.field("rank") >= 0)
    assert everything.to_arrow().equals(want) and everything.to_pandas().dtypes.equals(run.profile.to_pandas().dtypes)
    assert pyarrow.table(run.profile).equals(want), "a Table is an Arrow stream"
    assert run.profile.schema.field("peer").metadata[b"unit"] == b"world rank"


def test_other_tables_are_the_files(run):
    assert run.ranks.to_arrow().equals(pyarrow.feather.read_table(RUN / "ranks.arrow"))
    assert run.comms.to_arrow().equals(pyarrow.feather.read_table(RUN / "comms.arrow"))
    with pytest.raises(mpitrace.Error, match="--pvar"):
        run.pvars


def test_numbers_are_not_copied(run):
    arrow = run.profile.to_arrow()
    for name in ["bytes", "calls", "messages"]:
        address = arrow[name].chunk(0).buffers()[1].address
        assert arrow[name].num_chunks == 1
        assert run.profile.to_pandas()[name].to_numpy().ctypes.data == address, name
        assert run.profile.to_polars()[name].to_numpy(allow_copy=False).ctypes.data == address, name


def test_polars_copies_no_batch(run):
    events = run.events()
    bytes = events.to_polars()["bytes"]
    assert bytes.n_chunks() == events["bytes"].num_chunks >= 4
    for ours, theirs in zip(bytes.get_chunks(), events["bytes"].chunks):
        assert ours.to_numpy(allow_copy=False).ctypes.data == theirs.to_numpy().ctypes.data


def test_table_reads_what_was_selected(run):
    sends = run.profile.select(["rank", "bytes"]).filter(pc.field("call") == "Isend").filter(pc.field("bytes") > 0)
    assert sends.column_names == ["rank", "bytes"] == sends.to_arrow().column_names
    assert sends.to_pandas().groupby("rank")["bytes"].sum().tolist() == [ROW + COLUMN] * 4
    assert run.profile.group_by("direction").aggregate([("bytes", "sum")]).num_rows > 1
    with pytest.raises(KeyError, match="no column 'size': there are run, rank"):
        run.profile.select(["size"])
    with pytest.raises(AttributeError):
        run.profile.no_such_attribute


def test_events_are_lazy(run):
    events = run.events(rank=[1, 3])
    assert events.column_names[:4] == ["rank", "start_ns", "duration_ns", "bytes"]
    assert events._arrow is None and len(events) == len(run.events(1)) + len(run.events(3))
    assert events._arrow is None, "the number of rows is known without reading them"
    sends = run.events().filter((pc.field("call") == "Isend") & (pc.field("action") == "call"))
    sums = sends.select(["rank", "bytes"]).to_pandas().groupby("rank")["bytes"].sum()
    assert sums.to_dict() == dict.fromkeys(range(4), ROW + COLUMN)
    file = pyarrow.feather.read_table(RUN / "trace.3.arrow")
    assert run.events(3).to_arrow().drop_columns("rank").equals(file)
    assert sum(batch.num_rows for batch in run.events(3).batches()) == file.num_rows
    with pytest.raises(mpitrace.Error, match="no trace of rank 9"):
        run.events(9)


def test_events_have_pandas_types(run):
    types = run.events(0).to_pandas().dtypes
    assert (str(types["rank"]), str(types["peer"]), str(types["call"])) == ("int32", "Int32", "category")
    assert run.events(0).to_polars().schema["rank"] == polars.Int32


def test_waits(run):
    waits = run.waits().to_pandas()
    assert list(waits.columns[:6]) == ["rank", "event", "pattern", "peer", "start_ns", "wait_ns"]
    assert len(waits) > 0 and set(waits["rank"]) <= {0, 1, 2, 3} and (waits.wait_ns > 0).all()
    first = waits.iloc[0]
    call = run.events(first["rank"]).to_pandas().iloc[int(first.event)]
    assert call.start_ns <= first.start_ns and first.wait_ns <= call.duration_ns


def test_summary_is_the_report(run):
    job = run.summary()["jobs"][0]
    assert job["program"] == "halo" and job["ranks_recorded"] == 4
    assert job["totals"]["calls"] == pc.sum(run.profile["calls"]).as_py()
    assert job["direct_traffic"] == {"class": "direct", "bytes": 4 * (ROW + COLUMN), "messages": 80, "pairs": 8}
    assert run.summary(rank=2)["jobs"][0]["rank"] == 2


def test_html_shows_summary_and_heatmap(run):
    html = run._repr_html_()
    root = ElementTree.fromstring(html)
    cells = [cell.text for cell in root.iter("td")]
    assert cells[:3] == ["halo", "4 of 4", "1"] and cells[-1] == "complete"
    pictures = [picture.get("src") for picture in root.iter("img")]
    assert len(pictures) == 2, "what ranks sent to each other, and collectives"
    for picture in pictures:
        svg = base64.b64decode(picture.removeprefix("data:image/svg+xml;base64,"))
        assert ElementTree.fromstring(svg).tag.endswith("svg")
    assert not re.search(r"<script|https?:|href|<link|@import", html)


def test_html_is_escaped(run, monkeypatch):
    summary = run.summary()
    summary["jobs"][0].update(program="<script>alert(1)</script>", problems=["<b>&"])
    monkeypatch.setattr(run, "summary", lambda: summary)
    html = run._repr_html_()
    assert "<script" not in html and "&lt;script&gt;" in html and "&lt;b&gt;&amp;" in html


def test_html_names_all_programs(run, monkeypatch):
    summary = run.summary()
    assert [(p["program"], p["ranks"]) for p in summary["jobs"][0]["programs"]] == [("halo", "0-3")]
    summary["jobs"][0].update(programs=[{"program": "ocean", "ranks": "0-2"}, {"program": "atmos", "ranks": "3"}])
    monkeypatch.setattr(run, "summary", lambda: summary)
    assert "<td>ocean (rank 0-2), atmos (rank 3)</td>" in run._repr_html_()


def test_several_jobs():
    two = mpitrace.open(os.environ["MPITRACE_TWO"])
    sizes = sorted((two.matrix(job=job).shape[0], job) for job in two.jobs)
    assert [n for n, _ in sizes] == [2, 4]
    for n, job in sizes:
        assert sorted(two.events(job=job)["rank"].unique().to_pylist()) == list(range(n))
    for ask in (two.matrix, two.events):
        with pytest.raises(mpitrace.Error, match="several jobs: give one as job"):
            ask()
        with pytest.raises(mpitrace.Error, match="no job 'x'"):
            ask(job="x")
    assert two._repr_html_().count("<tr>") == 3


def test_recordings_are_merged_when_the_run_is_opened(run, copy):
    merged = mpitrace.open(copy)
    assert merged.profile.to_arrow().equals(run.profile.to_arrow())
    assert merged.ranks["rank"].to_pylist() == [0, 1, 2, 3]


def test_tables_need_no_command(copy, monkeypatch):
    shutil.copy(RUN / "profile.arrow", copy)
    shutil.rmtree(copy / "recordings")
    monkeypatch.setenv("MPITRACE", str(copy / "mpitrace"))
    bare = mpitrace.open(copy)
    assert len(bare.profile) == len(mpitrace.open(RUN).profile) and bare.jobs == mpitrace.open(RUN).jobs
    with pytest.raises(mpitrace.Error, match="has no comms.arrow"):
        bare.comms


def test_matrix_of_a_run_without_recordings(copy):
    shutil.copy(RUN / "profile.arrow", copy)
    shutil.rmtree(copy / "recordings")
    (copy / "run.json").unlink()
    bare = mpitrace.open(copy)
    assert bare.matrix().toarray().tolist() == BYTES and bare.matrix(by=3).labels == ["0-2", "3"]


def test_missing_command_is_named(run, copy, monkeypatch, tmp_path):
    monkeypatch.setenv("MPITRACE", str(tmp_path / "mpitrace"))
    with pytest.raises(mpitrace.CommandNotFoundError, match="is no executable file"):
        mpitrace.open(copy)
    assert "is no executable file" in run._repr_html_()
    monkeypatch.delenv("MPITRACE")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(mpitrace.CommandNotFoundError, match="PATH"):
        run.summary()


def test_command_is_found_in_path(run, monkeypatch, tmp_path):
    bin = Path(os.environ["MPITRACE"]).parent
    other = tmp_path / "profile2mat"  # as Open MPI installs
    other.write_text("#!/bin/sh\nexit 9\n")
    other.chmod(0o755)
    monkeypatch.delenv("MPITRACE")
    monkeypatch.setenv("PATH", f"{tmp_path}:{bin}:{os.environ['PATH']}")
    assert run.matrix().toarray().tolist() == BYTES


def test_command_is_found_among_scripts(run, monkeypatch):
    bin = Path(os.environ["MPITRACE"]).parent
    monkeypatch.delenv("MPITRACE")
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr("sysconfig.get_path", lambda name: str(bin) if name == "scripts" else None)
    assert run.summary()["jobs"][0]["program"] == "halo"


def test_what_is_no_run_is_named(tmp_path):
    with pytest.raises(mpitrace.NotARunError, match="no such directory"):
        mpitrace.open(tmp_path / "absent")
    with pytest.raises(mpitrace.NotARunError, match="is not a run"):
        mpitrace.open(tmp_path)
    (tmp_path / "file").touch()
    with pytest.raises(mpitrace.NotARunError, match="is a file"):
        mpitrace.open(tmp_path / "file")


@pytest.mark.parametrize(
    "package, extra, ask",
    [
        ("pandas", "pandas", lambda run: run.profile.to_pandas()),
        ("polars", "polars", lambda run: run.profile.to_polars()),
        ("scipy.sparse", "scipy", lambda run: run.matrix()),
    ],
)
def test_missing_extra_is_named(run, monkeypatch, package, extra, ask):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(mpitrace.MissingExtraError, match=re.escape(f"pip install 'mpitrace[{extra}]'")):
        ask(run)
