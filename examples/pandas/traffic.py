#!/usr/bin/env python3
"""Bytes by MPI call, and the pairs of ranks that exchange most: traffic.py RUN

RUN is a directory that `mpitrace run` made, or the path of a profile.arrow.
"""

import sys
from pathlib import Path

import pandas as pd

path = Path(sys.argv[1])
df = pd.read_feather(path / "profile.arrow" if path.is_dir() else path)

sent = df[df.direction.isin(["send", "write"])]
by_call = sent.groupby(["class", "call"], observed=True)[["calls", "messages", "bytes"]].sum()
print("Sent, by call")
print(by_call.sort_values("bytes", ascending=False).to_string())

# A collective has no peer: its volume goes to all others of its communicator.
p2p = sent[sent["class"] == "p2p"]
pairs = p2p.groupby(["run", "rank", "peer"], observed=True)[["messages", "bytes"]].sum()
print("\nTop pairs, point-to-point (world ranks)")
print(pairs.sort_values("bytes", ascending=False, kind="stable").head(10).to_string())
