"""What can go wrong in a way that a person can mend: one clear line, and the exit code that says which kind it was."""

from __future__ import annotations


class MidfillError(Exception):
    """Base of every error that is told to the person in one line.

    The message is that line. `exit_code` is what the command line ends with.
    """

    exit_code = 2


class BadInput(MidfillError):
    """The person asked for something that cannot be: a wrong path, position, option or file (exit code 2)."""

    exit_code = 2


class ModelUnavailable(MidfillError):
    """The model cannot be loaded: unknown name, missing or broken weights, too little memory (exit code 3)."""

    exit_code = 3


class Cancelled(Exception):
    """A fill was stopped because its `CancelToken` was set. Not an error of the person's; never shown."""
