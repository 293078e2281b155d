"""What checkpoints keep of a run."""
