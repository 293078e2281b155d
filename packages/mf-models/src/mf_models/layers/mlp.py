"""Feed-forward. Legend: B batch, T tokens, D model dim, F inner dim."""

from mindspore import Tensor, nn

from mf_models.kernels.select import select_kernels
from mf_models.layers.linear import Linear


class GatedMlp(nn.Cell):
    """w2(silu(w1(x)) * w3(x)).

    Source: Shazeer 2020, GLU Variants Improve Transformer, section 2 (FFN-SwiGLU).
    """

    def __init__(self, hidden_size: int, intermediate_size: int):
        super().__init__()
        self.w1 = Linear(hidden_size, intermediate_size)
        self.w2 = Linear(intermediate_size, hidden_size)
        self.w3 = Linear(hidden_size, intermediate_size)
        self.swiglu = select_kernels().swiglu

    def construct(self, x_BTD: Tensor) -> Tensor:
        """[B, T, D] to [B, T, D]."""
        return self.w2(self.swiglu(self.w1(x_BTD), self.w3(x_BTD)))
