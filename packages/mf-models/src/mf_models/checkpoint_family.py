"""What mf-ckpt's tools need to know of a family: how tensors are cut, and what other programs call them; host only."""

from collections.abc import Iterator, Mapping
from typing import Any

from mf_ckpt import CheckpointFamily, KeyMap, PlacementRule
from mf_models.registry import config_from_hf, family_of, knows_model_type
from mf_parallel.rules import RuleTable


def checkpoint_family(config: Mapping[str, Any]) -> CheckpointFamily | None:
    """The entry point of group `mf.checkpoint_families`.

    Args:
        config: content of a model's config.json.

    Returns:
        What is known of the model's tensors, None where no family with a network has its model_type.

    Raises:
        UserError: the family refuses the configuration.
    """
    if not knows_model_type(config):
        return None
    model = config_from_hf(config, "config.json")
    family = family_of(model)
    rules = tuple(_placement_rules(family.sharding(model), family.key_map(model)))
    return CheckpointFamily(rules, family.forms(model), family.tied if model.tie_word_embeddings else {})


def _placement_rules(table: RuleTable, keys: KeyMap) -> Iterator[PlacementRule]:
    """The family's rules under Hugging Face names; what stands before the layers is of the first pipeline stage."""
    stored = {source: target for row in keys.rows for source, target in zip(row.sources, row.targets, strict=True)}
    stage = "first"
    for rule in table.rules:
        in_layer = "{layer}" in rule.pattern
        if in_layer:
            stage = "last"
        yield PlacementRule(stored[rule.pattern], tuple(rule.placements), stage="" if in_layer else stage)
