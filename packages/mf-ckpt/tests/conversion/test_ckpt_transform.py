"""The transform engine: any layout to any other, there and back, exactly once, with little memory."""

import filecmp
import hashlib
import json
import shutil
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.numpy import load_file, save_file

from mf_ckpt import (
    ArraySource,
    Join,
    KeyMap,
    Layout,
    PlacementRule,
    Reader,
    Rename,
    Stack,
    Transpose,
    Writer,
    export,
    export_weights,
    place,
    transform,
    verify,
)
from mf_ckpt import open as open_checkpoint
from mf_ckpt.placement.placement_rules import rules_of
from mf_ckpt.sources.source import Slices, TableSource, bounded, extents
from mf_ckpt.tensor_info import TensorInfo
from mf_config.layout import Fused, Mesh, Shard, TensorLayout
from mf_config.problems import UserError

DATA = Path(__file__).parents[1] / "data"
LLAMA = DATA / "llama_gqa"
ATTENTION, MLP = "model.layers.{layer}.self_attn", "model.layers.{layer}.mlp"
RULES = (
    PlacementRule("model.embed_tokens.weight", (Shard(0, "tp"),), "first"),
    PlacementRule("model.norm.weight", stage="last"),
    PlacementRule("lm_head.weight", (Shard(0, "tp"),), "last"),
    PlacementRule("model.layers.{layer}.input_layernorm.weight"),
    PlacementRule("model.layers.{layer}.post_attention_layernorm.weight"),
    *(PlacementRule(f"{ATTENTION}.{name}_proj.weight", (Shard(0, "tp", 12),)) for name in "qkv"),
    PlacementRule(f"{ATTENTION}.o_proj.weight", (Shard(1, "tp", 12),)),
    PlacementRule(f"{MLP}.gate_proj.weight", (Shard(0, "tp"),)),
    PlacementRule(f"{MLP}.up_proj.weight", (Shard(0, "tp"),)),
    PlacementRule(f"{MLP}.down_proj.weight", (Shard(1, "tp"),)),
)


def layout_for(path: Path, **degrees: int) -> Layout:
    reader = open_checkpoint(path)
    return place(reader.weights, reader.optimizer, Mesh.of(**degrees), RULES)


def bits(path: Path) -> dict[str, tuple[str, tuple[int, ...], bytes]]:
    """Everything of a checkpoint's tensors, weights and optimizer state."""
    reader = open_checkpoint(path)
    return {
        name: (source.info(name).dtype, source.info(name).shape, source.raw(name).tobytes())
        for source in (reader.weights, reader.optimizer)
        for name in source
    }


def folder_bytes(path: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in path.iterdir()}


@pytest.mark.golden
def test_a_hugging_face_folder_comes_back_byte_by_byte(tmp_path: Path):
    transform(LLAMA, tmp_path / "mf")
    assert verify(tmp_path / "mf") == []
    export(tmp_path / "mf", tmp_path / "hf")
    assert folder_bytes(tmp_path / "hf") == folder_bytes(LLAMA)


@pytest.mark.golden
def test_weights_from_memory_lie_as_those_of_a_checkpoint(tmp_path: Path):
    tensors = {name: array.copy() for name, array in open_checkpoint(LLAMA).items()}
    export_weights(ArraySource(tensors), LLAMA, tmp_path / "same")
    assert folder_bytes(tmp_path / "same") == folder_bytes(LLAMA)
    tensors["model.norm.weight"][3] = 5.0
    export_weights(ArraySource(tensors), LLAMA, tmp_path / "changed")
    written, published = folder_bytes(tmp_path / "changed"), folder_bytes(LLAMA)
    assert [name for name in published if written[name] != published[name]] == ["model-00003-of-00003.safetensors"]
    assert open_checkpoint(tmp_path / "changed")["model.norm.weight"][3] == 5.0
    with pytest.raises(UserError, match="exists and is not a checkpoint; choose another place"):
        export_weights(ArraySource(tensors), LLAMA, tmp_path / "same")


