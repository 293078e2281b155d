import json
import subprocess
import sys
from pathlib import Path

import pytest

from mf_infer.cli import main

DATA = Path(__file__).parent / "data"
CHAT = str(DATA / "tiny_chat")
RECORDS = json.loads((DATA / "tiny_chat" / "golden.json").read_text())["records"]
GREEDY = ["--temperature", "0", "--max-tokens", "32"]


@pytest.fixture(autouse=True)
def shared_model(monkeypatch, chat):
    """Loading a model again would compile its graphs again."""
    monkeypatch.setattr("mf_infer.cli.generate.LLM", lambda path: chat if path == CHAT else pytest.fail(path))


def test_one_prompt_prints_the_text_alone(capsys):
    assert main(["generate", CHAT, "--prompt", RECORDS[1]["prompt"], *GREEDY]) == 0
    assert capsys.readouterr().out == RECORDS[1]["text"] + "\n"


def test_several_prompts_follow_one_another_with_titles(capsys):
    prompts = [word for record in RECORDS[:2] for word in ("--prompt", record["prompt"])]
    assert main(["generate", CHAT, *prompts, *GREEDY]) == 0
    first, second = RECORDS[:2]
    assert capsys.readouterr().out == (
        f"[1] {first['prompt']}\n{first['text']}\n[2] {second['prompt']}\n{second['text']}\n"
    )


def test_json_prints_one_object_a_prompt(capsys):
    prompts = [word for record in RECORDS[:3] for word in ("--prompt", record["prompt"])]
    assert main(["generate", CHAT, *prompts, *GREEDY, "--json"]) == 0
    objects = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    for record, found in zip(RECORDS[:3], objects, strict=True):
        assert found.pop("tokens_per_second") > 0
        assert found == {
            "prompt": record["prompt"],
            "text": record["text"],
            "token_ids": record["ids"],
            "finish_reason": record["finish_reason"],
        }


def test_a_seed_repeats_and_stop_ends(capsys):
    def printed(*options):
        assert main(["generate", CHAT, "--prompt", "The cat", "--max-tokens", "20", *options]) == 0
        return capsys.readouterr().out

    drawn = ["--temperature", "1", "--top-k", "0", "--top-p", "0.95", "--seed"]
    assert printed(*drawn, "5") == printed(*drawn, "5") != printed(*drawn, "6")
    assert printed("--temperature", "0", "--stop", "zzz", "--stop", "sh m") == "\x11te打\ufffdac\ufffd ma\n"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--temperature", "-1"], "temperature: -1.0 can't be used. Allowed: from 0.\n"),
        (["--top-k", "2.5"], "argument --top-k: invalid int value: '2.5' (see mf-infer generate --help)\n"),
        (["--max-tok", "3"], "unknown arguments: --max-tok 3 (see mf-infer generate --help)\n"),
    ],
)
def test_wrong_use_ends_with_status_2_and_one_message(capsys, options, message):
    assert main(["generate", CHAT, "--prompt", "x", *options]) == 2
    assert capsys.readouterr() == ("", message)


def run_python(code, folder):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=folder, check=False)


def test_help_and_wrong_paths_do_not_wait_for_mindspore(tmp_path):
    code = (
        "import sys\n"
        "from mf_infer.cli import main\n"
        "import mf_infer.run_mode\n"
        "status = main(['generate', 'missing', '--prompt', 'x'])\n"
        "assert 'mindspore' not in sys.modules\n"
        "try:\n"
        "    main(['generate', '--help'])\n"
        "except SystemExit as end:\n"
        "    assert end.code == 0\n"
        "assert 'mindspore' not in sys.modules\n"
        "sys.exit(status)\n"
    )
    result = run_python(code, tmp_path)
    assert result.returncode == 2
    assert result.stderr == "missing: no such file or folder.\n"
    assert "--max-tokens" in result.stdout


def test_the_program_generates_from_a_fresh_process(tmp_path):
    code = f"import sys; from mf_infer.cli import main; sys.exit(main(['generate', {CHAT!r}, *sys.argv[1:]]))"
    words = ["--prompt", RECORDS[0]["prompt"], *GREEDY]
    result = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, cwd=tmp_path, check=False)
    assert result.returncode == 0
    assert result.stdout.decode() == RECORDS[0]["text"] + "\n"
