"""Evaluation of a model: sums over rows, answers that it chooses or writes."""
