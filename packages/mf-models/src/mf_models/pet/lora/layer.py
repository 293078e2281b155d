"""The product beside a linear layer. Legend: D input dim, F output dim, L rank, ... any leading dims."""

from mindspore import Parameter, Tensor, nn

from mf_models.kernels.select import select_kernels
from mf_models.layers.dropout import Dropout


class LowRankProduct(nn.Cell):
    """scale * B(A(dropout(x))), for `Linear.adapter`.

    Source: Hu et al. 2021, LoRA, section 4.1.
    """

    def __init__(self, a_LD: Parameter, b_FL: Parameter, scale: float, dropout_rate: float):
        """Takes the matrices; several layers may share the first."""
        super().__init__()
        self.a = a_LD
        self.b = b_FL
        self.scale = scale
        self.dropout = Dropout(dropout_rate)
        self.linear = select_kernels().linear

    def construct(self, x: Tensor) -> Tensor:
        """[..., D] to [..., F], in the type of `x`; the matrices are kept in float32."""
        inner = self.linear(self.dropout(x), self.a.astype(x.dtype))
        return self.linear(inner, self.b.astype(x.dtype)) * self.scale
