"""Rows for people: decoded, with what the loss counts and where documents begin."""
