"""The optimizers (optimizer.type), one module each."""
