"""The command line `mf-config`: one module a subcommand. Programs of other packages offer the same subcommands."""

from mf_config.cli.program import main

__all__ = ["main"]
