"""File formats that are read or written, one folder for each; none knows another."""
