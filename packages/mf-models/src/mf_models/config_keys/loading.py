"""Where weights come from, and what is done to the network before it runs: adapters, quantised weights."""

from dataclasses import dataclass
from typing import Annotated, Any

from mf_config.schema import PREDICT_MODES, ComponentOf, key
from mf_models.config_keys.quantization import QuantizationSection


@dataclass(frozen=True, kw_only=True)
class LoadingKeys:
    """Weights, and classes of other projects that MindFormers would load."""

    __slots__ = ()

    checkpoint_name_or_path: str | None = key(
        "Model name or weights to load.", None, inert="load_checkpoint names the weights, nothing is downloaded"
    )
    auto_map: dict[str, Any] | None = key(
        "Classes of the model's own folder by kind.", None, inert="no code that a file names is run"
    )


@dataclass(frozen=True, kw_only=True)
class AdaptationKeys(LoadingKeys):
    """These, and parameter-efficient training and quantised weights."""

    __slots__ = ()

    pet_config: Annotated[Any, ComponentOf("pet", "pet_type")] | None = key(
        "Train or use few extra weights beside the network's own, by the method that pet_type names.", None
    )
    quantization_config: QuantizationSection | None = key(
        "How quantised weights are stored.",
        None,
        modes=PREDICT_MODES,
        pending="quantised weights can't be computed with yet",
    )
