"""The section of LoRA.

Source: Hu et al. 2021, LoRA, section 4.1; Kalajdzievski 2023, A Rank Stabilization Scaling Factor for Fine-Tuning with
LoRA.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mf_config.schema import component, key
from mf_models.config_keys.again import again
from mf_models.config_keys.numerics import PrecisionKeys

if TYPE_CHECKING:
    # Sections are decoded without MindSpore, which the cells need.
    from mf_models.adaptation import Adaptation
    from mf_models.layers.causal_lm import CausalLanguageModel
    from mf_models.model_config import ModelConfig

Names = str | tuple[str, ...]
"""A regular expression of layers' names, or a list of names."""

_ONE_START = "one matrix always starts uniform and the other with zeros, as in MindFormers"
_FLOAT32 = "the two matrices are kept and multiplied in float32"


@component("pet", "lora")
@dataclass(frozen=True, slots=True, kw_only=True)
class LoraConfig:
    """Trains products of two narrow matrices beside the network's own, which stay as they are.

    A layer is known by its name in the cells (`wq`), in Hugging Face files (`q_proj`) and in those of MindFormers, in
    short or in full. Layers that checkpoints store as one matrix share the first of the two narrow ones, so that the
    result is a LoRA of that matrix.
    """

    target_modules: Names = key(
        "Layers that get a product beside them: a regular expression of their names, for example `.*wq|.*wv`, or a "
        "list of names. The head never gets one."
    )
    exclude_layers: Names | None = key("Layers that get none, though target_modules names them; in either form.", None)
    lora_rank: int = key("Rows of the first matrix and columns of the second.", 8, minimum=1)
    lora_alpha: float = key("The product is multiplied by this over lora_rank.", 16.0, above=0)
    use_rslora: bool = key("Multiply by lora_alpha over the root of lora_rank instead.", False)
    rank_pattern: dict[str, int] | None = key(
        "Regular expressions of layers with another rank; the first that fits counts.", None
    )
    alpha_pattern: dict[str, float] | None = key("The same for lora_alpha.", None)
    lora_dropout: float = key("Dropout before the first matrix.", 0.01, minimum=0, maximum=1)
    lora_a_init: str = key("First values of the first matrix.", "normal", inert=_ONE_START)
    lora_b_init: str = key("First values of the second matrix.", "zero", inert=_ONE_START)
    freeze_include: tuple[str, ...] | None = key("Shell patterns of further weights that are not trained.", None)
    freeze_exclude: tuple[str, ...] | None = key("Shell patterns of further weights that are trained.", None)
    param_init_type: str = again(PrecisionKeys, "param_init_type", "float16", inert=_FLOAT32)
    compute_dtype: str = again(PrecisionKeys, "compute_dtype", "float16", inert=_FLOAT32)

    def problems(self) -> Iterator[tuple[str, str, str]]:
        """What can't be used: key name, what is wrong, what is allowed."""
        patterns: list[tuple[str, object]] = [("target_modules", self.target_modules)]
        patterns.append(("exclude_layers", self.exclude_layers))
        for name, table in (("rank_pattern", self.rank_pattern), ("alpha_pattern", self.alpha_pattern)):
            for layer, value in (table or {}).items():
                patterns.append((name, layer))
                if value <= 0:
                    yield name, f"{value:g} for {layer!r} is out of range", "numbers above 0"
        for name, pattern in patterns:
            if not isinstance(pattern, str):
                continue
            try:
                re.compile(pattern)
            except re.error as error:
                what = f"{pattern!r} is not a regular expression: {error}"
                yield name, what, "one, for example .*wq|.*wv"
        if self.lora_dropout == 1:
            yield "lora_dropout", "1 leaves nothing to train", "from 0, below 1"

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
