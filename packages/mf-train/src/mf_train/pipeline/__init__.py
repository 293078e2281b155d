"""Training and evaluation where each process has some blocks of the network."""
