"""Parallel plans for large language models: which rank holds which slice of which parameter, and the collectives that keep ranks equal."""
