"""The keys that loaders share, whatever they read."""

from dataclasses import dataclass

from mf_config.schema import key

ON_BROKEN = (
    "What a broken record does: stop with a message that names its line; or skip: it is left out, counted and listed."
)
"""Description of the key `on_broken` of loaders that read records."""

_DIVIDED = "each rank takes its own part of every batch"


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleKeys:
    """How much of the data is used."""

    num_samples: int | None = key(
        "Most rows to use, spread evenly over the text; all where it is absent.", None, minimum=1
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class LoaderKeys(SampleKeys):
    """How rows are ordered, and how many are used."""

    shuffle: bool = key("Whether each epoch reads the rows in a new order.", True)


@dataclass(frozen=True, slots=True, kw_only=True)
class ShardedKeys(SampleKeys):
    """A loader of which MindFormers lets each rank read a part; mf divides batches instead."""

    num_shards: int | None = key("In how many parts the rows are cut.", None, minimum=1, inert=_DIVIDED)
    shard_id: int | None = key("Which part to read, from 0.", None, minimum=0, inert=_DIVIDED)
