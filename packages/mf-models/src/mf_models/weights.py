"""Weights between cells and checkpoints, under Hugging Face names."""

import logging
from collections.abc import Iterator, Mapping
from functools import cache

import numpy as np
from mindspore import Parameter, Tensor, nn

import mf_ckpt
from mf_ckpt import MappedSource, Source, TensorInfo
from mf_ckpt.keymap.rows import apply
from mf_ckpt.sources.renamed import RenamedSource
from mf_config.layout import TensorLayout
from mf_models.checkpoint_family import stored_placements
from mf_models.model_config import ModelConfig
from mf_models.networks import has_float32_only, parameters
from mf_models.registry import family_of
from mf_parallel.pieces import array_of
from mf_parallel.plan import ParallelPlan

_NO_WEIGHT_TYPES = ("F64", "I64", "I32", "I16", "I8", "U64", "U32", "U16", "U8", "BOOL", "F8_E4M3", "F8_E5M2")
"""F64 would be rounded, integers and 8-bit floats mean a quantised weight; the types of GGUF expand by themselves."""

_ELEMENT_TYPES = {"Float32": "F32", "Float16": "F16", "BFloat16": "BF16"}
"""MindSpore's names of the types that weights are kept in, and those of checkpoints."""

_NARROW_TYPES = {"BF16": "bfloat16", "F16": "float16"}
"""Names in checkpoints of the types that are narrower than float32, and how messages call them."""

_log = logging.getLogger(__name__)

Shapes = Mapping[str, tuple[int, ...]]
"""Name of each parameter of a cell to its whole shape, in the order of the layers."""


def to_checkpoint_names(config: ModelConfig, cell: nn.Cell) -> Iterator[tuple[str, np.ndarray]]:
    """The weights of a cell as they are stored.

    Args:
        config: the cell's configuration.
        cell: result of `build` or `load`.

    Yields:
        Hugging Face name and array, one tensor at a time; a tied head is left out. bfloat16 comes as float32, see
        `stored_types`.
    """
    yield from to_stored_form(config, parameters(cell))


def to_stored_form(config: ModelConfig, tensors: Mapping[str, Tensor]) -> Iterator[tuple[str, np.ndarray]]:
    """Tensors of the shapes of a cell's parameters, weights or a slot of the optimizer, as they are stored.

    Args:
        config: the cell's configuration.
        tensors: each parameter's name to its tensor.

    Yields:
        Hugging Face name and array, one stored tensor at a time.
    """
    for step in family_of(config).key_map(config).steps(tensors):
        yield from zip(step.targets, apply(step.row, [array_of(tensors[name]) for name in step.sources]), strict=True)


def stored_types(config: ModelConfig, cell: nn.Cell) -> dict[str, str]:
    """The element type in which each weight of a cell is kept and stored, under Hugging Face names: `F32`, `BF16`.

    Args:
        config: the cell's configuration.
        cell: result of `build`, with all its parameters.
    """
    held = parameters(cell)
    steps = family_of(config).key_map(config).steps(held)
    return {name: _ELEMENT_TYPES[str(held[step.sources[0]].dtype)] for step in steps for name in step.targets}


def in_cell_form(config: ModelConfig, shapes: Shapes, stored: Source) -> Source:
    """What `to_stored_form` wrote, under the names and in the shapes of a cell's parameters; read when asked for.

    Args:
        config: the cell's configuration.
        shapes: the shapes of the cell's whole parameters.
        stored: at least the tensors that the parameters make, under Hugging Face names.
    """
    names = stored_shapes(config, shapes)
    return MappedSource(RenamedSource.subset(stored, names), family_of(config).key_map(config).inverse)


