"""Networks that find the class of a text, against Hugging Face transformers 5.24 (stored with random weights)."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from mindspore import Tensor, nn

import mf_ckpt
import mf_models
from mf_config.layout import Mesh
from mf_config.problems import ConfigError, UserError
from mf_config.sections.model import ArchSection, ModelSection
from mf_models.checkpoint_family import placement_rules
from mf_models.families.baichuan2 import Baichuan2Config
from mf_models.families.gpt2 import GPT2Config
from mf_models.families.llama import LlamaConfig
from mf_models.families.qwen3 import Qwen3Config
from mf_models.initializers import initial_values
from mf_models.model_config import ModelConfig
from mf_models.networks import build
from mf_models.new_head import with_new_head
from mf_models.parameter_shapes import parameter_shapes
from mf_models.pretrained import read_config
from mf_models.registry import config_from_hf, family_of
from mf_models.weights import fitting, shapes_of, to_checkpoint_names
from mf_parallel.plan import make_plan

LOGITS_ATOL = 2e-5

Loaded = tuple[Path, ModelConfig, nn.Cell]


@pytest.fixture(scope="module", params=["gpt2_classes", "qwen2_classes"])
def loaded(request: pytest.FixtureRequest, data: Path) -> Loaded:
    path = data / request.param
    return path, *mf_models.load(path)


def test_scores_at_the_last_token_are_those_of_transformers(loaded: Loaded) -> None:
    path, _, cell = loaded
    golden: dict[str, Any] = json.loads((path / "golden.json").read_text())
    ids = np.array(golden["input_ids"], np.int32)
    scores = cell.set_train(False)(Tensor(ids)).asnumpy()
    assert scores.shape == (3, 6, 3)
    last = [np.flatnonzero(row)[-1] for row in ids]
    assert scores[np.arange(3), last] == pytest.approx(np.array(golden["logits"]), abs=LOGITS_ATOL)


def test_saved_weights_and_configuration_are_those_that_were_read(loaded: Loaded) -> None:
    path, config, cell = loaded
    assert config.num_labels == 3
    reader = mf_ckpt.open(path)
    written = dict(to_checkpoint_names(config, cell))
    assert set(written) == set(reader)
    assert "score.weight" in written and "lm_head.weight" not in written
    assert all(np.array_equal(array, reader.read(name)) for name, array in written.items())
    original, saved = json.loads((path / "config.json").read_text()), config.to_hf()
    names = ("architectures", "id2label", "label2id", "pad_token_id", "model_type")
    assert {name: saved[name] for name in names} == {name: original[name] for name in names}
    assert config_from_hf(saved, "config.json") == config


def test_shapes_and_layouts_know_the_head(loaded: Loaded) -> None:
    _, config, cell = loaded
    family, shapes = family_of(config), shapes_of(cell)
    assert parameter_shapes(family.decoder(config)) == shapes
    plan = make_plan(Mesh.of(tp=2), shapes, family.sharding(config))
    assert plan.tied is None
    assert not plan.parameters["score.weight"].axes
    assert plan.parameters["model.tok_embeddings.embedding_weight"].axes == {"tp"}
    assert "score.weight" in {rule.pattern for rule in placement_rules(config)}


def test_the_name_of_the_network_decides() -> None:
    section = LlamaConfig(num_labels=4)

    def meant(architecture: str | None, config: Any = section) -> int | None:
        arch = None if architecture is None else ArchSection(type=architecture)
        found: int | None = ModelSection(arch=arch, model_config=config).model_config.num_labels
        return found

    assert meant("LlamaForSequenceClassification") == 4
    assert meant("LlamaForCausalLM") is None
    assert meant(None) == 4
    assert meant("GPT2ForSequenceClassification", GPT2Config()) == 2
    assert meant("Qwen3ForSequenceClassification", Qwen3Config(num_labels=1)) == 1


def test_families_without_such_a_network_refuse_classes() -> None:
    config = Baichuan2Config(hidden_size=16, num_heads=2, num_layers=1, vocab_size=64, num_labels=2)
    with pytest.raises(ConfigError, match="num_labels: this family has no network that finds classes"):
        build(config)


def test_a_language_model_gets_a_new_head(data: Path) -> None:
    path = data / "qwen2"
    config: Any = read_config(path)
    config = config.with_classes_of("Qwen2ForSequenceClassification")
    shapes = shapes_of(build(config))
    reader = mf_ckpt.open(path)
    stored = with_new_head(config, reader, seed=3, standard_deviation=0.02)
    fitted = fitting(config, shapes, stored, str(path))
    drawn = initial_values("score.weight", (2, config.hidden_size), 3, 0.02)
    assert np.array_equal(fitted.read("score.weight"), drawn)
    assert np.array_equal(fitted.read("model.norm_out.weight"), reader.read("model.norm.weight"))
    with pytest.raises(UserError, match=r"score\.weight"):
        fitting(config, shapes, reader, str(path))
    assert with_new_head(config, stored, seed=4, standard_deviation=0.02) is stored
