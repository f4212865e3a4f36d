"""Finds and starts the command `mpitrace`."""

import os
import shutil
import subprocess
import sysconfig

from .errors import CommandNotFoundError, Error


def find() -> str:
    """Return the path of the command mpitrace.

    It is what the environment variable MPITRACE names, else among the scripts of this
    Python environment, where pip installs it with this package, else in PATH. Raises
    CommandNotFoundError if it is in none of them.
    """
    named = os.environ.get("MPITRACE")
    if named:
        found = shutil.which(named)
        if not found:
            raise CommandNotFoundError(f"mpitrace not found: MPITRACE is {named}, which is no executable file")
        return found
    found = shutil.which("mpitrace", path=sysconfig.get_path("scripts")) or shutil.which("mpitrace")
    if not found:
        raise CommandNotFoundError(
            "mpitrace not found: install mpitrace, add its directory to PATH, "
            "or set MPITRACE to the path of the command mpitrace"
        )
    return found


def output(command: str, *args: str) -> "subprocess.CompletedProcess[str]":
    """Run a command of mpitrace and return its output. Raises Error, with its messages, if it fails."""
    done = attempt(command, *args)
    if done.returncode != 0:
        raise failure(command, done)
    return done


def attempt(command: str, *args: str) -> "subprocess.CompletedProcess[str]":
    """Run a command of mpitrace and return its output and exit status."""
    return subprocess.run(
        [find(), command, *args], stdin=subprocess.DEVNULL, capture_output=True, encoding="utf-8", errors="replace"
    )


def failure(command: str, done: "subprocess.CompletedProcess[str]") -> Error:
    """Return the error for a command of mpitrace that failed."""
    return Error(done.stderr.strip() or f"mpitrace {command} ended with status {done.returncode} and no message")
