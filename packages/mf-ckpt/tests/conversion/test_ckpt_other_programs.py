"""Checkpoints between Hugging Face and MindFormers, with the names of the Llama family."""

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from mf_ckpt import CheckpointFamily, KeyMap, Reader, Rename, Stack, Writer, transform
from mf_ckpt import open as open_checkpoint
from mf_ckpt.cli import main
from mf_ckpt.conversion.other_programs import in_hf_form, write_mindspore
from mf_ckpt.formats.mindspore_ckpt.ckpt_writer import CkptWriter
from mf_config.problems import UserError

LLAMA = Path(__file__).parents[1] / "data" / "llama_gqa"
ATTENTION, MLP = "model.layers.{layer}.self_attn", "model.layers.{layer}.mlp"
MIND_ATTENTION, MIND_MLP = "model.layers.{layer}.attention", "model.layers.{layer}.feed_forward"

LLAMA_KEYS = KeyMap(
    [
        Rename("model.embed_tokens.weight", "model.tok_embeddings.embedding_weight"),
        Rename("model.norm.weight", "model.norm_out.weight"),
        Rename("lm_head.weight", "lm_head.weight"),
        Rename("model.layers.{layer}.input_layernorm.weight", "model.layers.{layer}.attention_norm.weight"),
        Rename("model.layers.{layer}.post_attention_layernorm.weight", "model.layers.{layer}.ffn_norm.weight"),
        *(
            Rename(f"{ATTENTION}.{name}_proj.{kind}", f"{MIND_ATTENTION}.w{name}.{kind}")
            for name in "qkvo"
            for kind in ("weight", "bias")
        ),
        *(
            Rename(f"{MLP}.{name}_proj.weight", f"{MIND_MLP}.{mind}.weight")
            for name, mind in (("gate", "w1"), ("down", "w2"), ("up", "w3"))
        ),
    ]
)
"""Hugging Face names to those of MindFormers 1.3, as its convert_weight.py has them."""

MIXTRAL_EXPERTS = KeyMap(
    Stack(
        f"model.layers.{{layer}}.block_sparse_moe.experts.{{expert}}.{name}.weight",
        f"model.layers.{{layer}}.feed_forward.ffn.{name}.weight",
        over="expert",
        count=2,
    )
    for name in ("w1", "w2", "w3")
)

TABLE = {
    "model.embed_tokens.weight": "model.tok_embeddings.embedding_weight",
    "model.layers.1.self_attn.q_proj.weight": "model.layers.1.attention.wq.weight",
    "model.layers.1.self_attn.o_proj.bias": "model.layers.1.attention.wo.bias",
    "model.layers.0.mlp.gate_proj.weight": "model.layers.0.feed_forward.w1.weight",
    "model.layers.0.mlp.down_proj.weight": "model.layers.0.feed_forward.w2.weight",
    "model.layers.0.mlp.up_proj.weight": "model.layers.0.feed_forward.w3.weight",
    "model.layers.0.input_layernorm.weight": "model.layers.0.attention_norm.weight",
    "model.layers.0.post_attention_layernorm.weight": "model.layers.0.ffn_norm.weight",
    "model.norm.weight": "model.norm_out.weight",
    "lm_head.weight": "lm_head.weight",
}


