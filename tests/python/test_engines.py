"""The answers of examples/engines are those of mpitrace, number by number.

Environment:
  MPITRACE          the command; profile2mat is beside it
  MPITRACE_RUNS     a JSON list of run directories
  MPITRACE_ANSWERS  what engines.py --json printed about these runs
  MPITRACE_ENGINE   the name of the engine
"""

import csv
import functools
import json
import os
import subprocess
from collections import Counter
from pathlib import Path

import pytest

MPITRACE = os.environ["MPITRACE"]
RUNS = json.loads(os.environ["MPITRACE_RUNS"])
ANSWERS = json.loads(Path(os.environ["MPITRACE_ANSWERS"]).read_text())
ENGINE = os.environ["MPITRACE_ENGINE"]


def mpitrace(*args):
    return json.loads(subprocess.run([MPITRACE, *args], check=True, stdout=subprocess.PIPE).stdout)


@functools.cache
def report(run):
    """Returns the only job of a run."""
    (job,) = mpitrace("report", "--json", run)["jobs"]
    return job


def asked(question):
    """Skips a test if the question was not answered: the run has no such table."""
    return pytest.mark.skipif(ANSWERS.get(question) is None, reason=f"{ENGINE} did not answer {question}")


def rows(question, run):
    return [row for row in ANSWERS[question] if row["run"] == run]


def counted(cells):
    """Counts equal cells, so that the order and the numbering of rows do not matter."""
    found = Counter(cells)
    assert found
    return found


@asked("bytes_by_node")
@pytest.mark.parametrize("run", RUNS)
def test_bytes_by_node(run, tmp_path):
    got = {(r["from_node"], r["to_node"], r["messages"], r["bytes"]) for r in rows("bytes_by_node", report(run)["run"])}
    profile2mat = Path(MPITRACE).with_name("profile2mat")
    subprocess.run([profile2mat, "--by", "host", "--class", "p2p", "--format", "csv", "-o", tmp_path, run], check=True, stdout=subprocess.PIPE)
    (file,) = tmp_path.glob("*_external.csv")
    with file.open() as f:
        want = {(r["sender"], r["receiver"], int(r["messages"]), int(r["bytes"])) for r in csv.DictReader(f)}
    assert got == want and got


@asked("top_call_sites")
@pytest.mark.parametrize("run", RUNS)
def test_top_call_sites(run):
    job = report(run)
    numbers = ["calls", "time_ns", "messages", "bytes"]
    got = counted((r["callsite"], r["call"], *(r[n] for n in numbers)) for r in rows("top_call_sites", job["run"]))
    assert got == counted((s["label"], s["call"], *(s[n] for n in numbers)) for s in job["callsites"])


@asked("imbalance")
@pytest.mark.parametrize("run", RUNS)
def test_imbalance(run):
    job = report(run)
    got = counted((r["callsite"], r["call"], r["ranks"], r["least_ns"], r["most_ns"], r["mean_ns"]) for r in rows("imbalance", job["run"]))
    want = [(s["label"], s["call"], s["time_per_rank"]) for s in job["callsites"]]
    assert got == counted((label, call, t["ranks"], t["min_ns"], t["max_ns"], t["mean_ns"]) for label, call, t in want)


@asked("message_sizes")
@pytest.mark.parametrize("run", RUNS)
def test_message_sizes(run):
    job = report(run)
    by_slice, by_size = Counter(), Counter()
    for r in rows("message_sizes", job["run"]):
        by_slice[r["slice"], "messages"] += r["messages"]
        by_slice[r["slice"], "bytes"] += r["bytes"]
        by_size[r["call"], r["size_class"], "messages"] += r["messages"]
        by_size[r["call"], r["size_class"], "bytes"] += r["bytes"]
    numbers = ["messages", "bytes"]
    assert by_slice == Counter({(s["slice"], n): s[n] for s in job["slices"] for n in numbers})
    assert by_size == Counter({(c["call"], s["size_class"], n): s[n] for c in job["message_sizes"] for s in c["sizes"] if s["messages"] for n in numbers})


@asked("late_senders")
@pytest.mark.parametrize("run", RUNS)
def test_late_senders(run):
    if not list(Path(run).glob("trace.*.arrow")):
        pytest.skip("the run has no trace")
    job = mpitrace("analyze", "--json", run)
    columns = ["rank", "peer", "call", "callsite", "peer_callsite", "comm"]
    got = {tuple(r[c] for c in columns): (r["waits"], r["wait_ns"], r["longest_ns"]) for r in rows("late_senders", job["run"])}
    names = ["rank", "peer", "call", "callsite", "peer_callsite", "communicator"]
    late = [s for s in job["wait_states"] if s["pattern"] == "late-sender"]
    assert got == {tuple(s[n] for n in names): (s["count"], round(s["time_s"] * 1e9), round(s["max_s"] * 1e9)) for s in late}


@asked("growth")
@pytest.mark.skipif(len(RUNS) < 2, reason="one run does not grow")
def test_growth():
    got = {(r["callsite"], r["call"]): (r["runs"], r["exponent"]) for r in ANSWERS["growth"]}
    (group,) = mpitrace("history", "--json", *RUNS)["scaling"]
    want = {(s["label"], s["call"]): (len(s["points"]), s["exponent"]) for s in group["callsites"]}
    assert got.keys() == want.keys() and got
    for site, (runs, exponent) in want.items():
        assert got[site] == (runs, pytest.approx(exponent, abs=1e-9))
