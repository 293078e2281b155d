"""Applies LoRA to a finished network from outside: products beside its linear layers, everything else frozen."""

import math
from collections.abc import Iterable, Sequence
from fnmatch import fnmatch

import numpy as np
from mindspore import Parameter, Tensor

from mf_config.problems import UserError
from mf_models.config_keys.classes import SCORE
from mf_models.initializers import uniform_values
from mf_models.layers.causal_lm import CausalLanguageModel
from mf_models.layers.dropout import connect_dropout
from mf_models.layers.linear import ADAPTER, Linear
from mf_models.model_config import ModelConfig
from mf_models.networks import parameters
from mf_models.pet.lora.adapted import LoraAdaptation, Matrices
from mf_models.pet.lora.keys import LoraKeys
from mf_models.pet.lora.layer import LowRankProduct
from mf_models.pet.lora.targets import WEIGHT, ParameterNames, Target, find_targets


def attach(section: LoraKeys, cell: CausalLanguageModel, config: ModelConfig, seed: int) -> LoraAdaptation:
    """Put a product beside each layer that a section means; call it before the cell is compiled.

    The second matrix is zero, so that at first nothing changes. The head never gets a product, as in MindFormers.

    Args:
        section: the section.
        cell: the network; its weights may still change.
        config: its configuration.
        seed: seed of the new matrices.

    Returns:
        The trained weights and their files.

    Raises:
        UserError: a pattern fits no layer, or asks for a weight that an adapter can't hold.
    """
    linears = {
        inner.weight.name.removesuffix(WEIGHT): inner
        for _, inner in cell.model.cells_and_names()
        if isinstance(inner, Linear)
    }
    names = ParameterNames.find(config, parameters(cell))
    targets = find_targets(section, names, linears)
    matrices = [_put_beside(target, linears, seed, section.lora_dropout) for target in targets]
    # MindSpore puts the names of the cells before a parameter's name, but only of those that are set right now.
    for target, own in zip(targets, matrices, strict=True):
        own.a.name = f"{target.layers[0]}.{ADAPTER}.a"
        for layer, b in own.b.items():
            b.name = f"{layer}.{ADAPTER}.b"
    connect_dropout(cell)
    _freeze(section, cell, names)
    embedding = cell.model.tok_embeddings.embedding_weight
    if config.tie_word_embeddings and embedding.requires_grad:
        what = "freeze_exclude: an adapter can't hold an embedding that is the head too"
        raise UserError(f"pet_config.{what}. Allowed: patterns of other weights.")
    return LoraAdaptation(section, cell, list(zip(targets, matrices, strict=True)), names.steps)


def _put_beside(target: Target, linears: dict[str, Linear], seed: int, dropout_rate: float) -> Matrices:
    """The new matrices of a target; the first is uniform as in MindFormers and PEFT.

    Source: He et al. 2015, Delving Deep into Rectifiers, with the negative slope sqrt(5).
    """
    width = linears[target.layers[0]].weight.shape[1]
    a_LD = uniform_values(f"{target.module}.lora_A", (target.rank, width), seed, 1.0 / math.sqrt(width))
    matrices = Matrices(Parameter(Tensor(a_LD)), {})
    for layer in target.layers:
        rows = linears[layer].weight.shape[0]
        matrices.b[layer] = Parameter(Tensor(np.zeros((rows, target.rank), np.float32)))
        linears[layer].adapter = LowRankProduct(matrices.a, matrices.b[layer], target.scale, dropout_rate)
    return matrices


def _freeze(section: LoraKeys, cell: CausalLanguageModel, names: ParameterNames) -> None:
    """Leave the new matrices and a head of classes to be trained, and what the section's shell patterns say.

    What both lists name stays as it is. The head is trained whole, as by PEFT for the task SEQ_CLS.

    Source: MindPet, graph/freeze_utils.py.
    """
    for parameter in cell.get_parameters():
        called = names.of.get(parameter.name, (parameter.name,))
        frozen, trained = (_is_named(called, patterns) for patterns in (section.freeze_include, section.freeze_exclude))
        # All that is no weight of the family's and takes a gradient was put there just now.
        is_own = parameter.name not in names.of or SCORE in called
        parameter.requires_grad = parameter.requires_grad and (trained if frozen != trained else is_own)


def _is_named(names: Sequence[str], patterns: Iterable[str] | None) -> bool:
    return any(fnmatch(name, pattern) for name in names for pattern in patterns or ())
