import ast
import json
from dataclasses import dataclass, replace
from importlib.metadata import entry_points
from pathlib import Path

import pytest

import mf_ckpt
from mf_config import examine, load
from mf_config.problems import UserError, blockers_in
from mf_config.sections.context import ContextSection
from mf_config.sections.model import ArchSection, ModelSection
from mf_config.sections.run import RunConfig
from mf_data.processors.plain import BaseProcessor
from mf_data.tokenizers.loading import load_tokenizer
from mf_infer.run_mode import predict, read_prompts
from mf_infer.sampling_params import SamplingParams
from mf_models.families.llama import LlamaConfig

CHAT = Path(__file__).parent / "data" / "tiny_chat"
RECORDS = json.loads((CHAT / "golden.json").read_text())["records"]
NETWORK = LlamaConfig.from_hf(json.loads((CHAT / "config.json").read_text()))


@dataclass
class Options:
    json: bool = False


@dataclass
class TokenizerSection:
    """Stands for a component of kind `tokenizer`: a file elsewhere."""

    def open(self, documents):
        assert documents is None
        return load_tokenizer(CHAT)


@pytest.fixture(autouse=True)
def own_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def run_config(folder, network=NETWORK, **keys):
    return RunConfig(
        run_mode="predict",
        output_dir=str(folder),
        context=ContextSection(device_target="CPU"),
        trainer=None,
        model=ModelSection(arch=ArchSection(type="LlamaForCausalLM"), model_config=network),
        **keys,
    )


def predictions(folder):
    return [json.loads(line) for line in (folder / "predictions.jsonl").read_text().splitlines()]


def result(file):
    """MindFormers' form is that of a Python list."""
    return ast.literal_eval(file.read_text())


def test_it_answers_the_prompts_and_writes_them_down(tmp_path, capsys):
    longest = max(len(record["prompt_ids"]) for record in RECORDS[:2])
    network = replace(NETWORK, do_sample=False, max_decode_length=longest + 27)
    keys = {"load_checkpoint": str(CHAT), "input_data": tuple(record["prompt"] for record in RECORDS[:2])}
    assert predict(run_config(tmp_path / "out", network, **keys), Options()) == 0
    first, second = predictions(tmp_path / "out")
    assert (first["text"], first["token_ids"], first["finish_reason"]) == (
        RECORDS[0]["text"],
        RECORDS[0]["ids"],
        "stop",
    )
    assert (second["prompt"], second["finish_reason"]) == (RECORDS[1]["prompt"], "length")
    # max_decode_length counts the prompt too.
    assert second["token_ids"] == RECORDS[1]["ids"][:27]
    assert capsys.readouterr().out == (
        f"[1] {RECORDS[0]['prompt']}\n{RECORDS[0]['text']}\n[2] {RECORDS[1]['prompt']}\n{second['text']}\n"
    )
    assert result(tmp_path / "out" / "text_generation_result.txt") == [
        {"text_generation_text": [RECORDS[0]["prompt"] + RECORDS[0]["text"]]},
        {"text_generation_text": [RECORDS[1]["prompt"] + second["text"]]},
    ]


def test_an_answer_is_printed_as_it_comes(tmp_path, monkeypatch):
    printed = []
    monkeypatch.setattr("mf_infer.run_mode.print_stream", lambda pieces: printed.append(list(pieces)))
    network = replace(NETWORK, do_sample=False, max_decode_length=len(RECORDS[1]["prompt_ids"]) + 20)
    assert (
        predict(run_config(tmp_path, network, load_checkpoint=str(CHAT), input_data=RECORDS[1]["prompt"]), Options())
        == 0
    )
    assert len(printed[0]) > 10
    assert "".join(printed[0]) == predictions(tmp_path)[0]["text"]