@pytest.mark.golden
def test_types_special_values_and_empty_tensors_survive(tmp_path: Path):
    expected = json.loads((DATA / "dtypes" / "expected.json").read_text())
    transform(DATA / "dtypes" / "dtypes.safetensors", tmp_path / "mf")
    export(tmp_path / "mf", tmp_path / "hf")
    for path in (tmp_path / "mf", tmp_path / "hf"):
        found = bits(path)
        assert {name: hashlib.sha256(content).hexdigest() for name, (_, _, content) in found.items()} == {
            name: entry["sha256"] for name, entry in expected.items()
        }
        assert {name: list(shape) for name, (_, shape, _) in found.items()} == {
            name: entry["shape"] for name, entry in expected.items()
        }
    assert filecmp.cmp(DATA / "dtypes" / "dtypes.safetensors", tmp_path / "hf" / "model.safetensors", shallow=False)


def test_a_cast_widens_exactly_and_rounds_to_nearest_even(tmp_path: Path):
    save_file({"w": np.float32([1.00390625, 1.01171875]), "n": np.int64([7])}, tmp_path / "a.safetensors")
    transform(tmp_path / "a.safetensors", tmp_path / "narrow", dtype="BF16")
    transform(tmp_path / "narrow", tmp_path / "wide", dtype="F32")
    reader = open_checkpoint(tmp_path / "wide")
    assert reader["w"].tolist() == [1.0, 1.015625]
    assert (reader.info("w").dtype, reader.info("n").dtype) == ("F32", "I64")
    with pytest.raises(ValueError, match="can't cast to I64"):
        transform(tmp_path / "narrow", tmp_path / "wrong", dtype="I64")


@pytest.mark.golden
def test_tp_1_2_4_2_1_is_the_identity(tmp_path: Path):
    expected = json.loads((DATA / "llama_gqa_sha256.json").read_text())
    path = LLAMA
    for number, degrees in enumerate([{"tp": 2}, {"tp": 4, "pp": 2}, {"tp": 2, "dp": 2}, {}]):
        target = tmp_path / str(number)
        transform(path, target, layout=layout_for(path, **degrees) if degrees else None)
        assert verify(target) == []
        path = target
    export(path, tmp_path / "hf")
    found = bits(tmp_path / "hf")
    assert {name: hashlib.sha256(content).hexdigest() for name, (_, _, content) in found.items()} == {
        name: entry["sha256"] for name, entry in expected.items()
    }


@pytest.mark.golden
def test_the_parts_at_tp_2_are_the_rows_and_columns_that_they_should_be(tmp_path: Path):
    transform(LLAMA, tmp_path / "tp2", layout=layout_for(LLAMA, tp=2))
    whole = open_checkpoint(LLAMA)
    for rank in (0, 1):
        piece = load_file(tmp_path / "tp2" / f"model-rank-{rank:04d}-00001-of-00001.safetensors")
        for name, expected in {
            "self_attn.q_proj": np.s_[24 * rank : 24 * rank + 24],
            "self_attn.o_proj": np.s_[:, 24 * rank : 24 * rank + 24],
            "self_attn.k_proj": np.s_[12 * rank : 12 * rank + 12],
            "mlp.down_proj": np.s_[:, 48 * rank : 48 * rank + 48],
        }.items():
            name = f"model.layers.0.{name}.weight"
            assert np.array_equal(piece[name], whole[name][expected])
        # Norms are equal on both and stored once.
        assert ("model.norm.weight" in piece) == (rank == 0)


