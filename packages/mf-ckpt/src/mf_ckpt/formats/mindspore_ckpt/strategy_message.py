"""A strategy file in its binary form, a `ParallelStrategyMap` message. Source: MindSpore, node_strategy.proto."""

from collections.abc import Iterable, Iterator

from mf_ckpt.formats.mindspore_ckpt import wire
from mf_ckpt.formats.mindspore_ckpt.parallel_layout import ParallelLayout
from mf_config.problems import UserError

_CURRENT_STAGE, _OPERATOR, _PARAMETER = 1, 2, 3
"""Fields of the whole: a counter of MindSpore, the operators' strategies, the parameters' layouts."""
_NAME, _CONTENT = 1, 2
"""Fields of an operator and of a parameter."""
_STAGE, _CUTS = 1, 2
"""Fields of an operator's content."""
_MATRIX, _MAP, _SPLIT_SHAPE, _OFFSET, _FIELD, _STEP, _SIZE = 1, 2, 3, 4, 5, 6, 7
"""Fields of a parameter's layout: the first four are lists, messages with numbers in field 1."""
_ITEM = 1


def parse(data: bytes) -> tuple[int, dict[str, ParallelLayout]]:
    """The stage and the layouts of a file.

    Args:
        data: its content.

    Returns:
        The stage of the first operator (0 where there is none), and the layouts by the names that the file has.

    Raises:
        UserError: the bytes are no such message.
    """
    stage: int | None = None
    layouts: dict[str, ParallelLayout] = {}
    for part in wire.fields(data, 0, len(data)):
        if part.number == _OPERATOR and stage is None:
            stage = _operator_stage(data, part)
        elif part.number == _PARAMETER:
            name, layout = _parameter(data, part)
            if name in layouts:
                raise UserError(f"names parameter {name!r} twice")
            layouts[name] = layout
    return stage or 0, layouts


def render(entries: list[tuple[int, str, str, ParallelLayout]]) -> bytes:
    """The content of a file.

    Args:
        entries: stage, parameter, its name in the file, and its layout.
    """
    operators = (wire.bytes_field(_OPERATOR, _render_operator(*entry)) for entry in entries)
    parameters = (wire.bytes_field(_PARAMETER, _render_parameter(key, layout)) for _, _, key, layout in entries)
    return wire.number_field(_CURRENT_STAGE, 1) + b"".join(operators) + b"".join(parameters)


def _operator_stage(data: bytes, operator: wire.Field) -> int:
    content = next((part for part in _message(data, operator) if part.number == _CONTENT), None)
    stages = () if content is None else (part.value for part in _message(data, content) if part.number == _STAGE)
    return next(iter(stages), 0)


def _parameter(data: bytes, parameter: wire.Field) -> tuple[str, ParallelLayout]:
    parts = {part.number: part for part in _message(data, parameter)}
    if _NAME not in parts or _CONTENT not in parts:
        raise UserError(f"is damaged: the layout at byte {parameter.start} lacks its name or its content")
    name = wire.text(data, parts[_NAME])
    try:
        return name, _layout(data, parts[_CONTENT])
    except UserError as error:
        raise UserError(f"parameter {name!r}: {error}") from None


def _layout(data: bytes, layout: wire.Field) -> ParallelLayout:
    lists: dict[int, list[list[int]]] = {_MATRIX: [], _MAP: [], _SPLIT_SHAPE: [], _OFFSET: []}
    scalars = {_FIELD: 0, _STEP: 0, _SIZE: 0}
    for part in _message(data, layout):
        if part.number in lists:
            lists[part.number].append([item for inner in _message(data, part) for item in _items(data, inner)])
        elif part.number in scalars and part.kind == wire.VARINT:
            scalars[part.number] = wire.signed(part.value)
    if len(lists[_MATRIX]) != 1 or not lists[_MAP]:
        raise UserError("has no device matrix or no tensor map, or two matrices")
    # One list gives an axis for each dimension; several give the axes of one dimension each.
    maps = lists[_MAP]
    dims = [[axis] for axis in maps[0]] if len(maps) == 1 else [axes for axes in maps if axes]
    extra = {
        "field": scalars[_FIELD],
        "param_split_shape": [item for items in lists[_SPLIT_SHAPE] for item in items],
        "indices_offset": [item for items in lists[_OFFSET] for item in items],
    }
    return ParallelLayout.from_file(lists[_MATRIX][0], dims, scalars[_STEP], scalars[_SIZE], extra)


def _message(data: bytes, message: wire.Field) -> Iterator[wire.Field]:
    if message.kind != wire.BYTES:
        raise UserError(f"is damaged: a number at byte {message.start} where a message is needed")
    return wire.fields(data, message.start, message.stop)


def _items(data: bytes, part: wire.Field) -> list[int]:
    if part.number != _ITEM:
        raise UserError(f"is damaged: field {part.number} at byte {part.start} of a list")
    return wire.numbers(data, part)


def _render_operator(stage: int, name: str, _: str, layout: ParallelLayout) -> bytes:
    content = wire.number_field(_STAGE, stage) + wire.bytes_field(_CUTS, _render_list(layout.cuts))
    return wire.bytes_field(_NAME, name.encode()) + wire.bytes_field(_CONTENT, content)


def _render_parameter(name: str, layout: ParallelLayout) -> bytes:
    maps = layout.file_map if layout.is_nested else [[axis for axes in layout.file_map for axis in axes]]
    content = (
        wire.bytes_field(_MATRIX, _render_list(layout.device_matrix)),
        *(wire.bytes_field(_MAP, _render_list(axes)) for axes in maps),
        wire.bytes_field(_SPLIT_SHAPE, b""),
        wire.bytes_field(_OFFSET, b""),
        wire.number_field(_FIELD, 0),
        wire.number_field(_STEP, layout.opt_shard_step),
        wire.number_field(_SIZE, layout.opt_shard_size),
    )
    return wire.bytes_field(_NAME, name.encode()) + wire.bytes_field(_CONTENT, b"".join(content))


def _render_list(values: Iterable[int]) -> bytes:
    return b"".join(wire.number_field(_ITEM, value) for value in values)
