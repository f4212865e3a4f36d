"""Compares by value what two versions of the commands read from a corpus of runs.

    build/venv/bin/python tests/corpus/compare.py CORPUS BEFORE AFTER [--only PATTERN]

CORPUS is what record.sh made; BEFORE and AFTER are directories with mpitrace and
profile2mat. Each version gets fresh copies of each run, at the same path. Outputs are
kept in CORPUS/outputs, one directory for each version (by the hash of its commands), and
not made again. Differences are printed as "run: output: key: before -> after"; those
that accepted.txt lists have a reason and are only counted. What only AFTER has (keys,
columns, rows of new files) is an addition. The exit status is 1 if a difference is not
accepted.
"""
import argparse
import base64
import collections
import csv
import difflib
import fnmatch
import gzip
import hashlib
import io
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import urllib.error
import urllib.request

import pyarrow
import pyarrow.feather
import pyarrow.parquet

HERE = pathlib.Path(__file__).parent


# The commands for each run of the corpus: {run} stands for the run, {other} for a run to
# compare it with, {out} for a directory that gets the command's files. The commands of a
# group share one copy of the run, so that later ones read what earlier ones wrote. A
# group's pattern names files in that copy that are compared, too.
GROUPS = {
    "report": ("*.arrow", [
        "mpitrace list --json .",
        "mpitrace report --json --top all {run}",
        "mpitrace report --top all --sort bytes {run}",
        "mpitrace report --top 10 {run}",
        "mpitrace report --json --rank 1 {run}",
        "mpitrace report --html {out}/page.html {run}",
    ]),
    "trace": ("", [
        "mpitrace analyze --json --top all --interval 5ms {run}",
        "mpitrace analyze --waits {out}/waits.arrow {run}",
        "mpitrace timeline -o {out}/timeline.svg {run}",
        "mpitrace export --events --format csv -o {out}/events.csv {run}",
        "mpitrace export --format perfetto -o {out}/perfetto.json.gz {run}",
    ]),
    "export": ("", [
        "mpitrace export --format csv --skip-damaged -o {out}/profile.csv {run}",
        "mpitrace export --format arrow -o {out}/profile.arrow {run}",
        "mpitrace export --format parquet --partition 2 --tables all -o {out}/data {run}",
        "mpitrace export --format prof -o {out}/prof {run}",
    ]),
    "matrix": ("", [
        "profile2mat --format csv -o {out}/all {run}",
        "profile2mat --format csv --class O2A,A2O,one-sided -o {out}/classes {run}",
        "profile2mat --format csv --class physical -o {out}/physical {run}",
        "profile2mat --format json --direction recv -o {out}/received {run}",
        "profile2mat --format mat,mtx --symmetric --skip-damaged -o {out}/symmetric {run}",
        "profile2mat --format csv --by host --no-self -o {out}/hosts {run}",
        "profile2mat --format arrow,svg --size-class 0-8 -o {out}/small {run}",
        "profile2mat --format csv --callsite {callsite} -o {out}/callsite {run}",
        "profile2mat --format csv --comm {comm} -o {out}/comm {run}",
        "profile2mat --format csv --slice {slice} -o {out}/slice {run}",
        "profile2mat --format csv --call {call} -o {out}/call {run}",
    ]),
    "two": ("", [
        "mpitrace diff --json {other} {run}",
        "mpitrace reorder --json {run}",
    ]),
    # Single files of a run, after it was merged if it has recordings.
    "files": ("*.arrow", [
        "mpitrace merge {run}",
        "mpitrace report --json {run}",
        "mpitrace export --format csv -o {out}/profile.csv {run}/profile.arrow",
        "profile2mat --format csv -o {out}/arrow {run}/profile.arrow",
        "mpitrace diff --json {run}/profile.arrow {run}",
        "profile2mat --format csv -o {out}/recordings {recordings}",
        "mpitrace export --format csv --skip-damaged -o {out}/recordings.csv {recordings}",
        "mpitrace dump {recordings}",
    ]),
    # Each file of the run that EXTRAS lists, and the directory of these files.
    "extra": ("", [
        "mpitrace export --format csv -o {out}/profile.csv {extra}",
        "profile2mat --format csv -o {out}/matrix {extra}",
        "profile2mat --format csv -o {out}/matrix {directory}",
        "mpitrace diff --json {extra} {other}",
    ]),
    # The first command packs the recordings, the others read the packed ones.
    "collect": ("", [
        "mpitrace collect {run}",
        "mpitrace report --json --top all {run}",
        "profile2mat --format csv -o {out}/packed {run}",
        "mpitrace export --format csv --skip-damaged -o {out}/packed.csv {run}",
    ]),
    "view": ("", [
        "mpitrace view {run}",
    ]),
    # One command for all runs.
    "history": ("", [
        "mpitrace list --json .",
        "mpitrace history --json .",
        "mpitrace history --markdown --top all .",
    ]),
}
ALL = "all runs"
EXTRAS = ["arrow/*.arrow", "prof/*.prof", "*.prof", "all.arrow", "data/profile"]


