"""The objects in which OpenAI's interface tells answers, whole and in pieces."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from mf_data.tokenizers.base import Tokenizer
from mf_infer.logprobs import TokenLogprobs, chat_logprobs, completion_logprobs
from mf_infer.outputs import CompletionOutput, Piece, RequestOutput


@dataclass(frozen=True, slots=True)
class Origin:
    """What all objects of one reply have in common.

    Attributes:
        id: its own part of the reply's id.
        created: seconds of the epoch.
        model: the name of the model.
    """

    id: str
    created: int
    model: str

    def envelope(self, prefix: str, kind: str, choices: Sequence[dict[str, Any]]) -> dict[str, Any]:
        """An object with choices."""
        head = {"id": f"{prefix}-{self.id}", "object": kind, "created": self.created, "model": self.model}
        return {**head, "choices": list(choices)}


class Reply(Protocol):
    """Writes the answers to one job."""

    def whole(self, outputs: Sequence[RequestOutput]) -> dict[str, Any]:
        """The object with all answers, without the numbers of tokens."""
        ...

    def chunks(self, index: int, piece: Piece) -> Iterator[dict[str, Any]]:
        """The objects that tell a piece of the answer with number `index`; none where it adds nothing."""
        ...

    def last_chunk(self) -> dict[str, Any]:
        """The object without choices, which tells the numbers of tokens."""
        ...


def usage(prompt_tokens: int, generated_tokens: int) -> dict[str, int]:
    """The numbers of tokens."""
    return {
        "prompt_tokens": prompt_tokens,
        "completion_tokens": generated_tokens,
        "total_tokens": prompt_tokens + generated_tokens,
    }


class ChatReply:
    """Writes chat completions; see `Reply`."""

    def __init__(self, origin: Origin, tokenizer: Tokenizer):
        """Takes what the objects have in common, and the model's tokenizer."""
        self._origin = origin
        self._tokenizer = tokenizer
        self._begun: set[int] = set()

    def whole(self, outputs: Sequence[RequestOutput]) -> dict[str, Any]:
        """See `Reply.whole`."""
        answers = _numbered(outputs)
        return self._origin.envelope("chatcmpl", "chat.completion", [self._choice(*pair) for pair in answers])

    def chunks(self, index: int, piece: Piece) -> Iterator[dict[str, Any]]:
        """See `Reply.chunks`; the first one of each answer tells the role alone."""
        if index not in self._begun:
            self._begun.add(index)
            yield self._chunk(index, {"role": "assistant", "content": ""})
        if piece.text or piece.logprobs:
            logprobs = chat_logprobs(piece.logprobs, self._tokenizer) if piece.logprobs else None
            yield self._chunk(index, {"content": piece.text}, logprobs)
        if piece.finish_reason:
            yield self._chunk(index, {}, finish_reason=piece.finish_reason)

    def last_chunk(self) -> dict[str, Any]:
        """See `Reply.last_chunk`."""
        return self._origin.envelope("chatcmpl", "chat.completion.chunk", [])

    def _choice(self, index: int, _: RequestOutput, answer: CompletionOutput) -> dict[str, Any]:
        return {
            "index": index,
            "message": {"role": "assistant", "content": answer.text},
            "logprobs": None if answer.logprobs is None else chat_logprobs(answer.logprobs, self._tokenizer),
            "finish_reason": answer.finish_reason,
        }

    def _chunk(
        self, index: int, delta: dict[str, str], logprobs: Any = None, finish_reason: str | None = None
    ) -> dict[str, Any]:
        choice = {"index": index, "delta": delta, "logprobs": logprobs, "finish_reason": finish_reason}
        return self._origin.envelope("chatcmpl", "chat.completion.chunk", [choice])


class CompletionReply:
    """Writes completions; see `Reply`."""

    def __init__(self, origin: Origin, tokenizer: Tokenizer, echo: bool = False):
        """Takes what the objects have in common, the model's tokenizer, and whether prompts stand before answers."""
        self._origin = origin
        self._tokenizer = tokenizer
        self._echo = echo
        self._told: dict[int, bytes] = defaultdict(bytes)

    def whole(self, outputs: Sequence[RequestOutput]) -> dict[str, Any]:
        """See `Reply.whole`."""
        return self._envelope([self._choice(*pair) for pair in _numbered(outputs)])

    def chunks(self, index: int, piece: Piece) -> Iterator[dict[str, Any]]:
        """See `Reply.chunks`."""
        if not (piece.text or piece.logprobs or piece.finish_reason):
            return
        logprobs = None
        if piece.logprobs:
            before = len(self._told[index].decode(errors="ignore"))
            logprobs = completion_logprobs(piece.logprobs, piece.token_ids, self._tokenizer, before)
            self._told[index] += b"".join(map(self._tokenizer.bytes_of, piece.token_ids))
        yield self._envelope(
            [{"index": index, "text": piece.text, "logprobs": logprobs, "finish_reason": piece.finish_reason}]
        )

    def last_chunk(self) -> dict[str, Any]:
        """See `Reply.last_chunk`."""
        return self._envelope([])

    def _envelope(self, choices: Sequence[dict[str, Any]]) -> dict[str, Any]:
        return self._origin.envelope("cmpl", "text_completion", choices)

    def _choice(self, index: int, output: RequestOutput, answer: CompletionOutput) -> dict[str, Any]:
        text, token_ids = answer.text, answer.token_ids
        records: list[TokenLogprobs | None] = list(answer.logprobs or ())
        if self._echo:
            text = self._tokenizer.decode(output.prompt_token_ids) + text
            token_ids = [*output.prompt_token_ids, *token_ids]
            records = [*(output.prompt_logprobs or ()), *records]
        shown = None if answer.logprobs is None else completion_logprobs(records, token_ids, self._tokenizer)
        return {"index": index, "text": text, "logprobs": shown, "finish_reason": answer.finish_reason}


def _numbered(outputs: Iterable[RequestOutput]) -> Iterator[tuple[int, RequestOutput, CompletionOutput]]:
    """All answers, numbered through all prompts."""
    pairs = ((output, answer) for output in outputs for answer in output.outputs)
    return ((index, output, answer) for index, (output, answer) in enumerate(pairs))
