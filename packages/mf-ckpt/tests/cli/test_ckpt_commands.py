"""The commands that change and compare checkpoints, and the tree of inspect."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from mf_ckpt import Writer, verify
from mf_ckpt import open as open_checkpoint
from mf_ckpt.cli import main
from mf_ckpt.cli.output import ProgressLine
from mf_ckpt.cli.reshard import parse_mesh
from mf_ckpt.cli.tensor_tree import Leaf, tree_lines
from mf_ckpt.cli.texts import size_text
from mf_config.layout import Mesh
from mf_config.problems import UserError

DATA = Path(__file__).parents[1] / "data"
LLAMA = str(DATA / "llama_gqa")
RULES = """
[[rule]]
pattern = "model.embed_tokens.weight"
cut = [{ dim = 0, axis = "tp" }]
stage = "first"
[[rule]]
pattern = "lm_head.weight"
cut = [{ dim = 0, axis = "tp" }]
stage = "last"
[[rule]]
pattern = "model.layers.{layer}.self_attn.o_proj.weight"
cut = [{ dim = 1, axis = "tp", unit = 12 }]
[[rule]]
pattern = "model.layers.{layer}.mlp.down_proj.weight"
cut = [{ dim = 1, axis = "tp" }]
[[rule]]
pattern = "model.norm.weight"
stage = "last"
[[rule]]
pattern = "model.layers.{layer}.input_layernorm.weight"
[[rule]]
pattern = "model.layers.{layer}.post_attention_layernorm.weight"
""" + "".join(
    f'[[rule]]\npattern = "model.layers.{{layer}}.{name}.weight"\ncut = [{{ dim = 0, axis = "tp", unit = {unit} }}]\n'
    for name, unit in [
        ("self_attn.q_proj", 12),
        ("self_attn.k_proj", 12),
        ("self_attn.v_proj", 12),
        ("mlp.gate_proj", 1),
        ("mlp.up_proj", 1),
    ]
)


@pytest.fixture
def rules(tmp_path: Path) -> str:
    path = tmp_path / "rules.toml"
    path.write_text(RULES)
    return str(path)


def test_reshard_there_and_back(tmp_path: Path, rules: str, capsys: pytest.CaptureFixture[str]):
    cut, other, whole = (str(tmp_path / name) for name in ("cut", "other", "whole"))
    assert main(["reshard", LLAMA, cut, "--mesh", "tp=2,pp=2", "--rules", rules]) == 0
    assert capsys.readouterr().out.startswith(f"{cut}: 21 tensors, 222.9 KiB, written in ")
    # Without rules those of the source's layout count.
    assert main(["reshard", cut, other, "--mesh", "tp=2", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert (report["path"], report["tensors"], report["bytes"]) == (other, 21, 228288)
    assert main(["reshard", other, whole, "--mesh", "tp=1"]) == 0
    assert main(["diff", LLAMA, whole]) == 0
    assert "equal, bit by bit" in capsys.readouterr().out
    assert verify(cut) == verify(other) == verify(whole) == []


def test_an_uneven_reshard_is_refused_up_front(tmp_path: Path, rules: str, capsys: pytest.CaptureFixture[str]):
    arguments = ["reshard", LLAMA, str(tmp_path / "cut"), "--mesh", "tp=3", "--rules", rules]
    assert main(arguments) == 2
    error = capsys.readouterr().err
    assert "q_proj.weight and 1 more: 3 ranks of tp can't share dim 0 equally: it has 4 units (heads) of 12." in error
    assert "it has 160 elements" in error
    assert error.endswith("Or --allow-uneven: the first ranks get more.\n")
    assert [path.name for path in tmp_path.iterdir()] == ["rules.toml"]
    assert main([*arguments, "--allow-uneven"]) == 0


def test_reshard_without_rules_says_what_it_needs(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    save_file({"w": np.zeros(4)}, tmp_path / "a.safetensors")
    assert main(["reshard", str(tmp_path / "a.safetensors"), str(tmp_path / "cut"), "--mesh", "tp=2"]) == 2
    assert "nothing says how its tensors may be cut" in capsys.readouterr().err


@pytest.mark.parametrize("text", ["", "tp", "tp=0", "tp=x", "tp=2,tp=2", "tq=2", "tp=2;pp=2"])
def test_a_wrong_mesh_is_a_mistake(text: str):
    with pytest.raises(UserError, match="--mesh"):
        parse_mesh(text)


def test_a_mesh_is_read():
    assert parse_mesh("tp=4,pp=2") == Mesh.of(tp=4, pp=2)


def test_convert_to_another_type(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["convert", LLAMA, str(tmp_path / "half"), "--to", "mf", "--dtype", "bf16"]) == 0
    assert main(["convert", str(tmp_path / "half"), str(tmp_path / "hf"), "--to", "hf"]) == 0
    assert not (tmp_path / "hf" / "manifest.json").exists()
    assert open_checkpoint(tmp_path / "hf").info("lm_head.weight").dtype == "BF16"
    capsys.readouterr()
    assert main(["diff", str(tmp_path / "half"), LLAMA]) == 1
    assert "lm_head.weight: BF16 [160, 48] in A, F32 [160, 48] in B" in capsys.readouterr().out


def test_diff_tells_every_kind_of_difference(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    common = {"same": np.float32([1, np.nan]), "shape": np.zeros(2), "value": np.float32([1, 2, 3])}
    other = {"same": np.float32([1, np.nan]), "shape": np.zeros(3), "value": np.float32([1, 2.5, np.nan])}
    for name, arrays, state in (("a", common, "left"), ("b", other, "right")):
        with Writer(tmp_path / name) as writer:
            for tensor, array in arrays.items():
                writer.add(tensor, array)
            writer.add(state, np.zeros(1))
            writer.add_optimizer("value.m", np.float32([0.0 if name == "a" else -0.0]))
            writer.add_json("config.json", {"name": name})
    paths = [str(tmp_path / "a"), str(tmp_path / "b")]
    assert main(["diff", *paths]) == 1
    assert capsys.readouterr().out.splitlines() == [
        "only in A: left",
        "only in B: right",
        "shape: F64 [2] in A, F64 [3] in B",
        "value: 2 of 3 elements differ, by up to nan",
        "value.m: 1 of 1 elements differ, by up to 0",
        "config.json: differs, or only one has it",
    ]
    assert main(["diff", *paths, "--json"]) == 1
    report = json.loads(capsys.readouterr().out)
    assert report["only_first"] == ["left"]
    assert report["values"]["value"] == {"differing": 2, "elements": 3, "largest": "nan"}
    assert main(["diff", paths[0], paths[0], "--json"]) == 0


@pytest.mark.golden
def test_merge_lora_gives_what_peft_gives(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    adapter = DATA / "lora" / "llama_gqa_lora"
    assert main(["merge-lora", LLAMA, str(adapter), str(tmp_path / "merged")]) == 0
    merged, expected = open_checkpoint(tmp_path / "merged"), open_checkpoint(adapter / "merged.safetensors")
    for name in expected:
        np.testing.assert_allclose(merged[name], expected[name], atol=1e-6)
    assert verify(tmp_path / "merged") == []
    assert main(["merge-lora", str(tmp_path / "merged"), str(adapter), str(tmp_path / "twice")]) == 2
    assert "is merged into these weights already" in capsys.readouterr().err


def test_an_adapter_beside_its_base_is_no_part_of_the_result(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    shutil.copytree(LLAMA, tmp_path / "both")
    for path in (DATA / "lora" / "llama_gqa_lora").glob("adapter*"):
        shutil.copy(path, tmp_path / "both")
    both = str(tmp_path / "both")
    assert main(["merge-lora", both, both, str(tmp_path / "merged")]) == 0
    assert sorted(path.name for path in (tmp_path / "merged").iterdir()) == [
        "config.json",
        "generation_config.json",
        "lora_merge.json",
        "manifest.json",
        *(f"model-0000{number}-of-00003.safetensors" for number in (1, 2, 3)),
        "model.safetensors.index.json",
    ]
    assert verify(tmp_path / "merged") == []
    capsys.readouterr()
    assert main(["convert", both, str(tmp_path / "base"), "--to", "hf"]) == 0
    assert "the LoRA adapter there is left out" in capsys.readouterr().err
    assert not (tmp_path / "base" / "adapter_config.json").exists()


def test_folders_that_are_taken_for_another_kind_are_told_apart(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    adapter = str(DATA / "lora" / "llama_gqa_lora")
    assert main(["inspect", adapter]) == 2
    assert f"mf-ckpt merge-lora BASE {adapter} DST" in capsys.readouterr().err
    assert main(["merge-lora", LLAMA, LLAMA, str(tmp_path / "merged")]) == 2
    assert "is no PEFT adapter: it has no adapter_config.json" in capsys.readouterr().err


@pytest.mark.parametrize("command", [["convert", "--to", "mf"], ["reshard", "--mesh", "tp=1"], ["merge-lora"]])
def test_nothing_is_written_over_or_into_the_source(
    command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    assert main(["convert", LLAMA, str(tmp_path / "base"), "--to", "mf"]) == 0
    before = {path.name: path.read_bytes() for path in (tmp_path / "base").iterdir()}
    adapter = [str(DATA / "lora" / "llama_gqa_lora")] * (command[0] == "merge-lora")
    places = [("base", "base"), ("base", "base/new")]
    # An adapter needs its whole base.
    places += [("base/model-00001-of-00003.safetensors", "base")] * (not adapter)
    for source, place in places:
        arguments = [command[0], str(tmp_path / source), *adapter, str(tmp_path / place), *command[1:]]
        assert main(arguments) == 2
        assert "the source" in capsys.readouterr().err
    assert {path.name: path.read_bytes() for path in (tmp_path / "base").iterdir()} == before
    assert [path.name for path in tmp_path.iterdir()] == ["base"]


def test_layers_that_are_alike_share_their_lines():
    alike = {f"model.layers.{layer}.{name}": Leaf("F32", (4,), 16, "") for layer in (0, 1, 3) for name in ("a", "b.w")}
    odd = {"model.layers.2.a": Leaf("F32", (5,), 20, ""), "head": Leaf("BF16", (), 2, "dim 0 over tp")}
    assert tree_lines({**alike, **odd}) == [
        "├─ model.layers                   116 B",
        "│  ├─ 0-1,3            3 of 32 B   96 B",
        "│  │  ├─ a       F32   4           16 B",
        "│  │  └─ b.w     F32   4           16 B",
        "│  └─ 2.a        F32   5           20 B",
        "└─ head          BF16  scalar       2 B  dim 0 over tp",
    ]


def test_sizes_are_human():
    assert [size_text(size) for size in (0, 1023, 1024, 5 * 1024**3, 2 * 1024**5)] == [
        "0 B",
        "1023 B",
        "1.0 KiB",
        "5.0 GiB",
        "2048.0 TiB",
    ]


def test_progress_on_a_terminal_is_one_line_that_ends_full(monkeypatch: pytest.MonkeyPatch, capsys):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    monkeypatch.setattr("mf_ckpt.cli.output._SECONDS_BETWEEN", {True: 0.0, False: 0.0})
    line = ProgressLine()
    for done in (0, 512, 1024):
        line(done, 1024)
    written = capsys.readouterr().err
    assert written.count("\n") == 1
    assert [part.split(",")[0] for part in written.strip("\r\n").split("\r")] == [
        "  0 %  0 B of 1.0 KiB",
        " 50 %  512 B of 1.0 KiB",
        "100 %  1.0 KiB of 1.0 KiB",
    ]