class Version:
    """A version of the commands, and its outputs."""

    def __init__(self, corpus, directory):
        self.directory = pathlib.Path(directory).resolve()
        digest = hashlib.sha256()
        for name in ("mpitrace", "profile2mat"):
            digest.update((self.directory / name).read_bytes())
        self.outputs = corpus / "outputs" / digest.hexdigest()[:12]

    def make(self, corpus, run, selection):
        """Makes the outputs of a run that are not there, and returns their directory."""
        out = self.outputs / run
        for group in ["history"] if run == ALL else [g for g in GROUPS if g != "history"]:
            chosen = selection(self.outputs) if group == "matrix" else {}
            made = json.dumps([GROUPS[group], chosen])
            done = out / group / "done"
            if not done.exists() or done.read_text() != made:
                shutil.rmtree(out / group, ignore_errors=True)
                self.make_group(corpus, run, group, out / group, chosen)
                done.write_text(made)
        return out

    def make_group(self, corpus, run, group, out, selection):
        copies = corpus / "copy"
        shutil.rmtree(copies, ignore_errors=True)
        copies.mkdir()
        other = partner(corpus / "runs", run)
        if run == ALL:
            names = [p.name for p in (corpus / "runs").iterdir()]
        else:
            names = {run, other} if group in ("two", "extra") else {run}
        for name in names:
            shutil.copytree(corpus / "runs" / name, copies / name, symlinks=True)
        out.mkdir(parents=True)
        keep, commands = GROUPS[group]

        def files(pattern):
            return [str(p.relative_to(copies)) for p in sorted((copies / run).glob(pattern))]
        words = {"run": run, "other": other, "out": "out", "recordings": files("recordings/*"), **selection}
        extras = [files(e) for e in EXTRAS if files(e)]
        for i, command in enumerate(commands):
            for n, extra in enumerate(extras if group == "extra" else [[]]):
                directory = [str(pathlib.Path(f).parent) for f in extra[:1]]
                self.execute(copies, command, {**words, "extra": extra, "directory": directory}, out / f"{i}{'abcde'[n]}")
        for path in (copies / run).glob(keep) if keep else ():
            (out / "files").mkdir(exist_ok=True)
            shutil.copy(path, out / "files")

    def execute(self, copies, command, words, out):
        """Runs a command, and keeps what it printed and wrote."""
        (copies / "out").mkdir(exist_ok=True)
        try:
            argv = [a for word in command.split() for a in expand(word, words)]
        except KeyError:
            return  # the run has nothing to select
        environment = {**os.environ, "XDG_CACHE_HOME": str(copies / "cache"), "XDG_CONFIG_HOME": str(copies / "config"), "MPITRACE_SITE_CONFIG": ""}
        run = serve if argv[1] == "view" else subprocess.run
        done = run([self.directory / argv[0], *argv[1:]], cwd=copies, env=environment, capture_output=True, timeout=300)
        out.mkdir()
        (out / "stdout").write_bytes(done.stdout)
        (out / "stderr").write_bytes(done.stderr)
        (out / "status").write_text(str(done.returncode))
        shutil.move(copies / "out", out / "written")


