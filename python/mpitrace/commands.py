"""Finds and starts the commands `mpitrace` and `profile2mat`."""

import os
import shutil
import subprocess
import sysconfig
from pathlib import Path
from typing import Optional

from .errors import CommandNotFoundError, Error


def find(name: str) -> str:
    """Return the path of a command.

    It is looked for where the environment variable MPITRACE says (the path of the
    command mpitrace; profile2mat is beside it), among the scripts of this Python
    environment, and in PATH. Raises CommandNotFoundError if it is in none of them.
    """
    named = os.environ.get("MPITRACE")
    if named:
        path = named if name == "mpitrace" else str(Path(named).with_name(name))
        found = shutil.which(path)
        if not found:
            raise CommandNotFoundError(f"{name} not found: MPITRACE is {named}, but {path} is no executable file")
        return found
    found = _script(name) or shutil.which(name)
    if not found:
        raise CommandNotFoundError(
            f"{name} not found: install mpitrace, add its directory to PATH, "
            "or set MPITRACE to the path of the command mpitrace"
        )
    return found


def _script(name: str) -> Optional[str]:
    """Return the command that pip installed with this package, if it did."""
    return shutil.which(name, path=sysconfig.get_path("scripts"))


def output(name: str, *args: str) -> "subprocess.CompletedProcess[str]":
    """Run a command and return its output. Raises Error, with its messages, if it fails."""
    done = attempt(name, *args)
    if done.returncode != 0:
        raise failure(name, done)
    return done


def attempt(name: str, *args: str) -> "subprocess.CompletedProcess[str]":
    """Run a command and return its output and exit status."""
    return subprocess.run(
        [find(name), *args], stdin=subprocess.DEVNULL, capture_output=True, encoding="utf-8", errors="replace"
    )


def failure(name: str, done: "subprocess.CompletedProcess[str]") -> Error:
    """Return the error for a command that failed."""
    return Error(done.stderr.strip() or f"{name} ended with status {done.returncode} and no message")
