"""A byte-level BPE tokenizer that is trained on the run's own text the first time and loaded ever after."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from tokenizers import Tokenizer as Backend
from tokenizers import decoders, models, pre_tokenizers, processors, trainers

from mf_config.problems import UserError
from mf_config.schema import component, key
from mf_data.document import Document
from mf_data.tokenizers.base import Tokenizer
from mf_data.tokenizers.settings import BOS, EOS, PAD
from mf_data.tokenizers.tokenizer_json import TOKENIZER_FILE, JsonTokenizer, read_tokenizer_json

SMALLEST_VOCABULARY = 256 + 3
"""One entry for every byte and one for each special token."""


@component("tokenizer", "ByteLevelBPETokenizer")
@dataclass(frozen=True, slots=True, kw_only=True)
class ByteLevelBPETokenizer:
    """Byte-level BPE, loaded from `tokenizer_file` where that exists, else trained on the training text and kept."""

    tokenizer_file: str = key(
        "A file named tokenizer.json; where it is missing, a training run trains the tokenizer and writes it there."
    )
    vocab_size: int = key("Entries of the vocabulary, special tokens included.", 4096, minimum=SMALLEST_VOCABULARY)
    bos_token: str = key("The token that begins each text.", "<s>")
    eos_token: str = key("The token that ends each text.", "</s>")
    pad_token: str = key("The token that fills up rows; may be the one that ends a text.", "<pad>")

    def problems(self) -> list[tuple[str, str, str]]:
        """Conflicts between the keys, as (key, what is wrong, what is allowed)."""
        return _conflicts(self)

    def open(self, documents: Iterable[Document] | None) -> Tokenizer:
        """Load or train the tokenizer.

        Args:
            documents: the training text, only read where there is no `tokenizer_file` yet; None where that must exist.
        Returns:
            The tokenizer, with exactly `vocab_size` entries.
        Raises:
            UserError: the file is missing and there is no text, it holds another tokenizer than the keys describe, or
                the text is too small to train one.
        """
        return _load_or_train(self, documents)


@dataclass(frozen=True, slots=True)
class SpecialTokens:
    """The special tokens of a new tokenizer; they get the first ids, in the order pad, bos, eos."""

    bos: str = "<s>"
    eos: str = "</s>"
    pad: str = "<pad>"


def train_byte_level_bpe(texts: Iterable[str], vocab_size: int, special: SpecialTokens) -> JsonTokenizer:
    """Train a byte-level BPE tokenizer; the same texts in the same order give the same tokenizer, byte for byte.

    Encoding with `add_special_tokens` puts `special.bos` first.

    Args:
        texts: the text to learn from.
        vocab_size: entries of the vocabulary, special tokens included.
        special: the special tokens.
    Returns:
        The tokenizer.
    Raises:
        UserError: the texts do not give so many entries.
    Source: Sennrich et al. 2016, Neural Machine Translation of Rare Words with Subword Units, section 3.2; on bytes as
        in Radford et al. 2019, Language Models are Unsupervised Multitask Learners, section 2.2.
    """
    backend = Backend(models.BPE())
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size,
        special_tokens=list(dict.fromkeys((special.pad, special.bos, special.eos))),
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    backend.train_from_iterator(texts, trainer)
    found = backend.get_vocab_size()
    if found != vocab_size:
        raise UserError(
            f"vocab_size: {vocab_size}, but the training text gives {found} entries. Allowed: at most {found}."
        )
    backend.post_processor = processors.TemplateProcessing(
        single=f"{special.bos} $A", special_tokens=[(special.bos, backend.token_to_id(special.bos))]
    )
    roles = {BOS: special.bos, EOS: special.eos, PAD: special.pad}
    # "PreTrainedTokenizerFast" is what makes Hugging Face tools read tokenizer.json as it is.
    return JsonTokenizer(backend, {"tokenizer_class": "PreTrainedTokenizerFast", **roles})


def _conflicts(section: ByteLevelBPETokenizer) -> list[tuple[str, str, str]]:
    found = []
    if Path(section.tokenizer_file).name != TOKENIZER_FILE:
        found.append(
            ("tokenizer_file", f"'{section.tokenizer_file}' is not named {TOKENIZER_FILE}", f"…/{TOKENIZER_FILE}")
        )
    if section.bos_token in (section.eos_token, section.pad_token):
        found.append(
            ("bos_token", f"'{section.bos_token}' is the eos_token or the pad_token too", "a token of its own")
        )
    found += [(role, "is empty", "the text of a token") for role in (BOS, EOS, PAD) if not getattr(section, role)]
    return found


def _load_or_train(section: ByteLevelBPETokenizer, documents: Iterable[Document] | None) -> JsonTokenizer:
    file = Path(section.tokenizer_file)
    # A tokenizer made from other text than the training's would fit no weights, so only training may make one.
    if documents is None or file.exists():
        tokenizer = read_tokenizer_json(file)
        _check(tokenizer, section)
        return tokenizer
    special = SpecialTokens(bos=section.bos_token, eos=section.eos_token, pad=section.pad_token)
    tokenizer = train_byte_level_bpe((document.text for document in documents), section.vocab_size, special)
    tokenizer.save(file.parent)
    return tokenizer


def _check(tokenizer: JsonTokenizer, section: ByteLevelBPETokenizer) -> None:
    """Refuse a file that holds another tokenizer than the section asks for: weights would not fit it.

    Raises:
        UserError: its size or its special tokens differ.
    """
    remedy = f"or remove {section.tokenizer_file} to train a new one"
    if tokenizer.vocab_size != section.vocab_size:
        raise UserError(
            f"{section.tokenizer_file}: the tokenizer has {tokenizer.vocab_size} entries, but vocab_size is "
            f"{section.vocab_size}. Allowed: vocab_size: {tokenizer.vocab_size}, {remedy}."
        )
    wanted = {BOS: section.bos_token, EOS: section.eos_token, PAD: section.pad_token}
    for (role, token), found in zip(
        wanted.items(), (tokenizer.bos_id, tokenizer.eos_id, tokenizer.pad_id), strict=True
    ):
        if tokenizer.encode(token, add_special_tokens=False) != [found]:
            name = "none" if found is None else repr(tokenizer.decode([found], skip_special_tokens=False))
            raise UserError(
                f"{section.tokenizer_file}: the tokenizer's {role} is {name}, but the configuration says {token!r}. "
                f"Allowed: the same {role}, {remedy}."
            )
