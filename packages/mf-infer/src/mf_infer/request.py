"""One prompt and its answer so far."""

import secrets
import time
from collections.abc import Collection, Sequence
from typing import Literal

from mf_data.tokenizers.stream import TextStream
from mf_infer.sampling_params import SamplingParams
from mf_infer.stopping import StopStrings

FinishReason = Literal["stop", "length", "abort"]
"""Why an answer ended: an end token or a stop string; its length; nobody wants it any more."""


class Request:
    """The state of one request; the engine appends tokens until `finish_reason` is set.

    Attributes:
        prompt_ids: tokens of the prompt.
        params: the request's settings.
        seed: of the random numbers.
        limit: most tokens of the answer.
        token_ids: tokens of the answer, the end token included.
        pieces: text of the answer as it became certain; joined it is the text.
        seen: distinct tokens of prompt and answer.
        finish_reason: None while the answer grows.
        seconds: from the first work on the request to its last token; 0 before that.
    """

    def __init__(
        self,
        prompt_ids: Sequence[int],
        params: SamplingParams,
        end_ids: Collection[int],
        room: int,
        text: TextStream | None,
    ):
        """Starts with an empty answer.

        Args:
            prompt_ids: tokens of the prompt, at least one.
            params: settings.
            end_ids: the model's end tokens.
            room: tokens that fit in the model's context behind the prompt, at least 0.
            text: decodes the answer; None leaves it without text.
        """
        self.prompt_ids = list(prompt_ids)
        self.params = params
        self.seed = secrets.randbits(64) if params.seed is None else params.seed
        self.limit = min(params.max_tokens, room)
        self.token_ids: list[int] = []
        self.pieces: list[str] = []
        self.seen = set(prompt_ids)
        self.finish_reason: FinishReason | None = "length" if self.limit == 0 else None
        self.seconds = 0.0
        self._started = 0.0
        self._end_ids = frozenset(params.stop_token_ids) | (frozenset() if params.ignore_eos else frozenset(end_ids))
        self._text = text
        self._stops = StopStrings(params.stop_strings)

    @property
    def last_id(self) -> int:
        """The newest token, of the answer or, before there is one, of the prompt."""
        return (self.token_ids or self.prompt_ids)[-1]

    @property
    def length(self) -> int:
        """Tokens of prompt and answer."""
        return len(self.prompt_ids) + len(self.token_ids)

    def start(self) -> None:
        """Note that work on the request begins."""
        self._started = time.perf_counter()

    def append(self, token_id: int) -> None:
        """Take the next token of the answer, and end the answer where it asks for that."""
        assert self.finish_reason is None
        self.token_ids.append(token_id)
        self.seen.add(token_id)
        self.seconds = time.perf_counter() - self._started
        if token_id in self._end_ids:
            self._finish("stop")
            return
        self._add_text(self._text.push(token_id) if self._text else "")
        if self._stops.found:
            self.finish_reason = "stop"
        elif len(self.token_ids) == self.limit:
            self._finish("length")

    def abort(self) -> None:
        """End the answer where it is, if it has not ended."""
        self.finish_reason = self.finish_reason or "abort"

    def _finish(self, reason: FinishReason) -> None:
        self._add_text(self._text.finish() if self._text else "")
        self.pieces.append(self._stops.finish())
        self.finish_reason = "stop" if self._stops.found else reason

    def _add_text(self, text: str) -> None:
        self.pieces.append(self._stops.push(text))
