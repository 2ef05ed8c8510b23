"""The command line: `main` parses and ends with the right exit code; one module a command beside it.

A command's module has `add_arguments(parser)` and `run(options) -> exit code`, and imports at its top nothing that is
slow, so that help and errors of usage come at once.
"""
