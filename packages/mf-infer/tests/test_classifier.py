"""Classes of texts, against Hugging Face transformers 5.24."""

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from mf_config.problems import UserError
from mf_config.sections.context import ContextSection
from mf_config.sections.model import ArchSection, ModelSection
from mf_config.sections.run import RunConfig
from mf_infer import run_mode
from mf_infer.classifier import Classifier
from mf_infer.llm import LLM, ON_CPU
from mf_infer.run_mode import predict
from mf_models.pretrained import read_config

DATA = Path(__file__).parent / "data"
MODEL = DATA / "gpt2_classes"
GOLDEN = json.loads((MODEL / "golden.json").read_text())
TEXTS = [[i for i in row if i] for row in GOLDEN["input_ids"]]


class Numbers:
    """Ids are numbers that are written out."""

    bos_id = eos_id = None

    def open(self, documents):
        return self

    def encode(self, text, add_special_tokens=True, parse_special_tokens=None):
        return [int(word) for word in text.split()]


@dataclass
class Options:
    json: bool = False


@pytest.fixture(autouse=True)
def own_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.fixture(scope="module")
def classifier():
    return Classifier(MODEL, tokenizer=Numbers(), context=ON_CPU)


def written(ids):
    return " ".join(map(str, ids))


@pytest.mark.golden
def test_probabilities_are_those_of_transformers(classifier):
    found = classifier.classify([written(ids) for ids in TEXTS] * 3)
    logits = np.array(GOLDEN["logits"] * 3)
    expected = np.exp(logits) / np.exp(logits).sum(-1, keepdims=True)
    assert [each.label for each in found] == logits.argmax(-1).tolist()
    assert np.array([each.probabilities for each in found]) == pytest.approx(expected, abs=1e-5)


def test_of_long_texts_the_beginning_counts(classifier):
    begin = list(range(5, 17))
    long, cut = classifier.classify([written([*begin, 30, 31]), written(begin)])
    assert long.probabilities == cut.probabilities
    with pytest.raises(UserError, match="the text '' has no tokens"):
        classifier.classify(["5", ""])


def test_prediction_writes_classes(tmp_path, capsys, monkeypatch, classifier):
    monkeypatch.setattr(run_mode, "open_tokenizer", lambda section, documents: Numbers())
    monkeypatch.setattr("mf_infer.classifier.Classifier", lambda *args, **keys: classifier)
    config = RunConfig(
        run_mode="predict",
        output_dir=str(tmp_path / "out"),
        context=ContextSection(device_target="CPU"),
        model=ModelSection(arch=ArchSection(type="GPT2ForSequenceClassification"), model_config=read_config(MODEL)),
        load_checkpoint=str(MODEL),
        input_data=tuple(map(written, TEXTS)),
        save_file=str(tmp_path / "classes.jsonl"),
    )
    assert predict(config, Options()) == 0
    lines = (tmp_path / "out" / "predictions.jsonl").read_text().splitlines()
    labels = np.argmax(GOLDEN["logits"], -1).tolist()
    assert [json.loads(line)["label"] for line in lines] == labels
    assert (tmp_path / "classes.jsonl").read_text().splitlines() == lines
    first = json.loads(lines[0])
    assert first["prompt"] == written(TEXTS[0])
    assert first["score"] == max(first["scores"])
    assert f"class {labels[0]} (0." in capsys.readouterr().out
    assert predict(config, Options(json=True)) == 0
    assert capsys.readouterr().out.splitlines() == lines


def test_each_network_has_its_own_use():
    with pytest.raises(UserError, match="its network finds classes and writes no text"):
        LLM(MODEL)
    with pytest.raises(UserError, match=r"finds no classes\. Allowed: a network such as GPT2ForSeq"):
        Classifier(DATA / "llama_gqa", context=ON_CPU)
