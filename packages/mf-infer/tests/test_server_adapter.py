"""A LoRA beside its base: on the command line and through the server, against tokens of Hugging Face PEFT."""

import json
import shutil
from pathlib import Path

import openai
import pytest

from mf_data.tokenizers.loading import load_tokenizer
from mf_infer.cli import main
from mf_infer.llm import LLM
from mf_infer.load_options import LoadOptions

DATA = Path(__file__).parent / "data"
LORA = DATA / "llama_gqa_lora"
BASE = json.loads((DATA / "llama_gqa" / "golden.json").read_text())
GREEDY = json.loads((LORA / "golden.json").read_text())["greedy"]
ROUNDS = [(prompt, GREEDY[number], BASE["greedy"][number]) for number, prompt in enumerate(BASE["prompts"])]

pytestmark = pytest.mark.golden


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    """The base with a tokenizer, which the server needs; its vocabulary is wider than the model's."""
    folder = shutil.copytree(DATA / "llama_gqa", tmp_path_factory.mktemp("models") / "base")
    for name in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copy(DATA / "tiny_chat" / name, folder)
    return folder


def text_of(folder, ids):
    """What of an answer is shown: nothing of the end token, which the second golden answer does not reach."""
    return load_tokenizer(folder).decode(ids)


def test_the_server_answers_with_the_adapter(base, serve):
    llm = LLM(base, options=LoadOptions(adapter=LORA, max_batch_size=4))
    asked = {"model": "tuned", "max_tokens": 24, "temperature": 0, "extra_body": {"ignore_eos": True}}
    with serve(llm, name="tuned") as served, openai.OpenAI(base_url=f"{served.url}/v1", api_key="none") as client:
        assert [model.id for model in client.models.list()] == ["tuned"]
        for prompt, tuned, plain in ROUNDS:
            assert tuned != plain
            answer = client.completions.create(prompt=prompt, **asked)
            assert answer.choices[0].text == text_of(base, tuned)
            assert answer.usage.completion_tokens == 24
        both = client.completions.create(prompt=BASE["prompts"], **asked)
        assert [choice.text for choice in both.choices] == [text_of(base, tuned) for _, tuned, _ in ROUNDS]


def test_the_command_line_merges_the_adapter(base, tmp_path, capsys):
    jobs, answers = tmp_path / "jobs.jsonl", tmp_path / "answers.jsonl"
    jobs.write_text("\n".join(json.dumps({"prompt_token_ids": prompt, "ignore_eos": True}) for prompt, _, _ in ROUNDS))
    words = ["generate", str(base), "--adapter", str(LORA), "--input", str(jobs), "--output", str(answers)]
    assert main([*words, "--temperature", "0", "--max-tokens", "24"]) == 0
    capsys.readouterr()
    found = {entry["line"]: entry["token_ids"] for entry in map(json.loads, answers.read_text().splitlines())}
    assert [found[1], found[2]] == GREEDY


def test_an_adapter_that_is_not_there_is_named(base, capsys):
    assert main(["generate", str(base), "--adapter", "missing", "--prompt", "x"]) == 2
    assert "missing" in capsys.readouterr().err
