"""The sections of a run configuration that are not chosen by `type:`, one module a subject."""
