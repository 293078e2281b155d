"""A whole corpus tokenized into a file, by several processes, and resumed."""
