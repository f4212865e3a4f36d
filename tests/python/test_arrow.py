"""The Arrow files of a run open in pandas, pyarrow and polars with the right
types, and add up to what `mpitrace report --json` says.

Environment:
  MPITRACE_RUN     a run directory with profile.arrow, comms.arrow, ranks.arrow
                   and arrow/*.arrow, and pvars.arrow if variables were read
  MPITRACE         the mpitrace binary, asked for the report; or instead
  MPITRACE_REPORT  a file that holds such a report
"""

import json
import os
import subprocess
from collections import defaultdict
from pathlib import Path

import pandas
import polars
import pyarrow
import pyarrow.feather
import pytest

SUMS = ["calls", "messages", "bytes", "time_ns"]

# Columns in order; "?" where null is allowed.
TYPES = {
    "profile": "run:str rank:i32 thread:i32 call:str class:str direction:str comm:str? peer:i32? size_class:u8 "
    "callsite:str function:str? file:str? line:i32? address:str slice:str calls:u64 messages:u64 bytes:u64 time_ns:u64? time_error_ns:u64? min_ns:u64? max_ns:u64?",
    "comms": "run:str comm:str id:str name:str? constructor:str? parent:str? size:i32 inter:bool members:ranks "
    "remote:ranks edge_from:ranks edge_to:ranks seen_by:i32 freed:bool folded:u64",
    "ranks": "run:str rank:i32 host:str pid:i32 program:str command:str library:str state:str start:time? "
    "init_end:time? finalize_start:time? end:time? ended:time? exit_status:i32? exit_signal:i32? "
    "open_call:str? open_comm:str? open_peer:i32? open_callsite:str? open_since:time? wall_ns:u64? app_ns:u64? thread_ns:u64? mpi_ns:u64? mpi_error_ns:u64? timing:str receives:str threads:i32 calls:u64 "
    "lost_calls:u64 folded_calls:u64 lost_requests:u64 lost_comms:u64 negative_ticks:u64 untimed:u64 lost_stacks:u64 lost_readings:u64 damaged:u64 pauses:u64 "
    "cancelled_receives:u64 truncated_receives:u64 freed_receives:u64 failed_receives:u64 unfinished_receives:u64 "
    "untold_receives:u64 cancelled_sends:u64 freed_sends:u64 failed_sends:u64 doubtful_sends:u64 left_calls:u64 physical:str? world_size:i32? problems:text? lost:text? source:str "
    "processors:str? cpu_limit:f64? node_processors:i32? node_cores:i32? node_sockets:i32? usage_ns:u64? cpu_user_ns:u64? "
    "cpu_system_ns:u64? voluntary_switches:u64? involuntary_switches:u64? run_delay_ns:u64?"
    " busy_threads:u64? calling_cpu_ns:u64? calling_delay_ns:u64? calling_unknown:u64?",
    "pvars": "run:str rank:i32 at:time? time_ns:u64? slice:str moment:str name:str class:str binding:str object:str? "
    "handle:i32 index:i32 value:f64? value_u64:u64? value_i64:i64? text:str?",
}

ARROW = {
    "str": pyarrow.dictionary(pyarrow.int32(), pyarrow.utf8()),
    "text": pyarrow.utf8(),
    "i32": pyarrow.int32(),
    "u8": pyarrow.uint8(),
    "u64": pyarrow.uint64(),
    "i64": pyarrow.int64(),
    "f64": pyarrow.float64(),
    "bool": pyarrow.bool_(),
    "ranks": pyarrow.list_(pyarrow.int32()),
    "time": pyarrow.timestamp("ns", "UTC"),
}

POLARS = {
    "str": polars.Categorical,
    "text": polars.String,
    "i32": polars.Int32,
    "u8": polars.UInt8,
    "u64": polars.UInt64,
    "i64": polars.Int64,
    "f64": polars.Float64,
    "bool": polars.Boolean,
    "ranks": polars.List(polars.Int32),
    "time": polars.Datetime("ns", "UTC"),
}

