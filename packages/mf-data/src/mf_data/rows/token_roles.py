"""The tokens with a role in rows: what ends a text, what fills a row up."""

from mf_config.problems import UserError
from mf_data.tokenizers.base import Tokenizer


def end_token(tokenizer: Tokenizer) -> int:
    """The tokenizer's end token.

    Raises:
        UserError: it has none.
    """
    if tokenizer.eos_id is None:
        raise UserError("the tokenizer has no end token (eos_token). Allowed: one that says where documents end.")
    return tokenizer.eos_id


def filling(tokenizer: Tokenizer) -> int:
    """The id that fills up a row: the pad token, else the end token, else 0; no loss counts it, whichever it is."""
    return next((i for i in (tokenizer.pad_id, tokenizer.eos_id) if i is not None), 0)


def ended(ids: list[int], end_id: int) -> list[int]:
    """The ids of a document with the end token, once."""
    return ids if ids[-1:] == [end_id] else [*ids, end_id]
