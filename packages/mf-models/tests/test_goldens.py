"""Every family against Hugging Face transformers: logits, loss and greedy tokens stored with random weights."""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from mindspore import Tensor, nn

import mf_ckpt
import mf_models
from mf_ckpt import MappedSource
from mf_config.layout import Mesh
from mf_models.cache import CachedStep
from mf_models.checkpoint_family import checkpoint_family
from mf_models.initializers import initialize
from mf_models.model_config import ModelConfig
from mf_models.networks import parameters

LOGITS_ATOL = 2e-4
"""Tolerance that comes with the golden numbers; greedy tokens have margins above it."""

MODELS = (
    "qwen2",
    "llama3_rope",
    "qwen3",
    "mistral_swa",
    "phi3",
    "glm",
    "glm4",
    "gemma2",
    "gpt2",
    "mixtral",
    "qwen2_moe",
    "qwen3_moe",
    "deepseek_v3",
)

CACHED = ("mistral_swa", "gemma2", "gpt2", "glm4", "mixtral", "deepseek_v3")
"""The models that differ in what happens beside the cache; the others pass through it as one of these or as Llama."""


def int32(values: Any) -> Tensor:
    return Tensor(np.asarray(values, np.int32))


TABLES = int32([[3, 1, 10, 2, 7], [4, 9, 8, 5, 6]])
"""Blocks of 8 tokens for two sequences, in no order."""


@pytest.fixture(scope="module", params=MODELS)
def loaded(request: pytest.FixtureRequest, data: Path) -> tuple[Path, ModelConfig, nn.Cell, Any]:
    path = data / request.param
    return path, *mf_models.load(path), np.load(path / "golden.npz")


def test_logits_and_loss(loaded: tuple[Path, ModelConfig, nn.Cell, Any]) -> None:
    _, _, model, golden = loaded
    logits = model(int32(golden["input_ids"])).asnumpy()
    np.testing.assert_allclose(logits, golden["logits"], 0, LOGITS_ATOL)
    shifted = logits[:, :-1].astype(np.float64)
    labels = golden["input_ids"][:, 1:, None]
    losses = np.log(np.exp(shifted).sum(-1, keepdims=True)) - np.take_along_axis(shifted, labels, -1)
    assert losses.mean() == pytest.approx(float(golden["loss"]), abs=1e-5)


@pytest.mark.parametrize(
    "loaded", [pytest.param(name, marks=() if name in CACHED else pytest.mark.slow) for name in MODELS], indirect=True
)
def test_token_by_token_through_the_cache(loaded: tuple[Path, ModelConfig, nn.Cell, Any]) -> None:
    _, _, model, golden = loaded
    step = CachedStep(model, model.new_cache(11, 8))
    for position, tokens in enumerate(golden["input_ids"].T):
        logits = step(int32(tokens[:, None]), int32([position, position]), int32([0, 0]), TABLES).asnumpy()
        np.testing.assert_allclose(logits, golden["logits"][:, position], 0, LOGITS_ATOL)
    rows = [list(golden["prompt0"]), list(golden["prompt1"])]
    ends = [len(row) + 24 for row in rows]
    for position in range(max(ends) - 1):
        # A row that is complete goes on with any token; nobody looks at what follows.
        tokens = [row[position] if position < len(row) else 7 for row in rows]
        found = step(int32(tokens)[:, None], int32([position] * 2), int32([0, 0]), TABLES).asnumpy().argmax(-1)
        for row, end, token in zip(rows, ends, found, strict=True):
            if position == len(row) - 1 and len(row) < end:
                row.append(token)
    greedy = [row[-24:] for row in rows]
    np.testing.assert_array_equal(greedy, [golden["greedy0"], golden["greedy1"]])


def test_files_come_out_byte_by_byte_as_they_went_in(loaded: Any, tmp_path: Path) -> None:
    path, config, model, _ = loaded
    mf_models.save(config, model, tmp_path / "saved", like=path)
    before, after = ({file.name: file.read_bytes() for file in one.iterdir()} for one in (path, tmp_path / "saved"))
    assert after == before


def test_the_configuration_goes_there_and_back(loaded: tuple[Path, ModelConfig, nn.Cell, Any]) -> None:
    _, config, _, _ = loaded
    assert type(config).from_hf(json.loads(json.dumps(config.to_hf()))) == config


def test_names_of_other_programs_lose_nothing(loaded: tuple[Path, ModelConfig, nn.Cell, Any]) -> None:
    path, config, _, _ = loaded
    stored = mf_ckpt.open(path)
    forms = mf_models.family_of(config).forms(config)
    assert "mindspore" in forms
    for keys in forms.values():
        again = MappedSource(MappedSource(stored, keys), keys.inverse)
        assert all(np.array_equal(again[name], stored[name]) for name in stored)


def test_every_parameter_has_one_rule_and_can_be_cut(loaded: tuple[Path, ModelConfig, nn.Cell, Any]) -> None:
    path, config, model, _ = loaded
    table = mf_models.family_of(config).sharding(config)
    rules = table.match_all(parameters(model))
    assert len({id(rule) for rule in rules.values()}) == len(table.rules)
    stored, family = mf_ckpt.open(path), checkpoint_family(config.to_hf())
    assert family is not None
    layout = mf_ckpt.place(stored.weights, stored.optimizer, Mesh.of(tp=2), family.rules, ties=family.ties)
    divided = {name for name, placed in layout.tensors.items() if placed.divisions}
    whole = re.compile(r"transformer\.wpe\.weight|.*\.(gate|shared_expert_gate|q_a_proj|kv_a_proj_with_mqa)\.weight")
    assert {name for name in stored if stored.info(name).shape[1:] and not whole.fullmatch(name)} <= divided
    assert not [name for name in divided if "norm" in name or ".ln_" in name]


def test_a_window_is_as_wide_in_pieces(data: Path) -> None:
    path = data / "mistral_swa"
    golden, (_, model) = np.load(path / "golden.npz"), mf_models.load(path)
    step, ids = CachedStep(model, model.new_cache(11, 8)), golden["input_ids"]
    first = step(int32(np.pad(ids[:, :7], ((0, 0), (0, 6)))), int32([0, 0]), int32([6, 6]), TABLES).asnumpy()
    rest = step(int32(ids[:, 7:]), int32([7, 7]), int32([12, 12]), TABLES).asnumpy()
    np.testing.assert_allclose(first, golden["logits"][:, 6], 0, LOGITS_ATOL)
    np.testing.assert_allclose(rest, golden["logits"][:, 19], 0, LOGITS_ATOL)


@pytest.mark.parametrize(("name", "zeros"), [("gpt2", "bias"), ("gemma2", "shift")])
def test_new_vectors_are_ones_or_zeros(name: str, zeros: str, data: Path) -> None:
    _, model = mf_models.load(data / name)
    initialize(model, seed=0)
    vectors = {key: parameter.asnumpy() for key, parameter in parameters(model).items() if parameter.ndim == 1}
    assert any(key.endswith(zeros) for key in vectors)
    for key, vector in vectors.items():
        np.testing.assert_array_equal(vector, np.full(vector.shape, 0.0 if key.endswith(zeros) else 1.0))
