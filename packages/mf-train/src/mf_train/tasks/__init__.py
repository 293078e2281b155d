"""The tasks (trainer.type), one module each: what turns a batch into a loss."""
