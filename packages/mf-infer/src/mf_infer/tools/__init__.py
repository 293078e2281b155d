"""Calls of tools in what a model writes."""
