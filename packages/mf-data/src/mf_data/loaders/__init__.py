"""Sections of kind `data_loader`, one file each: where the text of a run comes from."""
