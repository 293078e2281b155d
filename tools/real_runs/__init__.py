"""What `real_files.py` does with published run configurations: tiny overrides, materials to run with, and a table."""
