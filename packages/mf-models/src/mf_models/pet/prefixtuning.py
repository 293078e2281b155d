"""Prefix tuning: learned keys and values before those of each text, made by a small network.

Source: Li and Liang 2021, Prefix-Tuning, section 4.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from mf_config.schema import component, key
from mf_models.prefix_tuning.form import PrefixForm
from mf_models.prefix_tuning.method import PrefixMethod


@component("pet", "prefixtuning")
@dataclass(frozen=True, slots=True, kw_only=True)
class PrefixTuningConfig(PrefixMethod):
    """Trains a small network that makes keys and values before those of each text."""

    prefix_token_num: int = key("Learned positions before each text.", 128, minimum=1, unit="tokens")
    mid_dim: int = key("Inner width of the network that makes them.", 512, minimum=1)
    dropout_rate: float = key("Dropout of the learned keys and values.", 0.1, minimum=0, maximum=1)

    def problems(self) -> Iterator[tuple[str, str, str]]:
        """What can't be used: key name, what is wrong, what is allowed."""
        if self.dropout_rate == 1:
            yield "dropout_rate", "1 leaves nothing to train", "from 0, below 1"

    def form(self) -> PrefixForm:
        """The learnt rows, with the network that makes them."""
        return PrefixForm(rows=self.prefix_token_num, inner=self.mid_dim, dropout=self.dropout_rate)
