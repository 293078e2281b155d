"""Computes requests together: blocks of the cache, what each step computes, and the compiled steps."""
