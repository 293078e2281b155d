import json
import subprocess
import sys
import sysconfig

import pytest

from mf_config.command_line import OK, USER_ERROR
from mf_data.cli import main
from mf_data.loaders import python_library
from mf_data.tokenizers.loading import load_tokenizer


def text_file(folder):
    file = folder / "text.txt"
    file.write_text("".join(f"word{i} and word{i} again, " for i in range(60)))
    return file


def train(folder, *extra) -> list[str]:
    return ["train-tokenizer", str(text_file(folder)), "--output", str(folder / "out"), "--vocab-size", "280", *extra]


def test_train_tokenizer_writes_one_that_loads(tmp_path, capsys):
    assert main(train(tmp_path)) == OK
    assert f"{tmp_path / 'out' / 'tokenizer.json'}: 280 entries" in capsys.readouterr().out
    tokenizer = load_tokenizer(tmp_path / "out")
    assert tokenizer.decode(tokenizer.encode("word7 again")) == "word7 again"


def test_train_tokenizer_prints_json(tmp_path, capsys):
    assert main(train(tmp_path, "--json")) == OK
    printed = json.loads(capsys.readouterr().out)
    assert printed["tokenizer"] == str(tmp_path / "out" / "tokenizer.json")
    assert printed["vocab_size"] == 280


def test_train_tokenizer_keeps_a_tokenizer_that_is_there(tmp_path, capsys):
    main(train(tmp_path))
    before = (tmp_path / "out" / "tokenizer.json").read_bytes()
    assert main(train(tmp_path)) == USER_ERROR
    assert "exists already" in capsys.readouterr().err
    assert (tmp_path / "out" / "tokenizer.json").read_bytes() == before


def test_train_tokenizer_names_a_vocabulary_that_is_too_small(tmp_path, capsys):
    command = train(tmp_path)
    command[command.index("280")] = "100"
    assert main(command) == USER_ERROR
    assert "--vocab-size: 100 is too small. Allowed: from 259." in capsys.readouterr().err


def test_train_tokenizer_names_an_input_that_is_missing(tmp_path, capsys):
    command = ["train-tokenizer", str(tmp_path / "none.txt"), "--vocab-size", "300", "--output", str(tmp_path / "out")]
    assert main(command) == USER_ERROR
    assert "none.txt does not exist" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_train_tokenizer_knows_the_python_library(tmp_path, capsys, monkeypatch):
    text = "".join(f"A line {i} that is long enough to count as text.\n" for i in range(20))
    monkeypatch.setattr(sysconfig, "get_path", lambda name: str(tmp_path))
    monkeypatch.setattr(python_library, "topics", {"strings": text})
    command = ["train-tokenizer", "python-library", "--vocab-size", "270", "--output", str(tmp_path), "--json"]
    assert main(command) == OK
    assert json.loads(capsys.readouterr().out)["vocab_size"] == 270


@pytest.mark.parametrize("command", ["", "train-tokenizer", "tokenize", "preview", "stats", "validate", "convert"])
def test_help_does_not_wait_for_what_reads_data(command):
    program = (
        "import sys\n"
        "from mf_data.cli import main\n"
        "try:\n"
        "    main([*sys.argv[1:], '--help'])\n"
        "except SystemExit:\n"
        "    print([name for name in ('numpy', 'tokenizers', 'yaml') if name in sys.modules])\n"
    )
    done = subprocess.run([sys.executable, "-c", program, *command.split()], capture_output=True, text=True, check=True)
    assert done.stdout.endswith("\n[]\n")
