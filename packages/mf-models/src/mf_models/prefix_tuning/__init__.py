"""Learnt keys and values before each text, applied to a finished network from outside."""
