"""The layout vocabulary: a named-axis mesh, placements, and the slices of a tensor that each rank holds.

Integers and numpy only: no device, no files, no framework.
"""

from mf_config.layout.mesh import AXES, Mesh
from mf_config.layout.pieces import gather, scatter
from mf_config.layout.placement import Fused, Placement, Replicate, Shard
from mf_config.layout.tensor_layout import Box, TensorLayout

__all__ = ["AXES", "Box", "Fused", "Mesh", "Placement", "Replicate", "Shard", "TensorLayout", "gather", "scatter"]
