"""Tokenizers of the `sentencepiece` library: `tokenizer.model`, with the settings of `tokenizer_config.json` beside it.

The vocabulary's own control pieces never come out of a text; tokens that the settings add to it may.
"""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from sentencepiece import SentencePieceProcessor

from mf_config.problems import UserError
from mf_data.files import write_atomically
from mf_data.tokenizers.added_tokens import Splitter, Stretch
from mf_data.tokenizers.base import Span
from mf_data.tokenizers.pieces import Pieces
from mf_data.tokenizers.settings import (
    BOS,
    EOS,
    PAD,
    AddedToken,
    further_special_tokens,
    numbered_tokens,
    role_tokens,
    write_settings,
)

MODEL_FILE = "tokenizer.model"

SPACE = "▁"
"""The character that stands for a space in a piece."""

_NO_DUMMY_PREFIX = b"\x1a\x02\x18\x00"
"""A protocol buffer that sets `normalizer_spec.add_dummy_prefix` to false in the model behind which it is put.

Source: sentencepiece_model.proto (field 3 of ModelProto, field 3 of NormalizerSpec); later fields win.
"""


class SentencePieceTokenizer:
    """A `Tokenizer` on top of the `sentencepiece` library.

    The settings beyond the roles of special tokens are `add_bos_token` and `add_eos_token` (False where absent),
    `command_tokens` (special tokens whose ids come right behind the vocabulary's, in this order), `prefix_tokens`
    (tokens that begin each text), `added_tokens_decoder`, `additional_special_tokens`, `legacy` (each stretch of text
    between special tokens begins with a space of its own, not only the first; True where absent),
    `split_special_tokens` (special tokens that are written out stay text; True where absent) and
    `decode_with_prefix_space` (decoded text keeps the space that begins it; False where absent).

    Attributes:
        settings: content of `tokenizer_config.json`.
        pieces: how ids become text.
        vocab_size: one more than the largest id.
        special_ids: ids that steer the model and stand for no text.
        bos_id: id that begins a text, or None.
        eos_id: id that ends a text, or None.
        pad_id: id that fills up rows, or None.
    """

    def __init__(self, model: bytes, settings: Mapping[str, Any]):
        """Makes the tokenizer from the contents of its files.

        Args:
            model: content of `tokenizer.model`.
            settings: content of `tokenizer_config.json`; kept whole, so that `save` loses nothing of it.
        Raises:
            UserError: the model is broken, or it has an entry without an id that the settings ask for.
        """
        self.settings = dict(settings)
        self._model = model
        self._processor = _processor(model)
        self._continuing = _processor(model + _NO_DUMMY_PREFIX)
        self._added = _added_tokens(self._processor, settings)
        self._ids = {token.content: token_id for token_id, token in self._added.items()}
        self._splitter = Splitter(self._added)
        roles = {role: self._id_of(token) for role, token in role_tokens(settings).items()}
        self.bos_id, self.eos_id, self.pad_id = (roles.get(role) for role in (BOS, EOS, PAD))
        self._before = [self._id_of(token) for token in settings.get("prefix_tokens", ())]
        if settings.get("add_bos_token") and self.bos_id is not None:
            self._before.append(self.bos_id)
        self._after = [self.eos_id] if settings.get("add_eos_token") and self.eos_id is not None else []
        self._parses = not settings.get("split_special_tokens", True)
        self._each_stretch_begins = bool(settings.get("legacy", True))
        self.vocab_size: int = max(self._processor.get_piece_size(), *(token_id + 1 for token_id in self._added), 0)
        self.special_ids = frozenset(token_id for token_id, token in self._added.items() if token.special)
        begins_with_space = self._processor.normalize("a").startswith(SPACE)
        drops = begins_with_space and not settings.get("decode_with_prefix_space", False)
        self.pieces = Pieces(self.bytes_of, self.special_ids, "replace_each", drops_first_space=drops)

    def encode(self, text: str, add_special_tokens: bool = True, parse_special_tokens: bool | None = None) -> list[int]:
        """Ids of a text; see `Tokenizer.encode`."""
        return self.encode_batch([text], add_special_tokens, parse_special_tokens)[0]

    def encode_batch(
        self, texts: Sequence[str], add_special_tokens: bool = True, parse_special_tokens: bool | None = None
    ) -> list[list[int]]:
        """Ids of many texts, on all cores; see `Tokenizer.encode_batch`."""
        parses = self._parses if parse_special_tokens is None else parse_special_tokens
        split = [self._splitter.split(text) if parses else [Stretch(text, 0)] for text in texts]
        first, later = (
            iter(processor.encode([part.text for parts in split for part in parts if choose(part)]))
            for processor, choose in ((self._processor, self._begins), (self._continuing, self._continues))
        )
        before, after = (self._before, self._after) if add_special_tokens else ([], [])
        return [[*before, *self._joined(parts, first, later), *after] for parts in split]

    def encode_with_spans(self, text: str) -> tuple[list[int], list[Span]]:
        """Ids of a text that a chat template wrote, and where each stands; see `Tokenizer.encode_with_spans`."""
        ids: list[int] = []
        spans: list[Span] = []
        for part in self._splitter.split(text):
            if part.token_id is not None:
                ids.append(part.token_id)
                spans.append((part.start, part.start + len(part.text)))
                continue
            processor = self._processor if self._begins(part) else self._continuing
            found = processor.encode(part.text, return_type="offset_mapping")
            ids += found["ids"]
            # All but the last byte of a character have an empty span before it.
            spans += [(part.start + begin, part.start + max(begin + 1, end)) for begin, end in found["offsets"]]
        return ids, spans

    def decode(self, ids: Sequence[int], skip_special_tokens: bool = True) -> str:
        """Text of ids; see `Tokenizer.decode`."""
        return self.pieces.decode(ids, skip_special_tokens)

    def bytes_of(self, token_id: int) -> bytes:
        """The bytes that an id stands for; see `Tokenizer.bytes_of`."""
        if token_id in self._added:
            return self._added[token_id].content.encode()
        if not 0 <= token_id < self._processor.get_piece_size():
            return b""
        piece: str = self._processor.id_to_piece(token_id)
        if self._processor.is_byte(token_id):
            return bytes.fromhex(piece[len("<0x") : -1])
        return piece.replace(SPACE, " ").encode()

    def save(self, directory: Path) -> None:
        """Write `tokenizer.model` and `tokenizer_config.json`; the former last, so that its presence means both.

        Raises:
            OSError: the directory can't be written.
        """
        write_settings(directory, self.settings)
        write_atomically(directory / MODEL_FILE, self._model)

    def _begins(self, part: Stretch) -> bool:
        """Whether a stretch is text to which SentencePiece puts its space."""
        return part.token_id is None and (part.start == 0 or self._each_stretch_begins)

    def _continues(self, part: Stretch) -> bool:
        return part.token_id is None and not self._begins(part)

    def _joined(self, parts: Iterable[Stretch], first: Iterable[list[int]], later: Iterable[list[int]]) -> list[int]:
        """The ids of the stretches of one text, those of the texts among them drawn from two streams of results."""
        first, later = iter(first), iter(later)
        ids: list[int] = []
        for part in parts:
            if part.token_id is not None:
                ids.append(part.token_id)
            else:
                ids += next(first if self._begins(part) else later)
        return ids

    def _id_of(self, token: str) -> int:
        """The id of a token that the settings name: all of them are in the vocabulary or were added to it."""
        known = self._ids.get(token)
        return int(self._processor.piece_to_id(token)) if known is None else known


def _processor(model: bytes) -> SentencePieceProcessor:
    try:
        # An empty model is refused without an error of its own, and later calls then say that nothing was loaded.
        if not model:
            raise RuntimeError("the file is empty")
        return SentencePieceProcessor(model_proto=model)
    except RuntimeError as error:
        raise UserError("not a SentencePiece model.") from error


def _added_tokens(processor: SentencePieceProcessor, settings: Mapping[str, Any]) -> dict[int, AddedToken]:
    """Id to token: the model's control pieces, and what the settings add; new tokens get the ids behind the model's."""
    size = processor.get_piece_size()
    found = {
        token_id: AddedToken(processor.id_to_piece(token_id))
        for token_id in range(size)
        if processor.is_control(token_id) or processor.is_unknown(token_id)
    }
    found |= dict(numbered_tokens(settings))
    known = {token.content for token in found.values()}
    first = settings.get("command_tokens", ())
    for text in dict.fromkeys([*first, *role_tokens(settings).values(), *further_special_tokens(settings)]):
        if text in known:
            continue
        piece_id = processor.piece_to_id(text)
        in_model = processor.id_to_piece(piece_id) == text
        found[piece_id if in_model else max(size, *(token_id + 1 for token_id in found))] = AddedToken(text)
    return found
