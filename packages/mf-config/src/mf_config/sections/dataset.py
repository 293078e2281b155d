"""`train_dataset`, `eval_dataset`, their tasks and `processor`: where text comes from and how it becomes ids."""

from dataclasses import dataclass
from typing import Annotated, Any

from mf_config.schema import PREDICT_MODES, ComponentOf, key

_PREPARED = "rows are prepared before the first step and read from memory"


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetSection:
    """One data set."""

    data_loader: Annotated[Any, ComponentOf("data_loader")] = key("Where the documents come from, chosen by type.")
    tokenizer: Annotated[Any, ComponentOf("tokenizer")] | None = key(
        "The tokenizer of this data set; processor.tokenizer where it is absent.", None
    )
    drop_remainder: bool = key(
        "Leave out the rows at an epoch's end that do not fill a batch; otherwise they form a batch filled up with "
        "padding that counts in no loss.",
        True,
    )
    seed: int | None = key("Seed of the order of rows; the top-level seed where absent.", None, minimum=0)
    num_parallel_workers: int = key("Workers that prepare rows during training.", 8, minimum=1, inert=_PREPARED)
    prefetch_size: int = key("Batches prepared ahead.", 1, minimum=1, inert=_PREPARED)
    python_multiprocessing: bool = key("Prepare rows in processes instead of threads.", False, inert=_PREPARED)
    numa_enable: bool = key("Bind workers to memory nodes.", False, inert=_PREPARED)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessorSection:
    """What turns text into ids and back wherever a data set has no tokenizer of its own."""

    tokenizer: Annotated[Any, ComponentOf("tokenizer")] | None = key("The tokenizer, chosen by type.", None)
    return_tensors: str = key(
        "The kind of tensors that a processor gives back.",
        "ms",
        modes=PREDICT_MODES,
        inert="mf hands ids to the model itself",
    )
