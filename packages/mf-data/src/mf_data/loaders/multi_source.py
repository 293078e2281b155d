"""A mixture of several corpora."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, make_dataclass
from typing import Annotated, Any, Literal

from mf_config import Document as ConfigDocument
from mf_config import decode_as
from mf_config.nodes import Mapping as MappingNode
from mf_config.nodes import Node, Scalar
from mf_config.nodes import Sequence as SequenceNode
from mf_config.problems import Location
from mf_config.schema import ComponentOf, component, key
from mf_data.loader import Loader
from mf_data.loaders.base import ShardedKeys
from mf_data.rows.blending import BlendedRows, exact_counts
from mf_data.rows.data_set import Rows
from mf_data.rows.row_order import Shuffle

_MOST_ROUNDING = 1e-6
_BY_NUMBER = "rows are read by number, and their order is computed from the seed"
_PLACE = Location("data_loader", 0)


@component("data_loader", "MultiSourceDataLoader")
@dataclass(frozen=True, slots=True, kw_only=True)
class MultiSourceDataLoader(ShardedKeys):
    """Rows of several loaders, mixed by shares or by numbers of rows.

    The numbers are exact. Without `shuffle`, each loader's rows keep their order and are spread evenly over all.
    """

    shuffle: Shuffle = key(
        "Whether each epoch reads the rows in a new order: all of them (True or global), the turns of the loaders, "
        "each in its own order (files), or the rows of each loader (infile).",
        True,
    )
    # Each is a section of kind data_loader; the schema of a kind can't hold the kind itself.
    sub_data_loader: tuple[dict[str, Any], ...] = key("The loaders to mix, each a section with its own type.")
    sub_data_loader_args: dict[str, Any] | None = key("Keys that all these loaders get.", None)
    dataset_ratios: tuple[float, ...] | None = key(
        "Share of the rows that each loader gives; they sum to 1. Needs samples_count.", None, minimum=0, maximum=1
    )
    samples_count: int | None = key("Rows of the mixture; with dataset_ratios.", None, minimum=1)
    nums_per_dataset: tuple[int, ...] | None = key("Rows that each loader gives, instead of shares.", None, minimum=0)
    shuffle_buffer_size: int = key("Rows among which the next one is drawn.", 320, minimum=1, inert=_BY_NUMBER)
    data_source_type: Literal["iterator", "random_access"] = key(
        "Whether rows are read in order or by number.", "iterator", inert=_BY_NUMBER
    )
    load_indices_npz_path: str | None = key("A file with the order of rows to use.", None, inert=_BY_NUMBER)
    save_indices_npz_path: str | None = key("A file to keep the order of rows in.", None, inert=_BY_NUMBER)

    def problems(self) -> Iterator[tuple[str, str, str]]:
        """Conflicts between keys: key, what is wrong, what is allowed."""
        count = len(self.sub_data_loader)
        for name in ("dataset_ratios", "nums_per_dataset"):
            numbers = getattr(self, name)
            if numbers is not None and len(numbers) != count:
                yield name, f"has {len(numbers)} numbers for {count} loaders", "one number a loader"
            elif numbers is not None and not sum(numbers):
                yield name, "sums to 0, so that there is nothing to mix", "a number above 0"
        if self.dataset_ratios is None:
            return
        if abs(sum(self.dataset_ratios) - 1) > _MOST_ROUNDING:
            yield "dataset_ratios", f"the shares sum to {sum(self.dataset_ratios):g}", "shares that sum to 1"
        if self.samples_count is None:
            yield "samples_count", "is missing, and dataset_ratios needs it", "an integer from 1"

    def loaders(self) -> list[Loader]:
        """The sections of the loaders to mix.

        Raises:
            ConfigError: one of them is not the section of a loader.
        """
        holder = make_dataclass(
            "Loaders",
            [("sub_data_loader", tuple[Annotated[Any, ComponentOf("data_loader")], ...], key("The loaders."))],
            frozen=True,
        )
        sections = [{**(self.sub_data_loader_args or {}), **section} for section in self.sub_data_loader]
        root = MappingNode({"sub_data_loader": _node(sections)}, {"sub_data_loader": _PLACE}, _PLACE)
        return list(decode_as(holder, ConfigDocument("data_loader", root, ())).sub_data_loader)

    def mixed(self, sources: Sequence[Rows]) -> BlendedRows:
        """The rows of the loaders in the numbers that the keys say, or all of them; those of small ones come again."""
        if self.dataset_ratios is not None and self.samples_count is not None:
            return BlendedRows(sources, exact_counts(self.dataset_ratios, self.samples_count))
        return BlendedRows(sources, self.nums_per_dataset or [len(source) for source in sources])


def _node(value: Any) -> Node:
    """A plain value as the node of a document, from which sections are decoded."""
    if isinstance(value, Mapping):
        return MappingNode({name: _node(each) for name, each in value.items()}, dict.fromkeys(value, _PLACE), _PLACE)
    if isinstance(value, list | tuple):
        return SequenceNode(tuple(_node(each) for each in value), _PLACE)
    return Scalar("null" if value is None else str(value), isinstance(value, str), _PLACE)