def assign(config: ModelConfig, cell: nn.Cell, tensors: Source, where: str) -> None:
    """Copy stored weights into a cell, all or none.

    Args:
        config: the cell's configuration.
        cell: result of `build`.
        tensors: the weights of an open checkpoint, under Hugging Face names; one is read at a time.
        where: the checkpoint's name in messages.

    Raises:
        UserError: tensors are missing, left over, of the wrong shape or type; all of them are found at once.
    """
    cells = fitting(config, shapes_of(cell), tensors, where)
    tell_of_widening(tensors)
    for name, parameter in parameters(cell).items():
        put(parameter, cells[name])


def put(parameter: Parameter, values: np.ndarray) -> None:
    """Copy values of the parameter's shape into it, as float32."""
    parameter.set_data(Tensor(np.ascontiguousarray(values, dtype=np.float32)))


def tell_of_widening(tensors: Source) -> None:
    """Log what stands in for the types of stored weights where the device has float32 only; once a process.

    Args:
        tensors: the weights of an open checkpoint.
    """
    if has_float32_only():
        held = {tensors.info(name).dtype for name in tensors}
        warn_of_widening(tuple(name for dtype, name in _NARROW_TYPES.items() if dtype in held))


@cache
def warn_of_widening(types: tuple[str, ...]) -> None:
    """Log once a process that weights of these types are widened; nothing where there are none."""
    if types:
        _log.warning("weights stored as %s are widened, as all is float32 on CPU", " and ".join(types))


def fitting(config: ModelConfig, shapes: Shapes, tensors: Source, where: str) -> Source:
    """Stored weights under the names and in the shapes of a cell's parameters; read when asked for.

    Args:
        config: the cell's configuration.
        shapes: the shapes of the cell's whole parameters.
        tensors: the weights of an open checkpoint, under Hugging Face names.
        where: the checkpoint's name in messages.

    Raises:
        UserError: tensors are missing, left over, of the wrong shape or type; all of them are found at once.
    """
    family = family_of(config)
    ties = family.tied if config.tie_word_embeddings else {}
    expected = stored_shapes(config, shapes)
    fit = mf_ckpt.compare(tensors, expected, ties=ties, ignored=family.ignored_tensors, refused=_NO_WEIGHT_TYPES)
    fit.check(where)
    return in_cell_form(config, shapes, tensors)


def stored_layout(config: ModelConfig, plan: ParallelPlan) -> mf_ckpt.Layout:
    """Which rank holds what of the stored tensors of a model.

    Args:
        config: the cell's configuration.
        plan: the layout of the cell's parameters.
    """
    shapes = {name: parameter.layout.shape for name, parameter in plan.parameters.items()}
    tensors: dict[str, TensorLayout] = {}
    stages: dict[str, int] = {}
    for step in family_of(config).key_map(config).steps(shapes):
        made_of = [plan.parameters[name] for name in step.sources]
        placements = stored_placements(step.row, [parameter.layout.placements for parameter in made_of])
        infos = step.row.infos([TensorInfo("F32", shapes[name]) for name in step.sources])
        for name, info in zip(step.targets, infos, strict=True):
            is_padded = info.shape == made_of[0].layout.shape
            tensors[name] = TensorLayout(info.shape, placements, made_of[0].layout.padded_shape if is_padded else ())
            if plan.split.stages > 1 and len(made_of[0].stages) == 1:
                stages[name] = made_of[0].stages[0]
    return mf_ckpt.Layout(plan.mesh, tensors, stages=stages)


def shapes_of(cell: nn.Cell) -> dict[str, tuple[int, ...]]:
    """The shapes of a cell's parameters by name, in the order of its layers."""
    return {name: tuple(parameter.shape) for name, parameter in parameters(cell).items()}


def stored_shapes(config: ModelConfig, shapes: Shapes) -> dict[str, tuple[int, ...]]:
    """The shapes of a model's tensors in a checkpoint, under Hugging Face names, from those of a cell's parameters."""
    stored: dict[str, tuple[int, ...]] = {}
    for step in family_of(config).key_map(config).steps(shapes):
        infos = step.row.infos([TensorInfo("F32", shapes[name]) for name in step.sources])
        stored.update(zip(step.targets, (info.shape for info in infos), strict=True))
    return stored
