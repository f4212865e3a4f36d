"""A reader of the Trace Event Format (JSON in gzip) that takes a file as
Perfetto's trace processor does, and raises ValueError where that would drop
something or count an error. It shares nothing with the writer.

The perfetto package on PyPI has no trace processor in it but downloads one when
it is first used, which machines without access to the network cannot do.

The rules are those of src/trace_processor of Perfetto: importers/json (fields,
times), sorter (order), importers/common/slice_tracker.cc (slices nest) and
flow_tracker.cc (which slices arrows belong to).
"""

import gzip
import json
from decimal import Decimal

NEEDED = {
    "X": {"ts", "dur", "name"},
    "s": {"ts", "id", "name", "cat"},
    "f": {"ts", "id", "name", "cat", "bp"},
    "C": {"ts", "name", "args"},
    "M": {"name", "args"},
}


class Timeline:
    """The tables that the trace processor makes of a file."""

    def __init__(self, path):
        with gzip.open(path, "rt", encoding="utf-8") as f:
            text = f.read()
        # Numbers are read as decimals, so that nanoseconds are exact.
        data = json.loads(text, parse_float=Decimal, parse_int=Decimal)
        self.other = data["otherData"]
        self.slices = []  # events, with start and end in ns
        self.flows = []  # (slice out, slice in)
        self.counters = {}  # (pid, name): [(ns, value)]
        self.processes, self.threads = {}, {}
        self._open, self._sent = {}, {}
        for event in sorted(map(checked, data["traceEvents"]), key=order):
            getattr(self, "_" + event["ph"])(event)

    def _M(self, event):
        name = event["args"].get("name")
        if event["name"] == "process_name":
            self.processes[event["pid"]] = name
        elif event["name"] == "thread_name":
            self.threads[event["tid"]] = name

    def _X(self, event):
        stack = self._open.setdefault(event["tid"], [])
        while stack and (
            stack[-1]["end"] < event["start"]
            or stack[-1]["end"] == event["start"] and (stack[-1]["dur"] or event["dur"])
        ):
            stack.pop()
        if any(event["end"] > outer["end"] for outer in stack):
            raise ValueError(f"{event} overlaps {stack[-1]}")
        stack.append(event)
        if len(stack) > 512:
            raise ValueError(f"{event} is nested too deeply")
        self.slices.append(event)

    def _host(self, event):
        stack = self._open.get(event["tid"])
        if not stack:
            raise ValueError(f"no slice is around {event}")
        return stack[-1]

    def _s(self, event):
        key = event["id"], event["cat"], event["name"]
        if key in self._sent:
            raise ValueError(f"{event} has been before")
        self._sent[key] = self._host(event)

    def _f(self, event):
        key = event["id"], event["cat"], event["name"]
        if key not in self._sent:
            raise ValueError(f"{event} ends before it starts")
        self.flows.append((self._sent[key], self._host(event)))

    def _C(self, event):
        for name, value in event["args"].items():
            track = self.counters.setdefault((event["pid"], event["name"] + " " + name), [])
            track.append((event["start"], value))


def checked(event):
    """Returns the event with its start and end. Raises ValueError if it lacks a field that its phase needs."""
    missing = ({"ph", "pid", "tid"} | NEEDED[event["ph"]]) - event.keys()
    if missing:
        raise ValueError(f"{event} has no {missing}")
    if not 0 < event["pid"] < 2**32 or not 0 < event["tid"] < 2**32:
        raise ValueError(f"{event} has an invalid pid or tid")
    if event["ph"] == "f" and event["bp"] != "e":
        raise ValueError(f"{event} would end in the next slice")
    event["start"] = nanoseconds(event.get("ts", Decimal(0)))
    event["dur"] = nanoseconds(event.get("dur", Decimal(0)))
    if event["start"] < 0 or event["dur"] < 0:
        raise ValueError(f"{event} has a time below 0")
    event["end"] = event["start"] + event["dur"]
    return event


def nanoseconds(microseconds):
    ns = microseconds * 1000
    if ns != int(ns):
        raise ValueError(f"{microseconds} us is no number of ns")
    if round(float(microseconds) * 1000) != ns:
        raise ValueError(f"{microseconds} us is another number of ns in floating point")
    return int(ns)


def order(event):
    """Returns the key to sort events: by time; at the same time metadata, then slices, the longest first."""
    rank = {"M": 0, "X": 1}.get(event["ph"], 2)
    return event["start"], rank, -event["dur"]
