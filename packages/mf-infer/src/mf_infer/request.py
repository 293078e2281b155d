"""One prompt, its settings and its answers so far."""

import secrets
import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from mf_data.tokenizers.base import Tokenizer
from mf_data.tokenizers.pieces import PieceReader
from mf_infer.outputs import Piece, RequestOutput, TokenLogprobs
from mf_infer.sampling_params import SamplingParams
from mf_infer.search.answer import Answer, Ending
from mf_infer.search.base import Following, Search
from mf_infer.search.beam_search import BeamSearch
from mf_infer.search.logit_rules import LogitRules
from mf_infer.search.logprobs import log_softmax, token_logprobs
from mf_infer.search.sampler import checked
from mf_infer.search.sampling import Sampling


@dataclass(frozen=True, slots=True)
class Context:
    """What a model gives to a request.

    Attributes:
        end_ids: its end tokens.
        room: tokens that fit behind the prompt, at least 0.
        tokenizer: makes text of the answers; None leaves them without.
        bad_words: the bad_words of the settings as tokens.
        shown_ids: special tokens that are written out in the text; others are left out.
    """

    end_ids: Collection[int]
    room: int
    tokenizer: Tokenizer | None = None
    bad_words: Sequence[Sequence[int]] = ()
    shown_ids: frozenset[int] = frozenset()

    def text_reader(self) -> PieceReader | None:
        """Makes text of one answer's tokens, None where there is none."""
        if self.tokenizer is None:
            return None
        pieces = self.tokenizer.pieces
        pieces = replace(pieces, special_ids=pieces.special_ids - self.shown_ids)
        return PieceReader(pieces, skip_special_tokens=True)


class Request:
    """The state of one request; the engine hands it logits until it has ended.

    Attributes:
        id: tells it from others.
        prompt_ids: tokens of the prompt.
        params: its settings.
        reused_tokens: tokens of the prompt that were in the cache already.
        seconds: from the first work on the request to its last token; 0 before that.
    """

    def __init__(self, prompt_ids: Sequence[int], params: SamplingParams, context: Context, request_id: str = ""):
        """Starts with empty answers.

        Args:
            prompt_ids: tokens of the prompt, at least one.
            params: settings.
            context: the model's part.
            request_id: any text of its own; one is made up where it is empty.
        """
        self.id = request_id or secrets.token_hex(8)
        self.prompt_ids = list(prompt_ids)
        self.params = params
        self.reused_tokens = 0
        self.seconds = 0.0
        self._started = 0.0
        self._prompt_logprobs: list[TokenLogprobs | None] = [None]
        self._search = _search(self.prompt_ids, params, context)
        self._sent: list[tuple[int, int]] = []
        self._has_ended = not self.wants_prompt_scores and Ending.of(params, (), context.room).limit == 0

    @property
    def width(self) -> int:
        """Most rows that it grows to."""
        return self._search.width

    @property
    def has_ended(self) -> bool:
        """Whether nothing more comes."""
        return self._has_ended

    @property
    def texts(self) -> Sequence[str]:
        """Text of the first answer as it became certain."""
        grown = self._search.grown
        return grown[0].pieces if grown else ()

    @property
    def wants_prompt_scores(self) -> bool:
        """Whether the logits after each token of the prompt are needed, and were not given yet."""
        return self.params.prompt_logprobs is not None and len(self._prompt_logprobs) < len(self.prompt_ids)

    def start(self) -> None:
        """Note that work on the request begins."""
        self._started = self._started or time.perf_counter()

    def note_reused(self, tokens: int) -> None:
        """Note that tokens were found in the cache; those of the answer, after a preemption, don't count."""
        if self._search.length == 0:
            self.reused_tokens += tokens

    def take_prompt_scores(self, start: int, logits_TV: NDArray[np.float32]) -> None:
        """Take the logits after the tokens of the prompt from place `start` on, [T, V]; in order."""
        count = self.params.prompt_logprobs or 0
        followers = self.prompt_ids[start + 1 : start + 1 + len(logits_TV)]
        for place, (token_id, logits_V) in enumerate(zip(followers, logits_TV, strict=False), start + 1):
            if place == len(self._prompt_logprobs):
                record = token_logprobs(log_softmax(checked(logits_V, place)), token_id, count)
                self._prompt_logprobs.append(record)

    def advance(self, logits: Sequence[NDArray[np.float32]]) -> Following:
        """Choose the next tokens; see `Search.advance`.

        Raises:
            UserError: the logits are not numbers.
        """
        position = len(self.prompt_ids) + self._search.length
        following = self._search.advance([checked(logits_V, position) for logits_V in logits])
        self.seconds = time.perf_counter() - self._started
        self._has_ended = not following
        return following

    def abort(self) -> None:
        """End the answers where they are."""
        self._search.abort()
        self._has_ended = True

    def take_pieces(self) -> list[Piece]:
        """What the answers have grown by since the last call."""
        grown = self._search.grown
        self._sent += [(0, 0)] * (len(grown) - len(self._sent))
        pieces = []
        for index, answer in enumerate(grown):
            tokens, texts = self._sent[index]
            if len(answer.token_ids) == tokens and (tokens or answer.finish_reason is None):
                continue
            self._sent[index] = len(answer.token_ids), len(answer.pieces)
            logprobs = answer.logprobs[tokens:] if self.params.logprobs is not None else []
            text = "".join(answer.pieces[texts:])
            pieces.append(Piece(self.id, index, text, answer.token_ids[tokens:], logprobs, answer.finish_reason))
        return pieces

    def output(self, prompt: str | None) -> RequestOutput:
        """The answers as the person gets them, once the request has ended.

        Args:
            prompt: the prompt's text, None where it was given as tokens.
        """
        answers = [answer.output(self.params.logprobs is not None) for answer in self._search.grown]
        logprobs = self._prompt_logprobs if self.params.prompt_logprobs is not None else None
        return RequestOutput(prompt, self.prompt_ids, answers, self.seconds, logprobs, self.reused_tokens)


def _search(prompt_ids: Sequence[int], params: SamplingParams, context: Context) -> Search:
    """What finds the answers that the settings ask for."""
    ending = Ending.of(params, context.end_ids, context.room)
    rules = LogitRules(params, context.bad_words, ending.end_ids)

    def new_answer() -> Answer:
        return Answer(ending, context.text_reader())

    if params.num_beams > 1:
        return BeamSearch(prompt_ids, rules, ending.limit, new_answer)
    seed = secrets.randbits(64) if params.seed is None else params.seed
    return Sampling(prompt_ids, rules, seed, [new_answer() for _ in range(params.drawn)])
