"""Beam search: the likeliest whole answers. Legend: W beams, V vocabulary."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from mf_infer.search.answer import Answer
from mf_infer.search.base import Following
from mf_infer.search.distribution import Floats
from mf_infer.search.logit_rules import LogitRules
from mf_infer.search.logprobs import log_softmax


@dataclass(frozen=True, slots=True)
class _Beam:
    """A partial or whole answer: its tokens and its score."""

    token_ids: tuple[int, ...]
    score: float


class BeamSearch:
    """Keeps the W likeliest partial answers, and the W best whole ones. See `Search`.

    In each step the 2 W likeliest continuations of the beams are looked at (more where there are several end tokens).
    Those among the first W that end become whole answers; the W likeliest that don't are the next beams. An answer
    counts the sum of its log-probabilities divided by its length to the power `length_penalty`, its end token included.

    Source: Graves 2012, Sequence Transduction with Recurrent Neural Networks, section 3; Wu et al. 2016, Google's
    Neural Machine Translation System, section 7 (length).
    """

    def __init__(self, prompt_ids: Sequence[int], rules: LogitRules, limit: int, new_answer: Callable[[], Answer]):
        """Takes the prompt, the settings, the most tokens of an answer, and what makes an empty one."""
        self.width = rules.params.num_beams
        self._prompt_ids = prompt_ids
        self._rules = rules
        self._limit = limit
        self._new_answer = new_answer
        self._beams = [_Beam((), 0.0)]
        self._whole: list[_Beam] = []
        self._answers: list[Answer] = [] if limit else [new_answer() for _ in range(rules.params.n)]

    @property
    def length(self) -> int:
        """See `Search.length`."""
        return len(self._beams[0].token_ids) if self._beams else 0

    @property
    def grown(self) -> Sequence[Answer]:
        """The best `n` answers, once the search has ended."""
        return self._answers

    def advance(self, logits: Sequence[Floats]) -> Following:
        """Continue the beams; see `Search.advance`."""
        candidates = self._candidates(logits)
        is_last = len(self._beams[0].token_ids) + 1 == self._limit
        ends = [is_last or beam.token_ids[-1] in self._rules.end_ids for _, beam in candidates]
        self._take_up([beam for (_, beam), is_end in zip(candidates[: self.width], ends, strict=False) if is_end])
        following = [pair for pair, is_end in zip(candidates, ends, strict=True) if not is_end][: self.width]
        self._beams = [beam for _, beam in following]
        if following and self._may_improve():
            return [(row, beam.token_ids[-1]) for row, beam in following]
        self._answers = [self._answer(beam) for beam in self._whole[: self._rules.params.n]]
        return []

    def abort(self) -> None:
        """Give the whole answers found so far, and none where there are none."""
        if not self._answers:
            self._answers = [self._answer(beam) for beam in self._whole[: self._rules.params.n]]

    def _candidates(self, logits: Sequence[Floats]) -> list[tuple[int, _Beam]]:
        """The likeliest continuations of all beams, the likeliest first, with the number of the beam they continue."""
        scores_WV = np.stack(
            [
                beam.score + self._rules.apply(log_softmax(logits_V), self._prompt_ids, beam.token_ids)
                for beam, logits_V in zip(self._beams, logits, strict=True)
            ]
        )
        count = max(2, 1 + len(self._rules.end_ids)) * self.width
        order = np.argsort(-scores_WV, axis=None, kind="stable")[:count]
        found = []
        for row, token_id in zip(*np.unravel_index(order, scores_WV.shape), strict=True):
            score = float(scores_WV[row, token_id])
            if score > -np.inf:
                found.append((int(row), _Beam((*self._beams[row].token_ids, int(token_id)), score)))
        return found

    def _take_up(self, ended: Sequence[_Beam]) -> None:
        """Keep the best whole answers; with early stopping nothing comes in any more once there are enough."""
        if self._rules.params.early_stopping and len(self._whole) == self.width:
            return
        new = [_Beam(beam.token_ids, self._final(beam.score, len(beam.token_ids))) for beam in ended]
        self._whole = sorted([*self._whole, *new], key=lambda beam: -beam.score)[: self.width]

    def _may_improve(self) -> bool:
        """Whether a better whole answer may still be found."""
        if len(self._whole) < self.width:
            return True
        if self._rules.params.early_stopping:
            return False
        best = self._final(self._beams[0].score, len(self._beams[0].token_ids))
        return best > self._whole[-1].score

    def _final(self, score: float, length: int) -> float:
        return float(score / length**self._rules.params.length_penalty)

    def _answer(self, beam: _Beam) -> Answer:
        answer = self._new_answer()
        for token_id in beam.token_ids:
            answer.append(token_id)
        answer.score = beam.score
        return answer