# Ranks and lines are nullable integers in pandas. Other columns of integers that
# have a null are floats.
PANDAS = {
    "str": {"category"},
    "text": {"object", "str"},
    "i32": {"int32"},
    "i32?": {"Int32"},
    "u8": {"uint8"},
    "u64": {"uint64"},
    "u64?": {"uint64", "float64"},
    "i64": {"int64"},
    "i64?": {"int64", "float64"},
    "f64": {"float64"},
    "bool": {"bool"},
    "ranks": {"object"},
    "time": {"datetime64[ns, UTC]"},
}


@pytest.fixture(scope="session")
def run():
    return Path(os.environ["MPITRACE_RUN"])


def table_files(run):
    """Each file with the name of its table."""
    files = [(name, run / f"{name}.arrow") for name in TYPES]
    if not files[-1][1].exists():  # no variable was read
        files.pop()
    per_rank = sorted((run / "arrow").glob("*.arrow"))
    assert per_rank, "no file for each rank"
    return files + [("profile", path) for path in per_rank]


def columns(table):
    """Name, kind and whether it may be null, of each column."""
    for word in TYPES[table].split():
        name, kind = word.split(":")
        yield name, kind.rstrip("?"), kind.endswith("?")


def test_pyarrow_types(run):
    for table, path in table_files(run):
        got = pyarrow.feather.read_table(path)
        got.validate(full=True)
        want = [(name, ARROW[kind], nullable) for name, kind, nullable in columns(table)]
        assert [(f.name, f.type, f.nullable) for f in got.schema] == want, path
        for field, column in zip(got.schema, got.columns):
            assert field.nullable or column.null_count == 0, f"{path}: {field.name}"


def test_polars_types(run):
    for table, path in table_files(run):
        got = polars.read_ipc(path)
        assert list(got.schema.items()) == [(name, POLARS[kind]) for name, kind, _ in columns(table)], path


def test_pandas_types(run):
    for table, path in table_files(run):
        got = pandas.read_feather(path).dtypes
        assert list(got.index) == [name for name, _, _ in columns(table)], path
        for name, kind, nullable in columns(table):
            allowed = PANDAS.get(kind + "?" * nullable, PANDAS[kind])
            assert str(got[name]) in allowed, f"{path}: {name}"


def test_pandas_groups_by_peer(run):
    """A peer is 3 in a table by rank and peer, and not 3.0."""
    facts = pandas.read_feather(run / "profile.arrow")
    sent = facts[(facts.direction == "send") & (facts["class"] == "p2p")]
    table = sent.groupby(["rank", "peer"]).bytes.sum().unstack()
    assert [str(peer) for peer in table.columns] == [str(peer) for peer in sorted(set(sent.peer))]
    assert facts.peer.isna().any(), "calls without a peer have none"


def test_every_field_says_its_unit_and_meaning(run):
    for _, path in table_files(run):
        for field in pyarrow.feather.read_table(path).schema:
            assert field.metadata[b"unit"] and field.metadata[b"doc"], f"{path}: {field.name}"
    schema = pyarrow.feather.read_table(run / "profile.arrow").schema
    units = {f.name: f.metadata[b"unit"].decode() for f in schema}
    assert (units["bytes"], units["time_ns"], units["peer"]) == ("bytes", "ns", "world rank")


def test_batches_are_compressed_with_zstd(run):
    for _, path in table_files(run):
        data = path.read_bytes()
        assert data.startswith(b"ARROW1") and data.endswith(b"ARROW1")
        assert b"\x28\xb5\x2f\xfd" in data, f"{path}: no zstd frame"


def test_file_is_a_valid_stream_too(run):
    for _, path in table_files(run):
        with open(path, "rb") as file:
            file.seek(8)
            stream = pyarrow.ipc.open_stream(file).read_all()
        assert stream.equals(pyarrow.feather.read_table(path)), path


def test_libraries_agree(run):
    for _, path in table_files(run):
        arrow = values(pyarrow.feather.read_table(path))
        assert values(polars.read_ipc(path).to_arrow()) == arrow, path
        frame = pandas.read_feather(path, dtype_backend="pyarrow")
        assert values(pyarrow.Table.from_pandas(frame, preserve_index=False)) == arrow, path