def test_optimizer_state_and_documents_go_along(tmp_path: Path):
    source = open_checkpoint(LLAMA)
    with Writer(tmp_path / "run", step=7) as writer:
        for name, array in source.items():
            writer.add(name, array)
            writer.add_optimizer(f"adam_m.{name}", array * 2)
        writer.add_optimizer("step_count", np.int64(7))
        writer.add_json("trainer_state.json", {"step": 7})
        writer.add_file("tokenizer.json", b"{ }")
    before = bits(tmp_path / "run")
    reader = open_checkpoint(tmp_path / "run")
    layout = place(reader.weights, reader.optimizer, Mesh.of(dp=3, tp=2, pp=2), RULES, shard_optimizer=True)
    assert [str(part) for part in layout.optimizer["adam_m.lm_head.weight"].divisions] == [
        "dim 0 over tp",
        "dim 0 over dp",
    ]
    transform(tmp_path / "run", tmp_path / "cut", layout=layout)
    cut = open_checkpoint(tmp_path / "cut")
    assert (cut.step, cut.trainer_state, cut.layout) == (7, {"step": 7}, layout)
    assert (tmp_path / "cut" / "tokenizer.json").read_bytes() == b"{ }"
    assert bits(tmp_path / "cut") == before
    transform(tmp_path / "cut", tmp_path / "back")
    assert bits(tmp_path / "back") == before
    export(tmp_path / "cut", tmp_path / "hf")
    assert sorted(path.name for path in (tmp_path / "hf").iterdir()) == ["model.safetensors", "tokenizer.json"]


KEYS = KeyMap(
    [
        Rename("model.embed.weight", "embed"),
        Join(("layers.{layer}.q", "layers.{layer}.k", "layers.{layer}.v"), "layers.{layer}.qkv", (8, 4, 4), groups=2),
        Stack("layers.{layer}.experts.{e}.w", "layers.{layer}.experts", over="e", count=4),
        Transpose("head.weight", "head"),
    ]
)


def named_arrays() -> dict[str, np.ndarray]:
    shapes = {"model.embed.weight": (10, 6), "head.weight": (6, 10)}
    for layer in range(2):
        shapes |= {f"layers.{layer}.{name}": (rows, 6) for name, rows in (("q", 8), ("k", 4), ("v", 4))}
        shapes |= {f"layers.{layer}.experts.{expert}.w": (3, 6) for expert in range(4)}
    ends = np.cumsum([int(np.prod(shape)) for shape in shapes.values()])
    return {
        name: np.arange(end - int(np.prod(shape)), end, dtype=np.float32).reshape(shape)
        for (name, shape), end in zip(shapes.items(), ends, strict=True)
    }


@given(
    degrees=st.fixed_dictionaries({axis: st.integers(1, 3) for axis in ("pp", "dp", "ep", "tp")}),
    unit=st.integers(1, 3),
    padded=st.integers(10, 13),
    block=st.integers(8, 200),
)
@settings(max_examples=12)
def test_there_and_back_under_other_names_is_the_identity(
    tmp_path_factory: pytest.TempPathFactory, degrees: dict[str, int], unit: int, padded: int, block: int
):
    """Uneven parts, a padded vocabulary, joined matrices, experts cut by expert, stages, state divided over dp."""
    folder = tmp_path_factory.mktemp("there")
    with Writer(folder / "start") as writer:
        for name, array in named_arrays().items():
            writer.add(name, array, "BF16" if "experts" in name else None)
            writer.add_optimizer(f"{name}.exp_avg", -array)
    mesh = Mesh.of(**degrees)
    tensors = {
        "embed": TensorLayout((10, 6), (Shard(0, "tp", unit), Shard(1, "ep")), (padded, 6)),
        "head": TensorLayout((10, 6), (Shard(1, "tp", unit),)),
    }
    stages = {"embed": 0, "head": mesh.degree("pp") - 1}
    for layer in range(2):
        tensors[f"layers.{layer}.qkv"] = TensorLayout((16, 6), (Fused(0, "tp", (8, 4, 4), unit),))
        tensors[f"layers.{layer}.experts"] = TensorLayout((4, 3, 6), (Shard(0, "ep"), Shard(1, "tp", unit)))
        stages[f"layers.{layer}.qkv"] = stages[f"layers.{layer}.experts"] = min(layer, mesh.degree("pp") - 1)
    optimizer = {
        f"{name}.exp_avg": TensorLayout(one.shape, (*one.placements, Shard(0, "dp")), one.padded_shape)
        for name, one in tensors.items()
    }
    layout = Layout(mesh, tensors, optimizer, stages)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("mf_ckpt.store.file_plan.BLOCK_BYTES", block)
        transform(folder / "start", folder / "cut", layout=layout, keys=KEYS)
        transform(folder / "cut", folder / "back", keys=KEYS.inverse)
    assert verify(folder / "cut") == []
    assert bits(folder / "back") == bits(folder / "start")
    shutil.rmtree(folder)


