"""What `metrics.py` measures: one module per subject, each from the same parsed tree."""
