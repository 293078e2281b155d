"""The processors of text models: they hold the tokenizer and do nothing else."""

from dataclasses import dataclass

from mf_config.schema import component
from mf_data.processors.base import ProcessorKeys


@component("processor", "LlamaProcessor")
@dataclass(frozen=True, slots=True, kw_only=True)
class LlamaProcessor(ProcessorKeys):
    """Text for the Llama families and those of their kind."""


@component("processor", "Qwen2Processor")
@dataclass(frozen=True, slots=True, kw_only=True)
class Qwen2Processor(ProcessorKeys):
    """Text for Qwen 1.5 and Qwen 2."""


@component("processor", "QwenProcessor")
@dataclass(frozen=True, slots=True, kw_only=True)
class QwenProcessor(ProcessorKeys):
    """Text for the first Qwen."""


@component("processor", "GLMProcessor")
@dataclass(frozen=True, slots=True, kw_only=True)
class GLMProcessor(ProcessorKeys):
    """Text for the GLM families."""


@component("processor", "GPT2Processor")
@dataclass(frozen=True, slots=True, kw_only=True)
class GPT2Processor(ProcessorKeys):
    """Text for GPT-2."""
