"""Pipelines over processes: who computes what and when, and how activations travel."""
