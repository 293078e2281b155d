"""Special tokens of a text model."""

from collections.abc import Iterator
from dataclasses import dataclass

from mf_config.schema import key


@dataclass(frozen=True, kw_only=True)
class TokenKeys:
    """The tokens that begin, end and fill texts; null stands for none."""

    __slots__ = ()

    bos_token_id: int | None = key("Token before a text; null for none.", 1, minimum=0)
    eos_token_id: int | tuple[int, ...] | None = key(
        "Token, or list of tokens, that ends a text; null for none: an answer then ends by its length.", 2, minimum=0
    )
    pad_token_id: int | None = key("Token that fills short rows; null for none.", 0, minimum=0)
    ignore_token_id: int = key("Label that takes no part in the loss.", -100)

    @property
    def eos_token_ids(self) -> tuple[int, ...]:
        """The tokens that end a text, possibly none."""
        if self.eos_token_id is None:
            return ()
        return self.eos_token_id if isinstance(self.eos_token_id, tuple) else (self.eos_token_id,)

    def token_problems(self, vocab_size: int) -> Iterator[tuple[str, str, str]]:
        """The special tokens that a vocabulary of this size does not hold."""
        special = [("bos_token_id", self.bos_token_id), ("pad_token_id", self.pad_token_id)]
        special += [("eos_token_id", token) for token in self.eos_token_ids]
        for name, token in special:
            if token is not None and token >= vocab_size:
                yield name, f"{token} is not in a vocabulary of {vocab_size}", f"up to {vocab_size - 1}"
