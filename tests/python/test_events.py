"""The events of a traced run, exported as tables and as timelines, are what is
known of the job.

Environment:
  MPITRACE_EVENTS  a directory with events.{csv,parquet}, all.json.gz,
                   some.json.gz (1000 events at most) and known.json: {"start_ns",
                   "ranks", "calls": {call: count}, "messages", "time_ns", "bytes"}
"""

import json
import os
from collections import Counter
from pathlib import Path

import duckdb
import pandas
import polars
import pyarrow.parquet
import pytest

from timeline import Timeline

EVENTS = Path(os.environ["MPITRACE_EVENTS"])
KNOWN = json.loads((EVENTS / "known.json").read_text())


def tables():
    yield "pandas csv", pandas.read_csv(EVENTS / "events.csv")
    yield "pandas", pandas.read_parquet(EVENTS / "events.parquet")
    yield "pyarrow", pyarrow.parquet.read_table(EVENTS / "events.parquet").to_pandas()
    yield "polars", polars.read_parquet(EVENTS / "events.parquet").to_pandas()
    yield "polars csv", polars.read_csv(EVENTS / "events.csv", infer_schema_length=None).to_pandas()
    yield "duckdb", duckdb.sql(f"select * from '{EVENTS}/events.parquet'").df()
    yield "duckdb csv", duckdb.sql(f"select * from read_csv('{EVENTS}/events.csv')").df()


@pytest.mark.parametrize("name, table", list(tables()), ids=lambda v: v if isinstance(v, str) else "")
def test_table(name, table):
    assert list(table.columns[:4]) == ["rank", "start_ns", "duration_ns", "bytes"]
    calls = table[table.action == "call"]
    assert calls.groupby("call").size().to_dict() == KNOWN["calls"]
    assert calls.duration_ns.sum() == KNOWN["time_ns"]
    assert table.start_ns.min() == KNOWN["start_ns"]
    assert sorted(table["rank"].unique()) == list(range(KNOWN["ranks"]))
    for direction in ["send", "recv"]:
        moved = table[table.direction == direction]
        assert len(moved) == KNOWN["messages"]
        assert moved.bytes.sum() == KNOWN["bytes"]
    sent = table[table.direction == "send"][["rank", "peer", "tag", "seq", "bytes"]]
    received = table[table.direction == "recv"][["peer", "rank", "tag", "seq", "bytes"]]
    assert sorted(map(tuple, sent.to_numpy().tolist())) == sorted(map(tuple, received.to_numpy().tolist()))
    assert table[table.call == "Waitall"][["peer", "tag", "comm"]].isna().all(axis=None)


def test_timeline():
    timeline = Timeline(EVENTS / "all.json.gz")
    assert Counter(s["name"] for s in timeline.slices) == KNOWN["calls"]
    assert sum(s["dur"] for s in timeline.slices) == KNOWN["time_ns"]
    assert int(timeline.other["start_ns"]) == KNOWN["start_ns"]
    assert len(timeline.flows) == KNOWN["messages"]
    for sent, received in timeline.flows:
        assert sent["name"] == "Isend" and received["name"] == "Waitall"
        assert sent["args"]["peer"] == received["pid"] - 1  # the number of a rank's process
    assert len(timeline.processes) == KNOWN["ranks"] + 1
    assert len(timeline.threads) == KNOWN["ranks"]
    check_counters(timeline)


def check_counters(timeline):
    """What was sent is received in the end, and not before."""
    assert timeline.counters
    for samples in timeline.counters.values():
        assert samples[-1][1] == 0
        assert all(value >= 0 for _, value in samples)


def test_fewer_events():
    timeline = Timeline(EVENTS / "some.json.gz")
    samples = sum(map(len, timeline.counters.values()))
    assert len(timeline.slices) + 2 * len(timeline.flows) + samples <= 1000 + KNOWN["ranks"]
    calls = Counter()
    for s in timeline.slices:
        args = s["args"]
        if "count" not in args:
            calls[s["name"]] += 1
        elif s["name"] in KNOWN["calls"]:
            calls[s["name"]] += int(args["count"])
        else:
            calls.update({call: int(args[call]) for call in KNOWN["calls"] if call in args})
    assert calls == KNOWN["calls"]
    check_counters(timeline)
