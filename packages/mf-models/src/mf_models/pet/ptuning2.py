"""P-tuning v2: learned keys and values before those of each text, in every block.

Source: Liu et al. 2022, P-Tuning v2, section 3.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from mf_config.schema import component, key
from mf_models.prefix_tuning.form import PrefixForm
from mf_models.prefix_tuning.method import PrefixMethod


@component("pet", "ptuning2")
@dataclass(frozen=True, slots=True, kw_only=True)
class Ptuning2Config(PrefixMethod):
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

    def form(self) -> PrefixForm:
        """The learnt rows, with the network that makes them if there is one."""
        inner = self.projection_dim if self.prefix_projection else 0
        return PrefixForm(rows=self.pre_seq_len, inner=inner, shared=inner > 0, dropout=self.dropout_prob)
