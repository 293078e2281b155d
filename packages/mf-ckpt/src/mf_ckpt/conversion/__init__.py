"""Checkpoints made from checkpoints: another layout, form, type, or with an adapter merged in."""
