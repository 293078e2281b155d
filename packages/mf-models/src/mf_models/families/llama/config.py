"""Sizes and settings of the Llama family, under the key names of MindFormers; imports no MindSpore."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

from mf_config.schema import component
from mf_config.sections.moe import MoeSection
from mf_models.config_keys.between import shared_values
from mf_models.config_keys.classes import CLASSIFIER
from mf_models.config_keys.decoder import DecoderKeys
from mf_models.config_keys.experts import ExpertKeys
from mf_models.config_keys.heads import HeadWidthKeys
from mf_models.families.baichuan2.config import Baichuan2Config
from mf_models.families.mixtral.config import MixtralConfig
from mf_models.families.qwen2_moe.config import Qwen2MoeConfig
from mf_models.hf_config import HfConfig, HfReadable
from mf_models.hf_decoder import decoder_to_hf, head_width, read_decoder
from mf_models.model_config import NETWORK_NOT_BUILT


@component("model", "LlamaConfig")
@dataclass(frozen=True, slots=True, kw_only=True)
class LlamaConfig(HeadWidthKeys, HfReadable):
    """Llama 2 and 3 and models of the same kind: Code Llama, Yi, Mixtral, DeepSeek-Coder, Qwen1.5, Qwen2, Baichuan2."""

    architectures: ClassVar[tuple[str, ...]] = (
        "LlamaForCausalLM",
        f"Llama{CLASSIFIER}",
        f"Qwen2{CLASSIFIER}",
        "ParallelLlamaForCausalLM",
    )
    pending_architectures: ClassVar[Mapping[str, str]] = dict.fromkeys(architectures[-1:], NETWORK_NOT_BUILT)
    hf_model_types: ClassVar[tuple[str, ...]] = ("llama", "qwen2")

    def for_architecture(self, architecture: str) -> DecoderKeys:
        """What the section means beside the name of a network: some have no section of their own."""
        if architecture in Baichuan2Config.architectures:
            return Baichuan2Config.of_section(self, architecture)
        return self.with_classes_of(architecture)

    def with_experts(self, section: MoeSection) -> ExpertKeys:
        """What the section means beside one of experts: Mixtral, or Qwen2 with experts.

        There, intermediate_size is the inner width of an expert.
        """
        if not section.shared_expert_num and not self.qkv_has_bias:
            return MixtralConfig(**shared_values(self, MixtralConfig), moe_config=section)
        sized = replace(section, moe_intermediate_size=self.inner_size)
        return Qwen2MoeConfig(**shared_values(self, Qwen2MoeConfig), moe_config=sized)

    @classmethod
    def read_hf(cls, hf: HfConfig) -> Self:
        """Take the keys out of a config.json of Llama or Qwen2. See `HfReadable.read_hf`."""
        model_type = hf.choice("model_type", cls.hf_model_types, absent="llama")
        hf.require("hidden_act", ("silu",), absent="silu")
        for name in ("attention_bias", "mlp_bias", "rope_interleaved"):
            hf.require(name, (False,), absent=False)
        if model_type == "qwen2":
            # The width and the first layer of a window are there even where no layer has one.
            hf.require("use_sliding_window", (False,), absent=False)
            hf.ignore(("sliding_window", "max_window_layers", "layer_types"))
        keys = read_decoder(hf)
        return cls(**keys, **head_width(hf, keys), qkv_has_bias=model_type == "qwen2")

    def to_hf(self) -> dict[str, Any]:
        """The configuration as Hugging Face tools read it, with the key spellings that all versions know."""
        if self.qkv_has_bias:
            return decoder_to_hf(self, "Qwen2ForCausalLM", "qwen2") | {"use_sliding_window": False}
        flags = {"attention_bias": False, "mlp_bias": False}
        return decoder_to_hf(self, self.architectures[0], "llama") | flags
