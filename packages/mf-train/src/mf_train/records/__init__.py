"""What a run writes for people and programs to read."""
