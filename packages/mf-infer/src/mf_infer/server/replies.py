"""The objects in which OpenAI's interface tells answers, whole and in pieces."""

import secrets
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from mf_data.tokenizers.base import Tokenizer
from mf_infer.outputs import CompletionOutput, Piece, RequestOutput, TokenLogprobs
from mf_infer.server.logprob_objects import chat_logprobs, completion_logprobs
from mf_infer.tools.call_reader import CallReader, Said
from mf_infer.tools.tool_calls import ToolCall


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

    def __init__(self, origin: Origin, tokenizer: Tokenizer, new_reader: Callable[[], CallReader] | None = None):
        """Takes what the objects have in common, the tokenizer, and what finds calls of tools, None to leave them."""
        self._origin = origin
        self._tokenizer = tokenizer
        self._new_reader = new_reader
        self._answers: dict[int, _ChatAnswer] = {}

    def whole(self, outputs: Sequence[RequestOutput]) -> dict[str, Any]:
        """See `Reply.whole`."""
        answers = _numbered(outputs)
        return self._origin.envelope("chatcmpl", "chat.completion", [self._choice(*pair) for pair in answers])

    def chunks(self, index: int, piece: Piece) -> Iterator[dict[str, Any]]:
        """See `Reply.chunks`; the first one of each answer tells the role alone."""
        if index not in self._answers:
            self._answers[index] = self._answer()
            yield self._chunk(index, {"role": "assistant", "content": ""})
        answer = self._answers[index]
        said = answer.push(piece.text, piece.finish_reason is not None)
        if said.text or piece.logprobs:
            logprobs = chat_logprobs(piece.logprobs, self._tokenizer) if piece.logprobs else None
            yield self._chunk(index, {"content": said.text}, logprobs)
        if said.calls:
            numbers = range(answer.calls - len(said.calls), answer.calls)
            calls = [{"index": number, **_shown(call)} for number, call in zip(numbers, said.calls, strict=True)]
            yield self._chunk(index, {"tool_calls": calls})
        if piece.finish_reason:
            yield self._chunk(index, {}, finish_reason=answer.finish_reason(piece.finish_reason))

    def last_chunk(self) -> dict[str, Any]:
        """See `Reply.last_chunk`."""
        return self._origin.envelope("chatcmpl", "chat.completion.chunk", [])

    def _answer(self) -> "_ChatAnswer":
        return _ChatAnswer(self._new_reader() if self._new_reader else None)

    def _choice(self, index: int, _: RequestOutput, output: CompletionOutput) -> dict[str, Any]:
        answer = self._answer()
        said = answer.push(output.text, is_last=True)
        message: dict[str, Any] = {"role": "assistant", "content": said.text}
        if said.calls:
            message |= {"content": said.text or None, "tool_calls": [_shown(call) for call in said.calls]}
        return {
            "index": index,
            "message": message,
            "logprobs": None if output.logprobs is None else chat_logprobs(output.logprobs, self._tokenizer),
            "finish_reason": answer.finish_reason(output.finish_reason),
        }

    def _chunk(
        self, index: int, delta: Mapping[str, Any], logprobs: Any = None, finish_reason: str | None = None
    ) -> dict[str, Any]:
        choice = {"index": index, "delta": delta, "logprobs": logprobs, "finish_reason": finish_reason}
        return self._origin.envelope("chatcmpl", "chat.completion.chunk", [choice])


class _ChatAnswer:
    """One answer of a chat as it is told.

    Attributes:
        calls: how many calls of tools it has so far.
    """

    def __init__(self, reader: CallReader | None):
        """Takes what finds calls, None where all is text."""
        self.calls = 0
        self._reader = reader

    def push(self, text: str, is_last: bool) -> Said:
        """Take the next piece; see `CallReader.push`."""
        said = self._reader.push(text, is_last) if self._reader else Said(text, ())
        self.calls += len(said.calls)
        return said

    def finish_reason(self, reason: str) -> str:
        """Why the answer ended, as clients of OpenAI's interface expect it."""
        return "tool_calls" if self.calls and reason == "stop" else reason


def _shown(call: ToolCall) -> dict[str, Any]:
    # Templates of Mistral's models take ids of nine letters and digits only; other ones take any.
    name = secrets.token_hex(5)[:9]
    return {"id": name, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}


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