def test_every_element_is_read_exactly_once(counting, tmp_path: Path):
    weights = counting(open_checkpoint(LLAMA).weights)
    layout = place(weights, ArraySource({}), Mesh.of(tp=3, pp=2, dp=2), RULES)
    transform(Reader(LLAMA, weights), tmp_path / "cut", layout=layout)
    assert weights.read_once()


@pytest.mark.golden
def test_fused_projections_are_cut_part_by_part(tmp_path: Path):
    qkv = np.load(DATA / "fused_qkv" / "qkv.npz")
    save_file({"qkv": qkv["cat"]}, tmp_path / "qkv.safetensors")
    placed = TensorLayout((24, 5), (Fused(0, "tp", (12, 6, 6), 3),))
    transform(tmp_path / "qkv.safetensors", tmp_path / "cut", layout=Layout(Mesh.of(tp=2), {"qkv": placed}))
    for rank in (0, 1):
        piece = load_file(tmp_path / "cut" / f"model-rank-{rank:04d}-00001-of-00001.safetensors")
        assert np.array_equal(piece["qkv"], qkv[f"cat_tp2_{rank}"])


def test_a_padded_vocabulary_keeps_its_rows(tmp_path: Path):
    """Vocabulary 900 on 8 ranks is padded to 904 there, and is 900 again afterwards."""
    embedding = np.arange(900 * 4, dtype=np.float32).reshape(900, 4)
    source = tmp_path / "embed.safetensors"
    save_file({"embed": embedding}, source)
    layout = place(
        open_checkpoint(source).weights,
        ArraySource({}),
        Mesh.of(tp=8),
        [PlacementRule("embed", (Shard(0, "tp"),), pad_to=8)],
    )
    transform(source, tmp_path / "cut", layout=layout)
    last = load_file(tmp_path / "cut" / "model-rank-0007-00001-of-00001.safetensors")["embed"]
    assert last.shape == (113, 4)
    assert np.array_equal(last[:109], embedding[791:])
    assert not last[109:].any()
    export(tmp_path / "cut", tmp_path / "hf")
    assert np.array_equal(load_file(tmp_path / "hf" / "model.safetensors")["embed"], embedding)


def test_a_layout_that_does_not_fit_is_refused_before_anything_is_written(tmp_path: Path):
    layout = Layout(Mesh.of(tp=2), {"model.norm.weight": TensorLayout((49,)), "other": TensorLayout((2,))})
    with pytest.raises(UserError, match="22 tensors don't fit the layout") as caught:
        transform(LLAMA, tmp_path / "cut", layout=layout)
    assert str(caught.value).count("\n") == 12
    assert list(tmp_path.iterdir()) == []


