"""Whether a checkpoint fits a model and a run's layout."""

from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from mf_ckpt import ArraySource, Layout, check_layout, compare, transform
from mf_ckpt import open as open_checkpoint
from mf_config.layout import Mesh, Shard, TensorLayout
from mf_config.problems import UserError

LLAMA = Path(__file__).parents[1] / "data" / "llama_gqa"
IGNORED = ("model.layers.*.self_attn.rotary_emb.inv_freq",)


@pytest.fixture(scope="module")
def tensors() -> dict[str, np.ndarray]:
    return {name: array for path in LLAMA.glob("*.safetensors") for name, array in load_file(path).items()}


def shapes(tensors: dict[str, np.ndarray]) -> dict[str, tuple[int, ...]]:
    return {name: array.shape for name, array in tensors.items()}


def message(found: dict[str, np.ndarray], expected: dict[str, tuple[int, ...]]) -> list[str]:
    with pytest.raises(UserError) as caught:
        compare(ArraySource(found), expected, ignored=IGNORED).check("model")
    return str(caught.value).splitlines()


def test_a_checkpoint_that_fits_passes(tensors: dict[str, np.ndarray]):
    buffer = {"model.layers.0.self_attn.rotary_emb.inv_freq": np.zeros(6, np.float32)}
    compare(ArraySource({**tensors, **buffer}), shapes(tensors), ignored=IGNORED).check("model")


def test_all_that_does_not_fit_is_in_one_message(tensors: dict[str, np.ndarray]):
    """One missing, one transposed (with as many elements), one that nobody asked for."""
    found = dict(tensors)
    del found["model.layers.1.self_attn.k_proj.weight"]
    found["model.layers.0.mlp.up_proj.weight"] = tensors["model.layers.0.mlp.up_proj.weight"].T.copy()
    found["model.layers.1.self_attn.q_proj.scales"] = np.zeros(1, np.float32)
    assert message(found, shapes(tensors)) == [
        "model: tensors don't fit the model: 1 missing, 1 of another shape, 1 unexpected.",
        "  missing: model.layers.1.self_attn.k_proj.weight",
        "  of another shape: model.layers.0.mlp.up_proj.weight, [48, 96]. Allowed: [96, 48].",
        "  unexpected: model.layers.1.self_attn.q_proj.scales",
    ]


def test_another_model_is_told_in_a_few_lines(tensors: dict[str, np.ndarray]):
    """A config of hidden size 64 where the tensors have 48."""
    wider = {name: tuple(64 if size == 48 else size for size in shape) for name, shape in shapes(tensors).items()}
    lines = message(tensors, wider)
    assert len(lines) == 5
    assert "21 of another shape; 17 more are not shown" in lines[0]
    first = next(iter(tensors))
    assert lines[1] == f"  of another shape: {first}, {list(tensors[first].shape)}. Allowed: {list(wider[first])}."


def test_a_tied_copy_may_be_there_if_it_is_equal(tensors: dict[str, np.ndarray]):
    ties = {"lm_head.weight": "model.embed_tokens.weight"}
    expected = {name: shape for name, shape in shapes(tensors).items() if name != "lm_head.weight"}
    equal = {**tensors, "lm_head.weight": tensors["model.embed_tokens.weight"]}
    compare(ArraySource(equal), expected, ties=ties).check("model")
    with pytest.raises(UserError, match=r"1 unequal\.\n  unequal: lm_head.weight, tied to model.embed_tokens.weight"):
        compare(ArraySource(tensors), expected, ties=ties).check("model")
    del equal["lm_head.weight"]
    with pytest.raises(UserError, match=r"missing: lm_head\.weight"):
        compare(ArraySource(equal), shapes(tensors)).check("model")


def cut(tmp_path: Path, mesh: Mesh) -> Layout:
    (tmp_path / "hf").mkdir(exist_ok=True)
    save_file({"w": np.zeros((8, 4), np.float32)}, tmp_path / "hf" / "model.safetensors")
    layout = Layout(mesh, {"w": TensorLayout((8, 4), (Shard(0, "tp"),))})
    transform(tmp_path / "hf", tmp_path / "cut", layout=layout)
    return layout


def test_a_layout_that_differs_needs_a_command_or_auto_trans(tmp_path: Path):
    layout = cut(tmp_path, Mesh.of(tp=2))
    reader = open_checkpoint(tmp_path / "cut")
    check_layout(reader, layout, auto_trans=False)
    wanted = Layout(Mesh.of(tp=4, pp=2), layout.tensors, stages={"w": 1})
    check_layout(reader, wanted, auto_trans=True)
    with pytest.raises(UserError) as caught:
        check_layout(reader, wanted, auto_trans=False)
    assert str(caught.value) == (
        f"{tmp_path}/cut: is cut for tp 2, and the run for pp 2, tp 4; w is dim 0 over tp among 2 there and "
        "dim 0 over tp among 4 on stage 1 here. Allowed: auto_trans_ckpt: True, or first:\n"
        f"mf-ckpt reshard {tmp_path}/cut {tmp_path}/cut-pp2-tp4 --mesh pp=2,tp=4"
    )


def test_other_units_and_padding_are_differences_where_they_change_a_piece(tmp_path: Path):
    cut(tmp_path, Mesh.of(tp=2))
    reader = open_checkpoint(tmp_path / "cut")
    shard = (Shard(0, "tp", 2),)
    check_layout(reader, Layout(Mesh.of(tp=2), {"w": TensorLayout((8, 4), shard)}), auto_trans=False)
    for placed in (TensorLayout((8, 4), (Shard(0, "tp", 3),)), TensorLayout((8, 4), shard, (12, 4))):
        with pytest.raises(UserError, match="w is dim 0 over tp among 2 there"):
            check_layout(reader, Layout(Mesh.of(tp=2), {"w": placed}), auto_trans=False)


def test_replicas_are_no_difference_and_whole_tensors_fit_every_run(tmp_path: Path):
    layout = cut(tmp_path, Mesh.of(tp=2))
    check_layout(open_checkpoint(tmp_path / "cut"), Layout(Mesh.of(tp=2, dp=4), layout.tensors), auto_trans=False)
    check_layout(open_checkpoint(tmp_path / "hf"), layout, auto_trans=False)
