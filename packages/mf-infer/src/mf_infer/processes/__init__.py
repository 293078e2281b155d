"""Several processes of a machine that compute one model."""
