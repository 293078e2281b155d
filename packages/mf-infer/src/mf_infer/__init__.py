"""Inference for large language models on MindSpore: load a checkpoint, generate and stream text."""
