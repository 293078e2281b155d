"""`mf-config migrate`: older and later spellings of a run configuration rewritten in the canonical form."""

from mf_config.migration.migrate import Migration, Note, migrate_text

__all__ = ["Migration", "Note", "migrate_text"]
