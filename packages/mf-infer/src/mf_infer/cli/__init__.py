"""The command line `mf-infer`: one module a subcommand."""

from mf_infer.cli.program import main

__all__ = ["main"]
