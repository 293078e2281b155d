"""Number types of computation and storage."""

from dataclasses import dataclass

from mf_config.schema import key

FLOAT_TYPES = ("float16", "bfloat16", "float32")

STORED_TYPE = "float32"
"""How weights are kept in memory and written to checkpoints, whatever param_init_type asks for on another device."""

FLOAT32_ALWAYS = "this part is always computed in float32"


@dataclass(frozen=True, kw_only=True)
class PrecisionKeys:
    """Types that every family with a network has."""

    __slots__ = ()

    compute_dtype: str = key("Type of matrix products.", "float16", allowed=FLOAT_TYPES)
    param_init_type: str = key("Type of the weights.", "float16", allowed=FLOAT_TYPES)
    softmax_compute_type: str = key("Type of the softmax.", "float32", allowed=FLOAT_TYPES, inert=FLOAT32_ALWAYS)


@dataclass(frozen=True, kw_only=True)
class NormTypeKeys:
    """The type of the norms, under the name that most families have for it."""

    __slots__ = ()

    layernorm_compute_type: str = key("Type of the norms.", "float32", allowed=FLOAT_TYPES, inert=FLOAT32_ALWAYS)
