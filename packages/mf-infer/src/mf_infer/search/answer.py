"""One answer as it grows: its tokens, its text, and why it ends."""

from collections.abc import Collection
from dataclasses import dataclass

from mf_data.tokenizers.pieces import PieceReader
from mf_infer.outputs import CompletionOutput, FinishReason, TokenLogprobs
from mf_infer.sampling_params import SamplingParams
from mf_infer.search.stopping import StopStrings


@dataclass(frozen=True, slots=True)
class Ending:
    """What ends an answer.

    Attributes:
        end_ids: tokens that do.
        limit: most tokens.
        stops: texts that do.
    """

    end_ids: Collection[int]
    limit: int
    stops: tuple[str, ...]

    @classmethod
    def of(cls, params: SamplingParams, end_ids: Collection[int], room: int) -> "Ending":
        """The end that a request asks for.

        Args:
            params: the request's settings.
            end_ids: the model's end tokens.
            room: tokens that fit behind the prompt.
        """
        own = frozenset() if params.ignore_eos else frozenset(end_ids)
        return cls(own | frozenset(params.stop_token_ids), min(params.max_tokens, room), tuple(params.stop_strings))


class Answer:
    """Tokens are appended until `finish_reason` is set.

    Attributes:
        token_ids: tokens of the answer, the end token included.
        pieces: its text as it became certain; joined it is the text.
        logprobs: of the tokens, where they are asked for.
        finish_reason: None while the answer grows.
        score: what it is ranked by among others, where it is.
    """

    def __init__(self, ending: Ending, text: PieceReader | None):
        """Starts empty; without a reader of its tokens it stays without text."""
        self.token_ids: list[int] = []
        self.pieces: list[str] = []
        self.logprobs: list[TokenLogprobs] = []
        self.finish_reason: FinishReason | None = "length" if ending.limit == 0 else None
        self.score: float | None = None
        self._ending = ending
        self._text = text
        self._stops = StopStrings(ending.stops)

    def append(self, token_id: int, logprobs: TokenLogprobs | None = None) -> None:
        """Take the next token, and end where that is asked for."""
        assert self.finish_reason is None
        self.token_ids.append(token_id)
        if logprobs:
            self.logprobs.append(logprobs)
        if token_id in self._ending.end_ids:
            self._finish("stop")
            return
        self._add_text(self._text.read((token_id,)) if self._text else "")
        if self._stops.found:
            self.finish_reason = "stop"
        elif len(self.token_ids) == self._ending.limit:
            self._finish("length")

    def abort(self) -> None:
        """End where it is, if it has not ended."""
        self.finish_reason = self.finish_reason or "abort"

    def output(self, with_logprobs: bool) -> CompletionOutput:
        """The answer as the person gets it."""
        assert self.finish_reason is not None
        logprobs = self.logprobs if with_logprobs else None
        return CompletionOutput("".join(self.pieces), self.token_ids, self.finish_reason, logprobs, self.score)

    def _finish(self, reason: FinishReason) -> None:
        self._add_text(self._text.read((), final=True) if self._text else "")
        self.pieces.append(self._stops.finish())
        self.finish_reason = "stop" if self._stops.found else reason

    def _add_text(self, text: str) -> None:
        self.pieces.append(self._stops.push(text))
