"""What a request gives back."""

from dataclasses import dataclass
from typing import Any, Literal


@dataclass(frozen=True, slots=True)
class CompletionOutput:
    """One answer.

    Attributes:
        text: the answer without special tokens, end tokens and stop strings; empty where the model has no tokenizer.
        token_ids: every token generated, the one that ended the answer included.
        finish_reason: `stop` after an end token or a stop string, `length` after max_tokens or at the context's end.
    """

    text: str
    token_ids: list[int]
    finish_reason: Literal["stop", "length"]


@dataclass(frozen=True, slots=True)
class RequestOutput:
    """A prompt and what followed.

    Attributes:
        prompt: its text, None where it was given as tokens.
        prompt_token_ids: its tokens.
        outputs: the answers; one for each request.
        seconds: from the first work on the request to its last token. It includes the time that graphs of new sizes
            take to compile.
    """

    prompt: str | None
    prompt_token_ids: list[int]
    outputs: list[CompletionOutput]
    seconds: float

    def as_json(self) -> dict[str, Any]:
        """The prompt and its first answer as plain data, for `--json` and for files."""
        answer = self.outputs[0]
        rate = len(answer.token_ids) / self.seconds if self.seconds else 0.0
        return {
            "prompt": self.prompt,
            "text": answer.text,
            "token_ids": answer.token_ids,
            "finish_reason": answer.finish_reason,
            "tokens_per_second": round(rate, 2),
        }
