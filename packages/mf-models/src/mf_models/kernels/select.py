"""The one place that chooses an implementation of each operation for the device in use."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import mindspore as ms
import numpy as np
from numpy.typing import NDArray

from mf_config.problems import UserError, name_values
from mf_models.kernels.adagrad import adagrad_update
from mf_models.kernels.adam import adam_update
from mf_models.kernels.adamw import adamw_rates, adamw_rates_raw_epsilon, adamw_rates_uncorrected, adamw_update
from mf_models.kernels.ascend import attention as ascend_attention
from mf_models.kernels.ascend import expert_linear as ascend_experts
from mf_models.kernels.ascend import norms as ascend_norms
from mf_models.kernels.ascend import paged as ascend_paged
from mf_models.kernels.ascend import rotary as ascend_rotary
from mf_models.kernels.ascend import swiglu as ascend_swiglu
from mf_models.kernels.attention import attention
from mf_models.kernels.cache_rows import write_rows
from mf_models.kernels.capped_attention import capped_attention
from mf_models.kernels.cross_entropy import cross_entropy, label_logits
from mf_models.kernels.decoder_weights import DecoderWeights
from mf_models.kernels.expert_linear import expert_block_rows, expert_linear
from mf_models.kernels.expert_rows import collect_rows, spread_rows
from mf_models.kernels.fast_gelu import fast_gelu
from mf_models.kernels.geglu import geglu
from mf_models.kernels.gelu import gelu
from mf_models.kernels.general_attention import general_attention
from mf_models.kernels.global_norm import global_norm
from mf_models.kernels.int8_linear import int8_linear
from mf_models.kernels.layer_norm import layer_norm
from mf_models.kernels.linear import linear
from mf_models.kernels.moments import inverse_root, limit_root_mean_square, moving_mean, scale_of, subtract
from mf_models.kernels.momentum import momentum_rates, momentum_update
from mf_models.kernels.native.functions import native_functions
from mf_models.kernels.native.library import native_library
from mf_models.kernels.paged import paged_attention, reshape_and_cache
from mf_models.kernels.relu import relu
from mf_models.kernels.rms_norm import rms_norm
from mf_models.kernels.rotary import rotate
from mf_models.kernels.swiglu import swiglu
from mf_models.kernels.weight_average import average_rates, average_weights

FusedDecoder = Callable[..., NDArray[np.float32]]
"""Computes steps of a whole network without a graph, see `mf_models.kernels.native.decoder.NativeDecoder`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kernels:
    """One function an operation; each is documented where it is defined and may be called in graph code.

    A cell keeps the functions that it needs as attributes: `self.swiglu = select_kernels().swiglu`.

    Attributes:
        rotary_attention: rotation and causal attention in one, straight from the projections' layout, see
            `mf_models.kernels.native.operators.NativeAttention`; None where the device has no such operation.
        fused_decoder: makes a `FusedDecoder` of a network's weights; None where the device has none. Which networks it
            covers, `mf_models.fused_decoding` says.
        has_blocks: whether `reshape_and_cache` and `paged_attention` are operators of the device, and so the fastest
            way to decode: a cache has their layout then.
    """

    linear: Callable[..., Any]
    int8_linear: Callable[..., Any]
    rms_norm: Callable[..., Any]
    layer_norm: Callable[..., Any]
    rotate: Callable[..., Any]
    attention: Callable[..., Any]
    capped_attention: Callable[..., Any]
    general_attention: Callable[..., Any]
    write_rows: Callable[..., Any]
    reshape_and_cache: Callable[..., Any]
    paged_attention: Callable[..., Any]
    swiglu: Callable[..., Any]
    gelu: Callable[..., Any]
    fast_gelu: Callable[..., Any]
    relu: Callable[..., Any]
    geglu: Callable[..., Any]
    expert_block_rows: Callable[..., int]
    expert_linear: Callable[..., Any]
    spread_rows: Callable[..., Any]
    collect_rows: Callable[..., Any]
    cross_entropy: Callable[..., Any]
    label_logits: Callable[..., Any]
    global_norm: Callable[..., Any]
    adamw_rates: Callable[..., Any]
    adamw_rates_raw_epsilon: Callable[..., Any]
    adamw_rates_uncorrected: Callable[..., Any]
    adamw_update: Callable[..., Any]
    adam_update: Callable[..., Any]
    momentum_rates: Callable[..., Any]
    momentum_update: Callable[..., Any]
    adagrad_update: Callable[..., Any]
    average_rates: Callable[..., Any]
    average_weights: Callable[..., Any]
    moving_mean: Callable[..., Any]
    inverse_root: Callable[..., Any]
    scale_of: Callable[..., Any]
    limit_root_mean_square: Callable[..., Any]
    subtract: Callable[..., Any]
    rotary_attention: Callable[..., Any] | None = None
    fused_decoder: Callable[[DecoderWeights], FusedDecoder] | None = None
    has_blocks: bool = False


