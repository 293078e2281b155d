"""The one place that chooses an implementation of each operation for the device in use."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import mindspore as ms

from mf_config.problems import UserError, name_values
from mf_models.kernels.adamw import adamw_rates, adamw_update
from mf_models.kernels.attention import attention
from mf_models.kernels.cache_rows import write_rows
from mf_models.kernels.cross_entropy import cross_entropy
from mf_models.kernels.global_norm import global_norm
from mf_models.kernels.linear import linear
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
    rotate: Callable[..., Any]
    attention: Callable[..., Any]
    write_rows: Callable[..., Any]
    swiglu: Callable[..., Any]
    cross_entropy: Callable[..., Any]
    global_norm: Callable[..., Any]
    adamw_rates: Callable[..., Any]
    adamw_update: Callable[..., Any]


_COMPOSED = Kernels(
    linear=linear,
    rms_norm=rms_norm,
    rotate=rotate,
    attention=attention,
    write_rows=write_rows,
    swiglu=swiglu,
    cross_entropy=cross_entropy,
    global_norm=global_norm,
    adamw_rates=adamw_rates,
    adamw_update=adamw_update,
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
