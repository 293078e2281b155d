"""How a checkpoint gets onto the disk, stays whole there, and goes again."""
