"""Chat templates: from messages to the text, the ids and the answers that a model learns from."""

import re
import secrets
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from jinja2.exceptions import TemplateError, TemplateSyntaxError

from mf_config.problems import UserError, name_values
from mf_data.chat.environment import ANSWER_BEGINS, ANSWER_ENDS, TemplateEnvironment
from mf_data.tokenizers.base import Span, Tokenizer
from mf_data.tokenizers.settings import CONFIG_FILE, read_settings, read_text, role_tokens

TEMPLATE_FILE = "chat_template.jinja"
FURTHER_TEMPLATES = "additional_chat_templates"

Message = Mapping[str, Any]
"""What one side says: `role`, `content`, and what else the template reads, such as `tool_calls`."""

_DEFAULT, _WITH_TOOLS = "default", "tool_use"
"""Names of templates, where a model has several."""

_ASSISTANT = "assistant"
_MARKS_ANSWERS = re.compile(r"\{%-?\s*generation\s*-?%\}")

_FAULTS = (TemplateError, TypeError, ValueError, LookupError, ArithmeticError, AttributeError, RecursionError)
"""What a template raises that meets data it was not made for."""


class ChatTemplate:
    """Writes conversations as the model was taught to read them.

    The text holds all the special tokens, the one that begins a text included: encode it with
    `tokenizer.encode(text, add_special_tokens=False, parse_special_tokens=True)`, as `encode` does.
    """

    def __init__(self, sources: str | Mapping[str, str], special_tokens: Mapping[str, str] | None = None):
        """Compiles the template.

        Args:
            sources: the template, or several by name, of which `tool_use` writes conversations with tools and `default`
                all others.
            special_tokens: tokens by role (`bos_token`, …), which the template sees as variables.
        Raises:
            UserError: a template is broken, or none is named `default`.
        """
        self._sources = {_DEFAULT: sources} if isinstance(sources, str) else dict(sources)
        self._special_tokens = dict(special_tokens or {})
        environment = TemplateEnvironment()
        try:
            self._templates = {name: environment.bounded_template(text) for name, text in self._sources.items()}
        except TemplateSyntaxError as error:
            raise UserError(f"the chat template is broken, line {error.lineno}: {error.message}.") from error
        if _DEFAULT not in self._templates and len(self._templates) != 1:
            names = name_values(self._templates) or "none"
            raise UserError(f"the chat templates are named {names}. Allowed: one template, or one named {_DEFAULT}.")

    @classmethod
    def from_pretrained(cls, path: str | Path) -> "ChatTemplate":
        """Read the template of a model.

        Args:
            path: a directory with `chat_template.jinja` or with a `chat_template` in `tokenizer_config.json`.
        Returns:
            The template.
        Raises:
            UserError: there is none, or it is broken.
        """
        directory = Path(path)
        settings = read_settings(directory)
        file = directory / TEMPLATE_FILE
        if file.is_file():
            further = sorted((directory / FURTHER_TEMPLATES).glob("*.jinja"))
            templates = {_DEFAULT: read_text(file)} | {extra.stem: read_text(extra) for extra in further}
            settings = {**settings, "chat_template": templates}
        try:
            return cls.from_settings(settings)
        except UserError as error:
            raise UserError(f"{directory}: {error}") from error

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any]) -> "ChatTemplate":
        """Read the template out of the settings of a tokenizer.

        Args:
            settings: content of a `tokenizer_config.json`, as `Tokenizer.settings`.
        Returns:
            The template.
        Raises:
            UserError: there is none, or it is broken.
        """
        given = settings.get("chat_template")
        if not given:
            raise UserError(f"there is no chat template. Allowed: {TEMPLATE_FILE}, or chat_template in {CONFIG_FILE}.")
        if isinstance(given, list):
            given = {str(entry["name"]): str(entry["template"]) for entry in given}
        return cls(given, role_tokens(settings))

    def source(self, tools: Sequence[Mapping[str, Any]] | None = None) -> str:
        """The template that writes a conversation, as it stands in the model's files; `tools` as in `render`."""
        return self._sources[self._chosen(tools)]

    def render(
        self,
        messages: Sequence[Message],
        add_generation_prompt: bool = False,
        tools: Sequence[Mapping[str, Any]] | None = None,
        variables: Mapping[str, Any] | None = None,
    ) -> str:
        """The text of a conversation.

        Args:
            messages: what was said, from the beginning.
            add_generation_prompt: end with what comes before an answer.
            tools: descriptions of tools, each a JSON schema as in the OpenAI interface.
            variables: what else the template reads, such as `{"enable_thinking": False}`.
        Returns:
            The text, its special tokens written out.
        Raises:
            UserError: the template refuses the messages, or can't write them.
        """
        given = {**self._special_tokens, "documents": None, ANSWER_BEGINS: "", ANSWER_ENDS: "", **(variables or {})}
        given |= {"messages": messages, "tools": tools, "add_generation_prompt": add_generation_prompt}
        try:
            return self._templates[self._chosen(tools)]({name: _plain(value, name) for name, value in given.items()})
        except _FAULTS as error:
            if isinstance(error, UserError):
                raise
            raise UserError(f"the chat template can't write these messages: {str(error).rstrip('.')}.") from error

    def encode(
        self,
        messages: Sequence[Message],
        tokenizer: Tokenizer,
        add_generation_prompt: bool = False,
        tools: Sequence[Mapping[str, Any]] | None = None,
    ) -> list[int]:
        """Ids of a conversation: those of its text, to which no special token is added.

        Args:
            messages: as in `render`.
            tokenizer: makes the ids.
            add_generation_prompt: as in `render`.
            tools: as in `render`.
        Returns:
            The ids.
        Raises:
            UserError: the template refuses the messages, or can't write them.
        """
        text = self.render(messages, add_generation_prompt, tools)
        return tokenizer.encode(text, add_special_tokens=False, parse_special_tokens=True)

    def render_with_answers(
        self, messages: Sequence[Message], tools: Sequence[Mapping[str, Any]] | None = None
    ) -> tuple[str, dict[int, Span]]:
        """The text of a conversation, and where in it the assistant's messages stand.

        Where the template marks answers (`{% generation %}`), that counts; else an answer is what rendering a message
        more adds to the text behind the generation prompt, the end of the turn included.

        Args:
            messages: as in `render`.
            tools: as in `render`.
        Returns:
            The text, and for the index of each of the assistant's messages the characters of its answer.
        Raises:
            UserError: the template can't write the messages, or it writes a message otherwise when others follow, so
                that its place can't be told.
        """
        numbers = [number for number, message in enumerate(messages) if message.get("role") == _ASSISTANT]
        if _MARKS_ANSWERS.search(self.source(tools)):
            return self._marked(messages, tools, numbers)
        text = self.render(messages, tools=tools)
        spans: dict[int, Span] = {}
        for number in numbers:
            before = self.render(messages[:number], add_generation_prompt=True, tools=tools)
            after = self.render(messages[: number + 1], tools=tools)
            if not (text.startswith(after) and after.startswith(before)):
                raise UserError(
                    f"messages[{number}]: the chat template writes it otherwise when it is the last than when more "
                    "follow, so that its place in the text can't be told. Allowed: a template that marks answers with "
                    "{% generation %}, or conversations that end with their only answer."
                )
            spans[number] = (len(before), len(after))
        return text, spans

    def _marked(
        self, messages: Sequence[Message], tools: Sequence[Mapping[str, Any]] | None, numbers: Sequence[int]
    ) -> tuple[str, dict[int, Span]]:
        # Drawn anew each time, so that no message can hold it.
        mark = secrets.token_hex(16)
        begins, ends = f"<{mark}>", f"</{mark}>"
        marked = self.render(messages, tools=tools, variables={ANSWER_BEGINS: begins, ANSWER_ENDS: ends})
        pieces = re.split(f"{begins}|{ends}", marked)
        if len(pieces) != 2 * len(numbers) + 1:
            found = (len(pieces) - 1) // 2
            raise UserError(f"the chat template marks {found} answers in a conversation that has {len(numbers)}.")
        stops = [0]
        for piece in pieces:
            stops.append(stops[-1] + len(piece))
        return "".join(pieces), {n: (stops[2 * i + 1], stops[2 * i + 2]) for i, n in enumerate(numbers)}

    def _chosen(self, tools: Sequence[Mapping[str, Any]] | None) -> str:
        """The name of the template that writes a conversation."""
        if tools is not None and _WITH_TOOLS in self._templates:
            return _WITH_TOOLS
        return _DEFAULT if _DEFAULT in self._templates else next(iter(self._templates))


def _plain(value: Any, where: str) -> Any:
    """A copy of a value that holds only what JSON holds: a template gets no object with methods of its own.

    Raises:
        UserError: it holds something else.
    """
    if value is None or isinstance(value, str | int | float):
        return value
    if isinstance(value, Mapping):
        return {str(name): _plain(item, f"{where}.{name}") for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item, f"{where}[{number}]") for number, item in enumerate(value)]
    raise UserError(f"{where}: a {type(value).__name__} can't be written. Allowed: text, numbers, lists, mappings.")
