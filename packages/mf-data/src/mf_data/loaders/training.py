"""Raw text that is tokenized and joined into rows while it is read."""

from dataclasses import dataclass

from mf_config.schema import component, key
from mf_data.loaders.tokenized_text import TokenizedTextKeys


@component("data_loader", "TrainingDataLoader", pending="text is not tokenized while it is read")
@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingDataLoader(TokenizedTextKeys):
    """Text files, tokenized and joined into rows of equal length."""

    is_align: bool = key("Join texts into rows of max_length; otherwise each text is a row.", True)
    text_col: str = key("The field that holds the text.", "")
    samples_num: int = key("Rows that an epoch has.", 10000, minimum=1)
    skip_num: int = key("Rows to pass over at the beginning.", 0, minimum=0)
    file_limit: int = key("Files that are held in memory at a time.", 1, minimum=1)
    process_num: int = key("Processes that tokenize.", 64, minimum=1)
