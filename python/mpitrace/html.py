"""A run as HTML, for Jupyter: a table of its jobs, and heatmaps.

The HTML needs no network and contains no script. Pictures are data URLs, and
everything that comes from the job is escaped.
"""

import base64
import tempfile
from html import escape
from pathlib import Path
from typing import Any, Dict, Iterable, List

from . import commands

MAX_PICTURES = 8


def of(run: Path, summary: Dict[str, Any]) -> str:
    """Return the HTML of a run with the summary that `mpitrace report --json` prints."""
    jobs = "".join(_row(_job(job)) for job in summary["jobs"])
    head = "<tr>" + "".join(f"<th>{escape(name)}</th>" for name in HEAD) + "</tr>"
    problems = [problem for job in summary["jobs"] for problem in job.get("problems") or []]
    return (
        f"<div><p><b>{escape(run.name)}</b></p><table><thead>{head}</thead><tbody>{jobs}</tbody></table>"
        + "".join(f"<p>{escape(_text(problem))}</p>" for problem in problems)
        + "".join(_pictures(run))
        + "</div>"
    )


def failed(run: Path, error: Exception) -> str:
    """Return the HTML of a run whose summary cannot be made."""
    return f"<div><p><b>{escape(run.name)}</b></p><pre>{escape(str(error))}</pre></div>"


HEAD = ["program", "ranks", "hosts", "MPI", "started", "wall time", "calls", "messages", "bytes", "in MPI", "state"]


def _job(job: Dict[str, Any]) -> List[str]:
    totals, share = job["totals"], job.get("mpi_share")
    return [
        _programs(job),
        f"{job['ranks_recorded']:,} of {job['ranks_expected']:,}",
        f"{len(job['hosts']):,}",
        str(job["mpi_library"]).split(",")[0],
        job["started"][:19].replace("T", " ") + " UTC",
        "–" if job["wall_time_s"] is None else f"{job['wall_time_s']:.3g} s",
        f"{totals['calls']:,}",
        f"{totals['messages']:,}",
        f"{totals['bytes']:,}",
        f"{100 * share['mean']:.1f} %" if share and job["timing"] != "off" else "not timed",
        "incomplete" if job.get("problems") else "complete",
    ]


def _programs(job: Dict[str, Any]) -> str:
    """Return the programs of a job, with their numbers of ranks if there are several."""
    programs = job.get("programs") or []
    if len(programs) < 2:
        return str(job["program"])
    return ", ".join(f"{p['program']} (rank {p['ranks']})" for p in programs)


def _row(cells: Iterable[str]) -> str:
    return "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in cells) + "</tr>"


def _text(problem: Any) -> str:
    """Return the text of a problem, which is a text or an object that has one."""
    return str(problem.get("text", problem)) if isinstance(problem, dict) else str(problem)


def _pictures(run: Path) -> Iterable[str]:
    """Yield the heatmaps that mpitrace matrix draws, each as an image."""
    with tempfile.TemporaryDirectory(prefix="mpitrace-") as dir:
        done = commands.attempt("matrix", "--format", "svg", "-o", dir, "--", str(run))
        pictures = [Path(line) for line in done.stdout.splitlines()]
        if done.returncode != 0 or not pictures:
            yield f"<pre>{escape(done.stderr.strip())}</pre>"
        for path in pictures[:MAX_PICTURES]:
            data = base64.b64encode(path.read_bytes()).decode()
            yield f'<img alt="{escape(path.stem)}" src="data:image/svg+xml;base64,{data}"/>'
        if len(pictures) > MAX_PICTURES:
            yield f"<p>and {len(pictures) - MAX_PICTURES} more pictures: mpitrace matrix --format svg</p>"
