"""Several processes of one run, started and stopped together."""
