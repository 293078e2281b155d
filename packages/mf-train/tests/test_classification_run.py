"""Runs that train and evaluate a network which finds the class of a text."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import mf_ckpt
import mf_models
from mf_ckpt import Writer
from mf_config import UserError, decode, load
from mf_data.prepared.mind_record_writer import MindRecordWriter
from mf_train.assemble import Job
from mf_train.cli import main
from mf_train.layout.processes import Processes
from mf_train.tasks.text_classification import TextClassificationTrainer

MODEL = """\
  arch: {type: GPT2ForSequenceClassification}
  model_config:
    type: GPT2Config
    num_labels: 3
    seq_length: 12
    hidden_size: 16
    num_layers: 1
    num_heads: 2
    vocab_size: 300
    pad_token_id: 0
    bos_token_id: 1
    eos_token_id: 2
    hidden_dropout_rate: 0.0
    attention_dropout_rate: 0.0
    embedding_dropout_prob: 0.0
"""
TEXTS = [f"{i} {word} {j}" for word in ("plus", "times", "is") for i in range(4) for j in range(4)]
"""Texts of three classes of 16, which the word in the middle tells."""


def classifying(text: str) -> str:
    """The run file of all tests, with a network and a task that find classes."""
    begin, end = text.index("  arch:"), text.index("processor:")
    changed = text[:begin] + MODEL + text[end:]
    for old, new in (
        ("CausalLanguageModelingTrainer", "TextClassificationTrainer"),
        ("CausalLanguageModelDataset", "TextClassificationDataset"),
        ("{type: PerplexityMetric}", "[{type: PerplexityMetric}, {type: Accuracy, eval_type: classification}]"),
    ):
        assert old in changed
        changed = changed.replace(old, new)
    return changed


def words(run_file: Path, **settings: object) -> list[str]:
    return ["run", str(run_file), *(word for name, value in settings.items() for word in ("--set", f"{name}={value}"))]


@pytest.fixture(scope="module")
def run_file(write_run: Callable[[Path], Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run file whose texts are in tables."""
    path = write_run(tmp_path_factory.mktemp("classes"))
    table = path.parent / "texts.tsv"
    rows = "".join(f"{text}\t{number // 16}\n" for number, text in enumerate(TEXTS))
    table.write_text(f"sentence\tlabel\n{rows}")
    text = classifying(path.read_text())
    for part in ("train", "eval"):
        begin, end = text.index("{type: TextDataLoader"), text.index("}", text.index("{type: TextDataLoader")) + 1
        loader = f"{{type: SFTDataLoader, dataset_name: sst-2, dataset_dir: {table}, shuffle: {part == 'train'}}}"
        text = text[:begin] + loader + text[end:]
    path.write_text(text)
    return path


