"""The settings of LoRA weights: rank and scale of each module, as Hugging Face PEFT defines them.

Source: Hu et al. 2021, LoRA, section 4.1 (scale alpha / r); Kalajdzievski 2023, A Rank Stabilization Scaling Factor for
Fine-Tuning with LoRA (alpha / sqrt(r)); the adapter_config.json of PEFT.
"""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from mf_ckpt.disk.files import JsonObject
from mf_config.problems import UserError

_Value = TypeVar("_Value", int, float)

_CHANGES_MORE = (
    "use_dora",
    "use_qalora",
    "use_bdlora",
    "lora_bias",
    "alora_invocation_tokens",
    "arrow_config",
    "layer_replication",
    "target_parameters",
    "trainable_token_indices",
    "ensure_weight_tying",
    "kasa_config",
    "monteclora_config",
    "velora_config",
)
"""Settings under which weights change by something else than a scaled product of two matrices."""

_BASE_CHANGING_STARTS = ("pissa", "olora", "corda", "loftq", "lora_ga")
"""Initialisations that also change the base weights, so that the product alone doesn't fit the base on disk."""

_LONGEST_PATTERN = 1_000


@dataclass(frozen=True, slots=True)
class LoraConfig:
    """Rank and scale.

    Attributes:
        rank: columns of the second matrix, where no pattern says otherwise.
        alpha: numerator of the scale, where no pattern says otherwise.
        use_rslora: whether the scale is alpha / sqrt(rank) in place of alpha / rank.
        rank_pattern: regular expression of modules to their rank; the first that matches a module's name, or its end
            after a dot, counts.
        alpha_pattern: the same for alpha.
        fan_in_fan_out: whether the base stores its matrices as [in, out], as GPT-2 does.
        document: everything that adapter_config.json says, kept for writing it again.
    """

    rank: int
    alpha: float
    use_rslora: bool = False
    rank_pattern: Mapping[str, int] = field(default_factory=dict)
    alpha_pattern: Mapping[str, float] = field(default_factory=dict)
    fan_in_fan_out: bool = False
    document: JsonObject = field(default_factory=dict)

    @classmethod
    def from_json(cls, document: JsonObject) -> "LoraConfig":
        """The settings of an adapter_config.json.

        Args:
            document: the decoded file.

        Raises:
            UserError: another kind of adapter than LoRA, a form of it that isn't supported, or settings of the wrong
                kind; all faults in one message.
        """
        faults = list(_faults(document))
        if faults:
            raise UserError("; ".join(faults))
        return cls(
            document["r"],
            float(document["lora_alpha"]),
            bool(document.get("use_rslora")),
            document.get("rank_pattern") or {},
            document.get("alpha_pattern") or {},
            bool(document.get("fan_in_fan_out")),
            document,
        )

    def rank_of(self, module: str) -> int:
        """The rank of a module, such as `model.layers.0.self_attn.q_proj`."""
        return _first_match(self.rank_pattern, module, self.rank)

    def scale_of(self, module: str, rank: int) -> float:
        """What the product of a module's matrices is multiplied by: alpha / rank, or alpha / sqrt(rank)."""
        alpha = _first_match(self.alpha_pattern, module, self.alpha)
        return alpha / (math.sqrt(rank) if self.use_rslora else rank)


def _first_match(patterns: Mapping[str, _Value], module: str, default: _Value) -> _Value:
    for pattern, value in patterns.items():
        if re.match(rf"(.*\.)?({pattern})$", module):
            return value
    return default


def _faults(document: JsonObject) -> list[str]:
    kind = str(document.get("peft_type", "LORA")).upper()
    if kind != "LORA":
        return [f"peft_type is {kind!r}. Allowed: LORA."]
    found = [
        f"{name} is {document[name]!r}, which is not supported. Allowed: null or false."
        for name in _CHANGES_MORE
        if document.get(name)
    ]
    start = document.get("init_lora_weights")
    if isinstance(start, str) and start.lower().startswith(_BASE_CHANGING_STARTS):
        found.append(
            f"init_lora_weights is {start!r}, which changes the base too. Allowed: an adapter converted to LoRA."
        )
    if type(document.get("r")) is not int or document["r"] < 1:
        found.append(f"r is {document.get('r')!r}. Allowed: a whole number from 1.")
    if not _is_number(document.get("lora_alpha")):
        found.append(f"lora_alpha is {document.get('lora_alpha')!r}. Allowed: a number.")
    for name in ("rank_pattern", "alpha_pattern"):
        patterns = document.get(name) or {}
        if not isinstance(patterns, dict) or not all(map(_is_number, patterns.values())):
            found.append(f"{name} must map patterns to numbers")
        else:
            found += [f"{name} {key!r} is no regular expression" for key in patterns if not _is_pattern(key)]
    return found


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _is_pattern(text: str) -> bool:
    try:
        re.compile(text)
    except re.error:
        return False
    return len(text) <= _LONGEST_PATTERN