def test_without_load_checkpoint_the_newest_of_output_dir_answers_as_the_run_file_says(tmp_path, chat, capsys):
    with mf_ckpt.Writer(tmp_path / "checkpoint" / "step-00000007", step=7) as writer:
        for name, array in mf_ckpt.open(CHAT).items():
            writer.add(name, array)
    network = replace(NETWORK, do_sample=True, temperature=0.9, top_k=40, top_p=0.99, max_decode_length=14)
    processor = BaseProcessor(tokenizer=TokenizerSection())
    config = run_config(tmp_path, network, input_data="The cat", seed=3, processor=processor, save_file="mine.txt")
    assert predict(config, Options(json=True)) == 0
    assert capsys.readouterr().out == (tmp_path / "predictions.jsonl").read_text()
    params = SamplingParams(temperature=0.9, top_k=40, top_p=0.99, seed=3, max_tokens=9)
    text = predictions(tmp_path)[0]["text"]
    assert result(tmp_path / "mine.txt") == [{"text_generation_text": ["The cat" + text]}]
    assert not (tmp_path / "text_generation_result.txt").exists()
    assert predictions(tmp_path)[0]["token_ids"] == chat.generate("The cat", params)[0].outputs[0].token_ids


def test_the_lines_of_a_file_are_prompts_and_a_written_line_end_is_one(tmp_path):
    file = tmp_path / "prompts.txt"
    file.write_text("one\\nmore\n\ntwo\n", encoding="utf-8")
    assert list(read_prompts([str(file), "three\\nlines", "x" * 5000])) == [
        "one\nmore",
        "two",
        "three\nlines",
        "x" * 5000,
    ]
    file.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UserError, match=r"input_data: .*prompts\.txt: can't be read"):
        list(read_prompts([str(file)]))


def test_a_run_without_prompts_is_refused(tmp_path):
    with pytest.raises(UserError) as caught:
        predict(run_config(tmp_path, load_checkpoint=str(CHAT)), Options())
    assert str(caught.value) == (
        "input_data: is missing, so nothing can be predicted. Allowed: a prompt, or a list of prompts."
    )


def test_weights_that_do_not_fit_the_configuration_are_named(tmp_path):
    network = replace(NETWORK, intermediate_size=100)
    with pytest.raises(UserError, match=r"mlp\.gate_proj\.weight, \[96, 48\]\. Allowed: \[100, 48\]"):
        predict(run_config(tmp_path, network, load_checkpoint=str(CHAT), input_data="x"), Options())


CALIBRATED = """\
run_mode: predict
load_checkpoint: weights.ckpt
input_data: hello
model:
  model_config:
    type: LlamaConfig
    quantization_config:
      quant_method: 'ptq'
      weight_dtype: 'int8'
      activation_dtype: 'int8'
      kvcache_dtype: None
      outliers_suppression: 'smooth'
      modules_to_not_convert: ['lm_head']
      algorithm_args: {}
  arch:
    type: LlamaForCausalLM
"""


@pytest.mark.parametrize("method", ["ptq", "smooth_quant"])
def test_integers_of_a_calibration_are_read_and_what_is_not_in_effect_is_said_by_line(tmp_path, method):
    file = tmp_path / "predict.yaml"
    file.write_text(CALIBRATED.replace("ptq", method))
    examined = examine(load(file))
    assert examined.config.model.model_config.quantization_config.quant_method == method
    blockers = blockers_in(examined.problems)
    assert {blocker.location.line: blocker.allowed for blocker in blockers} == {8: "rtn", 10: "unset", 12: "unset"}
    assert all("can't be run yet" in str(blocker) for blocker in blockers)


def test_rounding_to_nearest_is_in_effect(tmp_path):
    file = tmp_path / "predict.yaml"
    text = CALIBRATED.replace("ptq", "rtn").replace("activation_dtype: 'int8'", "activation_dtype: None")
    file.write_text(text.replace("'smooth'", "None"))
    examined = examine(load(file))
    assert not blockers_in(examined.problems)
    assert examined.config.model.model_config.quantization_config.weight_dtype == "int8"


def test_it_is_found_as_the_run_mode_predict():
    (point,) = entry_points(group="mf.run_modes", name="predict")
    assert point.load() is predict
