"""Inference for large language models on MindSpore: load a checkpoint, generate and stream text."""

from mf_infer.llm import LLM
from mf_infer.outputs import CompletionOutput, RequestOutput
from mf_infer.prompts import Prompt, TokenPrompt
from mf_infer.sampling_params import SamplingParams

__all__ = ["LLM", "CompletionOutput", "Prompt", "RequestOutput", "SamplingParams", "TokenPrompt"]
