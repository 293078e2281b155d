"""The command line, as a process and as a function."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from mf_ckpt import Writer
from mf_ckpt.cli import main

DATA = Path(__file__).parents[1] / "data"

TREE = """\
├─ embed        F32   3x4        48 B  dim 0 over tp
├─ scale        BF16  scalar      2 B
└─ odd\\x1bname  I64   1000    7.8 KiB
weights: 3 tensors, 1,013 elements, 7.9 KiB
└─ embed.mu  F32  3x4  48 B
optimizer: 1 tensor, 12 elements, 48 B
step: 5
layout: tp 2; stored whole
"""
LAYOUT = {
    "format": 1,
    "mesh": {"axes": ["tp"], "degrees": [2]},
    "tensors": {"embed": {"shape": [3, 4], "placements": [{"kind": "shard", "dim": 0, "axis": "tp", "unit": 1}]}},
}


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("cli") / "step-00000005"
    with Writer(place, step=5) as writer:
        writer.add("embed", np.zeros((3, 4), np.float32))
        writer.add("scale", np.float32(1.5), "BF16")
        writer.add("odd\x1bname", np.zeros(1000, np.int64))
        writer.add_optimizer("embed.mu", np.zeros((3, 4), np.float32))
        writer.add_json("layout.json", LAYOUT)
    return place


def test_inspect_prints_a_tree(checkpoint: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["inspect", str(checkpoint)]) == 0
    assert capsys.readouterr().out == TREE


def test_inspect_lists_what_matches_and_sums_it(checkpoint: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["inspect", str(checkpoint), "--match", "embed*", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["weights"] == {
        "tensors": [{"name": "embed", "dtype": "F32", "shape": [3, 4], "bytes": 48, "placed": "dim 0 over tp"}],
        "count": 1,
        "elements": 12,
        "bytes": 48,
    }
    assert [tensor["name"] for tensor in report["optimizer"]["tensors"]] == ["embed.mu"]
    assert (report["path"], report["step"], report["layout"]) == (str(checkpoint), 5, LAYOUT)


def test_inspect_of_a_single_file_has_neither_step_nor_layout(capsys: pytest.CaptureFixture[str]):
    assert main(["inspect", str(DATA / "damaged" / "good.safetensors")]) == 0
    assert [line.split() for line in capsys.readouterr().out.splitlines()] == [
        ["├─", "a", "F32", "2x2", "16", "B"],
        ["└─", "b", "F32", "4", "16", "B"],
        ["weights:", "2", "tensors,", "8", "elements,", "32", "B"],
    ]


def test_a_pattern_without_match_is_a_mistake(checkpoint: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["inspect", str(checkpoint), "--match", "nothing"]) == 2
    assert "no tensor matches 'nothing'" in capsys.readouterr().err


def test_verify_says_that_a_checkpoint_is_sound(checkpoint: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["verify", str(checkpoint)]) == 0
    assert "sound; every file is as it was saved" in capsys.readouterr().out
    assert main(["verify", str(DATA / "damaged" / "good.safetensors")]) == 0
    assert "no manifest.json with checksums" in capsys.readouterr().out


def test_verify_exits_with_1_on_findings(capsys: pytest.CaptureFixture[str]):
    path = DATA / "damaged" / "overlap.safetensors"
    assert main(["verify", str(path)]) == 1
    assert capsys.readouterr().out == f"{path}: the data of tensors 'k' and 'v' overlap\n"
    assert main(["verify", str(path), "--json"]) == 1
    report = json.loads(capsys.readouterr().out)
    what = "the data of tensors 'k' and 'v' overlap"
    assert report == {"path": str(path), "has_checksums": False, "findings": [{"path": str(path), "what": what}]}


def test_a_damaged_file_is_a_message_without_traceback():
    code = "import sys; from mf_ckpt.cli import main; sys.exit(main())"
    command = [sys.executable, "-c", code, "inspect", str(DATA / "damaged" / "truncated_data.safetensors")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1
    assert "last 5 bytes of data are missing" in done.stderr


def test_the_program_starts_without_a_framework():
    code = (
        "import sys, mf_ckpt.cli; print(sorted({'mindspore', 'torch', 'safetensors', 'hypothesis'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_of_a_run_the_newest_checkpoint_is_meant(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    for step in (3, 7):
        with Writer(tmp_path / "checkpoint" / f"step-{step:08d}", step=step) as writer:
            writer.add("embed", np.zeros(step, np.float32))
    assert main(["inspect", str(tmp_path)]) == 0
    assert "step: 7" in capsys.readouterr().out
    assert main(["verify", str(tmp_path)]) == 0
    assert "step-00000007: sound" in capsys.readouterr().out


@pytest.mark.parametrize("command", [[], ["inspect"], ["verify"], ["diff"], ["convert"], ["reshard"], ["merge-lora"]])
def test_help_does_not_wait_for_numpy(command):
    program = (
        "import sys\n"
        "from mf_ckpt.cli import main\n"
        "try:\n"
        "    main([*sys.argv[1:], '--help'])\n"
        "except SystemExit:\n"
        "    print('numpy' in sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", program, *command], capture_output=True, text=True, check=True)
    assert done.stdout.endswith("\nFalse\n")
