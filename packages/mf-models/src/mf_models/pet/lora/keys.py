"""The keys of LoRA, as all its modules read them; host only.

Source: Hu et al. 2021, LoRA, section 4.1; Kalajdzievski 2023, A Rank Stabilization Scaling Factor for Fine-Tuning with
LoRA.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from mf_config.schema import key
from mf_models.config_keys.again import again
from mf_models.config_keys.numerics import PrecisionKeys

Names = str | tuple[str, ...]
"""A regular expression of layers' names, or a list of names."""

_ONE_START = "one matrix always starts uniform and the other with zeros, as in MindFormers"
_FLOAT32 = "the two matrices are kept and multiplied in float32"


@dataclass(frozen=True, kw_only=True)
class LoraKeys:
    """Which layers get a product, of what sizes, and what else is trained.

    A layer is known by its name in the cells (`wq`), in Hugging Face files (`q_proj`) and in those of MindFormers, in
    short or in full. Layers that checkpoints store as one matrix share the first of the two narrow ones, so that the
    result is a LoRA of that matrix.
    """

    __slots__ = ()

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
