"""The one place that chooses an implementation of each operation for the device in use."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import mindspore as ms

from mf_config.problems import UserError, name_values
from mf_models.kernels.adam import adam_update
from mf_models.kernels.adamw import adamw_rates, adamw_rates_raw_epsilon, adamw_rates_uncorrected, adamw_update
from mf_models.kernels.attention import attention
from mf_models.kernels.cache_rows import write_rows
from mf_models.kernels.capped_attention import capped_attention
from mf_models.kernels.cross_entropy import cross_entropy
from mf_models.kernels.geglu import geglu
from mf_models.kernels.gelu import gelu
from mf_models.kernels.global_norm import global_norm
from mf_models.kernels.layer_norm import layer_norm
from mf_models.kernels.linear import linear
from mf_models.kernels.momentum import momentum_rates, momentum_update
from mf_models.kernels.rms_norm import rms_norm
from mf_models.kernels.rotary import rotate
from mf_models.kernels.swiglu import swiglu


@dataclass(frozen=True, slots=True, kw_only=True)
class Kernels:
    """One function an operation; each is documented where it is defined and may be called in graph code.

    A cell keeps the functions that it needs as attributes: `self.swiglu = select_kernels().swiglu`.
    """

    linear: Callable[..., Any]
    rms_norm: Callable[..., Any]
    layer_norm: Callable[..., Any]
    rotate: Callable[..., Any]
    attention: Callable[..., Any]
    capped_attention: Callable[..., Any]
    write_rows: Callable[..., Any]
    swiglu: Callable[..., Any]
    gelu: Callable[..., Any]
    geglu: Callable[..., Any]
    cross_entropy: Callable[..., Any]
    global_norm: Callable[..., Any]
    adamw_rates: Callable[..., Any]
    adamw_rates_raw_epsilon: Callable[..., Any]
    adamw_rates_uncorrected: Callable[..., Any]
    adamw_update: Callable[..., Any]
    adam_update: Callable[..., Any]
    momentum_rates: Callable[..., Any]
    momentum_update: Callable[..., Any]


_COMPOSED = Kernels(
    linear=linear,
    rms_norm=rms_norm,
    layer_norm=layer_norm,
    rotate=rotate,
    attention=attention,
    capped_attention=capped_attention,
    write_rows=write_rows,
    swiglu=swiglu,
    gelu=gelu,
    geglu=geglu,
    cross_entropy=cross_entropy,
    global_norm=global_norm,
    adamw_rates=adamw_rates,
    adamw_rates_raw_epsilon=adamw_rates_raw_epsilon,
    adamw_rates_uncorrected=adamw_rates_uncorrected,
    adamw_update=adamw_update,
    adam_update=adam_update,
    momentum_rates=momentum_rates,
    momentum_update=momentum_update,
)

_BY_DEVICE = {"CPU": _COMPOSED}


def select_kernels() -> Kernels:
    """The operations for MindSpore's current device target.

    Raises:
        UserError: there are none for this device.
    """
    device = ms.get_context("device_target")
    if device not in _BY_DEVICE:
        raise UserError(f"device_target {device}: mf has no kernels for it. Allowed: {name_values(_BY_DEVICE)}.")
    return _BY_DEVICE[device]
