"""Sources of tensors: the interface behind every format, and sources made from other sources."""
