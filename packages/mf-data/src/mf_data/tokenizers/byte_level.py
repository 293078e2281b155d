"""Byte-level tokenizers in the Hugging Face form: `tokenizer.json`, with the special tokens' roles beside it.

Their tokens are strings of bytes, so every text has ids, there is no unknown token, and decoding is exact. Tokenizers
of other kinds (SentencePiece) are refused here, since their bytes follow other rules.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import tokenizers

from mf_config.problems import ConfigError, Location, Problem, UserError
from mf_data.files import write_atomically

TOKENIZER_FILE = "tokenizer.json"
CONFIG_FILE = "tokenizer_config.json"

BOS, EOS, PAD = "bos_token", "eos_token", "pad_token"
"""Keys of `tokenizer_config.json` that name the tokens with a role."""


class ByteLevelTokenizer:
    """A `Tokenizer` whose tokens are strings of bytes, on top of the `tokenizers` library.

    Attributes:
        vocab_size: one more than the largest id.
        special_ids: ids that steer the model and stand for no text.
        bos_id: id that begins a text, or None.
        eos_id: id that ends a text, or None.
        pad_id: id that fills up rows, or None.
    """

    def __init__(self, definition: str, settings: Mapping[str, Any]):
        """Makes the tokenizer from the contents of its files.

        Args:
            definition: text of `tokenizer.json`.
            settings: content of `tokenizer_config.json`; kept whole, so that `save` loses nothing of it.
        Raises:
            UserError: the definition is not that of a byte-level tokenizer, or a role names a token it does not have.
        """
        self._parsing = _backend(definition)
        self._literal = _backend(definition)
        self._literal.encode_special_tokens = True
        self._settings = dict(settings)
        self.vocab_size = max(self._parsing.get_vocab().values(), default=-1) + 1
        added = self._parsing.get_added_tokens_decoder()
        self.special_ids = frozenset(token_id for token_id, token in added.items() if token.special)
        self.bos_id, self.eos_id, self.pad_id = (self._id_of_role(role) for role in (BOS, EOS, PAD))

    def encode(self, text: str, add_special_tokens: bool = True, parse_special_tokens: bool = True) -> list[int]:
        """Ids of a text; see `Tokenizer.encode`."""
        return self.encode_batch([text], add_special_tokens, parse_special_tokens)[0]

    def encode_batch(
        self, texts: Sequence[str], add_special_tokens: bool = True, parse_special_tokens: bool = True
    ) -> list[list[int]]:
        """Ids of many texts, on all cores; see `Tokenizer.encode_batch`."""
        backend = self._parsing if parse_special_tokens else self._literal
        encodings = backend.encode_batch_fast(texts, add_special_tokens=add_special_tokens)
        return [encoding.ids for encoding in encodings]

    def decode(self, ids: Sequence[int], skip_special_tokens: bool = True) -> str:
        """Text of ids; see `Tokenizer.decode`."""
        return str(self._parsing.decode(list(ids), skip_special_tokens=skip_special_tokens))

    def bytes_of(self, token_id: int) -> bytes:
        """The bytes that an id stands for; see `Tokenizer.bytes_of`."""
        token = self._parsing.id_to_token(token_id)
        if token is None:
            return b""
        try:
            return bytes(_BYTE_OF_CHARACTER[character] for character in token)
        except KeyError:
            # An added token may hold characters that are not in the byte table: it is written as it is.
            return str(token).encode()

    def save(self, directory: Path) -> None:
        """Write `tokenizer.json` and `tokenizer_config.json`; the former last, so that its presence means both.

        Raises:
            OSError: the directory can't be written.
        """
        settings = json.dumps(self._settings, ensure_ascii=False, indent=2) + "\n"
        write_atomically(directory / CONFIG_FILE, settings.encode())
        write_atomically(directory / TOKENIZER_FILE, self._parsing.to_str(pretty=True).encode())

    def _id_of_role(self, role: str) -> int | None:
        token = self._settings.get(role)
        content = token.get("content") if isinstance(token, dict) else token
        if content is None:
            return None
        found: int | None = self._parsing.token_to_id(str(content))
        if found is None:
            raise UserError(f"{CONFIG_FILE}: {role}: {content!r} is not in the vocabulary of {TOKENIZER_FILE}.")
        return found


def load_tokenizer(path: str | Path) -> ByteLevelTokenizer:
    """Load a tokenizer.

    Args:
        path: a directory with `tokenizer.json` (a Hugging Face model, an mf checkpoint), or such a file.
            `tokenizer_config.json` beside it says which tokens begin, end and fill up a text.
    Returns:
        The tokenizer.
    Raises:
        UserError: there is no such file, it is broken, or it is not a byte-level tokenizer.
    """
    file = Path(path) / TOKENIZER_FILE if Path(path).is_dir() else Path(path)
    if not file.is_file():
        raise UserError(f"{file}: no such file. Allowed: a directory with {TOKENIZER_FILE}, or such a file.")
    settings_file = file.with_name(CONFIG_FILE)
    definition, _ = _read_json(file)
    settings = _read_json(settings_file)[1] if settings_file.is_file() else {}
    try:
        return ByteLevelTokenizer(definition, settings)
    except UserError as error:
        raise UserError(f"{file.parent}: {error}") from error


def _read_json(file: Path) -> tuple[str, dict[str, Any]]:
    """Text and content of a file that holds a JSON object."""
    try:
        text = file.read_text(encoding="utf-8")
        content = json.loads(text)
    except json.JSONDecodeError as error:
        what = f"not JSON ({error.msg.removesuffix(' at')}, column {error.colno})"
        raise ConfigError([Problem(Location(str(file), error.lineno), "", what)]) from error
    except UnicodeDecodeError as error:
        raise ConfigError([Problem(Location(str(file), 0), "", f"not UTF-8: {error.reason}")]) from error
    if not isinstance(content, dict):
        what = f"a JSON {type(content).__name__} is not a tokenizer"
        raise ConfigError([Problem(Location(str(file), 1), "", what, "an object")])
    return text, content


def _backend(definition: str) -> tokenizers.Tokenizer:
    try:
        backend = tokenizers.Tokenizer.from_buffer(definition.encode())  # from_str raises a bare Exception.
    except ValueError as error:
        raise UserError(f"{TOKENIZER_FILE}: not a tokenizer: {error}.") from error
    if not isinstance(backend.decoder, tokenizers.decoders.ByteLevel):
        kind = type(backend.decoder).__name__ if backend.decoder else "no"
        raise UserError(f"{TOKENIZER_FILE}: the tokenizer has {kind} decoder. Allowed: ByteLevel (byte-level BPE).")
    # A file may ask for rows of equal length; an encoding is all of its text and nothing else.
    backend.no_truncation()
    backend.no_padding()
    return backend


def _byte_of_character() -> dict[str, int]:
    """The table by which byte-level tokens are spelt: visible Latin-1 characters as they are, other bytes from 256.

    Source: Radford et al. 2019, Language Models are Unsupervised Multitask Learners (GPT-2), released encoder.
    """
    visible = [*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)]
    hidden = [byte for byte in range(256) if byte not in visible]
    return {chr(b): b for b in visible} | {chr(256 + n): b for n, b in enumerate(hidden)}


_BYTE_OF_CHARACTER = _byte_of_character()
