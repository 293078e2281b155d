"""Number types of computation and storage."""

from dataclasses import dataclass

from mf_config.schema import key

FLOAT_TYPES = ("float16", "bfloat16", "float32")

STORED_TYPE = "float32"
"""How weights are kept and written to checkpoints on CPU, whatever param_init_type asks for on another device."""

FLOAT32_ALWAYS = "this part is always computed in float32"


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberTypes:
    """The type of each part of a network, as its keys ask for it; `mf_models.layers.typed` gives them to the layers.

    Attributes:
        weights: type in which matrices and biases are kept.
        embedding: that of the embedding's tables.
        products: type of matrix products, and so of queries, keys, values and the cache.
        residual: type of the residual stream.
        norms: type of the norms and of their weights.
        softmax: type of the softmax of attention; fused attention has its own.
        rotary: type of the rotary angles and of the rotation.
        router: type of the product that chooses experts.
    """

    weights: str
    embedding: str
    products: str
    residual: str
    norms: str
    softmax: str
    rotary: str
    router: str


@dataclass(frozen=True, kw_only=True)
class PrecisionKeys:
    """Types that every family has."""

    __slots__ = ()

    compute_dtype: str = key("Type of matrix products and of the residual stream.", "float16", allowed=FLOAT_TYPES)
    param_init_type: str = key("Type of the weights.", "float16", allowed=FLOAT_TYPES)
    softmax_compute_type: str = key(
        "Type of the softmax of attention, where attention is not one fused operator.", "float32", allowed=FLOAT_TYPES
    )


@dataclass(frozen=True, kw_only=True)
class NormTypeKeys(PrecisionKeys):
    """All types of a network that has norms under their most frequent name."""

    __slots__ = ()

    layernorm_compute_type: str = key("Type of the norms and of their weights.", "float32", allowed=FLOAT_TYPES)

    def number_types(self) -> NumberTypes:
        """The types of the network's parts; families with further keys say more."""
        return NumberTypes(
            weights=self.param_init_type,
            embedding=self.param_init_type,
            products=self.compute_dtype,
            residual=self.compute_dtype,
            norms=self.layernorm_compute_type,
            softmax=self.softmax_compute_type,
            rotary="float32",
            router="float32",
        )
