"""What is done with a checkpoint that is there: open, verify, compare, see whether it fits."""
