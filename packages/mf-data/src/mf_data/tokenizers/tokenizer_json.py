"""Tokenizers of the `tokenizers` library: `tokenizer.json`, with the settings of `tokenizer_config.json` beside it.

All forms of byte-level BPE end up here (see `byte_pairs`), and so do SentencePiece models that were rewritten in this
form, as Llama's and Gemma's.
"""

import json
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import tokenizers
from tokenizers import Tokenizer as Backend
from tokenizers.processors import TemplateProcessing

from mf_config.problems import UserError
from mf_data.files import write_atomically
from mf_data.tokenizers.base import Span
from mf_data.tokenizers.decoding import DecodingRule, decoding_rule
from mf_data.tokenizers.pieces import Pieces
from mf_data.tokenizers.settings import (
    BOS,
    CONFIG_FILE,
    EOS,
    PAD,
    AddedToken,
    further_special_tokens,
    numbered_tokens,
    read_bytes,
    read_json_object,
    read_settings,
    role_tokens,
    write_settings,
)

TOKENIZER_FILE = "tokenizer.json"


class JsonTokenizer:
    """A `Tokenizer` on top of the `tokenizers` library.

    Attributes:
        settings: content of `tokenizer_config.json`.
        pieces: how ids become text.
        vocab_size: one more than the largest id.
        special_ids: ids that steer the model and stand for no text.
        bos_id: id that begins a text, or None.
        eos_id: id that ends a text, or None.
        pad_id: id that fills up rows, or None.
    """

    def __init__(self, backend: Backend, settings: Mapping[str, Any]):
        """Makes the tokenizer from the library's object, which is its own from now on.

        Tokens of the settings that the vocabulary lacks get ids behind it. `add_bos_token` and `add_eos_token`, where
        they are given, replace the rule by which the library puts special tokens around a text.

        Args:
            backend: the library's tokenizer.
            settings: content of `tokenizer_config.json`; kept whole, so that `save` loses nothing of it.
        Raises:
            UserError: its ids can't be turned into text in a known way, or the settings contradict it.
        """
        self.settings = dict(settings)
        self._rule = _rule_of(backend)
        # A file may ask for rows of equal length; an encoding is all of its text and nothing else.
        backend.no_truncation()
        backend.no_padding()
        _add_tokens(backend, settings)
        roles = {role: backend.token_to_id(token) for role, token in role_tokens(settings).items()}
        self.bos_id, self.eos_id, self.pad_id = (roles.get(role) for role in (BOS, EOS, PAD))
        if settings.keys() & {"add_bos_token", "add_eos_token"}:
            put_around(
                backend,
                [BOS] if settings.get("add_bos_token") else [],
                [EOS] if settings.get("add_eos_token") else [],
                settings,
            )
        self._backend = backend
        self._parses = not settings.get("split_special_tokens", False)
        self.vocab_size: int = max(backend.get_vocab().values(), default=-1) + 1
        added = backend.get_added_tokens_decoder()
        self.special_ids = frozenset(token_id for token_id, token in added.items() if token.special)
        self._known_bytes: dict[int, bytes] = {}
        invalid = self._rule.invalid_bytes if self._rule.byte_fallback else settings.get("errors", "replace")
        self.pieces = Pieces(self.bytes_of, self.special_ids, invalid, self._rule.drops_first_space)

    def encode(self, text: str, add_special_tokens: bool = True, parse_special_tokens: bool | None = None) -> list[int]:
        """Ids of a text; see `Tokenizer.encode`."""
        return self.encode_batch([text], add_special_tokens, parse_special_tokens)[0]

    def encode_batch(
        self, texts: Sequence[str], add_special_tokens: bool = True, parse_special_tokens: bool | None = None
    ) -> list[list[int]]:
        """Ids of many texts, on all cores; see `Tokenizer.encode_batch`."""
        parses = self._parses if parse_special_tokens is None else parse_special_tokens
        backend = self._backend if parses else self._literal_backend
        encodings = backend.encode_batch_fast(texts, add_special_tokens=add_special_tokens)
        return [encoding.ids for encoding in encodings]

    def encode_with_spans(self, text: str) -> tuple[list[int], list[Span]]:
        """Ids of a text that a chat template wrote, and where each stands; see `Tokenizer.encode_with_spans`."""
        encoding = self._backend.encode(text, add_special_tokens=False)
        return encoding.ids, encoding.offsets

    def decode(self, ids: Sequence[int], skip_special_tokens: bool = True) -> str:
        """Text of ids; see `Tokenizer.decode`."""
        return self.pieces.decode(ids, skip_special_tokens)

    def bytes_of(self, token_id: int) -> bytes:
        """The bytes that an id stands for; see `Tokenizer.bytes_of`."""
        known = self._known_bytes.get(token_id)
        if known is None:
            token = self._backend.id_to_token(token_id) if 0 <= token_id < self.vocab_size else None
            known = self._known_bytes[token_id] = b"" if token is None else self._rule.bytes_of(token)
        return known

    def save(self, directory: Path) -> None:
        """Write `tokenizer.json` and `tokenizer_config.json`; the former last, so that its presence means both.

        Raises:
            OSError: the directory can't be written.
        """
        write_settings(directory, self.settings)
        write_atomically(directory / TOKENIZER_FILE, self._backend.to_str(pretty=True).encode())

    @cached_property
    def _literal_backend(self) -> Backend:
        """The same tokenizer, reading special tokens as text: the library keeps that in the object, not in the call."""
        literal = Backend.from_buffer(self._backend.to_str().encode())
        literal.encode_special_tokens = True
        return literal


