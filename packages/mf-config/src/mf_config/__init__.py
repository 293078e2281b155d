"""The run-configuration schema of mf: a strict YAML reader, typed sections, located error messages and the layout vocabulary."""
