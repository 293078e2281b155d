"""`mf-config migrate`: older and later spellings of a run configuration rewritten in the canonical form."""
