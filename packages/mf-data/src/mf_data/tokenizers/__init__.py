"""Sections of kind `tokenizer`, and what every tokenizer of mf does: the protocol, files, streams, byte counts."""
