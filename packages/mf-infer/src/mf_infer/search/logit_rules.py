"""Changes of the logits that depend on the tokens so far. Legend: V vocabulary."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mf_infer.sampling_params import SamplingParams

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class LogitRules:
    """What a request's settings do to the logits of its next token.

    Attributes:
        params: the settings; texts among their bad_words are left out here.
        bad_words: runs of tokens that the answer must not hold.
        end_ids: tokens that end the answer.
    """

    params: SamplingParams
    bad_words: Sequence[Sequence[int]] = ()
    end_ids: Collection[int] = ()

    def apply(self, logits_V: Floats, prompt_ids: Sequence[int], token_ids: Sequence[int]) -> Floats:
        """Change the logits of the token that follows.

        Args:
            logits_V: [V].
            prompt_ids: tokens of the prompt.
            token_ids: tokens of the answer so far.
        Returns:
            [V]; minus infinity for what is forbidden. The argument itself where nothing is asked for.
        """
        params = self.params
        if params.logit_bias:
            logits_V = biased(logits_V, params.logit_bias)
        if params.repetition_penalty != 1:
            logits_V = penalize(logits_V, {*prompt_ids, *token_ids}, params.repetition_penalty)
        if token_ids and (params.presence_penalty or params.frequency_penalty):
            logits_V = penalize_answer(logits_V, token_ids, params.presence_penalty, params.frequency_penalty)
        banned = set(self._banned(prompt_ids, token_ids))
        return forbid(logits_V, banned) if banned else logits_V

    def _banned(self, prompt_ids: Sequence[int], token_ids: Sequence[int]) -> Iterator[int]:
        """Tokens that may not follow."""
        if self.params.no_repeat_ngram_size:
            yield from repeating([*prompt_ids, *token_ids], self.params.no_repeat_ngram_size)
        for word in self.bad_words:
            *before, last = word
            if len(before) <= len(token_ids) and list(token_ids[len(token_ids) - len(before) :]) == before:
                yield last
        if len(token_ids) < self.params.min_tokens:
            yield from self.end_ids


def biased(logits_V: Floats, bias: Mapping[int, float]) -> Floats:
    """A copy with a number added to the logits of some tokens; ids outside the vocabulary are left out."""
    changed = logits_V.copy()
    for token_id, added in bias.items():
        if token_id < changed.size:
            changed[token_id] += added
    return changed


def penalize(logits_V: Floats, seen: Collection[int], penalty: float) -> Floats:
    """Make each seen token less likely (more likely where the penalty is below 1), once however often it was seen.

    Args:
        logits_V: [V].
        seen: token ids, each from 0 to V - 1.
        penalty: above 0.
    Returns:
        [V], a copy.
    Source: Keskar et al. 2019, CTRL, section 4.1; negative logits are multiplied, since division would raise them.
    """
    ids = np.fromiter(seen, dtype=np.int64)
    penalized = logits_V.copy()
    penalized[ids] = np.where(logits_V[ids] > 0, logits_V[ids] / penalty, logits_V[ids] * penalty)
    return penalized


def penalize_answer(logits_V: Floats, token_ids: Sequence[int], presence: float, frequency: float) -> Floats:
    """Take `presence`, and `frequency` times its count, off the logit of each token that the answer has.

    Source: OpenAI's description of the parameters presence_penalty and frequency_penalty.
    """
    ids, counts = np.unique(np.asarray(token_ids, np.int64), return_counts=True)
    penalized = logits_V.copy()
    penalized[ids] -= presence + frequency * counts
    return penalized


def repeating(ids: Sequence[int], size: int) -> Iterator[int]:
    """The tokens that would make a run of `size` tokens come a second time.

    Source: Paulus et al. 2017, A Deep Reinforced Model for Abstractive Summarization, section 2.5.
    """
    begin = tuple(ids[len(ids) - size + 1 :]) if len(ids) >= size else None
    for place in range(len(ids) - size + 1):
        if tuple(ids[place : place + size - 1]) == begin:
            yield ids[place + size - 1]


def forbid(logits_V: Floats, banned: Collection[int]) -> Floats:
    """A copy with minus infinity for some tokens; where that would leave none, nothing is forbidden."""
    changed = logits_V.copy()
    changed[[token_id for token_id in banned if token_id < changed.size]] = -np.inf
    return changed if np.isfinite(changed.max()) else logits_V
