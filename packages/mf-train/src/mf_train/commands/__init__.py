"""The subcommands of `mf-train`, one module each."""
