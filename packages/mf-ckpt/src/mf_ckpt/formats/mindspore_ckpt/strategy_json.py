"""A strategy file in its JSON form."""

import json
from collections.abc import Mapping

from mf_ckpt.disk.files import JsonObject
from mf_ckpt.formats.mindspore_ckpt.parallel_layout import ParallelLayout
from mf_config.problems import UserError

_EXTRA = ("field", "param_split_shape", "indices_offset")


def parse(document: JsonObject) -> tuple[int, dict[str, ParallelLayout]]:
    """The stage and the layouts of a document.

    Args:
        document: the decoded file.

    Returns:
        The stage of the first operator (0 where there is none), and the layouts by the names that the file has.

    Raises:
        UserError: something is missing or of the wrong kind.
    """
    items, operators = document.get("parallel_layout_item"), document.get("parallel_strategy_item") or {}
    if not isinstance(items, dict) or not isinstance(operators, dict):
        raise UserError("has no parallel_layout_item, an object from parameter names to layouts")
    first: object = next(iter(operators.values()), {})
    stage = _whole(first.get("stage", 0), "stage") if isinstance(first, dict) else 0
    return stage, {name: _named(name, item) for name, item in items.items()}


def render(entries: list[tuple[int, str, str, ParallelLayout]]) -> bytes:
    """The content of a file.

    Args:
        entries: stage, parameter, its name in the file, and its layout.
    """
    operators = {name: {"stage": stage, "parallel_strategy": [list(layout.cuts)]} for stage, name, _, layout in entries}
    layouts = {key: _to_json(layout) for _, _, key, layout in entries}
    document = {"current_stage": 1, "parallel_strategy_item": operators, "parallel_layout_item": layouts}
    return json.dumps(document).encode()


def _named(name: str, item: object) -> ParallelLayout:
    try:
        if not isinstance(item, dict):
            raise UserError("an object is needed")
        return _from_json(item)
    except UserError as error:
        raise UserError(f"parameter {name!r}: {error}") from None


def _from_json(item: Mapping[str, object]) -> ParallelLayout:
    maps = item.get("tensor_map")
    if not isinstance(maps, list):
        raise UserError("has no tensor_map, a list")
    return ParallelLayout.from_file(
        _wholes(item.get("dev_matrix"), "dev_matrix"),
        [_wholes(axes if isinstance(axes, list) else [axes], "tensor_map") for axes in maps],
        _whole(item.get("opt_weight_shard_step", 0), "opt_weight_shard_step"),
        _whole(item.get("opt_weight_shard_size", 0), "opt_weight_shard_size"),
        {name: item.get(name) for name in _EXTRA},
    )


def _to_json(layout: ParallelLayout) -> JsonObject:
    maps = layout.file_map
    return {
        "dev_matrix": list(layout.device_matrix),
        "tensor_map": maps if layout.is_nested else [axis for axes in maps for axis in axes],
        "field": 0,
        "opt_weight_shard_step": layout.opt_shard_step,
        "opt_weight_shard_size": layout.opt_shard_size,
    }


def _whole(value: object, what: str) -> int:
    if type(value) is not int:
        raise UserError(f"{what} must be a whole number")
    return value


def _wholes(value: object, what: str) -> list[int]:
    if not isinstance(value, list):
        raise UserError(f"{what} must be a list of whole numbers")
    return [_whole(item, what) for item in value]