@pytest.fixture(autouse=True)
def family(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """An installed distribution that knows Llama."""

    def describe(config: dict[str, object]) -> CheckpointFamily | None:
        return CheckpointFamily(forms={"mindspore": LLAMA_KEYS}) if config.get("model_type") == "llama" else None

    point = SimpleNamespace(value="toy:describe", load=lambda: describe)
    monkeypatch.setattr("mf_ckpt.families.entry_points", lambda group: [point])
    return


def test_names_go_both_ways():
    for name, other in TABLE.items():
        assert LLAMA_KEYS.forward(name) == other
        assert LLAMA_KEYS.backward(other) == name


def no_progress(done: int, total: int) -> None:
    assert done <= total


def test_a_model_comes_back_from_mindspore_form(tmp_path: Path):
    source = open_checkpoint(LLAMA)
    write_mindspore(source, tmp_path / "llama.ckpt", source.config, None, no_progress)
    written = open_checkpoint(tmp_path / "llama.ckpt")
    assert written.form == "mindspore"
    assert list(written) == [LLAMA_KEYS.forward(name) for name in source]
    back, left_out = in_hf_form(written, source.config)
    assert left_out == []
    assert list(back) == list(source)
    assert all(back.raw(name).tobytes() == source.raw(name).tobytes() for name in source)


def test_state_is_told_from_weights_and_counters(tmp_path: Path):
    """A checkpoint of training holds all in one: weights, Adam's moments, and counters of MindSpore."""
    wq, norm = "model.layers.0.attention.wq.weight", "model.norm_out.weight"
    with CkptWriter(tmp_path / "rank.ckpt") as writer:
        for name, value in {wq: 1, norm: 2, f"adam_m.{wq}": 3, f"adam_v.{norm}": 4, "global_step": 5}.items():
            writer.add(name, np.full(2, value, np.float32))
    reader, left_out = in_hf_form(open_checkpoint(tmp_path / "rank.ckpt"), {"model_type": "llama"})
    assert {name: reader[name][0] for name in reader} == {
        "model.layers.0.self_attn.q_proj.weight": 1,
        "model.norm.weight": 2,
    }
    assert {name: reader.optimizer[name][0] for name in reader.optimizer} == {
        "adam_m.model.layers.0.self_attn.q_proj.weight": 3,
        "adam_v.model.norm.weight": 4,
    }
    assert left_out == ["global_step"]
    transform(reader, tmp_path / "mf")
    again = open_checkpoint(tmp_path / "mf")
    write_mindspore(again, tmp_path / "again.ckpt", {"model_type": "llama"}, "BF16", no_progress)
    written = open_checkpoint(tmp_path / "again.ckpt")
    assert sorted(written) == sorted([wq, norm, f"adam_m.{wq}", f"adam_v.{norm}"])
    # Moments keep their type.
    assert (written.info(wq).dtype, written.info(f"adam_m.{wq}").dtype) == ("BF16", "F32")


def test_a_file_that_was_interrupted_is_gone_on_with(tmp_path: Path):
    source = open_checkpoint(LLAMA)
    seen: list[float] = []

    def stop(done: int, total: int) -> None:
        if done > total / 2:
            raise InterruptedError

    with pytest.raises(InterruptedError):
        write_mindspore(source, tmp_path / "llama.ckpt", source.config, None, stop)
    assert not (tmp_path / "llama.ckpt").exists()
    write_mindspore(source, tmp_path / "llama.ckpt", source.config, None, lambda done, total: seen.append(done / total))
    assert seen[0] > 0.5
    assert seen[-1] == 1
    with CkptWriter(tmp_path / "in_one_go.ckpt") as writer:
        for name in source:
            writer.add(LLAMA_KEYS.forward(name), source[name])
    assert (tmp_path / "llama.ckpt").read_bytes() == (tmp_path / "in_one_go.ckpt").read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in_one_go.ckpt", "llama.ckpt"]


def test_a_type_that_the_form_lacks_is_a_message(tmp_path: Path):
    with Writer(tmp_path / "fp8") as writer:
        writer.add("model.norm.weight", np.zeros(4, np.uint8), "F8_E4M3")
    fp8 = open_checkpoint(tmp_path / "fp8")
    with pytest.raises(UserError, match=r"'model.norm_out.weight': a \.ckpt file has no F8_E4M3. Allowed: "):
        write_mindspore(fp8, tmp_path / "x.ckpt", {"model_type": "llama"}, None, no_progress)
    assert [path.name for path in tmp_path.iterdir()] == ["fp8"]


def test_experts_are_stacked_for_mindspore(tmp_path: Path):
    arrays = {
        f"model.layers.0.block_sparse_moe.experts.{expert}.{name}.weight": np.full((2, 3), 10 * expert + number)
        for expert in range(2)
        for number, name in enumerate(("w1", "w2", "w3"))
    }
    with Writer(tmp_path / "start") as writer:
        for name, array in arrays.items():
            writer.add(name, array)
    transform(tmp_path / "start", tmp_path / "stacked", keys=MIXTRAL_EXPERTS)
    stacked = open_checkpoint(tmp_path / "stacked")
    assert stacked["model.layers.0.feed_forward.ffn.w3.weight"][:, 0, 0].tolist() == [2, 12]
    transform(tmp_path / "stacked", tmp_path / "back", keys=MIXTRAL_EXPERTS.inverse)
    back = open_checkpoint(tmp_path / "back")
    assert sorted(back) == sorted(arrays)
    assert all(np.array_equal(back[name], array) for name, array in arrays.items())


@pytest.mark.parametrize(
    ("config", "form", "fault"),
    [
        (None, "mindspore", r"has no config\.json to tell the model. Allowed: --config FILE"),
        ({"model_type": "other"}, "mindspore", "no installed model family knows model_type 'other'"),
        ({"model_type": "llama"}, "gguf", "knows no names of form gguf. Allowed: mindspore"),
    ],
)
def test_names_that_nobody_knows_are_a_mistake(config: dict[str, object] | None, form: str, fault: str):
    source = open_checkpoint(LLAMA)
    with pytest.raises(UserError, match=fault):
        in_hf_form(Reader(LLAMA, source.weights, form=form), config)


def test_convert_there_and_back_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    there, back = str(tmp_path / "llama.ckpt"), str(tmp_path / "back")
    assert main(["convert", str(LLAMA), there, "--to", "mindspore"]) == 0
    assert main(["convert", there, back, "--to", "hf", "--config", str(LLAMA / "config.json")]) == 0
    capsys.readouterr()
    # The file of MindSpore has no place for the settings of generation.
    assert main(["diff", str(LLAMA), back]) == 1
    assert capsys.readouterr().out == "generation_config.json: differs, or only one has it\n"
    assert main(["convert", there, back, "--to", "mf"]) == 2
    assert "--config FILE" in capsys.readouterr().err
