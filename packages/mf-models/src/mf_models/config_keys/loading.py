"""Where weights come from, and what is done to the network before it runs: adapters, quantised weights."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from mf_config.schema import PREDICT_MODES, ComponentOf, key
from mf_models.config_keys.quantization import QuantizationSection
from mf_models.presets import implied_values, preset_problems


@dataclass(frozen=True, kw_only=True)
class LoadingKeys:
    """Weights, and classes of other projects that MindFormers would load."""

    __slots__ = ()

    checkpoint_name_or_path: str | None = key(
        "Name of a published size, for example llama2_7b, which then gives the values of all keys that are not "
        "written. A path says nothing: load_checkpoint names the weights, and nothing is downloaded.",
        None,
    )
    auto_map: dict[str, Any] | None = key(
        "Classes of the model's own folder by kind.", None, inert="no code that a file names is run"
    )

    @classmethod
    def implied(cls, written: Mapping[str, Any]) -> Mapping[str, Any]:
        """Values of keys that are not written, from those that are."""
        return implied_values(cls.__name__, written.get("checkpoint_name_or_path"))

    def loading_problems(self) -> Iterator[tuple[str, str, str]]:
        """Names of sizes that there are not, or that another family has."""
        for what, allowed in preset_problems(type(self).__name__, self.checkpoint_name_or_path):
            yield "checkpoint_name_or_path", what, allowed


@dataclass(frozen=True, kw_only=True)
class AdaptationKeys(LoadingKeys):
    """These, and parameter-efficient training and quantised weights."""

    __slots__ = ()

    pet_config: Annotated[Any, ComponentOf("pet", "pet_type")] | None = key(
        "Train or use few extra weights beside the network's own, by the method that pet_type names.", None
    )
    quantization_config: QuantizationSection | None = key(
        "Weights as integers: they are rounded when they are loaded.",
        None,
        modes=PREDICT_MODES,
    )
