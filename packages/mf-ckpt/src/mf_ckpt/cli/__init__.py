"""The command line `mf-ckpt`, one module for each command."""

from mf_ckpt.cli.main import main

__all__ = ["main"]
