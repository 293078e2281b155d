"""The model that `bench_reshard.py` cuts: tensors of Llama's shapes in float16, without a memory of its own."""

import math
from pathlib import Path

import numpy as np

from mf_ckpt import ArraySource, Layout, PlacementRule, RankSource, Reader, place, transform
from mf_ckpt.dtypes import Array
from mf_ckpt.formats.mindspore_ckpt.ckpt_writer import CkptWriter
from mf_ckpt.formats.mindspore_ckpt.strategy import write_strategy
from mf_ckpt.formats.mindspore_ckpt.strategy_layouts import to_strategy
from mf_ckpt.sources.source import Slices, Source, TableSource, bounded
from mf_ckpt.tensor_info import TensorInfo
from mf_config.layout import Mesh, Shard

HIDDEN, INNER, VOCABULARY, KEY_ROWS, HEAD = 2048, 5632, 32000, 256, 64
BEFORE = Mesh.of(tp=2)
LAYER = {
    "self_attn.q_proj": ((HIDDEN, HIDDEN), Shard(0, "tp", HEAD)),
    "self_attn.k_proj": ((KEY_ROWS, HIDDEN), Shard(0, "tp", HEAD)),
    "self_attn.v_proj": ((KEY_ROWS, HIDDEN), Shard(0, "tp", HEAD)),
    "self_attn.o_proj": ((HIDDEN, HIDDEN), Shard(1, "tp", HEAD)),
    "mlp.gate_proj": ((INNER, HIDDEN), Shard(0, "tp")),
    "mlp.up_proj": ((INNER, HIDDEN), Shard(0, "tp")),
    "mlp.down_proj": ((HIDDEN, INNER), Shard(1, "tp")),
}
ENDS = {"model.embed_tokens.weight": "first", "lm_head.weight": "last"}
RULES = (
    *(PlacementRule(name, (Shard(0, "tp"),), stage) for name, stage in ENDS.items()),
    *(PlacementRule(f"model.layers.{{layer}}.{name}.weight", (shard,)) for name, (_, shard) in LAYER.items()),
    PlacementRule("model.layers.{layer}.input_layernorm.weight"),
)


class RandomWeights(TableSource[tuple[int, ...]]):
    """Random bits of finite float16 values, made for whatever part is read: the same in every process."""

    def info(self, name: str) -> TensorInfo:
        """float16 of the shape in the table."""
        return TensorInfo("F16", self._entry(name))

    def raw(self, name: str, slices: Slices = ()) -> Array:
        """Rows of one fixed block, from where the name and the part say."""
        full = bounded(name, slices, self._entry(name))
        whole = np.resize(_NOISE, (full[0].stop - full[0].start, *self._entry(name)[1:]))
        part: Array = whole[(slice(None), *full[1:])]
        return part


_NOISE = (np.random.Generator(np.random.Philox(7)).integers(0, 0x7800, 1 << 20, np.uint16)).view(np.float16)


def weights(nbytes: int) -> Source:
    """A model of about that size: embedding, head, and as many layers as fit."""
    layer = {name: shape for name, (shape, _) in LAYER.items()} | {"input_layernorm": (HIDDEN,)}
    per_layer = 2 * sum(math.prod(shape) for shape in layer.values())
    count = max(2, (nbytes - 2 * 2 * VOCABULARY * HIDDEN) // per_layer)
    table: dict[str, tuple[int, ...]] = dict.fromkeys(ENDS, (VOCABULARY, HIDDEN))
    for number in range(count):
        table |= {f"model.layers.{number}.{name}.weight": shape for name, shape in layer.items()}
    return RandomWeights(table, "random weights")


def layout(source: Source, mesh: Mesh) -> Layout:
    """How the model is cut."""
    return place(source, ArraySource({}), mesh, RULES)


def prepare(form: str, root: Path, megabytes: int) -> None:
    """Write the checkpoint that is cut anew to `root/source`, and what MindSpore needs beside it."""
    source = weights(megabytes * 1_000_000)
    if form == "mf":
        transform(Reader(Path(__file__), source), root / "source", layout=layout(source, BEFORE))
        return
    before = layout(source, BEFORE)
    for rank in range(BEFORE.size):
        pieces = RankSource(source, BEFORE, before.tensors, rank)
        with CkptWriter(root / "source" / f"rank_{rank}" / f"model_rank_{rank}-1_1.ckpt") as writer:
            for name in pieces:
                writer.add(name, pieces[name])
    for name, mesh in (("strategy", BEFORE), ("strategy_after", Mesh.of(tp=4))):
        write_strategy(root / name / "all_rank_0.ckpt", to_strategy(mesh, {0: layout(source, mesh).tensors}))
