"""Tokenizers, corpora and exact, resumable batches for training large language models."""
