"""Bodies of requests: the one place that says which keys they may have.

Keys that are not named here are ignored, and a null stands for a key that is not given.
"""

from collections.abc import Iterator, Mapping
from dataclasses import MISSING, dataclass, field, fields
from typing import Annotated, Any, ClassVar, TypeVar, get_type_hints

from mf_config.problems import UserError, name_values
from mf_infer.sampling_params import SamplingParams
from mf_infer.server import rules
from mf_infer.server.errors import ApiError
from mf_infer.server.rules import Mistake, mistake

_NO_LIMIT = 2**31

_MOST_ENTRIES = {"stop": 16, "stop_token_ids": 300, "bad_words": 300, "logit_bias": 300}
"""Each entry is looked at for each token of the answer."""

UNSERVED: Mapping[str, tuple[Any, ...]] = {
    "audio": (),
    "function_call": ("none",),
    "functions": ([],),
    "modalities": (["text"],),
    "parallel_tool_calls": (True,),
    "response_format": ({"type": "text"},),
    "suffix": ("",),
}
"""Keys of OpenAI's interface that would change the answer and are not served, with the values that ask for nothing."""


@dataclass(frozen=True, kw_only=True)
class Body:
    """What all bodies have in common."""

    def mistakes(self) -> Iterator[Mistake]:
        """What keys that are right alone have wrong together."""
        yield from ()


@dataclass(frozen=True, kw_only=True)
class GenerationBody(Body):
    """What both kinds of completions may ask for.

    Attributes:
        model: the model's name; the served one where None.
        stream: send the answer piece by piece.
        stream_options: `include_usage` adds a piece with the numbers of tokens.
        settings: those that the client gives, by their names in `SamplingParams`.
    """

    SETTINGS: ClassVar[frozenset[str]] = frozenset(SamplingParams.__dataclass_fields__) - {"prompt_logprobs"}

    model: Annotated[str | None, rules.TEXT] = None
    stream: Annotated[bool, rules.FLAG] = False
    stream_options: Annotated[Mapping[str, Any] | None, rules.stream_options] = None
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def include_usage(self) -> bool:
        """Whether the last piece of a stream tells the numbers of tokens."""
        return bool((self.stream_options or {}).get("include_usage"))

    def mistakes(self) -> Iterator[Mistake]:
        """See `Body.mistakes`."""
        if self.stream_options is not None and not self.stream:
            yield Mistake("stream_options", "stream_options: can't be used. Allowed: only with stream: true.")


@dataclass(frozen=True, kw_only=True)
class ChatBody(GenerationBody):
    """Body of `/v1/chat/completions`.

    Attributes:
        messages: what was said, from the beginning.
        tools: descriptions of tools, which the chat template writes into the prompt.
        tool_choice: `none` leaves the tools out.
        logprobs: tell the log-probability of each token.
        top_logprobs: and of so many likeliest ones.
        max_completion_tokens: the newer name of `max_tokens`, over which it wins.
    """

    SETTINGS: ClassVar[frozenset[str]] = GenerationBody.SETTINGS - {"logprobs"}

    messages: Annotated[list[dict[str, Any]], rules.messages]
    tools: Annotated[list[dict[str, Any]] | None, rules.tools] = None
    tool_choice: Annotated[str, rules.TOOL_CHOICE] = "auto"
    logprobs: Annotated[bool, rules.FLAG] = False
    top_logprobs: Annotated[int | None, rules.TOP_LOGPROBS] = None
    max_completion_tokens: Annotated[int | None, rules.COUNT] = None

    @property
    def offered_tools(self) -> list[dict[str, Any]] | None:
        """The tools that the model may call, None where there are none."""
        return (self.tools or None) if self.tool_choice == "auto" else None

    def mistakes(self) -> Iterator[Mistake]:
        """See `Body.mistakes`."""
        yield from super().mistakes()
        if self.top_logprobs is not None and not self.logprobs:
            yield Mistake("top_logprobs", "top_logprobs: can't be used. Allowed: only with logprobs: true.")


@dataclass(frozen=True, kw_only=True)
class CompletionBody(GenerationBody):
    """Body of `/v1/completions`.

    Attributes:
        prompt: text or token ids, or a list of either.
        echo: give the prompt back in front of the answer, with its log-probabilities where those are asked for.
    """

    prompt: Annotated[Any, rules.PROMPT]
    echo: Annotated[bool, rules.FLAG] = False

    def mistakes(self) -> Iterator[Mistake]:
        """See `Body.mistakes`."""
        yield from super().mistakes()
        if self.echo and self.stream:
            yield Mistake("echo", "echo: can't be used. Allowed: only without stream.")


