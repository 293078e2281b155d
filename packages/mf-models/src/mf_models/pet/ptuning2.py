"""P-tuning v2: learned keys and values before those of each text, in every block.

Source: Liu et al. 2022, P-Tuning v2, section 3.
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


@component("pet", "ptuning2")
@dataclass(frozen=True, slots=True, kw_only=True)
class Ptuning2Config:
    """Trains keys and values that stand before those of each text."""

    pre_seq_len: int = key("Learned positions before each text.", 128, minimum=1, unit="tokens")
    prefix_projection: bool = key("Make the learned keys and values by a small network.", False)
    projection_dim: int = key("Inner width of that network.", 128, minimum=1, needs="prefix_projection")
    dropout_prob: float = key("Dropout of the learned keys and values.", 0.01, minimum=0, maximum=1)
    dropout_rate: float | None = key(
        "The name of dropout_prob in some documents.", None, inert="it is read nowhere; write dropout_prob"
    )

    def problems(self) -> Iterator[tuple[str, str, str]]:
        """What can't be used: key name, what is wrong, what is allowed."""
        if self.dropout_prob == 1:
            yield "dropout_prob", "1 leaves nothing to train", "from 0, below 1"

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

        inner = self.projection_dim if self.prefix_projection else 0
        form = PrefixForm(rows=self.pre_seq_len, inner=inner, shared=inner > 0, dropout=self.dropout_prob)
        return attach(form, cell, seed)
