"""One training step: what is compiled of it, the loss scale, the update of weights."""