def serve(argv, cwd, env, **_):
    """Runs `mpitrace view` until it has answered what a page asks for, as one JSON object."""
    answers = {}
    with subprocess.Popen(argv, cwd=cwd, env=env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as view:
        address = re.match(r"(http://\S+/)\?(token=\w+)", view.stdout.readline())
        for path in ("data", "report", "pair?from=0-1&to=0-3", "events?from=0&to=1000000000") if address else ():
            url = f"{address[1]}{path}{'&' if '?' in path else '?'}{address[2]}"
            try:
                with urllib.request.urlopen(url, timeout=60) as response:
                    answers[path] = json.load(response)
            except urllib.error.HTTPError as e:
                answers[path] = f"{e.code} {e.read().decode()}"
        view.terminate()
    return subprocess.CompletedProcess(argv, 0 if address else view.returncode, json.dumps(answers).encode(), b"")


def expand(word, words):
    """Returns the arguments for a word of a command: names may contain spaces, and there may be several files."""
    value = words.get(word.strip("{}"))
    return value if isinstance(value, list) else [word.format(**words)]


def partner(runs, run):
    """Returns the run that a run is compared with: that of the other MPI, if there is one."""
    for a, b in (("-mpich", "-openmpi"), ("-openmpi", "-mpich")):
        other = run.removesuffix(a) + b
        if run.endswith(a) and (runs / other).exists():
            return other
    return run


def selection_of(run):
    """Returns a function that chooses what to select in the matrices of a run: names that
    its table has, the same for all versions."""
    def select(outputs):
        chosen = {}
        path = outputs / run / "export" / "0a" / "written" / "profile.csv"
        rows = list(csv.DictReader(path.open(newline=""))) if path.exists() else []
        sent = [r for r in rows if r.get("direction") == "send" and int(r.get("messages") or 0)] or rows
        for key in ("call", "comm", "slice", "callsite"):
            names = sorted({r[key] for r in sent if r.get(key)})
            if names:
                chosen[key] = names[len(names) // 2]
        return chosen
    return select


# Readers. Each returns the values of an output as a dictionary of keys and values, in
# which rows of tables are keys, and the number of equal rows is their value.

def same_names(text):
    """Replaces what depends on when a command ran: the name of a container that it packed."""
    return re.sub(r"-20\d{6}-\d{6}-[0-9a-f]{8}\.node", "-WHEN.node", text)


def read_text(data):
    return same_names(data.decode(errors="replace")).splitlines()


def read_messages(data):
    """Reads messages in any order, because several files are read at once. Only the first has the command's name."""
    return sorted(re.sub("^(mpitrace|profile2mat): ", "", line) for line in read_text(data))


def flatten(value, key=""):
    if isinstance(value, dict) and value:
        for name, v in value.items():
            yield from flatten(v, f"{key}.{name}")
    elif isinstance(value, list):
        yield f"{key}[]", f"{len(value)} elements"
        for i, v in enumerate(value):
            yield from flatten(v, f"{key}[{i}]")
    else:
        yield key, value


NOW = r"(\.report)?\.made\.at|\.data\.(at|reading_took_s)"  # keys with the time of now


def documents(text):
    """Returns the JSON documents of a text, one for each job."""
    decoder, out, text = json.JSONDecoder(), [], text.strip()
    while text:
        value, end = decoder.raw_decode(text)
        out.append(value)
        text = text[end:].lstrip()
    return out[0] if len(out) == 1 else out


def read_json(data):
    values = dict(flatten(documents(same_names(data.decode()))))
    return {k: v for k, v in values.items() if not re.fullmatch(NOW, k)}


def read_table(data):
    """Reads Arrow or Parquet: names of columns, and rows."""
    buffer = pyarrow.BufferReader(data)
    if data[:4] == b"PAR1":
        table = pyarrow.parquet.read_table(buffer)
    else:
        table = pyarrow.ipc.open_file(buffer).read_all()
    columns = [[same_names(str(v)) for v in c.to_pylist()] for c in table.columns]
    return table.column_names, list(zip(*columns)) if columns else []


def read_csv(data):
    rows = list(csv.reader(io.StringIO(same_names(data.decode(errors="replace")))))
    return (rows[0], rows[1:]) if rows else ([], [])


def read_page(data):
    """Reads the data of a page. The rest of it is the application."""
    text = re.search(rb'id="data">([^<]*)<', data)
    values = read_json(gzip.decompress(base64.b64decode(text[1]))) if text else {}
    return values


def kind_of(path, data):
    if path.name == "stdout" and data[:1] in (b"{", b"["):
        return "json"
    if path.name.endswith(".json.gz"):
        return "json.gz"
    return path.suffix.lstrip(".") or "text"


def compare_values(before, after):
    """Yields (key, before, after) of what differs; before is None for an addition."""
    for key in sorted(before.keys() | after.keys()):
        if key not in before:
            yield key, None, after[key]
        elif key not in after:
            yield key, before[key], None
        elif before[key] != after[key]:
            yield key, before[key], after[key]


def compare_tables(before, after):
    """Compares the rows of the columns that both have, in any order."""
    for name in after[0]:
        if name not in before[0]:
            yield f"column {name}", None, "new"
    for name in before[0]:
        if name not in after[0]:
            yield f"column {name}", "there", None
    common = [n for n in before[0] if n in after[0]]

    def counted(table):
        at = [table[0].index(n) for n in common]
        return collections.Counter(tuple(row[i] for i in at) for row in table[1])
    a, b = counted(before), counted(after)
    gone, new = sorted((a - b).elements()), sorted((b - a).elements())
    for i in range(max(len(gone), len(new))):
        x = gone[i] if i < len(gone) else None
        y = new[i] if i < len(new) else None
        if x and y:
            for n, p, q in zip(common, x, y):
                if p != q:
                    yield f"row {n}", p, q
        else:
            yield "row", x or "no row", y
    if len(before[1]) != len(after[1]):
        yield "rows", len(before[1]), len(after[1])


def compare_lines(before, after):
    """Compares the words of lines, in any order: the columns of tables may change places."""
    before, after = ([line for line in lines if line.strip()] for lines in (before, after))
    a, b = ([tuple(sorted(line.split())) for line in lines] for lines in (before, after))
    for tag, i, j, k, l in difflib.SequenceMatcher(a=a, b=b, autojunk=False).get_opcodes():
        if tag != "equal":
            yield f"line {i + 1}", "\n".join(before[i:j]), "\n".join(after[k:l]) or None


def compare_files(path, a, b):
    """Compares two outputs that are not the same bytes."""
    try:
        match kind_of(path, a):
            case "json":
                return list(compare_values(read_json(a), read_json(b)))
            case "json.gz":
                return list(compare_values(read_json(gzip.decompress(a)), read_json(gzip.decompress(b))))
            case "jsonl":
                rows = [[dict(flatten(json.loads(line))) for line in d.splitlines()] for d in (a, b)]
                names = [sorted({n for r in rs for n in r}) for rs in rows]
                return list(compare_tables(*((n, [tuple(str(r.get(k)) for k in n) for r in rs]) for n, rs in zip(names, rows))))
            case "arrow" | "parquet":
                return list(compare_tables(read_table(a), read_table(b)))
            case "csv":
                return list(compare_tables(read_csv(a), read_csv(b)))
            case "html":
                return list(compare_values(read_page(a), read_page(b)))
            case "png" | "npy":
                return [("bytes", len(a), len(b))]
        lines = read_messages if path.name == "stderr" else read_text
        return list(compare_lines(lines(a), lines(b)))
    except Exception as e:  # one of the two cannot be read: that is a difference
        return [("unreadable", type(e).__name__, str(e)[:200])]


class Summary:
    def __init__(self, accepted, limit):
        self.accepted, self.limit = accepted, limit
        self.counts = collections.defaultdict(collections.Counter)
        self.reasons = collections.Counter()
        self.additions = collections.Counter()
        self.kinds = collections.Counter()

    def reason(self, run, output, key, a, b):
        for r, o, k, text, reason in self.accepted:
            if (fnmatch.fnmatch(run, r) and fnmatch.fnmatch(output, o) and re.search(k, key)
                    and re.search(text, f"{a} -> {b}", re.DOTALL)):
                return reason
        return None

    def add(self, run, output, command, differences):
        found = 0
        count = self.counts[command]
        for key, a, b in differences:
            plain = re.sub(r"\[\d+\]", "[]", key)
            if a is None:
                self.additions[f"{command}: {plain}"] += 1
                continue
            if why := self.reason(run, f"{output} {command}", plain, a, b):
                self.reasons[why] += 1
                continue
            found += 1
            self.kinds[f"{command}: {re.sub('[0-9]+', 'N', plain)}"] += 1
            if found <= self.limit:
                print(f"{run}: {output} ({command}): {key}: {short(a)} -> {short(b)}", flush=True)
        if found > self.limit:
            print(f"{run}: {output} ({command}): {found - self.limit} more", flush=True)
        count["different" if found else "equal apart from additions and accepted differences" if differences else "equal"] += 1


def short(value):
    text = str(value)
    return text if len(text) < 400 else text[:400] + " ..."


def files_below(directory):
    return {p.relative_to(directory): p for p in directory.rglob("*") if p.is_file() and p.name != "done"}


def command_of(output):
    group, number = output.parts[0], output.parts[1]
    if number == "files":
        return f"{group}: {output.name}"
    command = GROUPS[group][1][int(re.match(r"\d+", number)[0])]
    return f"{command} [{output.name if output.name in ('stdout', 'stderr', 'status') else 'files'}]"


def compare_run(run, before, after, summary):
    a, b = files_below(before), files_below(after)
    for output in sorted(a.keys() | b.keys()):
        command = command_of(output)
        if output not in b:
            summary.add(run, output, command, [("file", "there", None)])
        elif output not in a:
            summary.add(run, output, command, [(f"file {output.name}", None, "new")])
        else:
            x, y = a[output].read_bytes(), b[output].read_bytes()
            summary.add(run, output, command, compare_files(output, x, y) if x != y else [])


def read_accepted(path):
    """Lines: RUN | OUTPUT AND COMMAND | KEY | BEFORE -> AFTER | reason; the first two are
    patterns as of the shell, the others regular expressions."""
    lines = [line.strip() for line in path.read_text().splitlines()] if path.exists() else []
    return [line.split(" | ") for line in lines if line and not line.startswith("#")]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=pathlib.Path)
    parser.add_argument("before")
    parser.add_argument("after")
    parser.add_argument("--only", default="*", help="pattern of the runs to compare")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="compare every N-th run only")
    parser.add_argument("--start", type=int, default=0, metavar="K", help="with --every: start with the K-th")
    parser.add_argument("--again", action="store_true", help="make the outputs of AFTER again, even if they are there")
    parser.add_argument("--limit", type=int, default=3, help="differences to print of each output")
    parser.add_argument("--accepted", type=pathlib.Path, default=HERE / "accepted.txt")
    options = parser.parse_args()
    corpus = options.corpus.resolve()
    before, after = Version(corpus, options.before), Version(corpus, options.after)
    if options.again or before.outputs == after.outputs:
        after.outputs = after.outputs.with_name(after.outputs.name + "-again")
        shutil.rmtree(after.outputs, ignore_errors=True)
    summary = Summary(read_accepted(options.accepted), options.limit)
    runs = sorted(p.name for p in (corpus / "runs").iterdir() if fnmatch.fnmatch(p.name, options.only))[options.start::options.every]
    for run in [*runs, ALL]:
        select = selection_of(run)
        first = before.make(corpus, run, select)
        chosen = select(before.outputs)
        compare_run(run, first, after.make(corpus, run, lambda _: chosen), summary)
    report(runs, summary)
    sys.exit(1 if summary.kinds else 0)


def report(runs, summary):
    total = collections.Counter()
    print("\noutputs:")
    for command, count in sorted(summary.counts.items()):
        total.update(count)
        print(f"  {command}: " + ", ".join(f"{n} {what}" for what, n in sorted(count.items())))
    for title, lines in (("differences", summary.kinds), ("accepted", summary.reasons), ("additions", summary.additions)):
        print(f"\n{title}:")
        for line, n in lines.most_common():
            print(f"  {n} x {line}")
    print(f"\n{len(runs)} runs: " + ", ".join(f"{n} {what}" for what, n in sorted(total.items())))


if __name__ == "__main__":
    main()
