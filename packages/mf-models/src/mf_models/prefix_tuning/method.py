"""What the sections of `pet_config` that learn prefixes share; imports no MindSpore."""

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

from mf_models.prefix_tuning.form import PrefixForm

if TYPE_CHECKING:
    # Sections are decoded without MindSpore, which the cells need.
    from mf_models.adaptation import Adaptation
    from mf_models.layers.causal_lm import CausalLanguageModel
    from mf_models.model_config import ModelConfig


class PrefixMethod(ABC):
    """A section that says what is learnt before each text."""

    __slots__ = ()

    @abstractmethod
    def form(self) -> PrefixForm:
        """The learnt rows that the section's keys ask for."""

    def adapt(self, cell: "CausalLanguageModel", _config: "ModelConfig", seed: int) -> "Adaptation":
        """Put the learnt rows before each text, and freeze all else; see `prefix_tuning.attach`.

        Args:
            cell: the network, with its weights or without.
            _config: its configuration.
            seed: seed of what is learnt.

        Returns:
            What a training run needs to know of it.

        Raises:
            UserError: the network finds classes, or its attention has no heads of keys.
        """
        # Here, because the section is decoded without MindSpore.
        from mf_models.prefix_tuning.attach import attach

        return attach(self.form(), cell, seed)
