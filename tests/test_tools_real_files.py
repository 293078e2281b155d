"""`tools/real_files.py`: what becomes of a published file, and the table; three of those in MF_REAL_CONFIGS are run."""

import os
import re
from pathlib import Path

import pytest

from mf_config import load
from mf_config.nodes import Mapping
from real_files import prepared
from real_runs.materials import Materials
from real_runs.outcome import Outcome, outcome, shown
from real_runs.overrides import tiny_run
from real_runs.table import as_row, kept_rows, write_rows

FOLDER = os.environ.get("MF_REAL_CONFIGS", "")

PUBLISHED = """\
run_mode: 'fintune'
load_checkpoint: ''
use_parallel: True
trainer: {type: CausalLanguageModelingTrainer}
train_dataset: &train_dataset
  data_loader: {type: ADGenDataLoader, dataset_dir: "/path/to/train.json", shuffle: True}
  tokenizer: {type: ChatGLM3Tokenizer, vocab_file: "/path/to/tokenizer.model"}
  max_source_length: 1024
  max_target_length: 1023
train_dataset_task: {type: KeyWordGenDataset, dataset_config: *train_dataset}
runner_config: {epochs: 2, batch_size: 8}
optimizer: {type: AdamW, learning_rate: 1.e-4}
parallel_config: {data_parallel: 8, model_parallel: 4}
model:
  arch: {type: ChatGLM2ForConditionalGeneration}
  model_config:
    type: ChatGLM2Config
    seq_length: 2048
    num_layers: 28
    num_block: 64
"""


def test_a_published_file_becomes_a_tiny_run(tmp_path: Path) -> None:
    published = tmp_path / "run.yaml"
    published.write_text(PUBLISHED)
    own = tmp_path / "own"
    own.mkdir()
    tiny = tiny_run(published, Materials(tmp_path / "materials"), own)
    assert tiny.problems == ()
    assert [problem.suggestion for problem in tiny.mistakes] == ["finetune", "num_blocks"]
    assert tiny.file == own / "run.yaml"
    assert tiny.file.read_text() == PUBLISHED.replace("num_block:", "num_blocks:")
    config = tiny.config
    assert config is not None
    network = config.model.model_config
    assert (network.num_layers, network.seq_length, network.num_blocks) == (2, 64, 64)
    assert (config.run_mode, config.use_parallel, config.context.device_target) == ("finetune", False, "CPU")
    assert config.train_dataset is not None
    rows = Path(config.train_dataset.data_loader.dataset_dir).read_text().splitlines()
    assert len(rows) == 3 * config.runner_config.batch_size
    assert shown(tiny).startswith(f"mf-train run {tiny.file} --json --set output_dir={own / 'output'} --set ")


def test_a_file_of_no_language_model_is_told_as_mf_tells_it(tmp_path: Path) -> None:
    published = tmp_path / "whisper.yaml"
    published.write_text("model:\n  model_config: {type: WhisperConfig}\n")
    tiny = tiny_run(published, Materials(tmp_path / "materials"), tmp_path)
    found = outcome(tiny, tmp_path, seconds=1)
    assert (found.verdict, found.valid) == ("not yet", True)
    assert "`model.model_config`: WhisperConfig is checked, but can't be run yet" in found.result


def test_the_page_keeps_the_rows_of_other_files(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("before\n\n<!-- nox -s real-files writes from here -->\n<!-- to here -->\n\nafter\n")
    one, two = Outcome("a.yaml", "train", True, "runs", "3 steps"), Outcome("b.yaml", "", False, "not yet", "x | y")
    write_rows(page, {"b.yaml": as_row(two)})
    write_rows(page, {**kept_rows(page.read_text(), {"a.yaml", "b.yaml"}), "a.yaml": as_row(one)})
    before, table, after = re.split(r"<!--.*-->\n", page.read_text())
    assert (before, after) == ("before\n\n", "\nafter\n")
    assert table.splitlines()[3:] == [
        "| `a.yaml` | train | yes | runs | 3 steps |",
        r"| `b.yaml` |  | no | not yet | x \| y |",
        "",
    ]
    assert kept_rows(page.read_text(), {"a.yaml"}) == {"a.yaml": as_row(one)}


@pytest.mark.slow
@pytest.mark.skipif(not FOLDER, reason="MF_REAL_CONFIGS names no folder of published configurations")
@pytest.mark.parametrize(
    ("file", "result"),
    [
        ("llama2__pretrain_llama2_7b.yaml", r"3 steps, loss 8\.\d+ 8\.\d+ 8\.\d+"),
        ("glm2__lora_glm2_6b_fp16.yaml", r"3 steps, loss 8\.\d+ 8\.\d+ 8\.\d+"),
        ("qwen2__predict_qwen2_7b_instruct.yaml", r"[1-8] tokens: .*"),
    ],
)
def test_a_published_file_runs(file: str, result: str, tmp_path: Path) -> None:
    """With drawn weights the loss is near that of equal probabilities over 4096 tokens, log 4096 = 8.318."""
    (tiny,) = prepared([Path(FOLDER) / file], tmp_path)
    found = outcome(tiny, tmp_path / tiny.published.stem, seconds=600)
    assert found.verdict == "runs", found.result
    assert re.fullmatch(result, found.result)


def test_the_overrides_of_all_families_are_read_as_files() -> None:
    folder = Path(__file__).parent.parent / "examples" / "tiny-overrides"
    for file in sorted(folder.glob("*.yaml")):
        network = load(folder.with_suffix(".yaml"), [f"@{file}"]).root.entries["model"]
        assert isinstance(network, Mapping)
        sizes = network.entries["model_config"]
        assert isinstance(sizes, Mapping)
        assert {"seq_length", "hidden_size"} < sizes.entries.keys()
