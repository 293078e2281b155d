"""Rows of a prompt and an answer, as the GLM families take them."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from mf_config.problems import UserError
from mf_config.schema import component
from mf_data.chat.conversation_ids import IdsAndLabels
from mf_data.datasets.base import TaskKeys, refuse_loader
from mf_data.datasets.causal_language_model import sample_rows
from mf_data.loader import Loader
from mf_data.progress import Progress
from mf_data.rows.data_set import IGNORED
from mf_data.rows.sample_rows import SampleRows
from mf_data.rows.samples import Samples
from mf_data.rows.settings import RowSettings
from mf_data.rows.token_roles import end_token, filling
from mf_data.tokenizers.base import Tokenizer

_GLM2_PROMPT = "[Round 1]\n\n问\uff1a", "\n\n答\uff1a"
"""What ChatGLM2 and ChatGLM3 are tuned to find around a question. Source: build_prompt of their tokenizers."""


@runtime_checkable
class PairLoader(Loader, Protocol):
    """A loader of prompts and answers."""

    @property
    def version(self) -> int:
        """How a row is made: 1 as for GLM, 2 as for GLM2 and GLM3, 3 as for GLM4."""

    def pairs(self) -> Iterator[tuple[str, str]]:
        """Prompts and answers, in the same order each time.

        Raises:
            UserError: there is nothing to read, or a record is broken (the message names each).
        """
        ...


@component("dataset", "KeyWordGenDataset")
@dataclass(frozen=True, slots=True, kw_only=True)
class KeyWordGenDataset(TaskKeys):
    """Rows of at most `max_source_length` ids of a prompt, `max_target_length` of an answer, and the end token.

    The loss counts the answer and the end token. A prompt that is too long loses the end of its question, never the cue
    behind it that asks for the answer.
    """

    def rows(
        self, loader: Loader, tokenizer: Tokenizer, seq_length: int, settings: RowSettings, progress: Progress
    ) -> SampleRows:
        """Read the pairs and make their rows.

        Args:
            loader: gives pairs, and the version by which rows are made.
            tokenizer: makes the ids; it puts its special tokens before a prompt.
            seq_length: tokens that the model reads at once.
            settings: `max_source_length` and `max_target_length`.
            progress: called now and then with the bytes of text done so far.
        Returns:
            The rows, int32 [n, seq_length + 1] a column. `labels` stand beside `input_ids`; one place further to the
            left, as a model without a shift of its own takes them, they are those of MindFormers.
        Raises:
            UserError: a length is missing, both do not fit into a row, or the version can't be made.
        """
        if not isinstance(loader, PairLoader):
            raise refuse_loader(self, loader)
        source, target = settings.max_source_length, settings.max_target_length
        if source is None or target is None:
            name = "max_source_length" if source is None else "max_target_length"
            raise UserError(f"{name}: is missing, and KeyWordGenDataset needs it. Allowed: a number of tokens from 1.")
        if source + target + 1 > seq_length:
            raise UserError(
                f"max_source_length {source} + max_target_length {target} + 1 exceed seq_length {seq_length}. "
                f"Allowed: a seq_length from {source + target + 1}."
            )
        if loader.version == 1:
            raise UserError(
                "data_loader.version: 1 needs positions in two dimensions, which are not made. Allowed: 2, 3."
            )
        around = _GLM2_PROMPT if loader.version == 2 else ("", "")
        end = end_token(tokenizer)
        done = 0
        samples = []
        for prompt, answer in loader.pairs():
            samples.append(encode_pair(prompt, answer, tokenizer, (source, target), around, end))
            done += len(prompt.encode()) + len(answer.encode())
            progress(done)
        return sample_rows(Samples.of(samples), seq_length + 1, "cut", "none", filling(tokenizer))


def encode_pair(
    prompt: str,
    answer: str,
    tokenizer: Tokenizer,
    lengths: tuple[int, int],
    around: tuple[str, str],
    end: int,
) -> IdsAndLabels:
    """Ids and labels of one pair.

    Args:
        prompt: the question.
        answer: what the model should say.
        tokenizer: makes the ids.
        lengths: tokens at most of the prompt, its special tokens included, and of the answer without the end token.
        around: text before the question and behind it.
        end: id of the end token.
    Raises:
        UserError: what stands around the question alone is longer than a prompt may be.
    """
    prompt_ids = _prompt_within(prompt, tokenizer, lengths[0], around)
    answer_ids = [*tokenizer.encode(answer, add_special_tokens=False, parse_special_tokens=False)[: lengths[1]], end]
    return [*prompt_ids, *answer_ids], [*[IGNORED] * len(prompt_ids), *answer_ids]


def _prompt_within(prompt: str, tokenizer: Tokenizer, length: int, around: tuple[str, str]) -> list[int]:
    """Ids of the prompt with what stands around it; of a prompt that is too long, the end of the question goes."""
    question = tokenizer.encode(prompt, add_special_tokens=False, parse_special_tokens=False)
    kept = len(question)
    text = prompt
    while True:
        ids = tokenizer.encode(f"{around[0]}{text}{around[1]}", parse_special_tokens=False)
        if len(ids) <= length:
            return ids
        if not kept:
            raise UserError(f"max_source_length: {length} is too small. Allowed: from {len(ids) + 1}.")
        # Cut at a token, whose last character may be incomplete then.
        kept = max(0, kept - (len(ids) - length))
        text = tokenizer.decode(question[:kept]).rstrip("\ufffd")
