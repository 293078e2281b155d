"""Prefix tuning: learned keys and values before those of each text, made by a small network.

Source: Li and Liang 2021, Prefix-Tuning, section 4.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mf_config.schema import component, key
from mf_models.prefix_tuning.form import PrefixForm

if TYPE_CHECKING:
    # Sections are decoded without MindSpore, which the cells need.
    from mf_models.adaptation import Adaptation
    from mf_models.layers.causal_lm import CausalLanguageModel
    from mf_models.model_config import ModelConfig


@component("pet", "prefixtuning")
@dataclass(frozen=True, slots=True, kw_only=True)
class PrefixTuningConfig:
    """Trains a small network that makes keys and values before those of each text."""

    prefix_token_num: int = key("Learned positions before each text.", 128, minimum=1, unit="tokens")
    mid_dim: int = key("Inner width of the network that makes them.", 512, minimum=1)
    dropout_rate: float = key("Dropout of the learned keys and values.", 0.1, minimum=0, maximum=1)

    def problems(self) -> Iterator[tuple[str, str, str]]:
        """What can't be used: key name, what is wrong, what is allowed."""
        if self.dropout_rate == 1:
            yield "dropout_rate", "1 leaves nothing to train", "from 0, below 1"

    def adapt(self, cell: "CausalLanguageModel", _config: "ModelConfig", seed: int) -> "Adaptation":
        """Put the networks before the attention of each block, and freeze all else; see `prefix_tuning.attach`.

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

        form = PrefixForm(rows=self.prefix_token_num, inner=self.mid_dim, dropout=self.dropout_rate)
        return attach(form, cell, seed)
