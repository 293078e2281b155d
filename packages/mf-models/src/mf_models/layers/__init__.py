"""Cells that families are assembled from. They take their head counts from the shapes of the weights."""
