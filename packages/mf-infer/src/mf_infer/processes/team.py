"""The processes that compute one model, each with a piece of its weights, seen from one of them."""

import json
from typing import Any

from mf_ckpt import Source
from mf_config.layout import Mesh
from mf_models.layers.causal_lm import CausalLanguageModel
from mf_models.model_config import ModelConfig
from mf_models.networks import parameters
from mf_models.registry import family_of
from mf_models.weights import shapes_of
from mf_parallel.axes import AxisCommunicators
from mf_parallel.collectives import connect
from mf_parallel.pieces import Pieces
from mf_parallel.plan import ParallelPlan, make_plan
from mf_parallel.process_group import ProcessGroup
from mf_parallel.tensor_parallel import divide_layers

_SHORTEST_MESSAGE = 256
"""Bytes. Messages are filled up to a power of two: each size is a graph of its own."""


class Team:
    """This process among those of its model.

    Attributes:
        is_first: whether it is the one that decides what is computed.
    """

    def __init__(self) -> None:
        """Meets the others, as `followers.start_followers` started them; a scheduler process ends in this call."""
        group = ProcessGroup.from_environment()
        connect(group)
        self.is_first = group.rank == 0
        self._axes = AxisCommunicators(Mesh.of(tp=group.size), group.rank)

    def hear(self, message: Any = None) -> Any:
        """What the first process says; all call it together.

        Args:
            message: what JSON can hold; the others say nothing.
        Returns:
            The message, on every process.
        """
        size = len(json.dumps(message))
        filled = max(_SHORTEST_MESSAGE, 1 << (size - 1).bit_length())
        return self._axes.everyone.gather([message, " " * (filled - size)])[0][0]

    def plan(self, config: ModelConfig, model: CausalLanguageModel) -> ParallelPlan:
        """What each process holds of a model's weights: heads and inner features are divided, the vocabulary is not.

        Raises:
            UserError: the model can't be divided evenly; it names the parameters.
        """
        rules = family_of(config).sharding(config)
        return make_plan(self._axes.mesh, shapes_of(model), rules, whole_vocabulary=True)

    def fill(self, model: CausalLanguageModel, plan: ParallelPlan, weights: Source) -> None:
        """Give a model this process's pieces of its weights, which come under the names of its parameters."""
        Pieces(plan, self._axes).fill(parameters(model), weights.read)

    def connect_layers(self, model: CausalLanguageModel, plan: ParallelPlan) -> None:
        """Let the layers of a filled model add up what the processes compute; before it is compiled.

        Afterwards layers stand inside others, so whatever asks a layer for its sizes comes before.
        """
        (part,) = plan.split.parts(0)
        divide_layers(model, plan, self._axes, part)
        if model.model.alibi is not None:
            model.model.alibi.keep_heads(self._axes.position("tp"), self._axes.degree("tp"))
