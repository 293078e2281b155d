"""Finds the added tokens that are written out in a text, for libraries that don't do so themselves."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from mf_data.tokenizers.settings import AddedToken


@dataclass(frozen=True, slots=True)
class Stretch:
    """A part of a text: an added token, or what lies between two of them.

    Attributes:
        text: its characters.
        start: index of its first character in the text.
        token_id: id of the token; None for what lies between.
    """

    text: str
    start: int
    token_id: int | None = None


class Splitter:
    """Cuts texts at added tokens: at each place the longest that begins there."""

    def __init__(self, tokens: Mapping[int, AddedToken]):
        """Takes the tokens to look for, id to token."""
        self._ids = {token.content: token_id for token_id, token in tokens.items() if token.content}
        longest_first = sorted(tokens.values(), key=lambda token: -len(token.content))
        self._pattern = re.compile("|".join(_pattern(token) for token in longest_first if token.content) or "(?!)")

    def split(self, text: str) -> list[Stretch]:
        """The stretches of a text, none of them empty; joined they are the text."""
        found: list[Stretch] = []
        end = 0
        for match in self._pattern.finditer(text):
            if match.start() > end:
                found.append(Stretch(text[end : match.start()], end))
            content = next(group for group in match.groups() if group is not None)
            found.append(Stretch(match[0], match.start(), self._ids[content]))
            end = match.end()
        if end < len(text):
            found.append(Stretch(text[end:], end))
        return found


def _pattern(token: AddedToken) -> str:
    core = f"({re.escape(token.content)})"
    if token.single_word:
        core = rf"(?<!\w){core}(?!\w)"
    return (r"\s*" if token.lstrip else "") + core + (r"\s*" if token.rstrip else "")
