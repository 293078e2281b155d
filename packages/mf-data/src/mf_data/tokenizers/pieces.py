"""How ids become text: the bytes behind each id, joined and read as UTF-8."""

import codecs
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from mf_config.problems import UserError

InvalidBytes = Literal["replace", "ignore", "strict", "replace_each"]
"""What becomes of bytes that are no UTF-8: one U+FFFD for as many as could begin a character, nothing, an error, or one
U+FFFD for each of them (SentencePiece's way)."""

_ESCAPED_BYTE = re.compile("[\udc80-\udcff]")


@dataclass(frozen=True, slots=True)
class Pieces:
    """The rules of one tokenizer.

    Attributes:
        bytes_of: the bytes that an id stands for; empty for an unknown id.
        special_ids: ids that stand for no text.
        invalid_bytes: what becomes of bytes that are no UTF-8.
        drops_first_space: the first character is left out where it is a space: the tokenizer put it there itself.
    """

    bytes_of: Callable[[int], bytes]
    special_ids: frozenset[int]
    invalid_bytes: InvalidBytes = "replace"
    drops_first_space: bool = False

    def decode(self, ids: Sequence[int], skip_special_tokens: bool) -> str:
        """Text of ids; see `Tokenizer.decode`."""
        reader = PieceReader(self, skip_special_tokens)
        return reader.read(ids, final=True)


class PieceReader:
    """Reads ids as they come and gives out whole characters, each as early as it is certain."""

    def __init__(self, pieces: Pieces, skip_special_tokens: bool):
        """Begins a text.

        Args:
            pieces: the tokenizer's rules.
            skip_special_tokens: leave out special tokens instead of writing them out.
        """
        self._bytes_of = pieces.bytes_of
        self._silent = pieces.special_ids if skip_special_tokens else frozenset()
        # surrogateescape keeps invalid bytes apart from one another: each becomes one character.
        errors = "surrogateescape" if pieces.invalid_bytes == "replace_each" else pieces.invalid_bytes
        self._utf8 = codecs.getincrementaldecoder("utf-8")(errors)
        self._drop_space = pieces.drops_first_space

    def read(self, ids: Sequence[int], final: bool = False) -> str:
        """Take the next ids; returns the text that is certain now.

        Args:
            ids: any number of them.
            final: no ids follow, so that an incomplete character can't be completed any more.
        Returns:
            The text, often empty.
        Raises:
            UserError: the bytes are no UTF-8 and the tokenizer has `errors: strict`.
        """
        content = b"".join([self._bytes_of(token_id) for token_id in ids if token_id not in self._silent])
        try:
            text = self._utf8.decode(content, final)
        except UnicodeDecodeError as error:
            raise UserError(
                f"the ids stand for bytes that are no UTF-8 ({error}). Allowed: errors: replace."
            ) from error
        text = _ESCAPED_BYTE.sub("\ufffd", text)
        if self._drop_space and text:
            self._drop_space = False
            text = text.removeprefix(" ")
        return text
