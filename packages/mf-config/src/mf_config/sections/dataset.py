"""`train_dataset` and `eval_dataset`: where text comes from and how it becomes batches."""

from dataclasses import dataclass
from typing import Annotated, Any

from mf_config.schema import ComponentOf, key

_FIXED = "num_parallel_workers and prefetch_size say how batches are prepared"
_OF_THE_RUN = "the key of this name at the top of the file counts"
_TEXT_ONLY = "mf trains on text"


@dataclass(frozen=True, slots=True, kw_only=True)
class ModalTransformSection:
    """How pictures and text become one row."""

    type: str = key("Name of the transformation.")
    max_length: int = key("Tokens of a row.", 2048, minimum=1)
    model_transform_template: dict[str, Any] | None = key("The model's own steps.", None)


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetSection:
    """One data set."""

    data_loader: Annotated[Any, ComponentOf("data_loader")] = key("Where the documents come from, chosen by type.")
    tokenizer: Annotated[Any, ComponentOf("tokenizer")] | None = key(
        "The tokenizer of this data set; processor.tokenizer where it is absent.", None
    )
    input_columns: tuple[str, ...] | None = key(
        "Columns of stored rows (MindDataset) that are read; those that are there where absent.", None
    )
    output_columns: tuple[str, ...] | None = key(
        "Columns that eod_reset makes.", None, inert="positions and borders of documents are no columns"
    )
    drop_remainder: bool = key(
        "Leave out the rows at an epoch's end that do not fill a batch; otherwise they form a batch filled up with "
        "padding that counts in no loss.",
        True,
    )
    seed: int | None = key("Seed of the order of rows; the top-level seed where absent.", None, minimum=0)
    batch_size: int = key("Rows of a step.", 8, minimum=1, inert="runner_config.batch_size counts")
    repeat: int = key(
        "Times that the rows are taken in one epoch, each time in a new order where they are shuffled.", 1, minimum=1
    )
    eod_reset: bool = key("Let positions and attention begin anew after each document.", False)
    eod_token_id: int | None = key(
        "Token that ends a document; the tokenizer's end token where absent.", None, minimum=0, needs="eod_reset"
    )
    dynamic_batch: bool = key(
        "Pad each batch only to its longest row.",
        False,
        inert="all rows are equally long, so a step has one shape",
    )
    divisor: int = key("Lengths of a dynamic batch are a multiple of this.", 2, minimum=1, needs="dynamic_batch")
    remainder: int = key("Added to the lengths of a dynamic batch.", 1, minimum=0, needs="dynamic_batch")
    pad_token_id: int = key("What fills short rows of a dynamic batch.", 0, minimum=0, needs="dynamic_batch")
    max_source_length: int | None = key("Tokens of a prompt (KeyWordGenDataset).", None, minimum=1, unit="tokens")
    max_target_length: int | None = key("Tokens of an answer (KeyWordGenDataset).", None, minimum=1, unit="tokens")
    max_seq_length: int | None = key(
        "Tokens of a conversation (MultiTurnDataset); the model's seq_length where absent.",
        None,
        minimum=1,
        unit="tokens",
    )
    ignore_pad_token_for_loss: bool = key("Leave padding out of the loss.", True, inert="padding counts in no loss")
    num_parallel_workers: int = key("Workers that prepare batches while the model computes.", 8, minimum=1)
    prefetch_size: int = key("Batches that each worker prepares ahead.", 1, minimum=1)
    python_multiprocessing: bool = key("Workers are processes instead of threads.", False)
    numa_enable: bool = key("Bind workers to memory nodes.", False, inert=_FIXED)
    auto_tune: bool = key("Adjust the workers while training.", False, inert=_OF_THE_RUN)
    filepath_prefix: str = key("Where the adjustment is written.", "./autotune", inert=_OF_THE_RUN)
    autotune_per_step: int = key("Steps between adjustments.", 10, minimum=1, inert=_OF_THE_RUN)
    profile: bool = key("Time the preparation of rows.", False, inert=_OF_THE_RUN)
    column_order: tuple[str, ...] | None = key("Order of the columns.", None, inert="columns are taken by their names")
    net_input_columns: tuple[str, ...] | None = key("Columns for the network.", None, inert=_TEXT_ONLY)
    modal_to_text_transform: ModalTransformSection | None = key(
        "How pictures and text become one row.", None, inert=_TEXT_ONLY
    )
    modal_content_transforms: tuple[dict[str, Any], ...] | None = key("Steps on pictures.", None, inert=_TEXT_ONLY)
    modal_content_input_columns: tuple[str, ...] | None = key("Columns with pictures.", None, inert=_TEXT_ONLY)
    modal_content_output_columns: tuple[str, ...] | None = key("Columns with made pictures.", None, inert=_TEXT_ONLY)
    mixup_op: dict[str, Any] | None = key("Mixing of pictures.", None, inert=_TEXT_ONLY)
    transforms: tuple[dict[str, Any], ...] | dict[str, Any] | None = key("Steps on pictures.", None, inert=_TEXT_ONLY)
    sampler: dict[str, Any] | None = key(
        "How rows are drawn.", None, inert="the order of rows follows from the seed alone"
    )
