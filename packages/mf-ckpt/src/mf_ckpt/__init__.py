"""Checkpoints of large language models: atomic, verified, sharded safetensors directories, read lazily and without a framework."""
