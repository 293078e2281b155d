"""From files to a model that computes: weights, integers, tokenizer, settings."""
