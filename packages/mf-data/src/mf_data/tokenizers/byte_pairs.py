"""Byte-level BPE vocabularies of other forms than `tokenizer.json`, as objects of the `tokenizers` library.

There are two of them: tiktoken's ranks, and pairs of `vocab.json` and `merges.txt`.
"""

import binascii
from base64 import b64decode
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from tokenizers import AddedToken, Regex, decoders, models, normalizers, pre_tokenizers
from tokenizers import Tokenizer as Backend

from mf_config.problems import ConfigError, Location, Problem, UserError
from mf_data.tokenizers.byte_table import spell
from mf_data.tokenizers.settings import read_bytes, read_json_object, read_text

_WORDS = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|DIGITS"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
SINGLE_DIGITS = _WORDS.replace("DIGITS", r"\p{N}")
"""What is never merged with its neighbours: contractions, words with a character before them, digits one by one, other
signs, white space. Source: Qwen technical report, 2023, section 2.2, and the tokenizer it releases."""
THREE_DIGITS = _WORDS.replace("DIGITS", r"\p{N}{1,3}")
"""The same with digits in groups of up to three. Source: the tokenizers of Llama 3 and GLM-4 (cl100k's pattern)."""


def read_ranks(file: Path) -> dict[bytes, int]:
    """Read tiktoken's form: a line for each token, its bytes in base64 and its rank, which is its id.

    Raises:
        UserError: the file is missing, or a line is not of this form.
    """
    ranks: dict[bytes, int] = {}
    for number, line in enumerate(read_bytes(file).splitlines(), 1):
        if not line.strip():
            continue
        try:
            token, rank = line.split()
            ranks[b64decode(token, validate=True)] = int(rank)
        except (ValueError, binascii.Error) as error:
            raise ConfigError(
                [Problem(Location(str(file), number), "", "not a token in base64 and its rank", "e.g. IQ== 0")]
            ) from error
    if not ranks:
        raise UserError(f"{file}: it holds no token.")
    return ranks


def backend_of_ranks(ranks: Mapping[bytes, int], pattern: str, special_tokens: Sequence[str], nfc: bool) -> Backend:
    """The library's tokenizer that splits texts as tiktoken does.

    Args:
        ranks: token to rank.
        pattern: a regular expression whose matches are encoded one by one.
        special_tokens: they get the ids behind the last rank, in this order.
        nfc: texts are brought to normal form C first.
    Returns:
        The tokenizer.
    """
    vocabulary = {spell(token): rank for token, rank in ranks.items()}
    merges = [(spell(left), spell(right)) for left, right in _merges(ranks)]
    # tiktoken takes a whole match that is a token before it merges anything.
    backend = _byte_level(models.BPE(vocab=vocabulary, merges=merges, ignore_merges=True), pattern, nfc)
    backend.add_special_tokens([AddedToken(token, normalized=False) for token in special_tokens])
    return backend


def read_vocabulary_and_merges(vocabulary: Path, merges: Path, pattern: str, nfc: bool) -> Backend:
    """Read GPT-2's form: `vocab.json`, token to id, and `merges.txt`, a pair of tokens on each line.

    Args:
        vocabulary: the first file.
        merges: the second file.
        pattern: as in `backend_of_ranks`; empty for GPT-2's own.
        nfc: texts are brought to normal form C first.
    Returns:
        The tokenizer.
    Raises:
        UserError: a file is missing or broken, or the merges are not those of the vocabulary.
    """
    known = read_json_object(vocabulary)
    strange = next((token for token, token_id in known.items() if type(token_id) is not int), None)
    if strange is not None:
        raise UserError(f"{vocabulary}: the id of {strange!r} is {known[strange]!r}. Allowed: whole numbers.")
    return _byte_level(models.BPE(vocab=known, merges=list(_pairs(merges, known))), pattern, nfc)


def _pairs(file: Path, vocabulary: Mapping[str, int]) -> Iterator[tuple[str, str]]:
    # Not splitlines: tokens hold characters that it takes for the end of a line.
    for number, line in enumerate(read_text(file).split("\n"), 1):
        if not line.strip() or (number == 1 and line.startswith("#version")):
            continue
        left, _, right = line.rstrip("\r").partition(" ")
        if not {left, right, left + right} <= vocabulary.keys():
            what = f"{left!r} and {right!r} are not two tokens of the vocabulary that join to a third"
            raise ConfigError([Problem(Location(str(file), number), "", what, "e.g. Ġ t")])
        yield left, right


def _byte_level(model: models.BPE, pattern: str, nfc: bool) -> Backend:
    backend = Backend(model)
    if nfc:
        backend.normalizer = normalizers.NFC()
    bytewise = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=not pattern)
    backend.pre_tokenizer = (
        pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(pattern), "isolated"), bytewise]) if pattern else bytewise
    )
    backend.decoder = decoders.ByteLevel()
    return backend


def _merges(ranks: Mapping[bytes, int]) -> list[tuple[bytes, bytes]]:
    """The pairs of tokens that join to a third, in the order in which tiktoken joins them: by the rank of the third."""
    found = [
        (rank, ranks[token[:cut]], ranks[token[cut:]], cut, token)
        for token, rank in ranks.items()
        for cut in range(1, len(token))
        if token[:cut] in ranks and token[cut:] in ranks
    ]
    return [(token[:cut], token[cut:]) for *_, cut, token in sorted(found)]
