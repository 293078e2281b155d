"""The command line `mf-train`; what only reads configurations comes from mf-config. `run` alone imports MindSpore."""

from mf_train.cli.program import main

__all__ = ["main"]
