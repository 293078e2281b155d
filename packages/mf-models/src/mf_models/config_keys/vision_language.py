"""A language model that sees: its sizes are those of the section `llm_model.model_config`."""

from dataclasses import dataclass
from typing import Protocol

from mf_config.schema import key
from mf_models.config_keys.decoder import DecoderKeys


class LanguagePart(Protocol):
    """Section `llm_model` of a family, with the architectures and the configuration that it can have."""

    @property
    def model_config(self) -> DecoderKeys:
        """Sizes of the language model."""


@dataclass(frozen=True, kw_only=True)
class VisionLanguageKeys:
    """What the families of this kind have in common; each narrows `llm_model`, and declares `vision_model`."""

    __slots__ = ()

    llm_model: LanguagePart = key("The language model: its network and its sizes.")
    freeze_vision: bool = key("Keep the weights of the vision model as they are.", False)
    freeze_llm: bool = key("Keep the weights of the language model as they are.", False)
    proj_output_dim: int = key("Width in which the vision model hands its results on.", 4096, minimum=1)
    image_start_id: int = key("Token before the results of an image.", 151857, minimum=0)
    image_pad_id: int = key("Token that the results of an image replace.", 151859, minimum=0)

    @property
    def vocab_size(self) -> int:
        """Rows of the language model's embedding and head."""
        return self.llm_model.model_config.vocab_size

    @property
    def seq_length(self) -> int:
        """Tokens of a training sequence, those of images included."""
        return self.llm_model.model_config.seq_length

    @property
    def hidden_size(self) -> int:
        """Width of the language model's residual stream."""
        return self.llm_model.model_config.hidden_size

    @property
    def num_layers(self) -> int:
        """Blocks of the language model; the vision model stays whole."""
        return self.llm_model.model_config.num_layers

    @property
    def num_heads(self) -> int:
        """Query heads of the language model."""
        return self.llm_model.model_config.num_heads

    @property
    def num_kv_heads(self) -> int:
        """Key/value heads of the language model."""
        return self.llm_model.model_config.num_kv_heads
