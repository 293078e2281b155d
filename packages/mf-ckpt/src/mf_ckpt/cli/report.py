"""What `mf-ckpt inspect` says of a checkpoint, as a tree for a person or as plain data."""

from collections.abc import Mapping
from fnmatch import fnmatchcase

from mf_ckpt.cli.tensor_tree import Leaf, tree_lines
from mf_ckpt.cli.texts import printable, size_text
from mf_ckpt.disk.files import JsonObject
from mf_ckpt.placement.layout import Layout
from mf_ckpt.reading.reader import Reader
from mf_ckpt.sources.source import Source
from mf_config.layout import TensorLayout


def describe(reader: Reader, pattern: str) -> JsonObject:
    """A checkpoint as plain data.

    Args:
        reader: the open checkpoint.
        pattern: shell pattern of the tensor names to list, such as `*.q_proj.weight`.

    Returns:
        path, form, step, whether it is cut, layout, and for weights and optimizer state: tensors, their number,
        elements and bytes. The sums count the listed tensors only.
    """
    layout = reader.layout
    return {
        "path": str(reader.path),
        "form": reader.form,
        "step": reader.step,
        "sliced": reader.is_sliced,
        "layout": layout.to_json() if layout else None,
        "weights": _tensors(reader, pattern, layout, layout.tensors if layout else {}),
        "optimizer": _tensors(reader.optimizer, pattern, layout, layout.optimizer if layout else {}),
    }


def as_text(report: JsonObject) -> str:
    """What `describe` returned, as a tree of the tensors with a summary."""
    lines = []
    for title in ("weights", "optimizer"):
        group = report[title]
        leaves = {
            tensor["name"]: Leaf(tensor["dtype"], tuple(tensor["shape"]), tensor["bytes"], tensor["placed"])
            for tensor in group["tensors"]
        }
        if leaves:
            count = "1 tensor" if group["count"] == 1 else f"{group['count']:,} tensors"
            lines += tree_lines(leaves)
            lines.append(f"{title}: {count}, {group['elements']:,} elements, {size_text(group['bytes'])}")
    if report["step"] is not None:
        lines.append(f"step: {report['step']}")
    if report["layout"] is not None:
        layout = Layout.from_json(report["layout"])
        lines.append(f"layout: {layout.mesh}; {'stored as pieces of ranks' if report['sliced'] else 'stored whole'}")
        lines += [f"tied: {name} is {original}" for name, original in layout.ties.items()]
    elif report["sliced"]:
        lines.append("stored as pieces of ranks")
    return "\n".join(map(printable, lines))


def _tensors(source: Source, pattern: str, layout: Layout | None, layouts: Mapping[str, TensorLayout]) -> JsonObject:
    infos = {name: source.info(name) for name in source if fnmatchcase(name, pattern)}
    return {
        "tensors": [
            {
                "name": name,
                "dtype": info.dtype,
                "shape": list(info.shape),
                "bytes": info.nbytes,
                "placed": _placed(name, layout, layouts),
            }
            for name, info in infos.items()
        ],
        "count": len(infos),
        "elements": sum(info.count for info in infos.values()),
        "bytes": sum(info.nbytes for info in infos.values()),
    }


def _placed(name: str, layout: Layout | None, layouts: Mapping[str, TensorLayout]) -> str:
    """How a tensor is placed, in words: what divides it, and its pipeline stage; empty where nothing does."""
    if layout is None or name not in layouts:
        return ""
    divisions = [str(part) for part in layouts[name].divisions if layout.mesh.degree(part.axis) > 1]
    padded = layouts[name].padded_shape != layouts[name].shape
    stage = [f"stage {layout.stages[name]}"] if name in layout.stages else []
    return ", ".join([*divisions, *(["padded"] if padded else []), *stage])
