"""What the tests share: a tiny run configuration on text made here, run in this process or in one of its own."""

import os
from collections.abc import Callable, Iterator
from dataclasses import make_dataclass
from pathlib import Path
from textwrap import dedent, indent
from typing import Annotated, Any

import pytest

from mf_config import ComponentOf, decode_as, key, load
from mf_config.sections.context import ContextSection
from mf_data import open_tokenizer
from mf_data.loaders.text import TextDataLoader
from mf_data.tokenizers.byte_level_bpe import ByteLevelBPETokenizer
from mf_models.device import prepare

DATA = Path(__file__).parent / "data"

RUN = """\
seed: 7
run_mode: train
output_dir: {folder}/output
context: {{mode: 0, device_target: CPU}}
trainer: {{type: CausalLanguageModelingTrainer}}
runner_config: {{epochs: 2, batch_size: 4, sink_mode: False}}
model:
  arch: {{type: LlamaForCausalLM}}
  model_config:
    type: LlamaConfig
    seq_length: 12
    hidden_size: 16
    num_layers: 1
    num_heads: 2
    intermediate_size: 24
    vocab_size: 320
    pad_token_id: 0
    bos_token_id: 1
    eos_token_id: 2
    initializer_range: 0.02
processor:
  tokenizer: {{type: ByteLevelBPETokenizer, tokenizer_file: {text}/tokenizer.json, vocab_size: 300}}
train_dataset: &train_dataset
  data_loader: {{type: TextDataLoader, dataset_dir: {text}/train.txt, shuffle: True, num_samples: 24}}
  drop_remainder: True
train_dataset_task: {{type: CausalLanguageModelDataset, dataset_config: *train_dataset}}
do_eval: True
eval_step_interval: 0
eval_dataset: &eval_dataset
  data_loader: {{type: TextDataLoader, dataset_dir: {text}/eval.txt, shuffle: False, num_samples: 10}}
  drop_remainder: False
eval_dataset_task: {{type: CausalLanguageModelDataset, dataset_config: *eval_dataset}}
metric: {{type: PerplexityMetric}}
optimizer: {{type: AdamW, betas: [0.9, 0.95], weight_decay: 0.1}}
lr_schedule: {{type: CosineWithWarmUpLR, learning_rate: 1.e-2, lr_end: 1.e-3, warmup_steps: 2, total_steps: -1}}
runner_wrapper: {{type: MFTrainOneStepCell, scale_sense: 1.0, use_clip_grad: True, max_grad_norm: 1.0}}
callbacks:
  - {{type: MFLossMonitor, per_print_times: 1}}
  - {{type: CheckpointMonitor, save_checkpoint_steps: 4, keep_checkpoint_max: 2}}
"""
"""12 steps of 4 rows; 10 rows to evaluate, so that the last batch of them is filled up with padding."""

ASCEND_RUN = """\
run_mode: train
output_dir: {folder}/output
trainer: {{type: CausalLanguageModelingTrainer}}
runner_config: {{batch_size: 4}}
optimizer: {{type: AdamW, learning_rate: 1.e-3}}
model:
  arch: {{type: LlamaForCausalLM}}
  model_config:
    type: LlamaConfig
    compute_dtype: float32
    param_init_type: float32
    seq_length: 64
    hidden_size: 64
    num_layers: 2
    num_heads: 4
    n_kv_heads: 2
    intermediate_size: 128
    vocab_size: 256
    pad_token_id: 0
    bos_token_id: 1
    eos_token_id: 2
"""
"""A training without rows, for a device that is not there."""


@pytest.fixture(scope="session")
def graph_mode() -> None:
    """Compiled cells on the CPU."""
    prepare(ContextSection(device_target="CPU"))


@pytest.fixture(autouse=True, scope="session")
def working_directory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """MindSpore writes `rank_0` and `kernel_meta` where it runs."""
    before = Path.cwd()
    os.chdir(tmp_path_factory.mktemp("run"))
    yield
    os.chdir(before)


@pytest.fixture(scope="session")
def data() -> Path:
    """Golden numbers that independent implementations made."""
    return DATA


@pytest.fixture(scope="session")
def text_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`train.txt`, `eval.txt` and the tokenizer that is trained on the former."""
    folder = tmp_path_factory.mktemp("text")
    for name, first in (("train", 0), ("eval", 500)):
        sums = (
            f"{i} plus {j} is {i + j}, and {j} times {i} is {i * j}."
            for i in range(first, first + 12)
            for j in range(9)
        )
        (folder / f"{name}.txt").write_text("\n".join(sums))
    section = ByteLevelBPETokenizer(tokenizer_file=str(folder / "tokenizer.json"), vocab_size=300)
    open_tokenizer(section, TextDataLoader(dataset_dir=str(folder / "train.txt")))
    return folder


@pytest.fixture(scope="session")
def write_run(text_folder: Path) -> Callable[[Path], Path]:
    """Writes `run.yaml` into a folder, with `output` in it as output_dir."""

    def write(folder: Path) -> Path:
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / "run.yaml"
        path.write_text(RUN.format(folder=folder, text=text_folder))
        return path

    return write


@pytest.fixture(scope="session")
def write_adapted_run(write_run: Callable[[Path], Path]) -> Callable[[Path, str], Path]:
    """Writes such a file with a `pet_config`."""

    def write(folder: Path, pet_config: str) -> Path:
        path = write_run(folder)
        lines = path.read_text().splitlines(keepends=True)
        place = next(number for number, line in enumerate(lines) if "initializer_range" in line)
        path.write_text("".join([*lines[: place + 1], pet_config, *lines[place + 1 :]]))
        return path

    return write


@pytest.fixture(scope="session")
def words() -> Callable[..., list[str]]:
    """The command line of a run of one epoch into a folder, with a checkpoint of its end."""

    def line(run_file: Path, folder: Path, *settings: str) -> list[str]:
        fixed = (f"output_dir={folder}", "runner_config.epochs=1", "callbacks=[{type: CheckpointMonitor}]")
        return ["run", str(run_file), *(word for setting in (*fixed, *settings) for word in ("--set", setting))]

    return line


@pytest.fixture
def run_file(write_run: Callable[[Path], Path], tmp_path: Path) -> Path:
    """A run configuration in a folder of its own."""
    return write_run(tmp_path)


@pytest.fixture
def ascend_run(tmp_path: Path) -> Path:
    """A run configuration for simulated Ascend devices, in a folder of its own."""
    path = tmp_path / "run.yaml"
    path.write_text(ASCEND_RUN.format(folder=tmp_path))
    return path


@pytest.fixture
def section_of(tmp_path: Path) -> Callable[[str, str], Any]:
    """Reads the YAML text of a section of a kind, as a run configuration is read; raises `ConfigError`."""

    def read(kind: str, text: str) -> Any:
        holder = make_dataclass(
            "Holder", [("section", Annotated[Any, ComponentOf(kind)], key("The section."))], frozen=True
        )
        path = tmp_path / "section.yaml"
        path.write_text("section:\n" + indent(dedent(text), "  "), encoding="utf-8")
        return decode_as(holder, load(path)).section

    return read
