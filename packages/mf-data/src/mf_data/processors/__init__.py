"""The `processor` sections, one module each: they hold the tokenizer of a run."""
