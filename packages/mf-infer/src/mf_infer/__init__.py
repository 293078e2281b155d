"""Inference for large language models on MindSpore: load a checkpoint, generate and stream text."""

from typing import TYPE_CHECKING

from mf_config.on_demand import names_on_demand

if TYPE_CHECKING:
    from mf_infer.llm import LLM as LLM
    from mf_infer.load_options import LoadOptions as LoadOptions
    from mf_infer.outputs import CompletionOutput as CompletionOutput
    from mf_infer.outputs import Piece as Piece
    from mf_infer.outputs import RequestOutput as RequestOutput
    from mf_infer.outputs import TokenLogprobs as TokenLogprobs
    from mf_infer.prompts import Prompt as Prompt
    from mf_infer.prompts import TokenPrompt as TokenPrompt
    from mf_infer.sampling_params import SamplingParams as SamplingParams

_HOMES = {
    "LLM": "mf_infer.llm",
    "CompletionOutput": "mf_infer.outputs",
    "LoadOptions": "mf_infer.load_options",
    "Piece": "mf_infer.outputs",
    "Prompt": "mf_infer.prompts",
    "RequestOutput": "mf_infer.outputs",
    "SamplingParams": "mf_infer.sampling_params",
    "TokenLogprobs": "mf_infer.outputs",
    "TokenPrompt": "mf_infer.prompts",
}

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

# The command line imports this package and must not wait for what reads checkpoints.
__getattr__ = names_on_demand(__name__, _HOMES)
