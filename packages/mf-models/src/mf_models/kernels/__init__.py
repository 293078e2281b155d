"""Tensor operations of the models, one implementation chosen per device."""

from mf_models.kernels.select import Kernels, select_kernels

__all__ = ["Kernels", "select_kernels"]
