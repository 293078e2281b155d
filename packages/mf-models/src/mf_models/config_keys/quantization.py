"""Section `quantization_config`: weights, activations and cache as 8-bit integers."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from mf_config.schema import key

_INTEGERS = ("int8",)
_FLOATS = "activations and cache are computed in floating point"


@dataclass(frozen=True, slots=True, kw_only=True)
class QuantizationSection:
    """Which parts of the network are quantised, and how."""

    quant_method: Literal["rtn", "ptq", "smooth_quant"] = key(
        "How the integers are made: by rounding to nearest, after a calibration, or with smoothed activations.",
        pending="integers that another program has made are not read yet",
        runs=("rtn",),
    )
    weight_dtype: str | None = key(
        "Type of the blocks' matrices, with a scale for 32 of a row; null for no quantisation.", None, allowed=_INTEGERS
    )
    activation_dtype: str | None = key(
        "Type of activations; null for no quantisation.", None, allowed=_INTEGERS, pending=_FLOATS
    )
    kvcache_dtype: str | None = key(
        "Type of cached keys and values; null as computed.", None, allowed=_INTEGERS, pending=_FLOATS
    )
    outliers_suppression: str | None = key(
        "What is done about large activations; null for nothing.", None, allowed=("smooth",), pending=_FLOATS
    )
    modules_to_not_convert: tuple[str, ...] = key("Names of layers that stay as they are, beside the head.", ())
    algorithm_args: dict[str, Any] | None = key(
        "Further settings of the method.", None, inert="rounding to nearest has none"
    )

    def problems(self) -> Iterator[tuple[str, str, str]]:
        """Rounding to nearest knows weights and cache only."""
        if self.quant_method != "rtn":
            return
        for name in ("activation_dtype", "outliers_suppression"):
            if getattr(self, name) is not None:
                yield name, f"{getattr(self, name)} does not go with quant_method rtn", "null"