def test_what_is_there_is_never_lost(tmp_path: Path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("keep")
    with pytest.raises(UserError, match="exists and is not a checkpoint"):
        transform(LLAMA, tmp_path / "mine")
    assert (tmp_path / "mine" / "notes.txt").read_text() == "keep"


def test_a_checkpoint_is_not_written_over_itself(tmp_path: Path):
    transform(LLAMA, tmp_path / "mf")
    with pytest.raises(UserError, match="is the source itself"):
        transform(tmp_path / "mf", tmp_path / "mf", dtype="F16")
    assert verify(tmp_path / "mf") == []


def test_rules_of_a_layout_place_the_same_tensors_on_another_mesh(tmp_path: Path):
    first = layout_for(LLAMA, tp=2, pp=2)
    transform(LLAMA, tmp_path / "cut", layout=first)
    reader = open_checkpoint(tmp_path / "cut")
    assert reader.layout is not None
    again = place(reader.weights, reader.optimizer, Mesh.of(tp=2, pp=2), rules_of(reader.layout))
    assert again == first


class _Quantised(TableSource[np.ndarray]):
    """Weights in a type that only their own format knows: read as float32."""

    def info(self, name: str) -> TensorInfo:
        return TensorInfo("Q4_0", self._entry(name).shape)

    def raw(self, name: str, slices: Slices = ()) -> np.ndarray:
        raise AssertionError("blocks of a quantised tensor are no elements")

    def read(self, name: str, slices: Slices = ()) -> np.ndarray:
        return self._entry(name)[slices]


def test_quantised_weights_need_a_type_to_be_widened_to(tmp_path: Path):
    array = np.arange(64, dtype=np.float32).reshape(2, 32)
    reader = Reader(LLAMA, _Quantised({"w": array}, "quantised"))
    with pytest.raises(UserError, match=r"tensor 'w' is quantised \(Q4_0\). Allowed: with a type to widen it to"):
        transform(reader, tmp_path / "mf")
    transform(reader, tmp_path / "mf", dtype="F16")
    assert np.array_equal(open_checkpoint(tmp_path / "mf")["w"], array)


def test_a_document_that_is_a_link_out_of_the_folder_is_refused(tmp_path: Path):
    (tmp_path / "secret").write_text("secret")
    (tmp_path / "model").mkdir()
    save_file({"w": np.zeros(1)}, tmp_path / "model" / "model.safetensors")
    (tmp_path / "model" / "config.json").symlink_to(tmp_path / "secret")
    with pytest.raises(UserError, match=r"symbolic link to .*secret, outside"):
        export(tmp_path / "model", tmp_path / "copy")
    assert not (tmp_path / "copy").exists()


class _Large(TableSource[tuple[int, ...]]):
    """Tensors that no memory is needed for."""

    def info(self, name: str) -> TensorInfo:
        return TensorInfo("F32", self._entry(name))

    def raw(self, name: str, slices: Slices = ()) -> np.ndarray:
        shape = extents(bounded(name, slices, self.info(name).shape))
        return np.broadcast_to(np.float32(1), shape)


def peak_of(tmp_path: Path, rows: int, tensors: int) -> int:
    """Most bytes that Python and numpy held while a model of `rows * tensors` KiB was cut and put together."""
    source = _Large({f"layers.{number}.w": (rows, 256) for number in range(tensors)}, "large")
    layout = place(source, ArraySource({}), Mesh.of(tp=2), [PlacementRule("layers.{layer}.w", (Shard(1, "tp"),))])
    tracemalloc.start()
    try:
        transform(Reader(LLAMA, source), tmp_path / "cut", layout=layout, workers=2)
        transform(tmp_path / "cut", tmp_path / "back", workers=2)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
        shutil.rmtree(tmp_path / "cut")
        shutil.rmtree(tmp_path / "back")


def test_memory_depends_neither_on_the_model_nor_on_its_largest_tensor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("mf_ckpt.store.file_plan.BLOCK_BYTES", 1 << 18)
    monkeypatch.setattr("mf_ckpt.store.block_stream.BLOCK_BYTES", 1 << 18)
    small = peak_of(tmp_path, rows=1024, tensors=2)
    more_tensors = peak_of(tmp_path, rows=1024, tensors=24)
    larger_tensors = peak_of(tmp_path, rows=24 * 1024, tensors=2)
    # Four blocks of 256 KiB, and what describes the tensors.
    assert max(small, more_tensors, larger_tensors) < 4 * (1 << 18) + 1_000_000
    assert max(more_tensors, larger_tensors) < 1.3 * small
