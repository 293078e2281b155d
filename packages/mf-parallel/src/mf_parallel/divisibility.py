"""Whether the ranks of a mesh can share a tensor equally, and what to say where they can't."""

import math
from collections.abc import Sequence

from mf_config.layout import Fused, Mesh, Shard, TensorLayout
from mf_config.problems import name_values


def uneven_divisions(mesh: Mesh, layout: TensorLayout) -> list[str]:
    """What is wrong with a layout.

    Args:
        mesh: the mesh of all ranks.
        layout: how a tensor is divided.

    Returns:
        A message for each placement that would not give every rank the same.
    """
    left = list(layout.padded_shape)
    found = []
    for division in layout.divisions:
        count = mesh.degree(division.axis)
        parts = division.parts if isinstance(division, Fused) else (left[division.dim],)
        if any(part % (division.unit * count) for part in parts):
            found.append(_explain(division, parts, count))
        left[division.dim] //= count
    return found


def _explain(division: Shard | Fused, parts: Sequence[int], count: int) -> str:
    whole_units = [part // division.unit for part in parts]
    what = " + ".join(map(str, parts)) + " elements"
    if division.unit > 1:
        what = f"{' + '.join(map(str, whole_units))} units (heads) of {division.unit} elements"
    common = math.gcd(*whole_units)
    allowed = name_values(degree for degree in range(1, common + 1) if common % degree == 0)
    return (
        f"{count} {division.axis} ranks cannot share dim {division.dim} equally: {what}. "
        f"Allowed: {division.axis} {allowed}."
    )
