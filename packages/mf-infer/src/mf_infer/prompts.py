"""Prompts as text or as tokens."""

import operator
from collections.abc import Sequence
from typing import TypedDict

from mf_config.problems import UserError
from mf_data.tokenizers.base import Tokenizer
from mf_infer.sampling_params import BadWord


class TokenPrompt(TypedDict):
    """A prompt that is tokens already."""

    prompt_token_ids: Sequence[int]


Prompt = str | TokenPrompt


def as_list(prompts: Prompt | Sequence[Prompt]) -> list[Prompt]:
    """One prompt or several, as a list."""
    return [prompts] if isinstance(prompts, (str, dict)) else list(prompts)


def encode_prompt(prompt: Prompt, tokenizer: Tokenizer | None, vocab_size: int) -> list[int]:
    """Tokens of a prompt.

    Args:
        prompt: text, to which the tokenizer adds its own special tokens, or tokens, which are taken as they are.
        tokenizer: the model's, None where it has none.
        vocab_size: of the model.
    Returns:
        At least one token id, each below vocab_size.
    Raises:
        UserError: it is neither, it is empty, it has ids outside the vocabulary, or there is no tokenizer for its text.
    """
    if isinstance(prompt, str):
        if tokenizer is None:
            raise UserError("the model has no tokenizer, so it can't read text. Allowed: prompt_token_ids.")
        ids = tokenizer.encode(prompt)
    elif isinstance(prompt, dict) and set(prompt) == {"prompt_token_ids"}:
        ids = _as_integers(prompt["prompt_token_ids"])
    else:
        raise UserError(f"prompt: {prompt!r} can't be read. Allowed: text, or {{'prompt_token_ids': [...]}}.")
    if not ids:
        raise UserError("prompt: it is empty, and the tokenizer adds no token to it. Allowed: at least one token.")
    strange = [token_id for token_id in ids if not 0 <= token_id < vocab_size]
    if strange:
        raise UserError(f"prompt: token {strange[0]} is not in the model's vocabulary. Allowed: 0 to {vocab_size - 1}.")
    return ids


def _as_integers(ids: Sequence[int]) -> list[int]:
    """Plain integers, from those of Python or of an array."""
    try:
        return [operator.index(token_id) for token_id in ids]
    except TypeError:
        raise UserError(f"prompt_token_ids: {ids!r} can't be read. Allowed: a list of integers.") from None


def bad_word_ids(words: Sequence[BadWord], tokenizer: Tokenizer | None) -> list[list[int]]:
    """What an answer must not hold, as runs of tokens.

    Args:
        words: texts and runs of tokens. A text is meant at the beginning of a line and behind a space.
        tokenizer: the model's.
    Raises:
        UserError: there is a text, and the model has no tokenizer.
    """
    found = []
    for word in words:
        if not isinstance(word, str):
            found.append(_as_integers(word))
            continue
        if tokenizer is None:
            raise UserError("bad_words: the model has no tokenizer, so it can't read text. Allowed: lists of tokens.")
        found += [tokenizer.encode(text, add_special_tokens=False) for text in (word, f" {word.lstrip()}")]
    # A tokenizer may leave nothing of white space.
    return [ids for ids in found if ids]
