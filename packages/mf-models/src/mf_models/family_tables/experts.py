"""Names and placements of experts' parameters: one tensor [experts, out, in] in the cells, one for each in files."""

from collections.abc import Mapping

from mf_ckpt import Rename, Unstack
from mf_ckpt.keymap.rows import Row
from mf_config.layout import Shard
from mf_parallel.rules import Role, Rule

LAYER = "model.layers.{layer}"
ALONE = f"{LAYER}.feed_forward"
"""Cell of the routed experts of a block that has no others."""

ROUTED = f"{ALONE}.routed_experts"
"""Cell of the routed experts beside an expert that every token goes to."""

_PROJECTIONS = {"w1": "gate_proj", "w2": "down_proj", "w3": "up_proj"}


def routed_rows(cell: str, stored: str, count: int, projections: Mapping[str, str] = _PROJECTIONS) -> tuple[Row, ...]:
    """The router and the routed experts.

    Args:
        cell: `ALONE` or `ROUTED`.
        stored: what the names of both begin with in files.
        count: routed experts of a block.
        projections: the cell's three matrices to their names in files.
    """
    return (
        Rename(f"{cell}.router.dense.weight", f"{stored}.gate.weight"),
        *(
            Unstack(f"{cell}.ffn.{own}.weight", f"{stored}.experts.{{expert}}.{other}.weight", "expert", count)
            for own, other in projections.items()
        ),
    )


def shared_rows(stored: str) -> tuple[Row, ...]:
    """The expert that every token goes to; `stored` is what its names begin with in files."""
    return tuple(
        Rename(f"{ALONE}.shared_experts.{own}.weight", f"{stored}.{other}.weight")
        for own, other in _PROJECTIONS.items()
    )


def routed_rules(cell: str) -> tuple[Rule, ...]:
    """The router, which every rank has, and the routed experts: divided over `ep`, and each of them over `tp`.

    Args:
        cell: `ALONE` or `ROUTED`.
    """
    column, row = (Shard(0, "ep"), Shard(1, "tp")), (Shard(0, "ep"), Shard(2, "tp"))
    return (
        Rule(f"{cell}.router.dense.weight"),
        Rule(f"{cell}.ffn.w1.weight", column, Role.COLUMN),
        Rule(f"{cell}.ffn.w2.weight", row, Role.ROW),
        Rule(f"{cell}.ffn.w3.weight", column, Role.COLUMN),
    )
