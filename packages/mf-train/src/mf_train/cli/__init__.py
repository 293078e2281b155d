"""The command line `mf-train`: one module a subcommand; MindSpore is imported only by `run`."""

from mf_train.cli.program import main

__all__ = ["main"]
