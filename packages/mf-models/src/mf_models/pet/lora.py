"""LoRA: products of two narrow matrices beside the network's own.

Source: Hu et al. 2021, LoRA, section 4.1.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from mf_config.schema import component, key
from mf_models.config_keys.again import again
from mf_models.config_keys.numerics import PrecisionKeys

_ONE_START = "one matrix always starts uniform and the other with zeros, as in MindFormers"


@component("pet", "lora", pending="LoRA is not built yet")
@dataclass(frozen=True, slots=True, kw_only=True)
class LoraConfig:
    """Trains products of two narrow matrices beside the network's own."""

    target_modules: str = key(
        "Regular expression of the names of the layers that get a product beside them, for example `.*wq|.*wv`."
    )
    exclude_layers: str | tuple[str, ...] | None = key("Layers that get none, though target_modules names them.", None)
    lora_rank: int = key("Rows of the first matrix and columns of the second.", 8, minimum=1)
    lora_alpha: float = key("The product is multiplied by this over lora_rank.", 16.0, above=0)
    lora_dropout: float = key("Dropout before the first matrix.", 0.01, minimum=0, maximum=1)
    lora_a_init: str = key("First values of the first matrix.", "normal", inert=_ONE_START)
    lora_b_init: str = key("First values of the second matrix.", "zero", inert=_ONE_START)
    freeze_include: tuple[str, ...] | None = key("Shell patterns of further weights that are not trained.", None)
    freeze_exclude: tuple[str, ...] | None = key("Shell patterns of further weights that are trained.", None)
    param_init_type: str = again(PrecisionKeys, "param_init_type", "float16")
    compute_dtype: str = again(PrecisionKeys, "compute_dtype", "float16")

    def problems(self) -> Iterator[tuple[str, str, str]]:
        """What can't be used: key name, what is wrong, what is allowed."""
        try:
            re.compile(self.target_modules)
        except re.error as error:
            what = f"{self.target_modules!r} is not a regular expression: {error}"
            yield "target_modules", what, "one, for example .*wq|.*wv"
        if self.lora_dropout == 1:
            yield "lora_dropout", "1 leaves nothing to train", "from 0, below 1"
