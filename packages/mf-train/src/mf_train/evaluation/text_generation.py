"""Finds what lets a model write: an entry point of group `mf.text_generators`.

mf-train does not import mf-infer, which has one: an evaluation that needs written text asks whatever is installed.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import entry_points
from typing import Any

from mf_config.problems import UserError
from mf_data.tokenizers.base import Tokenizer

GROUP = "mf.text_generators"


@dataclass(frozen=True, slots=True, kw_only=True)
class WritingJob:
    """What a generator is asked for.

    Attributes:
        model: the network, made by `mf_models.networks.build`, in evaluation mode, with whole weights that may change
            from one job to the next; the generator leaves it as it is.
        config: the network's configuration, whose keys of generation say how the next token is chosen.
        tokenizer: ids to text.
        prompts: the ids of each prompt, at least one each.
        max_new_tokens: ids of an answer at most; prompt and answer fit into the model's sequence length.
    """

    model: Any
    config: Any
    tokenizer: Tokenizer
    prompts: Sequence[Sequence[int]]
    max_new_tokens: int


TextGenerator = Callable[[WritingJob], Sequence[str]]
"""The answer to each prompt, in order, without the prompt and without special tokens."""


def text_generator() -> TextGenerator:
    """What lets a model write.

    Raises:
        UserError: no installed package does this.
    """
    found = sorted(entry_points(group=GROUP), key=lambda point: point.name)
    if not found:
        raise UserError(
            "metric: its scores need text that the model writes, and no installed package lets it write. "
            "Allowed: install mf-infer, or other metrics."
        )
    loaded: TextGenerator = found[0].load()
    return loaded
