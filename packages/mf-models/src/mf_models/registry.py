"""From a configuration to its family's other modules, which are imported only when they are needed."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any, cast

from mf_config.components import components
from mf_config.problems import UserError, name_values
from mf_config.schema import tag_of
from mf_config.suggest import nearest
from mf_models.model_config import ModelConfig

if TYPE_CHECKING:
    from mf_ckpt import KeyMap
    from mf_models.layers.causal_lm import CausalLanguageModel
    from mf_models.layers.config import DecoderConfig
    from mf_parallel.rules import RuleTable


@dataclass(frozen=True)
class Family:
    """A folder of `mf_models.families`, or one like it in another distribution.

    Attributes:
        package: dotted name of the folder.
    """

    package: str

    def network(self, architecture: str) -> "Callable[[ModelConfig], CausalLanguageModel]":
        """The cell class of an architecture name, which takes the configuration; imports MindSpore."""
        found: Callable[[ModelConfig], CausalLanguageModel] = getattr(self._module("model"), architecture)
        return found

    def decoder(self, config: ModelConfig) -> "DecoderConfig":
        """Sizes and kinds of the parts of one model; host only."""
        found: DecoderConfig = self._module("decoder").decoder_config(config)
        return found

    def key_map(self, config: ModelConfig) -> "KeyMap":
        """Cell parameter names (forward side) to Hugging Face tensor names, for one model."""
        found: KeyMap = self._module("keys").key_map(config)
        return found

    def forms(self, config: ModelConfig) -> "Mapping[str, KeyMap]":
        """Name of another program's form of checkpoints to the map from Hugging Face names to its names."""
        found: Mapping[str, KeyMap] = self._module("keys").forms(config)
        return found

    @property
    def tied(self) -> Mapping[str, str]:
        """Hugging Face tensors that a tied checkpoint may hold as copies of others."""
        found: Mapping[str, str] = self._module("keys").TIED
        return found

    @property
    def ignored_tensors(self) -> tuple[str, ...]:
        """Shell patterns of tensors in old checkpoints that hold no weight."""
        found: tuple[str, ...] = self._module("keys").IGNORED
        return found

    def sharding(self, config: ModelConfig) -> "RuleTable":
        """Where each parameter of one model may be divided, and what its layer does at the border; host only."""
        found: RuleTable = self._module("sharding").rules(config)
        return found

    def _module(self, name: str) -> ModuleType:
        # On demand: the model needs MindSpore, and a configuration is read without.
        return import_module(f"{self.package}.{name}")


def family_of(config: ModelConfig) -> Family:
    """The family of a configuration, such as `LlamaConfig()`.

    A configuration class stands in the module `config` of its family's folder.

    Raises:
        UserError: the family has a configuration but no network yet.
    """
    if reason := _why_pending(type(config)):
        raise UserError(f"{type(config).__name__}: can't be run yet: {reason}.")
    return Family(type(config).__module__.rpartition(".")[0])


def _why_pending(cls: type) -> str:
    """Why a family can be checked but not run; empty where it can."""
    tag = tag_of(cls)
    return tag.pending if tag else ""


def knows_model_type(data: Mapping[str, Any]) -> bool:
    """Whether a family with a network has the `model_type` of a Hugging Face config.json."""
    return str(data.get("model_type", "")) in _families_by_model_type()


def _families_by_model_type() -> dict[str, type[ModelConfig]]:
    """Hugging Face's `model_type` to the family's configuration, of those with a network."""
    built = (cls for cls in components("model").values() if not _why_pending(cls))
    families = cast(Iterable[type[ModelConfig]], built)
    return {model_type: cls for cls in families for model_type in cls.hf_model_types}


def config_from_hf(data: Mapping[str, Any], where: str) -> ModelConfig:
    """Read a Hugging Face config.json with the family that its `model_type` names.

    Args:
        data: content of the file.
        where: its name in messages.

    Returns:
        The family's configuration.

    Raises:
        UserError: no family with a network has this model type, or the family refuses the file.
    """
    known = _families_by_model_type()
    asked = str(data.get("model_type", ""))
    if asked not in known:
        near = nearest(asked, known)
        hint = f" Did you mean {near}?" if near else ""
        raise UserError(f"{where}: model_type: no family {asked!r}. Allowed: {name_values(sorted(known))}.{hint}")
    return known[asked].from_hf(dict(data), where)
