"""The errors of this package. Their texts tell the user what to do."""

import importlib
from typing import Any


class Error(Exception):
    """The base class of all errors of this package."""


class NotARunError(Error):
    """A path is not a run directory."""


class CommandNotFoundError(Error):
    """The command mpitrace is not installed."""


class MissingExtraError(Error, ImportError):
    """An optional package is not installed."""


def optional(package: str, extra: str) -> Any:
    """Import a package that an extra of ours installs.

    Raises MissingExtraError if it is not installed.
    """
    try:
        return importlib.import_module(package)
    except ImportError as error:
        raise MissingExtraError(f"{package} is not installed: pip install 'mpitrace[{extra}]'") from error
