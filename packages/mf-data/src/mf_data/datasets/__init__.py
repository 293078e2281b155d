"""Sections of kind `dataset` (chosen by `train_dataset_task.type`), one file each: how documents become rows."""
