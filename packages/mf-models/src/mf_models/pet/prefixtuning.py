"""Prefix tuning: learned keys and values before those of each text, made by a small network.

Source: Li and Liang 2021, Prefix-Tuning, section 4.
"""

from dataclasses import dataclass

from mf_config.schema import component, key


@component("pet", "prefixtuning", pending="prefix tuning is not built yet")
@dataclass(frozen=True, slots=True, kw_only=True)
class PrefixTuningConfig:
    """Trains a small network that makes keys and values before those of each text."""

    prefix_token_num: int = key("Learned positions before each text.", 128, minimum=1, unit="tokens")
    mid_dim: int = key("Inner width of the network that makes them.", 512, minimum=1)
    dropout_rate: float = key("Dropout of the learned keys and values.", 0.1, minimum=0, maximum=1)
