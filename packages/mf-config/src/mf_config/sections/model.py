"""`model`: which network, and its sizes."""

from dataclasses import dataclass, replace
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

    def __post_init__(self) -> None:
        """Let the section mean what its family makes of it beside the network's name, where it has a say in that.

        Run files write the sizes of some networks in the section of another family.
        """
        choose = getattr(self.model_config, "for_architecture", None)
        if choose is not None and self.arch is not None:
            object.__setattr__(self, "model_config", choose(self.arch.type))

    def of_family(self, family: Any) -> "ModelSection":
        """The same model as the section of another family; it has that family's network where it has to."""
        fits = self.arch is None or self.arch.type in family.architectures
        return replace(self, model_config=family, arch=self.arch if fits else ArchSection(type=family.architectures[0]))
