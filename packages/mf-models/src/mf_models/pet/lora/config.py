"""The section of LoRA.

Source: Hu et al. 2021, LoRA, section 4.1.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from mf_config.schema import component
from mf_models.pet.lora.keys import LoraKeys

if TYPE_CHECKING:
    # Sections are decoded without MindSpore, which the cells need.
    from mf_models.adaptation import Adaptation
    from mf_models.layers.causal_lm import CausalLanguageModel
    from mf_models.model_config import ModelConfig


@component("pet", "lora")
@dataclass(frozen=True, slots=True, kw_only=True)
class LoraConfig(LoraKeys):
    """Trains products of two narrow matrices beside the network's own, which stay as they are."""

    def adapt(self, cell: "CausalLanguageModel", config: "ModelConfig", seed: int) -> "Adaptation":
        """Put the products beside a network's layers, and freeze what is not trained; see `lora.attach`.

        Args:
            cell: the network, with its weights or without.
            config: its configuration.
            seed: seed of the new matrices.

        Returns:
            What a training run needs to know of it.

        Raises:
            UserError: a pattern fits no layer.
        """
        # Here, because the section is decoded without MindSpore.
        from mf_models.pet.lora.attach import attach

        return attach(self, cell, config, seed)
