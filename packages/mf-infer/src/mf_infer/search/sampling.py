"""Answers whose tokens are drawn, or taken as the likeliest, one after another."""

from collections.abc import Sequence

from mf_infer.search.answer import Answer
from mf_infer.search.base import Following
from mf_infer.search.distribution import Floats
from mf_infer.search.logit_rules import LogitRules
from mf_infer.search.logprobs import log_softmax, token_logprobs
from mf_infer.search.sampler import choose, uniform


class Sampling:
    """`n` answers, or the best n of `best_of`, each with random numbers of its own. See `Search`."""

    def __init__(self, prompt_ids: Sequence[int], rules: LogitRules, seed: int, answers: Sequence[Answer]):
        """Takes the prompt, the settings, the seed, and the empty answers."""
        self.width = len(answers)
        self._prompt_ids = prompt_ids
        self._rules = rules
        self._seed = seed
        self._answers = answers
        # Numbers of the answers that grow; all of them begin with the one row of the prompt.
        self._growing = [number for number, answer in enumerate(answers) if answer.finish_reason is None]

    @property
    def length(self) -> int:
        """See `Search.length`."""
        return max(len(answer.token_ids) for answer in self._answers)

    @property
    def grown(self) -> Sequence[Answer]:
        """All answers; of `best_of` the best ones, once all have ended."""
        given = self._rules.params.n
        if given == self.width:
            return self._answers
        if any(answer.finish_reason is None for answer in self._answers):
            return ()
        return sorted(self._answers, key=lambda answer: -(answer.score or 0.0))[:given]

    def advance(self, logits: Sequence[Floats]) -> Following:
        """Give each growing answer its next token; see `Search.advance`."""
        following = []
        still_growing = []
        has_begun = self.length > 0
        for place, number in enumerate(self._growing):
            row = place if has_begun else 0
            answer = self._answers[number]
            self._append(answer, number, logits[row])
            if answer.finish_reason is None:
                following.append((row, answer.token_ids[-1]))
                still_growing.append(number)
        self._growing = still_growing
        return following

    def abort(self) -> None:
        """See `Search.abort`."""
        for answer in self._answers:
            answer.abort()

    def _append(self, answer: Answer, number: int, logits_V: Floats) -> None:
        params = self._rules.params
        point = uniform(self._seed, len(self._prompt_ids) + len(answer.token_ids), number)
        token_id = choose(self._rules.apply(logits_V, self._prompt_ids, answer.token_ids), params, point)
        if params.logprobs is None and params.n == self.width:
            answer.append(token_id)
            return
        record = token_logprobs(log_softmax(logits_V), token_id, params.logprobs or 0)
        if params.n < self.width:
            # The mean, so that short answers have no advantage.
            count = len(answer.token_ids)
            answer.score = ((answer.score or 0.0) * count + record.logprob) / (count + 1)
        answer.append(token_id, record)
