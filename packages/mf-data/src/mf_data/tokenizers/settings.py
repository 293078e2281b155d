"""`tokenizer_config.json`: the settings that lie beside a vocabulary, in the Hugging Face form."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from mf_config.problems import ConfigError, Location, Problem, UserError
from mf_data.files import write_atomically

CONFIG_FILE = "tokenizer_config.json"

BOS, EOS, PAD, UNK = "bos_token", "eos_token", "pad_token", "unk_token"
"""Keys that name the tokens with a role which any tokenizer knows."""

_ROLES = (BOS, EOS, UNK, "sep_token", PAD, "cls_token", "mask_token")
"""The keys of all tokens with a role, in the order in which missing ones get their ids."""


@dataclass(frozen=True, slots=True, order=True)
class AddedToken:
    """A token that is found in a text as it is written, before the vocabulary is asked.

    Attributes:
        content: how it is written.
        special: it steers the model and stands for no text.
        lstrip: it takes the white space before it.
        rstrip: it takes the white space behind it.
        single_word: it is only found between characters that belong to no word.
        normalized: it is looked for in the normalized text.
    """

    content: str
    special: bool = True
    lstrip: bool = False
    rstrip: bool = False
    single_word: bool = False
    normalized: bool = False


def read_settings(directory: Path) -> dict[str, Any]:
    """The settings in a directory; none where it has no `tokenizer_config.json`.

    Where that has no `added_tokens_decoder`, the settings are of the older form, which has the tokens with a role in
    `special_tokens_map.json` and the ids of added tokens in `added_tokens.json`.

    Raises:
        UserError: a file is broken.
    """
    settings = _read_if_there(directory / CONFIG_FILE)
    if "added_tokens_decoder" in settings:
        return settings
    settings |= _read_if_there(directory / "special_tokens_map.json")
    special = {*role_tokens(settings).values(), *further_special_tokens(settings)}
    added = {
        str(token_id): asdict(AddedToken(text, special=text in special, normalized=text not in special))
        for text, token_id in _read_if_there(directory / "added_tokens.json").items()
    }
    return {**settings, "added_tokens_decoder": added} if added else settings


def _read_if_there(file: Path) -> dict[str, Any]:
    return read_json_object(file) if file.is_file() else {}


def write_settings(directory: Path, settings: Mapping[str, Any]) -> None:
    """Write `tokenizer_config.json`.

    Raises:
        OSError: the directory can't be written.
    """
    text = json.dumps(dict(settings), ensure_ascii=False, indent=2) + "\n"
    write_atomically(directory / CONFIG_FILE, text.encode())


def read_json_object(file: Path) -> dict[str, Any]:
    """Content of a file that holds a JSON object.

    Raises:
        UserError: the file is missing, not UTF-8, not JSON, or holds something else.
    """
    try:
        content = json.loads(read_text(file))
    except json.JSONDecodeError as error:
        what = f"not JSON ({error.msg.removesuffix(' at')}, column {error.colno})"
        raise ConfigError([Problem(Location(str(file), error.lineno), "", what)]) from error
    if not isinstance(content, dict):
        what = f"a JSON {type(content).__name__} is not a tokenizer"
        raise ConfigError([Problem(Location(str(file), 1), "", what, "an object")])
    return content


def read_text(file: Path) -> str:
    """Text of a UTF-8 file.

    Raises:
        UserError: the file is missing or not UTF-8.
    """
    try:
        return read_bytes(file).decode("utf-8")
    except UnicodeDecodeError as error:
        raise ConfigError([Problem(Location(str(file), 0), "", f"not UTF-8: {error.reason}")]) from error


def read_bytes(file: Path) -> bytes:
    """Content of a file.

    Raises:
        UserError: the file is missing.
    """
    if not file.is_file():
        raise UserError(f"{file}: no such file.")
    return file.read_bytes()


def token_text(value: Any) -> str | None:
    """How a token is written, given as text or as an object with `content`; None where there is none."""
    content = value.get("content") if isinstance(value, dict) else value
    return None if content is None else str(content)


def role_tokens(settings: Mapping[str, Any]) -> dict[str, str]:
    """The tokens that have a role, role to token: `{"bos_token": "<s>", …}`."""
    found = {role: token_text(settings.get(role)) for role in _ROLES}
    return {role: token for role, token in found.items() if token}


def further_special_tokens(settings: Mapping[str, Any]) -> list[str]:
    """The special tokens that have no role, under either of their two keys."""
    found: list[str] = []
    for key in ("additional_special_tokens", "extra_special_tokens"):
        value = settings.get(key) or ()
        values = value.values() if isinstance(value, dict) else value
        found += [text for text in map(token_text, values) if text]
    return list(dict.fromkeys(found))


def numbered_tokens(settings: Mapping[str, Any]) -> Iterator[tuple[int, AddedToken]]:
    """The tokens of `added_tokens_decoder` with their ids, in the order of the ids.

    Raises:
        UserError: an entry is no token.
    """
    entries = settings.get("added_tokens_decoder") or {}
    names = AddedToken.__slots__
    try:
        yield from sorted(
            (int(token_id), AddedToken(**{name: entry[name] for name in names if name in entry}))
            for token_id, entry in entries.items()
        )
    except (TypeError, ValueError, AttributeError) as error:
        raise UserError(f"{CONFIG_FILE}: added_tokens_decoder: not a table of ids and tokens: {error}.") from error