@dataclass(frozen=True, kw_only=True)
class TokenizeBody(Body):
    """Body of `/tokenize`: a `prompt`, or `messages` that the chat template writes.

    Attributes:
        prompt: text.
        messages: a conversation, whose next message would be the assistant's.
        tools: as in `ChatBody`.
        add_special_tokens: put the tokenizer's own special tokens around the text.
    """

    prompt: Annotated[str | None, rules.TEXT] = None
    messages: Annotated[list[dict[str, Any]] | None, rules.messages] = None
    tools: Annotated[list[dict[str, Any]] | None, rules.tools] = None
    add_special_tokens: Annotated[bool, rules.FLAG] = True

    def mistakes(self) -> Iterator[Mistake]:
        """See `Body.mistakes`."""
        if (self.prompt is None) == (self.messages is None):
            yield Mistake("prompt", "prompt: is missing, or given twice. Allowed: one of prompt, messages.")


@dataclass(frozen=True, kw_only=True)
class DetokenizeBody(Body):
    """Body of `/detokenize`.

    Attributes:
        tokens: token ids.
    """

    tokens: Annotated[list[int], rules.TOKENS]


SomeBody = TypeVar("SomeBody", bound=Body)


def read_body(kind: type[SomeBody], content: object) -> SomeBody:
    """Make a body of what JSON holds.

    Args:
        kind: which body.
        content: any JSON value.
    Returns:
        The body.
    Raises:
        ApiError: a key is missing or can't be used; the message names every one of them.
    """
    if not isinstance(content, dict):
        raise ApiError(400, f"body: {type(content).__name__} can't be used. Allowed: a JSON object.")
    given = {name: value for name, value in content.items() if value is not None}
    mistakes: list[Mistake] = []
    values = {}
    hints = get_type_hints(kind, include_extras=True)
    for declared in fields(kind):
        if declared.name == "settings":
            continue
        if declared.name in given:
            values[declared.name] = given[declared.name]
            (rule,) = hints[declared.name].__metadata__
            mistakes += rule(declared.name, given[declared.name])
        elif declared.default is MISSING:
            mistakes.append(Mistake(declared.name, f"{declared.name}: is missing."))
    if issubclass(kind, GenerationBody):
        values["settings"] = _settings(kind, given)
        mistakes += _setting_mistakes(values["settings"])
        mistakes += _unserved(given)
    if mistakes:
        raise _refusal(mistakes)
    body = kind(**values)
    together = list(body.mistakes())
    if together:
        raise _refusal(together)
    return body


def _refusal(mistakes: list[Mistake]) -> ApiError:
    return ApiError(400, "\n".join(mistake.text for mistake in mistakes), param=mistakes[0].key)


def _settings(kind: type[GenerationBody], given: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of a body, with token ids as numbers, which the names of a JSON object never are."""
    settings = {name: value for name, value in given.items() if name in kind.SETTINGS}
    bias = settings.get("logit_bias")
    if isinstance(bias, dict):
        settings["logit_bias"] = {_as_token(name): added for name, added in bias.items()}
    return settings


def _as_token(name: str) -> int | str:
    return int(name) if name.isascii() and name.isdecimal() and len(name) < 10 else name


def _setting_mistakes(settings: Mapping[str, Any]) -> Iterator[Mistake]:
    """Check settings one by one, so that each mistake is found; those that exclude each other are found later."""
    for name, value in settings.items():
        try:
            # Without a limit of its own, fewest tokens would be held against that of the default.
            SamplingParams(**{"max_tokens": _NO_LIMIT, name: value})
        except UserError as error:
            yield Mistake(name, str(error))
            continue
        most = _MOST_ENTRIES.get(name)
        if most and not isinstance(value, str) and len(value) > most:
            yield Mistake(name, f"{name}: it has {len(value)} entries. Allowed: up to {most}.")


def _unserved(given: Mapping[str, Any]) -> Iterator[Mistake]:
    for name, harmless in UNSERVED.items():
        if name in given and given[name] not in harmless:
            allowed = f"{name_values(map(repr, harmless))}; nothing else is served" if harmless else "nothing"
            yield mistake(name, given[name], allowed)
