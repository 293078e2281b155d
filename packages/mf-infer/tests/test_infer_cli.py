import json
import subprocess
import sys
from pathlib import Path

import pytest

import mf_infer
from mf_infer.cli import main
from mf_infer.load_options import LoadOptions

DATA = Path(__file__).parent / "data"
CHAT = str(DATA / "tiny_chat")
RECORDS = json.loads((DATA / "tiny_chat" / "golden.json").read_text())["records"]
GREEDY = ["--temperature", "0", "--max-tokens", "32"]


@pytest.fixture(autouse=True)
def shared_model(monkeypatch, chat):
    """Loading a model again would compile its graphs again."""

    def opened(path, config, tokenizer, options):
        assert (path, config, tokenizer, options) == (CHAT, None, None, LoadOptions())
        return chat

    monkeypatch.setattr("mf_infer.cli.opening.LLM", opened)


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
        (["--min-p", "2"], "min_p: 2.0 can't be used. Allowed: 0 to 1.\n"),
        (["--max-tok", "3"], "unknown arguments: --max-tok 3 (see mf-infer generate --help)\n"),
    ],
)
def test_wrong_use_ends_with_status_2_and_one_message(capsys, options, message):
    assert main(["generate", CHAT, "--prompt", "x", *options]) == 2
    assert capsys.readouterr() == ("", message)


def test_several_answers_and_log_probabilities_are_in_the_json(capsys):
    words = ["--prompt", "The cat", "--max-tokens", "3", "--temperature", "1", "--n", "2", "--seed", "1"]
    assert main(["generate", CHAT, *words, "--logprobs", "0", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert len(found["answers"]) == 2
    assert found["answers"][0]["token_ids"] == found["token_ids"]
    assert len(found["logprobs"]) == 3


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["--prompt", "x", "--input", "a.jsonl", "--output", "b.jsonl"],
        ["--input", "a.jsonl"],
        ["--prompt", "x", "--output", "b.jsonl"],
    ],
)
def test_prompts_come_from_one_place(capsys, words):
    assert main(["generate", CHAT, *words]) == 2
    message = "prompts are missing, or given twice. Allowed: --prompt, or --input with --output.\n"
    assert capsys.readouterr().err == message


def test_a_file_of_prompts_is_answered_and_a_second_start_completes_it(capsys, tmp_path):
    jobs, output = tmp_path / "jobs.jsonl", tmp_path / "out" / "answers.jsonl"
    lines = [
        {"id": "a", "prompt": RECORDS[0]["prompt"]},
        {"prompt_token_ids": RECORDS[1]["prompt_ids"], "max_tokens": 4},
        {"prompt": "x", "temperature": -1},
        {"messages": [{"role": "user", "content": "hello"}], "max_tokens": 2},
    ]
    jobs.write_text("\n\n".join(json.dumps(line) for line in lines))
    words = ["generate", CHAT, "--input", str(jobs), "--output", str(output), *GREEDY]
    assert main(words) == 1
    first = {entry["line"]: entry for entry in map(json.loads, output.read_text().splitlines())}
    assert sorted(first) == [1, 3, 5, 7]
    assert (first[1]["id"], first[1]["text"]) == ("a", RECORDS[0]["text"])
    assert first[3]["token_ids"] == RECORDS[1]["ids"][:4]
    assert first[5] == {"line": 5, "error": "temperature: -1 can't be used. Allowed: from 0."}
    assert len(first[7]["token_ids"]) == 2
    assert "4/4 answers" in capsys.readouterr().err
    # A start that was cut off while it wrote: the last line is broken, one is missing.
    kept = [line for line in output.read_text().splitlines() if json.loads(line)["line"] in (3, 5)]
    output.write_text("\n".join(kept) + '\n{"line": 1, "te')
    assert main(words) == 0
    second = [json.loads(line) for line in output.read_text().splitlines()]
    assert [entry["line"] for entry in second[:2]] == [json.loads(line)["line"] for line in kept]
    assert sorted(entry["line"] for entry in second) == [1, 3, 5, 7]
    assert next(entry for entry in second if entry["line"] == 1)["text"] == RECORDS[0]["text"]
    assert "4 prompts, 2 answered already" in capsys.readouterr().err
    content = output.read_bytes()
    assert main(words) == 0
    assert output.read_bytes() == content


def test_every_line_without_a_prompt_is_named(capsys, tmp_path):
    jobs = tmp_path / "jobs.jsonl"
    jobs.write_text('{"prompt": "a"}\n{"text": "b"}\n[1]\n{"prompt": "a", "messages": []}\n')
    assert main(["generate", CHAT, "--input", str(jobs), "--output", str(tmp_path / "out.jsonl")]) == 2
    errors = capsys.readouterr().err.splitlines()
    assert [line.split(":")[1] for line in errors[:3]] == ["2", "3", "4"]
    assert errors[3] == f"3 errors in {jobs}"
    assert not (tmp_path / "out.jsonl").exists()


def test_a_file_of_something_else_is_not_added_to(capsys, tmp_path):
    jobs, output = tmp_path / "jobs.jsonl", tmp_path / "out.jsonl"
    jobs.write_text('{"prompt": "a"}\n')
    output.write_text('{"prompt": "a"}\n')
    assert main(["generate", CHAT, "--input", str(jobs), "--output", str(output)]) == 2
    assert "is no output of this command" in capsys.readouterr().err
    assert output.read_text() == '{"prompt": "a"}\n'


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


def test_help_does_not_wait_for_what_reads_models(tmp_path):
    code = (
        "import sys\n"
        "from mf_infer.cli import main\n"
        "try:\n"
        "    main(['serve', '--help'])\n"
        "except SystemExit:\n"
        "    pass\n"
        "print(sorted({'mf_ckpt', 'mf_data', 'mindspore', 'numpy', 'starlette', 'tokenizers'} & set(sys.modules)))\n"
    )
    assert run_python(code, tmp_path).stdout.endswith("\n[]\n")


def test_every_public_name_is_there():
    for name in mf_infer.__all__:
        assert hasattr(mf_infer, name)
    with pytest.raises(AttributeError, match="no attribute 'Lmm'"):
        _ = mf_infer.Lmm


def test_the_program_generates_from_a_fresh_process(tmp_path):
    code = f"import sys; from mf_infer.cli import main; sys.exit(main(['generate', {CHAT!r}, *sys.argv[1:]]))"
    words = ["--prompt", RECORDS[0]["prompt"], *GREEDY]
    result = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, cwd=tmp_path, check=False)
    assert result.returncode == 0
    assert result.stdout.decode() == RECORDS[0]["text"] + "\n"