_COMPOSED = Kernels(
    linear=linear,
    int8_linear=int8_linear,
    rms_norm=rms_norm,
    layer_norm=layer_norm,
    rotate=rotate,
    attention=attention,
    capped_attention=capped_attention,
    general_attention=general_attention,
    write_rows=write_rows,
    reshape_and_cache=reshape_and_cache,
    paged_attention=paged_attention,
    swiglu=swiglu,
    gelu=gelu,
    fast_gelu=fast_gelu,
    relu=relu,
    geglu=geglu,
    expert_block_rows=expert_block_rows,
    expert_linear=expert_linear,
    spread_rows=spread_rows,
    collect_rows=collect_rows,
    cross_entropy=cross_entropy,
    label_logits=label_logits,
    global_norm=global_norm,
    adamw_rates=adamw_rates,
    adamw_rates_raw_epsilon=adamw_rates_raw_epsilon,
    adamw_rates_uncorrected=adamw_rates_uncorrected,
    adamw_update=adamw_update,
    adam_update=adam_update,
    momentum_rates=momentum_rates,
    momentum_update=momentum_update,
    adagrad_update=adagrad_update,
    average_rates=average_rates,
    average_weights=average_weights,
    moving_mean=moving_mean,
    inverse_root=inverse_root,
    scale_of=scale_of,
    limit_root_mean_square=limit_root_mean_square,
    subtract=subtract,
)

_FUSED = replace(
    _COMPOSED,
    rms_norm=ascend_norms.rms_norm,
    layer_norm=ascend_norms.layer_norm,
    rotate=ascend_rotary.rotate,
    attention=ascend_attention.attention,
    general_attention=ascend_attention.general_attention,
    reshape_and_cache=ascend_paged.reshape_and_cache,
    paged_attention=ascend_paged.paged_attention,
    swiglu=ascend_swiglu.swiglu,
    expert_block_rows=ascend_experts.expert_block_rows,
    expert_linear=ascend_experts.expert_linear,
    rotary_attention=ascend_attention.rotary_attention,
    has_blocks=True,
)
"""Those of `mf_models.kernels.ascend` where Ascend has a fused operator; the others are compositions there too."""


@lru_cache(maxsize=1)
def _on_cpu() -> Kernels:
    """Those in C++ where they can be compiled, see `mf_models.kernels.native`; the others are compositions."""
    library = native_library()
    return _COMPOSED if library is None else replace(_COMPOSED, **native_functions(library))


def _on_ascend() -> Kernels:
    return _FUSED


_BY_DEVICE: dict[str, Callable[[], Kernels]] = {"CPU": _on_cpu, "Ascend": _on_ascend}


def select_kernels() -> Kernels:
    """The operations for MindSpore's current device target.

    Raises:
        UserError: there are none for this device.
    """
    device = ms.get_context("device_target")
    if device not in _BY_DEVICE:
        raise UserError(f"device_target {device}: mf has no kernels for it. Allowed: {name_values(_BY_DEVICE)}.")
    return _BY_DEVICE[device]()
