"""What every tokenizer does, and what follows from that alone."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from mf_data.tokenizers.pieces import Pieces

Span = tuple[int, int]
"""The characters of a text behind a token: the first one, and one more than the last."""


class Tokenizer(Protocol):
    """Text to token ids and back."""

    @property
    def vocab_size(self) -> int:
        """One more than the largest id."""

    @property
    def bos_id(self) -> int | None:
        """Id that begins a text; None where the tokenizer has none."""

    @property
    def eos_id(self) -> int | None:
        """Id that ends a text; None where the tokenizer has none."""

    @property
    def pad_id(self) -> int | None:
        """Id that fills up rows; None where the tokenizer has none."""

    @property
    def special_ids(self) -> frozenset[int]:
        """Ids that steer the model and stand for no text."""

    @property
    def settings(self) -> Mapping[str, Any]:
        """Content of `tokenizer_config.json`: the special tokens, the chat template."""

    @property
    def pieces(self) -> Pieces:
        """How ids become text."""

    def encode(self, text: str, add_special_tokens: bool = True, parse_special_tokens: bool | None = None) -> list[int]:
        """Ids of a text.

        Args:
            text: any text that has a UTF-8 form (no half of a surrogate pair).
            add_special_tokens: put the special tokens around it that the tokenizer's own rule asks for.
            parse_special_tokens: read a special token that is written out in the text (`</s>`) as that token, as chat
                templates need; False takes it as ordinary characters, which is right for text of others. None is the
                habit of the tokenizer's files: a `tokenizer.json` reads them, a SentencePiece model does not.
        Returns:
            The ids, each from 0 to `vocab_size - 1`.
        """
        ...

    def encode_batch(
        self, texts: Sequence[str], add_special_tokens: bool = True, parse_special_tokens: bool | None = None
    ) -> list[list[int]]:
        """Ids of many texts, on all cores; arguments as in `encode`."""
        ...

    def encode_with_spans(self, text: str) -> tuple[list[int], list[Span]]:
        """Ids of a text that a chat template wrote, and where in it each of them stands.

        Args:
            text: any text; special tokens that are written out in it are read, none are put around it.
        Returns:
            The ids, and for each the characters that it stands for or has a part of.
        """
        ...

    def decode(self, ids: Sequence[int], skip_special_tokens: bool = True) -> str:
        """Text of ids.

        Args:
            ids: token ids; those that the tokenizer does not know (a padded vocabulary has some) stand for nothing.
            skip_special_tokens: leave out special tokens instead of writing them out.
        Returns:
            The text, with U+FFFD where the bytes are no UTF-8.
        """
        ...

    def bytes_of(self, token_id: int) -> bytes:
        """The bytes that an id stands for, often only a part of a character; empty for an unknown id."""
        ...

    def save(self, directory: Path) -> None:
        """Write the files from which `load_tokenizer` makes the same tokenizer."""
        ...


def token_bytes(tokenizer: Tokenizer) -> NDArray[np.int64]:
    """How many bytes of text each id stands for: what turns a loss per token into a loss per byte.

    `token_bytes(tokenizer)[targets].sum()` is the number of UTF-8 bytes behind the targets.

    Returns:
        int64 [vocab_size]; 0 for special tokens, which stand for no text.
    """
    special = tokenizer.special_ids
    counts = [0 if i in special else len(tokenizer.bytes_of(i)) for i in range(tokenizer.vocab_size)]
    return np.array(counts, dtype=np.int64)
