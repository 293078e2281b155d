"""Settings of the property tests."""

from hypothesis import settings

# A busy machine is no defect: examples that write files have no deadline.
settings.register_profile("mf-ckpt", deadline=None)
settings.load_profile("mf-ckpt")
