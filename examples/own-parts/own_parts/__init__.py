"""Parts of one's own for mf: a loss, a callback and a model family."""
