"""The command line `mf-data`, one module a command."""

from mf_data.cli.program import main

__all__ = ["main"]
