"""What a request gives back."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

FinishReason = Literal["stop", "length", "abort"]
"""Why an answer ended: an end token or a stop string; its length; nobody wants it any more."""


@dataclass(frozen=True, slots=True)
class TokenLogprobs:
    """One token and what else was likely in its place.

    Attributes:
        token_id: the token.
        logprob: its natural logarithm of probability.
        top: the likeliest tokens with theirs, the likeliest first.
    """

    token_id: int
    logprob: float
    top: tuple[tuple[int, float], ...]


@dataclass(frozen=True, slots=True)
class Piece:
    """What one answer has grown by.

    Attributes:
        request_id: of the request.
        index: which of its answers.
        text: what is certain of the text now; may be empty.
        token_ids: the new tokens.
        logprobs: of the new tokens, where they were asked for.
        finish_reason: set in the last piece of the answer.
    """

    request_id: str
    index: int
    text: str
    token_ids: list[int]
    logprobs: list[TokenLogprobs]
    finish_reason: FinishReason | None


@dataclass(frozen=True, slots=True)
class CompletionOutput:
    """One answer.

    Attributes:
        text: the answer without special tokens, end tokens and stop strings; empty where the model has no tokenizer.
        token_ids: every token generated, the one that ended the answer included.
        finish_reason: `stop` after an end token or a stop string, `length` after max_tokens or at the context's end.
        logprobs: of each token, None where they were not asked for.
        score: what the answers of `best_of` and of beam search are ranked by; None for others.
    """

    text: str
    token_ids: list[int]
    finish_reason: FinishReason
    logprobs: list[TokenLogprobs] | None = None
    score: float | None = None


@dataclass(frozen=True, slots=True)
class RequestOutput:
    """A prompt and what followed.

    Attributes:
        prompt: its text, None where it was given as tokens.
        prompt_token_ids: its tokens.
        outputs: the answers, `n` of them; the best one first where they were ranked.
        seconds: from the first work on the request to its last token. It includes the time that graphs of new sizes
            take to compile.
        prompt_logprobs: of each token of the prompt, None for the first one; None where they were not asked for.
        reused_tokens: tokens of the prompt that were in the cache already.
    """

    prompt: str | None
    prompt_token_ids: list[int]
    outputs: list[CompletionOutput]
    seconds: float
    prompt_logprobs: Sequence[TokenLogprobs | None] | None = None
    reused_tokens: int = 0

    def as_json(self) -> dict[str, Any]:
        """The prompt and its first answer as plain data, for `--json` and for files; `answers` has all of several."""
        answer = self.outputs[0]
        rate = len(answer.token_ids) / self.seconds if self.seconds else 0.0
        shown: dict[str, Any] = {"prompt": self.prompt, **_as_json(answer), "tokens_per_second": round(rate, 2)}
        if len(self.outputs) > 1:
            shown["answers"] = [_as_json(output) for output in self.outputs]
        return shown


def _as_json(answer: CompletionOutput) -> dict[str, Any]:
    shown: dict[str, Any] = {
        "text": answer.text,
        "token_ids": answer.token_ids,
        "finish_reason": answer.finish_reason,
    }
    if answer.logprobs is not None:
        shown["logprobs"] = [record.logprob for record in answer.logprobs]
    return shown
