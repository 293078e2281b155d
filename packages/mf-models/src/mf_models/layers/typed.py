"""Layers that compute in a number type of their own."""

from typing import ClassVar

import mindspore as ms
from mindspore import Tensor, nn

from mf_models.config_keys.numerics import NumberTypes


class Typed(nn.Cell):
    """What such layers share.

    Without `set_types` a layer takes everything as it comes, which is float32 on CPU: no graph has a conversion more
    than it needs.

    Attributes:
        computed_as: which of the attributes of `NumberTypes` says the type that the layer computes in.
        stored_as: which of them says the type of the layer's own weights.
        compute_type: the type that the layer computes in; None for that of what comes in.
    """

    computed_as: ClassVar[str] = "products"
    stored_as: ClassVar[str] = "weights"

    def __init__(self) -> None:
        super().__init__()
        self.compute_type: ms.Type | None = None

    def set_types(self, types: NumberTypes) -> None:
        """Convert the layer's own weights, and fix the type that it computes in; call it before it is compiled."""
        self.compute_type = getattr(ms, getattr(types, self.computed_as))
        for parameter in self.get_parameters(expand=False):
            parameter.set_dtype(getattr(ms, getattr(types, self.stored_as)))

    def converted(self, x: Tensor) -> Tensor:
        """A tensor of any shape in the type that the layer computes in."""
        return x if self.compute_type is None else x.astype(self.compute_type)


def set_number_types(network: nn.Cell, types: NumberTypes) -> None:
    """Give each layer of a network its types.

    Args:
        network: not compiled yet.
        types: the types of its parts.
    """
    for _, cell in network.cells_and_names():
        if isinstance(cell, Typed):
            cell.set_types(types)