def values(table):
    """The rows; times as numbers, since Python's own end at microseconds."""
    times = {f.name for f in table.schema if pyarrow.types.is_timestamp(f.type)}
    columns = {name: table[name].cast("int64") if name in times else table[name] for name in table.column_names}
    return pyarrow.table(columns).to_pylist()


def test_ranks_files_together_are_the_merged_one(run):
    def rows(path):
        return [tuple(row.values()) for row in pyarrow.feather.read_table(path).to_pylist()]

    parts = [row for path in (run / "arrow").glob("*.arrow") for row in rows(path)]
    # A process that ended before it had a rank has no file of its own.
    merged = [row for row in rows(run / "profile.arrow") if row[1] >= 0]
    assert sorted(map(repr, parts)) == sorted(map(repr, merged))


def test_tables_fit_together(run):
    facts = pandas.read_feather(run / "profile.arrow")
    comms = pandas.read_feather(run / "comms.arrow")
    ranks = pandas.read_feather(run / "ranks.arrow")
    pairs = lambda frame, *names: set(zip(*(frame[name] for name in names)))
    assert pairs(facts, "run", "rank") <= pairs(ranks, "run", "rank")
    assert pairs(facts.dropna(subset="comm"), "run", "comm") <= pairs(comms, "run", "comm")
    assert (comms["size"] == comms["members"].map(len)).all()
    calls = facts.groupby(["run", "rank"], observed=True)["calls"].sum()
    assert calls.to_dict() == {(r.run, r.rank): r.calls for r in ranks.itertuples() if r.calls}


def test_peer_is_a_member_of_the_communicator(run):
    members = defaultdict(set)
    for comm in polars.read_ipc(run / "comms.arrow").iter_rows(named=True):
        members[comm["run"], comm["comm"]] |= set(comm["members"]) | set(comm["remote"])
    facts = polars.read_ipc(run / "profile.arrow").filter(polars.col("peer").is_not_null())
    assert len(facts) > 0
    for row in facts.iter_rows(named=True):
        assert row["peer"] in members[row["run"], row["comm"]], row


def sums_of_pandas(path, *keys):
    """Sums of the rows with equal keys, as {keys: sums}."""
    sums = pandas.read_feather(path).groupby(list(keys), observed=True)[SUMS].sum()
    return {as_tuple(key): tuple(map(int, row)) for key, row in zip(sums.index, sums.itertuples(index=False))}


def sums_of_pyarrow(path, *keys):
    sums = pyarrow.feather.read_table(path).group_by(list(keys)).aggregate([(name, "sum") for name in SUMS])
    return {tuple(row[k] for k in keys): tuple(row[name + "_sum"] for name in SUMS) for row in sums.to_pylist()}


def sums_of_polars(path, *keys):
    sums = polars.read_ipc(path).group_by(*keys).agg(polars.col(SUMS).sum())
    return {tuple(row[k] for k in keys): tuple(row[name] for name in SUMS) for row in sums.iter_rows(named=True)}


def as_tuple(key):
    return key if isinstance(key, tuple) else (key,)


@pytest.fixture(scope="session")
def jobs(run):
    """The summaries of the run's jobs."""
    if "MPITRACE_REPORT" in os.environ:
        report = json.loads(Path(os.environ["MPITRACE_REPORT"]).read_text())
    else:
        command = [os.environ["MPITRACE"], "report", str(run), "--json"]
        report = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    return report["jobs"]


@pytest.mark.parametrize("sums", [sums_of_pandas, sums_of_pyarrow, sums_of_polars])
def test_sums_are_those_of_the_report(run, jobs, sums):
    want = {(job["run"],): tuple(job["totals"][name] for name in SUMS) for job in jobs}
    assert sums(run / "profile.arrow", "run") == want
    want = {(job["run"], call["call"]): tuple(call[name] for name in SUMS) for job in jobs for call in job["calls"]}
    assert sums(run / "profile.arrow", "run", "call") == want
