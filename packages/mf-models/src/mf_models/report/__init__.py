"""What each family was measured to do: `python -m mf_models.report`."""
