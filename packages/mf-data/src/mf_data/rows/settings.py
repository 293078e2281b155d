"""The keys of a data set's section that say how its rows are made; a task reads those that concern it."""

from dataclasses import dataclass
from typing import Self

from mf_config.sections.dataset import DatasetSection


@dataclass(frozen=True, slots=True, kw_only=True)
class RowSettings:
    """How rows are made, beside the loader, the tokenizer and the number of tokens that a model reads at once.

    Attributes:
        eod_reset: let positions and attention begin anew behind each document's end.
        eod_token_id: the token that ends a document; the tokenizer's end token where None.
        max_source_length: tokens of a prompt (KeyWordGenDataset).
        max_target_length: tokens of an answer (KeyWordGenDataset).
        max_seq_length: tokens of a conversation (MultiTurnDataset); `seq_length` where None.
        input_columns: columns of stored rows to read (MindDataset); those that are there where None.
        vocab_size: ids of stored rows from this one on are refused; those that are not the tokenizer's where None. A
            model may have more than its tokenizer.
    """

    eod_reset: bool = False
    eod_token_id: int | None = None
    max_source_length: int | None = None
    max_target_length: int | None = None
    max_seq_length: int | None = None
    input_columns: tuple[str, ...] | None = None
    vocab_size: int | None = None

    @classmethod
    def of(cls, section: DatasetSection, vocab_size: int | None = None) -> Self:
        """The settings of a data set's section, and the number of ids that the model has."""
        return cls(
            eod_reset=section.eod_reset,
            eod_token_id=section.eod_token_id,
            max_source_length=section.max_source_length,
            max_target_length=section.max_target_length,
            max_seq_length=section.max_seq_length,
            input_columns=section.input_columns,
            vocab_size=vocab_size,
        )
