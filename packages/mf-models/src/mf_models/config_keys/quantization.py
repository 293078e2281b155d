"""Section `quantization_config`: weights, activations and cache as 8-bit integers."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from mf_config.schema import key

_INTEGERS = ("int8",)


@dataclass(frozen=True, slots=True, kw_only=True)
class QuantizationSection:
    """Which parts of the network are quantised, and how."""

    quant_method: Literal["rtn", "ptq", "smooth_quant"] = key(
        "How the weights were made: rounded to nearest, calibrated after training, or with smoothed activations."
    )
    weight_dtype: str | None = key("Type of stored weights; null for no quantisation.", None, allowed=_INTEGERS)
    activation_dtype: str | None = key("Type of activations; null for no quantisation.", None, allowed=_INTEGERS)
    kvcache_dtype: str | None = key("Type of cached keys and values; null as computed.", None, allowed=_INTEGERS)
    outliers_suppression: str | None = key(
        "What is done about large activations; null for nothing.", None, allowed=("smooth",)
    )
    modules_to_not_convert: tuple[str, ...] = key("Names of layers that stay as they are.", ())
    algorithm_args: dict[str, Any] | None = key("Further settings of the method.", None)

    def problems(self) -> Iterator[tuple[str, str, str]]:
        """Rounding to nearest knows weights and cache only."""
        if self.quant_method != "rtn":
            return
        for name in ("activation_dtype", "outliers_suppression"):
            if getattr(self, name) is not None:
                yield name, f"{getattr(self, name)} does not go with quant_method rtn", "null"
