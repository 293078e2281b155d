"""Which layers get a product beside them, by their names in cells and files, with what rank and scale; host only."""

import itertools
import math
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from mf_ckpt import Join, Permute, Rename, Transpose
from mf_ckpt.keymap.keymap import Step
from mf_config.problems import UserError, name_values
from mf_models.config_keys.classes import SCORE
from mf_models.family_tables.transposed import TransposedJoin
from mf_models.model_config import ModelConfig
from mf_models.pet.lora.keys import LoraKeys, Names
from mf_models.registry import family_of

WEIGHT = ".weight"
"""A layer's matrix is named after it, with this at its end."""

_TURNED = (Transpose, TransposedJoin)
_UNDERSTOOD = (Rename, Join, Permute, *_TURNED)
"""Rows whose target is a matrix made of whole layers."""

_Value = TypeVar("_Value", int, float)


@dataclass(frozen=True, slots=True)
class Target:
    """A matrix of the checkpoint that gets a product beside it.

    Attributes:
        module: its Hugging Face name, without `.weight`.
        layers: names in the cells of the linear layers that get the product, in the order of the matrix's parts.
        step: how the matrix is made of the layers' weights.
        rank: inner width of the product.
        alpha: numerator of the scale.
        scale: what the product is multiplied by.
    """

    module: str
    layers: tuple[str, ...]
    step: Step
    rank: int
    alpha: float
    scale: float

    @property
    def is_turned(self) -> bool:
        """Whether the checkpoint has the matrix as [in, out]."""
        return isinstance(self.step.row, _TURNED)


@dataclass(frozen=True, slots=True)
class ParameterNames:
    """What the parameters of a network are called.

    Attributes:
        steps: how the tensors of a checkpoint are made of them.
        of: name of a parameter in the cells to all its names: there, in Hugging Face files, in MindFormers'.
    """

    steps: tuple[Step, ...]
    of: Mapping[str, Sequence[str]]

    @classmethod
    def find(cls, config: ModelConfig, weights: Collection[str]) -> "ParameterNames":
        """The names of a network with these parameters."""
        family = family_of(config)
        steps = family.key_map(config).steps(weights)
        form = family.forms(config).get("mindspore")
        others: dict[str, list[str]] = {name: [] for step in steps for name in step.targets}
        for step in form.steps(name for name in others if name != SCORE) if form else ():
            for name in step.sources:
                others[name] += step.targets
        names = {}
        for step in steps:
            known = [name for stored in step.targets for name in others[stored]]
            # Where MindFormers has as many parts as the cells, each has its own name.
            apart = len(known) == len(step.sources)
            for part, name in enumerate(step.sources):
                names[name] = (name, *step.targets, *(known[part : part + 1] if apart else known))
        return cls(tuple(steps), names)


def find_targets(section: LoraKeys, names: ParameterNames, linears: Collection[str]) -> list[Target]:
    """The matrices that a section means.

    Args:
        section: the section.
        names: the network's names.
        linears: names of the linear layers that may get a product.

    Returns:
        At least one, in the order of the network.

    Raises:
        UserError: the section names none.
    """
    targets = []
    for step in names.steps:
        layers = [name.removesuffix(WEIGHT) for name in step.sources]
        if not isinstance(step.row, _UNDERSTOOD) or not all(layer in linears for layer in layers):
            continue
        called = {
            layer: [name.removesuffix(WEIGHT) for name in names.of[source]]
            for layer, source in zip(layers, step.sources, strict=True)
        }
        chosen = tuple(layer for layer, own in called.items() if _is_chosen(section, own))
        if chosen:
            targets.append(_target(section, step, chosen, list(itertools.chain.from_iterable(called.values()))))
    if not targets:
        known = dict.fromkeys(name.rpartition(".")[2] for name in linears)
        what = f"pet_config.target_modules: {section.target_modules!r} names no layer that can be trained so"
        raise UserError(f"{what}. Allowed: names such as {name_values(known)}, or those in files of weights.")
    return targets


def _target(section: LoraKeys, step: Step, layers: tuple[str, ...], names: Sequence[str]) -> Target:
    rank = _first_match(section.rank_pattern or {}, names, section.lora_rank)
    alpha = _first_match(section.alpha_pattern or {}, names, section.lora_alpha)
    scale = alpha / (math.sqrt(rank) if section.use_rslora else rank)
    return Target(step.targets[0].removesuffix(WEIGHT), layers, step, rank, alpha, scale)


def _is_chosen(section: LoraKeys, names: Sequence[str]) -> bool:
    excluded = section.exclude_layers is not None and _fits(section.exclude_layers, names)
    return _fits(section.target_modules, names) and not excluded


def _fits(wanted: Names, names: Sequence[str]) -> bool:
    """Whether one of a layer's names is meant.

    An expression fits the beginning of a short name, as in MindFormers, or a name in full; a listed name fits the end
    of a name, as in PEFT.
    """
    if isinstance(wanted, str):
        return any(re.match(wanted, name.rpartition(".")[2]) or re.fullmatch(wanted, name) for name in names)
    return any(f".{name}".endswith(f".{end}") for name in names for end in wanted)


def _first_match(patterns: Mapping[str, _Value], names: Sequence[str], default: _Value) -> _Value:
    """The value of the first pattern that fits a name or its end after a dot, as in PEFT."""
    for pattern, value in patterns.items():
        if any(re.match(rf"(.*\.)?({pattern})$", name) for name in names):
            return value
    return default