def read_tokenizer_json(file: Path, settings: Mapping[str, Any] | None = None) -> JsonTokenizer:
    """Read a `tokenizer.json`.

    Args:
        file: the file.
        settings: in place of those in the `tokenizer_config.json` beside it.
    Returns:
        The tokenizer.
    Raises:
        UserError: the file is missing or broken, or holds a tokenizer of an unknown kind.
    """
    content = read_bytes(file)
    used = read_settings(file.parent) if settings is None else settings
    try:
        backend = Backend.from_buffer(content)  # from_str raises a bare Exception.
    except ValueError as error:
        read_json_object(file)  # A mistake in the JSON has a line.
        raise UserError(f"{file}: not a tokenizer: {error}.") from error
    try:
        return JsonTokenizer(backend, used)
    except UserError as error:
        raise UserError(f"{file}: {error}") from error


def put_around(backend: Backend, before: Sequence[str], after: Sequence[str], settings: Mapping[str, Any]) -> None:
    """Set which special tokens the library puts around a text.

    Args:
        backend: the library's tokenizer.
        before: tokens, or roles in `settings`.
        after: likewise.
        settings: the tokens that have a role; a role without a token puts nothing.
    """
    roles = role_tokens(settings)
    edges = [[roles.get(name, "" if name in (BOS, EOS) else name) for name in names] for names in (before, after)]
    first, last = ([token for token in tokens if token] for tokens in edges)
    special = [(token, backend.token_to_id(token)) for token in dict.fromkeys([*first, *last])]
    backend.post_processor = TemplateProcessing(single=[*first, "$A", *last], special_tokens=special)


def _rule_of(backend: Backend) -> DecodingRule:
    # The library's objects only show what they are made of when they are pickled.
    definition = json.loads(backend.decoder.__getstate__()) if backend.decoder else None
    return decoding_rule(definition)


def _add_tokens(backend: Backend, settings: Mapping[str, Any]) -> None:
    """Add the tokens of the settings to those that the library finds in a text as they are written."""
    for token_id, token in numbered_tokens(settings):
        backend.add_tokens([_library_token(token)])
        if backend.token_to_id(token.content) != token_id:
            raise UserError(
                f"{CONFIG_FILE}: added_tokens_decoder: {token.content!r} has id {token_id} there, but "
                f"{backend.token_to_id(token.content)} in the vocabulary. Allowed: files of the same tokenizer."
            )
    known = {token.content for token in backend.get_added_tokens_decoder().values()}
    wanted = dict.fromkeys([*role_tokens(settings).values(), *further_special_tokens(settings)])
    backend.add_special_tokens([_library_token(AddedToken(text)) for text in wanted if text not in known])


def _library_token(token: AddedToken) -> "tokenizers.AddedToken":
    return tokenizers.AddedToken(
        token.content,
        special=token.special,
        lstrip=token.lstrip,
        rstrip=token.rstrip,
        single_word=token.single_word,
        normalized=token.normalized,
    )