@pytest.fixture(scope="module")
def language_model(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The weights of the golden classifier as those of a language model, which has no head of classes."""
    golden, folder = mf_ckpt.open(data / "gpt2_classes"), tmp_path_factory.mktemp("base") / "gpt2"
    with Writer(folder) as writer:
        for name in golden:
            if name != "score.weight":
                writer.add(name, golden.read(name))
        assert golden.config is not None
        left_out = ("id2label", "label2id")
        kept = {name: value for name, value in golden.config.items() if name not in left_out}
        writer.add_json("config.json", kept | {"architectures": ["GPT2LMHeadModel"]})
    return folder


@pytest.fixture(scope="module")
def trained(run_file: Path, language_model: Path) -> Path:
    """The last checkpoint of a run that finetunes a language model for three epochs."""
    settings = {
        "run_mode": "finetune",
        "load_checkpoint": language_model,
        "runner_config.epochs": 3,
        "callbacks": "[{type: CheckpointMonitor, save_checkpoint_steps: 36}]",
    }
    assert main(words(run_file, **settings)) == 0
    found = mf_ckpt.latest(run_file.parent / "output" / "checkpoint")
    assert found is not None
    return found


def test_training_finds_the_classes(trained: Path) -> None:
    lines = (trained.parents[1] / "evaluations.jsonl").read_text().splitlines()
    found = [json.loads(line)["accuracy"] for line in lines]
    assert found[0] < 0.7
    assert found[-1] == 1.0


def test_the_checkpoint_has_the_form_of_hugging_face(trained: Path) -> None:
    config = json.loads((trained / "config.json").read_text())
    assert config["architectures"] == ["GPT2ForSequenceClassification"]
    assert config["id2label"] == {"0": "LABEL_0", "1": "LABEL_1", "2": "LABEL_2"}
    assert mf_ckpt.open(trained).info("score.weight").shape == (3, 16)


def test_a_run_of_its_own_evaluates_the_checkpoint(
    trained: Path, run_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*words(run_file, run_mode="eval", load_checkpoint=trained), "--json"]) == 0
    values = json.loads(capsys.readouterr().out)
    assert values["accuracy"] == 1.0
    assert values["perplexity"] == pytest.approx(np.exp(values["loss"]))
    assert "byte_perplexity" not in values


@pytest.mark.golden
@pytest.mark.usefixtures("graph_mode")
def test_loss_and_accuracy_are_those_of_transformers(data: Path, run_file: Path, tmp_path: Path) -> None:
    golden = json.loads((data / "gpt2_classes" / "golden.json").read_text())
    labels = [1, 2, 1]
    with MindRecordWriter(str(tmp_path / "rows.mindrecord"), ["input_ids", "attention_mask", "labels"]) as writer:
        for ids, label in zip(golden["input_ids"], labels, strict=True):
            row = {"input_ids": ids, "attention_mask": [int(i != 0) for i in ids], "labels": [label]}
            writer.add({name: np.array(values) for name, values in row.items()})
    text = run_file.read_text()
    begin = text.rindex("{type: SFTDataLoader")
    loader = f"{{type: MindDataset, dataset_dir: {tmp_path / 'rows.mindrecord'}}}"
    path = tmp_path / "run.yaml"
    path.write_text(text[:begin] + loader + text[text.index("}", begin) + 1 :])
    job = Job(decode(load(str(path))), Processes.alone())
    with pytest.raises(UserError, match=r"score\.weight"):
        job.load_weights(_without_head(data / "gpt2_classes", tmp_path))
    job.load_weights(data / "gpt2_classes")
    logits = np.array(golden["logits"])
    losses = np.log(np.exp(logits).sum(-1)) - logits[np.arange(3), labels]
    values = job.evaluate()
    assert values["loss"] == pytest.approx(losses.mean(), rel=1e-5)
    assert values["accuracy"] == pytest.approx(np.mean(logits.argmax(-1) == labels))
    assert 0 < values["accuracy"] < 1


def test_an_adapter_is_trained_with_a_head_of_its_own(
    run_file: Path, language_model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = {
        "run_mode": "finetune",
        "load_checkpoint": language_model,
        "output_dir": tmp_path / "output",
        "model.model_config.pet_config": "{pet_type: lora, lora_rank: 4, target_modules: '.*wq|.*wv'}",
        "lr_schedule.learning_rate": 5.0e-2,
        "callbacks": "[{type: CheckpointMonitor, save_checkpoint_steps: 24}]",
    }
    assert main(words(run_file, **settings)) == 0
    found = mf_ckpt.latest(tmp_path / "output" / "checkpoint")
    assert found is not None
    adapter = json.loads((found / "adapter_config.json").read_text())
    assert (adapter["task_type"], adapter["modules_to_save"]) == ("SEQ_CLS", ["score"])
    assert adapter["base_model_name_or_path"] == str(language_model)
    evaluations = [json.loads(line) for line in (tmp_path / "output" / "evaluations.jsonl").read_text().splitlines()]
    assert evaluations[-1]["loss"] < evaluations[0]["loss"] - 0.1
    capsys.readouterr()
    settings |= {"run_mode": "eval", "load_checkpoint": found}
    assert main([*words(run_file, **settings), "--json"]) == 0
    again = json.loads(capsys.readouterr().out)
    assert again["loss"] == evaluations[-1]["loss"]
    # Who only opens the checkpoint finds the head in it too.
    _, cell = mf_models.load(found)
    trained = mf_ckpt.lora.open_adapter(found)
    np.testing.assert_array_equal(cell.score.weight.asnumpy(), trained.tensors[trained.replaced["score.weight"]])


@pytest.mark.slow
@pytest.mark.multiproc
@pytest.mark.parametrize("divides_vocabulary", [True, False])
def test_two_processes_that_divide_the_network_train_as_one_does(
    run_file: Path, language_model: Path, tmp_path: Path, divides_vocabulary: bool
) -> None:
    common = {
        "run_mode": "finetune",
        "load_checkpoint": language_model,
        "do_eval": False,
        "callbacks": "[{type: CheckpointMonitor, save_checkpoint_steps: 24}]",
    }
    assert main(words(run_file, **common, output_dir=tmp_path / "one")) == 0
    divided = {
        "output_dir": tmp_path / "two",
        "use_parallel": True,
        "parallel_config.model_parallel": 2,
        "parallel_config.vocab_emb_dp": not divides_vocabulary,
    }
    command = [sys.executable, "-m", "mf_train", *words(run_file, **common, **divided), "--workers", "2"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    one, two = (
        [json.loads(line) for line in (tmp_path / name / "metrics.jsonl").read_text().splitlines()]
        for name in ("one", "two")
    )
    for key in ("loss", "grad_norm"):
        np.testing.assert_allclose([line[key] for line in two], [line[key] for line in one], rtol=2e-5)
    first, second = (mf_ckpt.open(mf_ckpt.find(tmp_path / name)) for name in ("one", "two"))
    assert set(first) == set(second)
    for name in set(first) - {"transformer.h.0.attn.c_attn.bias"}:
        # The bias of the keys in that one moves all scores of a query alike: its gradients are rounding alone.
        np.testing.assert_allclose(second[name], first[name], atol=1e-4, err_msg=name)


def _without_head(original: Path, folder: Path) -> Path:
    reader = mf_ckpt.open(original)
    with Writer(folder / "headless") as writer:
        for name in reader:
            if name != "score.weight":
                writer.add(name, reader.read(name))
        writer.add_json("config.json", reader.config)
    return folder / "headless"


def test_the_class_stands_at_the_last_token() -> None:
    rows = {
        "input_ids": np.array([[5, 6, 0, 0], [7, 8, 9, 4], [0, 0, 0, 0]], np.int32),
        "attention_mask": np.array([[1, 1, 0, 0], [1, 1, 1, 1], [0, 0, 0, 0]], np.int32),
        "labels": np.array([[2], [-100], [1]], np.int32),
    }
    examples = TextClassificationTrainer().examples(rows, -100)
    assert examples.labels_BT.tolist() == [[0, 2, 0, 0], [0, 0, 0, 0], [0, 0, 0, 1]]
    assert examples.weights_BT.tolist() == [[0, 1, 0, 0], [0, 0, 0, 0], [0, 0, 0, 1]]


@pytest.mark.usefixtures("graph_mode")
def test_classes_that_the_network_lacks_are_refused(run_file: Path) -> None:
    path = run_file.with_name("fewer.yaml")
    path.write_text(run_file.read_text().replace("num_labels: 3", "num_labels: 2"))
    job = Job(decode(load(str(path))), Processes.alone())
    with pytest.raises(UserError, match=r"num_labels: 2, but a text has the class 2\. Allowed: from 3; or texts with"):
        list(map(job.examples, range(job.data.training.steps_per_epoch)))
