"""Reads what `mpitrace vars --format arrow` wrote in pandas, pyarrow and polars,
and prints as JSON what pandas has of it: the types of its columns, the rows of
each kind, and the value of each control variable."""

import json
import sys

import pandas
import polars
import pyarrow.feather

path = sys.argv[1]
frame = pandas.read_feather(path)
table = pyarrow.feather.read_table(path)
table.validate(full=True)
assert table.num_rows == len(frame) == len(polars.read_ipc(path))
assert table.schema.metadata[b"mpitrace.table"] == b"vars"
cvars = frame[(frame.kind == "cvar") & frame.name.notna()]
print(
    json.dumps(
        {
            "columns": {f.name: str(f.type) for f in table.schema},
            "kinds": {k: int(n) for k, n in frame.kind.value_counts().items()},
            "values": {r["name"]: r["value"] if isinstance(r["value"], str) else None for r in cvars.to_dict("records")},
        }
    )
)
