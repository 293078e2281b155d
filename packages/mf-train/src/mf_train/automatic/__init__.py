"""The training step that MindSpore's own parallelism divides on Ascend."""
