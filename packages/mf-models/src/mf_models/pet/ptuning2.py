"""P-tuning v2: learned keys and values before those of each text, in every block.

Source: Liu et al. 2022, P-Tuning v2, section 3.
"""

from dataclasses import dataclass

from mf_config.schema import component, key


@component("pet", "ptuning2", pending="P-tuning is not built yet")
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
