"""`model`: which network, and its sizes."""

from dataclasses import dataclass
from typing import Annotated, Any

from mf_config.schema import ComponentOf, key


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchSection:
    """The network's head."""

    type: str = key("Name of the network, for example LlamaForCausalLM; the family of model_config must have it.")


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSection:
    """A model family with its sizes."""

    arch: ArchSection | None = key("The network that is built; the family's first where not given.", None)
    model_config: Annotated[Any, ComponentOf("model")] = key("Family and sizes, chosen by type.", None)
