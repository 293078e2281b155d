"""The ChatGLM2 network: the shared decoder with half-rotated heads."""

from mf_models.families.chatglm2.config import ChatGLM2Config
from mf_models.families.chatglm2.decoder import decoder_config
from mf_models.layers.causal_lm import CausalLanguageModel


class ChatGLM2ForConditionalGeneration(CausalLanguageModel):
    """A decoder that rotates half of each head and has few key/value heads.

    Source: GLM Team 2024, ChatGLM: A Family of Large Language Models, section 2.
    """

    def __init__(self, config: ChatGLM2Config):
        super().__init__(decoder_config(config))
