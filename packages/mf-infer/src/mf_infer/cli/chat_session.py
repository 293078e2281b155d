"""The conversation of `mf-infer chat`: reads lines, streams answers, obeys commands."""

import contextlib
import importlib
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from mf_config.problems import UserError, name_values
from mf_config.suggest import nearest
from mf_infer.conversation import Conversation
from mf_infer.llm import LLM
from mf_infer.request import Request

with contextlib.suppress(ImportError):
    # Gives `input` the keys for editing, and the lines before by arrow up; some systems lack it.
    importlib.import_module("readline")

_BLOCK = '"""'
_EXIT = "/exit"
_CONTROLS = {code: "\N{REPLACEMENT CHARACTER}" for code in (*range(32), *range(127, 160)) if chr(code) not in "\n\t"}
"""An answer must not steer the terminal."""


@dataclass(frozen=True, slots=True)
class _Order:
    """A command: what its argument is, what it does, and the function that does it."""

    argument: str
    summary: str
    run: Callable[[str], None]


class ChatSession:
    """Talks until the input ends."""

    def __init__(self, llm: LLM, settings: Mapping[str, Any], system: str | None):
        """Takes the model, settings by their names in `SamplingParams`, and what the system says."""
        self._llm = llm
        self._settings = settings
        self._conversation = Conversation(system)
        self._console = Console(highlight=False, markup=False, emoji=False, soft_wrap=True)
        self._notes = Console(stderr=True, highlight=False, markup=False, emoji=False, soft_wrap=True, style="dim")
        self._orders: Mapping[str, _Order] = {
            "/system": _Order("TEXT", "what the system says from now on; nothing without TEXT", self._set_system),
            "/save": _Order("FILE", "write the conversation", self._save),
            "/load": _Order("FILE", "go on with a conversation", self._load),
            "/reset": _Order("", "forget what was said", self._reset),
            "/help": _Order("", "this list", self._help),
        }

    def run(self) -> None:
        """Read and answer, line by line; lines between two of triple quotation marks are one message."""
        self._notes.print(f"{self._llm.path}: /help lists commands, {_EXIT} or Ctrl-D ends")
        while (line := self._line("> ")) is not None and line.strip() != _EXIT:
            try:
                self._take(line.strip())
            except (UserError, OSError) as error:
                self._notes.print(str(error), style="red")

    def _take(self, line: str) -> None:
        if line.startswith(_BLOCK):
            self._talk(self._block(line))
        elif line.startswith("/"):
            self._obey(line)
        elif line:
            self._talk(line)

    def _block(self, line: str) -> str:
        """The message of several lines that a line begins; the end of the input ends it too."""
        lines = [line.removeprefix(_BLOCK)]
        while not lines[-1].endswith(_BLOCK) and (following := self._line("… ")) is not None:
            lines.append(following.rstrip())
        return "\n".join(lines).removesuffix(_BLOCK).strip()

    def _line(self, mark: str) -> str | None:
        """A line of the input; the mark is shown where somebody types."""
        try:
            return self._console.input(Text(mark, "bold cyan")) if sys.stdin.isatty() else input()
        except EOFError:
            return None

    def _obey(self, text: str) -> None:
        name, _, argument = text.partition(" ")
        if name not in self._orders:
            near = nearest(name, self._orders)
            hint = f" Did you mean {near}?" if near else ""
            raise UserError(f"{name}: no such command. Allowed: {name_values([*self._orders, _EXIT])}.{hint}")
        self._orders[name].run(argument.strip())

    def _talk(self, text: str) -> None:
        """Say something, and show the answer as it comes; what was not answered is taken back."""
        self._conversation.ask(text)
        try:
            prompt = self._llm.chat_prompt(self._conversation.messages)
            request = self._llm.request(prompt, self._llm.default_params(prompt, **self._settings))
            answer = self._stream(request)
        except UserError:
            self._conversation.take_back()
            raise
        self._conversation.answer(answer)
        tokens = len(request.output(None).outputs[0].token_ids)
        if request.seconds:
            self._notes.print(f"{tokens} tokens, {tokens / request.seconds:.1f} tokens/s")

    def _stream(self, request: Request) -> str:
        """Show an answer as it comes; Ctrl-C ends it where it is."""
        engine, pieces = self._llm.engine, []
        engine.add_request(request)
        try:
            while not request.has_ended:
                for piece in engine.step():
                    pieces.append(piece.text)
                    self._show(piece.text)
        except KeyboardInterrupt:
            engine.abort(request.id)
            self._notes.print(" interrupted")
        self._console.print()
        return "".join(pieces)

    def _show(self, text: str) -> None:
        # Printed by rich, a text would lose some of its characters.
        self._console.file.write(text.translate(_CONTROLS) if self._console.is_terminal else text)
        self._console.file.flush()

    def _set_system(self, text: str) -> None:
        self._conversation.set_system(text)
        self._notes.print("the system says that from now on" if text else "the system says nothing")

    def _save(self, name: str) -> None:
        file = self._file(name)
        self._conversation.save(file)
        self._notes.print(f"{len(self._conversation.messages)} messages in {file}")

    def _load(self, name: str) -> None:
        self._conversation.load(self._file(name))
        for message in self._conversation.messages:
            self._notes.print(f"{message['role']}: {message['content']}".translate(_CONTROLS))

    def _file(self, name: str) -> Path:
        if not name:
            raise UserError("the name of a file is missing.")
        return Path(name).expanduser()

    def _reset(self, _: str) -> None:
        self._conversation.reset()
        self._notes.print("everything is forgotten but what the system says")

    def _help(self, _: str) -> None:
        for name, order in self._orders.items():
            self._notes.print(f"{name} {order.argument}".ljust(14) + order.summary)
        self._notes.print(f"{_EXIT}".ljust(14) + "end; Ctrl-C ends an answer")
        self._notes.print(f"{_BLOCK}".ljust(14) + "begins and ends a message of several lines")
