"""`model`: which network, and its sizes."""

from dataclasses import dataclass, replace
from typing import Annotated, Any

from mf_config.schema import ComponentOf, key

_KIND = "For"
"""What the part of a network's name begins with that says what it finds: ForCausalLM, ForSequenceClassification."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchSection:
    """The network's head."""

    type: str = key("Name of the network, for example LlamaForCausalLM; the family of model_config must have it.")


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSection:
    """A model family with its sizes."""

    arch: ArchSection | None = key("The network that is built; the family's first where not given.", None)
    model_config: Annotated[Any, ComponentOf("model")] = key("Family and sizes, chosen by type.", None)

    def __post_init__(self) -> None:
        """Let the section mean what its family makes of it beside the network's name, where it has a say in that.

        Run files write the sizes of some networks in the section of another family.
        """
        choose = getattr(self.model_config, "for_architecture", None)
        if choose is not None and self.arch is not None:
            object.__setattr__(self, "model_config", choose(self.arch.type))

    def of_family(self, family: Any) -> "ModelSection":
        """The same model as the section of another family; it has that family's network of the same kind.

        Where that family has none, the name of the network stays, which then is none of the family's.
        """
        if self.arch is None or self.arch.type in family.architectures:
            return replace(self, model_config=family)
        kind = self.arch.type[max(0, self.arch.type.find(_KIND)) :]
        name = next((name for name in family.architectures if name.endswith(kind)), self.arch.type)
        return replace(self, model_config=family, arch=ArchSection(type=name))
