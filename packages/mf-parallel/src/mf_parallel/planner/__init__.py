"""What a training step on many devices takes of memory, links and time, by arithmetic: no device, no MindSpore."""
