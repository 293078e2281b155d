"""How network, optimizer state and rows of a run are divided among its processes."""
