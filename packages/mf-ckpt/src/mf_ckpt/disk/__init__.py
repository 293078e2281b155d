"""Files on disk: safe names, JSON documents, files that appear whole or not at all, and mappings into memory."""
