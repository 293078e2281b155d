"""SQuAD: questions about a text."""

from dataclasses import dataclass
from typing import Annotated, Any

from mf_config.schema import ComponentOf, component, key
from mf_data.loaders.staged_folder import StagedFolderKeys


@component("data_loader", "SQuADDataLoader", pending="its questions are not read")
@dataclass(frozen=True, slots=True, kw_only=True)
class SQuADDataLoader(StagedFolderKeys):
    """Questions and texts, cut to the length that a model reads."""

    tokenizer: Annotated[Any, ComponentOf("tokenizer")] | None = key("Makes the ids, chosen by type.", None)
    max_question_len: int = key("Longest question.", 64, minimum=1, unit="tokens")
    max_seq_len: int = key("Question and text together.", 384, minimum=1, unit="tokens")
    doc_stride: int = key("Tokens from one piece of a long text to the next.", 128, minimum=1, unit="tokens")
