"""The keys of the loaders that MindFormers lets tokenize as they read."""

from dataclasses import dataclass
from typing import Annotated, Any

from mf_config.schema import ComponentOf, key
from mf_data.loaders.base import ShardedKeys

_RUN = "rows are made by the data set's task, with the run's own tokenizer and seq_length"


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenizedTextKeys(ShardedKeys):
    """Files of text, the tokenizer for them and the length of a row."""

    dataset_dir: str | None = key("The file to read, or a folder of such files.", None)
    shuffle: bool = key("Whether each epoch reads the rows in a new order.", False)
    column_names: tuple[str, ...] = key("The columns that a row has.", ("input_ids",), inert=_RUN)
    tokenizer: str | Annotated[Any, ComponentOf("tokenizer")] | None = key(
        "The tokenizer: a section chosen by type, or the name of a model whose tokenizer it is.", None, inert=_RUN
    )
    dataset_name: str = key("Which known data set the files hold; it says how they are read.", "")
    file_format: str | None = key(
        "The files' form; taken from their names where it is absent.",
        None,
        allowed=("json", "jsonl", "csv", "tsv", "parquet", "txt"),
    )
    max_length: int = key(
        "Ids of a row: one more than the model reads at once.", 1025, minimum=1, unit="tokens", inert=_RUN
    )
