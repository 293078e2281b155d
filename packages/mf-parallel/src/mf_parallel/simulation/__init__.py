"""MindSpore's Ascend compiler without an NPU: stand-in CANN libraries, and processes that take the part of one rank.

What the compiler makes of a graph is real: differentiation, shapes, fused operators, parallel passes. What only the
device or CANN know is not: numbers, speed, and whether CANN has a kernel for an operator. The names here need no
MindSpore; `mf_parallel.simulation.graphs`, which runs inside such a process, does.
"""

from mf_parallel.simulation.libraries import StandIn, stand_in
from mf_parallel.simulation.run import SimulatedRank, SimulationError, simulate

__all__ = ["SimulatedRank", "SimulationError", "StandIn", "simulate", "stand_in"]
