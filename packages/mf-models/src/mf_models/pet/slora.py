"""S-LoRA: one network answers with many LoRA adapters, each request with its own.

Source: Sheng et al. 2023, S-LoRA, section 3.
"""

from dataclasses import dataclass

from mf_config.schema import component, key
from mf_models.config_keys.again import again
from mf_models.config_keys.numerics import PrecisionKeys

_ADAPTERS_TELL = "the adapters' own files say it"


@component("pet", "slora", pending="answers by many adapters are not built yet")
@dataclass(frozen=True, slots=True, kw_only=True)
class SLoraConfig:
    """Answers with many LoRA adapters at once."""

    adapter_path: str | None = key("JSON file that maps the name of each adapter to its folder.", None)
    target_modules: str | None = key("Regular expression of the layers.", None, inert=_ADAPTERS_TELL)
    lora_num: int = key("Number of adapters.", 1, minimum=1, inert=_ADAPTERS_TELL)
    lora_rank: int = key("Rank of the adapters.", 8, minimum=1, inert=_ADAPTERS_TELL)
    lora_alpha: float = key("Scale of the adapters.", 8.0, above=0, inert=_ADAPTERS_TELL)
    lora_dropout: float = key(
        "Dropout before the first matrix.", 0.0, minimum=0, maximum=1, inert="no adapter is trained"
    )
    lora_extra_vocab_size: int = key("Tokens that adapters add to the vocabulary.", 0, minimum=0)
    lora_dtype: str = again(PrecisionKeys, "param_init_type", "float16")
