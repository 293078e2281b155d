"""What mf-ckpt's tools need to know of a family: how tensors are cut, and what other programs call them; host only."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from mf_ckpt import CheckpointFamily, Join, KeyMap, PlacementRule, Transpose, Unstack
from mf_ckpt.keymap.rows import Row
from mf_config.layout import Fused, Placement, Shard
from mf_models.family_tables.transposed import TransposedJoin
from mf_models.model_config import ModelConfig
from mf_models.registry import config_from_hf, family_of, knows_model_type
from mf_parallel.rules import RuleTable


def checkpoint_family(data: Mapping[str, Any]) -> CheckpointFamily | None:
    """The entry point of group `mf.checkpoint_families`.

    Args:
        data: content of a model's config.json.

    Returns:
        What is known of the model's tensors, None where no family with a network has its model_type.

    Raises:
        UserError: the family refuses the configuration.
    """
    if not knows_model_type(data):
        return None
    model = config_from_hf(data, "config.json")
    family = family_of(model)
    ties = family.tied if model.tie_word_embeddings else {}
    return CheckpointFamily(placement_rules(model), family.forms(model), ties)


def placement_rules(config: ModelConfig) -> tuple[PlacementRule, ...]:
    """How the tensors of one model may be cut, under Hugging Face names."""
    family = family_of(config)
    return tuple(_placement_rules(family.sharding(config), family.key_map(config)))


def _placement_rules(table: RuleTable, keys: KeyMap) -> Iterator[PlacementRule]:
    """The family's rules under Hugging Face names; what stands before the layers is of the first pipeline stage."""
    rule_of = {rule.pattern: rule for rule in table.rules}
    row_of = {source: row for row in keys.rows for source in row.sources}
    stage, done = "first", set[str]()
    for rule in table.rules:
        row = row_of[rule.pattern]
        in_layer = "{layer}" in rule.pattern
        if in_layer:
            stage = "last"
        # One pattern for all the experts of a stack.
        patterns = {row.target} if isinstance(row, Unstack) else set(row.targets)
        for stored in sorted(patterns - done):
            placements = stored_placements(row, [rule_of[source].placements for source in row.sources])
            yield PlacementRule(stored, placements, stage="" if in_layer else stage)
        done |= patterns


def stored_placements(row: Row, placements: Sequence[tuple[Placement, ...]]) -> tuple[Placement, ...]:
    """How the tensor that a row makes is placed.

    Args:
        row: makes one tensor, or equal ones.
        placements: those of its parts, which are all divided over the same axis or not at all.

    Returns:
        The placements of the whole: of a fused one, each part is divided by itself.
    """
    first = placements[0]
    if isinstance(row, Transpose):
        return tuple(replace(placed, dim=row.axes.index(placed.dim)) for placed in first if isinstance(placed, Shard))
    if isinstance(row, Unstack):
        # A file has a tensor for each expert, which every rank that holds the expert reads.
        return tuple(
            replace(placed, dim=placed.dim - 1) for placed in first if isinstance(placed, Shard) and placed.dim
        )
    if not isinstance(row, Join | TransposedJoin):
        return first
    if isinstance(row, Join) and row.groups > 1:
        unit = sum(row.sizes) // row.groups
        return tuple(replace(placed, unit=unit) for placed in first if isinstance(placed, Shard))
    shards = [placed for part in placements for placed in part if isinstance(placed, Shard)]
    if not shards:
        return first
    return (Fused(row.dim, shards[0].axis, row.sizes, min(shard.unit for shard in shards)),)
