"""`load_tokenizer`: a tokenizer from the files of a model, whatever their form."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mf_config.components import components
from mf_config.problems import UserError
from mf_data.tokenizers.base import Tokenizer
from mf_data.tokenizers.keys import TokenizerKeys, read_sentence_piece
from mf_data.tokenizers.sentence_piece import MODEL_FILE
from mf_data.tokenizers.settings import CONFIG_FILE, read_bytes, read_settings, token_text
from mf_data.tokenizers.tokenizer_json import TOKENIZER_FILE, read_tokenizer_json

VOCABULARY_FILE, MERGES_FILE = "vocab.json", "merges.txt"
_RANKS_SUFFIX = ".tiktoken"
_FORMS = f"{TOKENIZER_FILE}, {MODEL_FILE}, *{_RANKS_SUFFIX}, or {VOCABULARY_FILE} with {MERGES_FILE}"

_TOKENIZER_OF_RANKS = {151643: "QwenTokenizer", 128000: "Llama3Tokenizer", 151329: "ChatGLM4Tokenizer"}
"""How many ranks the vocabularies that are known have: they tell whose a file is that no settings lie beside."""


def load_tokenizer(path: str | Path) -> Tokenizer:
    """Load a tokenizer.

    Args:
        path: a directory with the files of a tokenizer (a Hugging Face model, a checkpoint), or the file of its
            vocabulary: `tokenizer.json`, `tokenizer.model` of SentencePiece or tiktoken, `*.tiktoken`, or `vocab.json`
            with `merges.txt` beside it. In a directory, the first of these that is there counts.
            `tokenizer_config.json` beside it says whose it is, and which tokens begin, end and fill up a text.
    Returns:
        The tokenizer.
    Raises:
        UserError: there is no such file, it is broken, or it is a tokenizer of an unknown kind.
    """
    file = (vocabulary_in(Path(path)) or Path(path) / TOKENIZER_FILE) if Path(path).is_dir() else Path(path)
    if not file.is_file():
        raise UserError(f"{file}: no such file. Allowed: a directory with {_FORMS}, or such a file.")
    settings = read_settings(file.parent)
    if file.name == VOCABULARY_FILE:
        merges = str(file.with_name(MERGES_FILE))
        return _section(settings, "GPT2Tokenizer", vocab_file=str(file), merges_file=merges).read(settings)
    if file.suffix == ".json":
        return read_tokenizer_json(file, settings)
    ranks = _count_of_ranks(file)
    if ranks:
        return _section(settings, _TOKENIZER_OF_RANKS.get(ranks, ""), vocab_file=str(file)).read(settings)
    # Control tokens only come out of a text where the files say so: SentencePiece itself never makes them of one.
    settings = {"split_special_tokens": True, **settings}
    if settings.get("tokenizer_class") in components("tokenizer"):
        return _section(settings, "", vocab_file=str(file)).read(settings)
    return read_sentence_piece(file, settings)


def vocabulary_in(directory: Path) -> Path | None:
    """The file of a directory that `load_tokenizer` reads the vocabulary from, None where there is no tokenizer."""
    names = [
        TOKENIZER_FILE,
        MODEL_FILE,
        *sorted(file.name for file in directory.glob(f"*{_RANKS_SUFFIX}")),
        VOCABULARY_FILE,
    ]
    return next((directory / name for name in names if (directory / name).is_file()), None)


def _count_of_ranks(file: Path) -> int:
    """How many lines a tiktoken vocabulary has; 0 for a file that is none."""
    content = read_bytes(file)
    first = content.partition(b"\n")[0].split()
    is_ranks = len(first) == 2 and first[1].isdigit()
    return len(content.split(b"\n")) - content.endswith(b"\n") if is_ranks or file.suffix == _RANKS_SUFFIX else 0


def _section(settings: Mapping[str, Any], otherwise: str, **files: str) -> TokenizerKeys:
    """The section that stands for settings: that of their `tokenizer_class`, else another."""
    known = components("tokenizer")
    name = str(settings.get("tokenizer_class", "")).removesuffix("Fast")
    cls = known.get(name) or known.get(otherwise)
    if cls is None or not issubclass(cls, TokenizerKeys):
        raise UserError(
            f"{files['vocab_file']}: the vocabulary does not say whose it is. Allowed: {CONFIG_FILE} beside it, with a "
            f"tokenizer_class of {', '.join(dict.fromkeys(_TOKENIZER_OF_RANKS.values()))}."
        )
    given = {name: _plain(settings[name]) for name in cls.__dataclass_fields__.keys() & settings.keys()}
    return cls(**given | files)


def _plain(value: Any) -> Any:
    """A value as a section has it: tokens as text, lists as tuples."""
    if isinstance(value, dict):
        return token_text(value)
    return tuple(map(_plain, value)) if isinstance(value, list) else value
