"""Lets a network write that a program holds in memory, such as one that is being trained.

mf-train finds `write` by an entry point of the group `mf.text_generators`.
"""

from collections.abc import Sequence
from typing import Protocol

from mf_data.tokenizers.base import Tokenizer
from mf_infer.engine.engine import Engine
from mf_infer.engine.runner import CellRunner
from mf_infer.loading.defaults import GenerationDefaults
from mf_infer.loading.opening import cache_sizes
from mf_infer.request import Context, Request
from mf_models.layers.causal_lm import CausalLanguageModel
from mf_models.model_config import ModelConfig

ROWS = 8
"""Most answers that are computed together."""


class WritingJob(Protocol):
    """What is asked for.

    Attributes:
        model: the network, in evaluation mode; it stays as it is.
        config: its configuration, whose keys of generation say how the next token is chosen.
        tokenizer: ids to text.
        prompts: the ids of each prompt, at least one each.
        max_new_tokens: ids of an answer at most; prompt and answer fit into the network's context.
    """

    model: CausalLanguageModel
    config: ModelConfig
    tokenizer: Tokenizer
    prompts: Sequence[Sequence[int]]
    max_new_tokens: int


def write(job: WritingJob) -> list[str]:
    """Answer every prompt.

    Args:
        job: network and prompts.

    Returns:
        The text of each answer, in order, without the prompt and without special tokens.

    Raises:
        UserError: the configuration's keys of generation can't be used.
    """
    blocks, block_size = cache_sizes(job.config)
    # One block more: that of nobody.
    engine = Engine(CellRunner(job.model, blocks + 1, block_size, job.config.max_positions), ROWS)
    defaults, end_ids = GenerationDefaults.of_keys(job.config), frozenset(job.config.eos_token_ids)
    requests = []
    for ids in job.prompts:
        params = defaults.params(len(ids), job.config.max_positions, {"max_tokens": job.max_new_tokens})
        room = min(job.config.max_positions, engine.most_tokens(len(ids), params.num_beams)) - len(ids)
        requests.append(Request(ids, params, Context(end_ids, max(room, 0), job.tokenizer)))
    for request in requests:
        engine.add_request(request)
    while engine.has_work:
        engine.step()
    return [request.output(None).outputs[0].text for request in requests]
