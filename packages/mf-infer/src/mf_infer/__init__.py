"""Inference for large language models on MindSpore: load a checkpoint, generate and stream text."""

from mf_infer.llm import LLM, LoadOptions
from mf_infer.logprobs import TokenLogprobs
from mf_infer.outputs import CompletionOutput, Piece, RequestOutput
from mf_infer.prompts import Prompt, TokenPrompt
from mf_infer.sampling_params import SamplingParams

__all__ = [
    "LLM",
    "CompletionOutput",
    "LoadOptions",
    "Piece",
    "Prompt",
    "RequestOutput",
    "SamplingParams",
    "TokenLogprobs",
    "TokenPrompt",
]
