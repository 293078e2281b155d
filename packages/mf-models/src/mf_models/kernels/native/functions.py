"""The compiled operators as functions of graph code, by the names that `mf_models.kernels.select` has for them."""

from pathlib import Path
from typing import Any

from mindspore import Tensor

from mf_models.kernels.decoder_weights import DecoderWeights
from mf_models.kernels.native.decoder import NativeDecoder
from mf_models.kernels.native.operators import (
    NativeAttention,
    NativeCrossEntropy,
    NativeGlobalNorm,
    NativeInt8Linear,
    NativeRmsNorm,
    NativeSwiglu,
)


def native_functions(library: Path) -> dict[str, Any]:
    """Functions rather than cells: a layer that keeps one has no further part by it.

    Args:
        library: result of `native_library`.

    Returns:
        Name of each to the function, whose arguments and results are documented in `operators`.
    """
    attend, norm = NativeAttention(library), NativeRmsNorm(library)
    gate, entropy = NativeSwiglu(library), NativeCrossEntropy(library)
    multiply, measure = NativeInt8Linear(library), NativeGlobalNorm(library)

    def rotary_attention(q: Tensor, k: Tensor, v: Tensor, cos: Tensor, sin: Tensor, scale: float, span: int) -> Tensor:
        return attend(q, k, v, cos, sin, scale, span)

    def rms_norm(x: Tensor, weight_D: Tensor, epsilon: float) -> Tensor:
        return norm(x, weight_D, epsilon)

    def swiglu(gate_F: Tensor, up_F: Tensor) -> Tensor:
        return gate(gate_F, up_F)

    def cross_entropy(logits_NV: Tensor, labels_N: Tensor) -> Tensor:
        return entropy(logits_NV, labels_N)

    def global_norm(tensors: tuple[Tensor, ...]) -> Tensor:
        return measure(tensors)

    def int8_linear(x: Tensor, weight_FGI: Tensor, scale_FG: Tensor, offset_FG: Tensor | None = None) -> Tensor:
        return multiply(x, weight_FGI, scale_FG, offset_FG)

    def fused_decoder(weights: DecoderWeights) -> NativeDecoder:
        return NativeDecoder(library, weights)

    return {
        "fused_decoder": fused_decoder,
        "int8_linear": int8_linear,
        "rotary_attention": rotary_attention,
        "rms_norm": rms_norm,
        "swiglu": swiglu,
        "cross_entropy": cross_entropy,
        "global_norm": global_norm,
    }
