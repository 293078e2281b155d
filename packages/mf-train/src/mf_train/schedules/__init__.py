"""The learning-rate schedules (lr_schedule.type), one module each."""
