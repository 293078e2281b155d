"""Compiled graphs that the next process needn't compile again."""

from mf_models.graph_cache.cells import KeptGraph, keep_graphs

__all__ = ["KeptGraph", "keep_graphs"]
