"""What a step reads: batches, made ahead by threads or processes."""
