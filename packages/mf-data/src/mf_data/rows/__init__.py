"""Data sets of rows: what rows are made of, and in which order they are read."""
