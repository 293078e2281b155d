"""Feed-forward. Legend: B batch, T tokens, D model dim, F inner dim."""

from collections.abc import Callable

from mindspore import Tensor, nn

from mf_models.kernels.select import select_kernels
from mf_models.layers.linear import Linear


class GatedMlp(nn.Cell):
    """w2(act(w1(x)) * w3(x)).

    Source: Shazeer 2020, GLU Variants Improve Transformer, section 2 (FFN-SwiGLU, FFN-GEGLU).
    """

    def __init__(self, hidden_size: int, intermediate_size: int, gate: Callable[[Tensor, Tensor], Tensor]):
        """Takes the sizes, and the kernel that joins the two inner projections."""
        super().__init__()
        self.w1 = Linear(hidden_size, intermediate_size)
        self.w2 = Linear(intermediate_size, hidden_size)
        self.w3 = Linear(hidden_size, intermediate_size)
        self.gate = gate

    def construct(self, x_BTD: Tensor) -> Tensor:
        """[B, T, D] to [B, T, D]."""
        return self.w2(self.gate(self.w1(x_BTD), self.w3(x_BTD)))


class BiasedMlp(nn.Cell):
    """w2(act(w1(x))), both with biases.

    Source: Radford et al. 2018, Improving Language Understanding by Generative Pre-Training, section 4.1.
    """

    def __init__(self, hidden_size: int, intermediate_size: int, activation: Callable[[Tensor], Tensor]):
        """Takes the sizes, and the kernel between the two projections."""
        super().__init__()
        self.w1 = Linear(hidden_size, intermediate_size, bias=True)
        self.w2 = Linear(intermediate_size, hidden_size, bias=True)
        self.activation = activation

    def construct(self, x_BTD: Tensor) -> Tensor:
        """[B, T, D] to [B, T, D]."""
        return self.w2(self.activation(self.w1(x_BTD)))


def swiglu_mlp(hidden_size: int, intermediate_size: int) -> nn.Cell:
    """A gated feed-forward with SiLU."""
    return GatedMlp(hidden_size, intermediate_size, select_kernels().swiglu)


def geglu_mlp(hidden_size: int, intermediate_size: int) -> nn.Cell:
    """A gated feed-forward with GELU."""
    return GatedMlp(hidden_size, intermediate_size, select_kernels().geglu)


def gelu_mlp(hidden_size: int, intermediate_size: int) -> nn.Cell:
    """A feed-forward with GELU."""
    return BiasedMlp(hidden_size, intermediate_size, select_kernels().gelu)


def fast_gelu_mlp(hidden_size: int, intermediate_size: int) -> nn.Cell:
    """A feed-forward with the GELU of a sigmoid."""
    return BiasedMlp(hidden_size, intermediate_size, select_kernels().fast_gelu)


def relu_mlp(hidden_size: int, intermediate_size: int) -> nn.Cell:
    """A feed-forward with ReLU."""
    return BiasedMlp(hidden_size, intermediate_size, select_kernels().relu)


FEED_FORWARDS: dict[str, Callable[[int, int], nn.Cell]] = {
    "swiglu": swiglu_mlp,
    "geglu": geglu_mlp,
    "gelu": gelu_mlp,
    "fast_gelu": fast_gelu_mlp,
    "relu": relu_mlp,
}
"""The kinds of feed-forward by the names that `DecoderConfig.feed_forward` has for them; each takes the two widths."""
