"""Dropout: the share, where it acts, and that what it drops follows from seed, step, place, row and element."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from mindspore import Parameter, ParameterTuple, Tensor, nn, ops

import mf_models
from mf_models.families.gpt2 import GPT2Config
from mf_models.initializers import initialize
from mf_models.layers.dropout import Dropout, connect_dropout, set_dropout_key
from mf_models.networks import parameters

WORDS, TOKENS = 32, 6
IDS = np.random.default_rng(1).integers(0, WORDS, (4, TOKENS)).astype(np.int32)


class Trained(nn.Cell):
    """A loss and its gradients, as a training step compiles them."""

    def __init__(self, model: nn.Cell):
        super().__init__(auto_prefix=False)
        self.gradients = ops.value_and_grad(Loss(model), None, ParameterTuple(parameters(model).values()))

    def construct(self, input_ids_BT: Tensor) -> Any:
        return self.gradients(input_ids_BT)


class Loss(nn.Cell):
    """The logits of each row in one number."""

    def __init__(self, model: nn.Cell):
        super().__init__(auto_prefix=False)
        self.model = model

    def construct(self, input_ids_BT: Tensor) -> Tensor:
        logits_BTV = self.model.head(self.model.hidden(input_ids_BT))
        return (logits_BTV * logits_BTV).mean()


class Logits(nn.Cell):
    """A graph of its own around a model."""

    def __init__(self, model: nn.Cell):
        super().__init__(auto_prefix=False)
        self.model = model

    def construct(self, input_ids_BT: Tensor) -> Tensor:
        return self.model(input_ids_BT)


def gpt2(**rates: float) -> tuple[nn.Cell, Any]:
    silent: dict[str, Any] = {"embedding_dropout_prob": 0.0, "hidden_dropout_rate": 0.0, "attention_dropout_rate": 0.0}
    config = GPT2Config(
        hidden_size=16, num_layers=1, num_heads=2, vocab_size=WORDS, seq_length=8, bos_token_id=0, eos_token_id=0,
        pad_token_id=0, **(silent | rates),
    )  # fmt: skip
    model = mf_models.build(config)
    initialize(model, seed=0)
    return model, connect_dropout(model)


@pytest.fixture(scope="module")
def dropping() -> tuple[nn.Cell, Parameter, Any]:
    """A GPT-2 that drops everywhere, its key, and its compiled step."""
    model, key = gpt2(embedding_dropout_prob=0.25, hidden_dropout_rate=0.25, attention_dropout_rate=0.25)
    assert key is not None
    model.set_train()
    return model, key, Trained(model)


def result(trained: Any, ids: np.ndarray) -> list[np.ndarray]:
    loss, gradients = trained(Tensor(ids))
    return [loss.asnumpy(), *(gradient.asnumpy() for gradient in gradients)]


def test_the_same_seed_and_step_drop_the_same(dropping: tuple[nn.Cell, Parameter, Any]) -> None:
    _, key, trained = dropping
    found = []
    for seed, step in ((3, 7), (3, 8), (4, 7), (3, 7)):
        set_dropout_key(key, seed=seed, step=step)
        found.append(result(trained, IDS))
    for again, first in zip(found[3], found[0], strict=True):
        np.testing.assert_array_equal(again, first)
    assert len({float(losses[0]) for losses in found}) == 3


def test_every_gradient_is_finite_and_some_element_counts(dropping: tuple[nn.Cell, Parameter, Any]) -> None:
    _, key, trained = dropping
    set_dropout_key(key, seed=0, step=1)
    gradients = result(trained, IDS)[1:]
    assert all(np.isfinite(gradient).all() and gradient.any() for gradient in gradients)


def test_outside_of_training_nothing_is_dropped(dropping: tuple[nn.Cell, Parameter, Any]) -> None:
    model, _ = gpt2()
    whole = model(Tensor(IDS)).asnumpy()
    model, key, _ = dropping
    assert key is not None
    model.set_train(False)
    found = Logits(model)(Tensor(IDS)).asnumpy()
    model.set_train()
    np.testing.assert_array_equal(found, whole)


def test_the_key_is_no_weight(dropping: tuple[nn.Cell, Parameter, Any]) -> None:
    model, key, _ = dropping
    assert key is connect_dropout(model)
    assert not key.requires_grad
    assert all(parameter is not key for parameter in parameters(model).values())
    assert connect_dropout(gpt2()[0]) is None


class Drops(nn.Cell):
    """Two dropouts of one network."""

    def __init__(self, rate: float):
        super().__init__()
        self.first = Dropout(rate)
        self.second = Dropout(rate)

    def construct(self, x: Tensor) -> tuple[Tensor, Tensor]:
        return self.first(x), self.second(x)


def hashed(values: np.ndarray) -> np.ndarray:
    """The published 32-bit hash, in NumPy."""
    x = values.astype(np.uint32)
    for shift, factor in ((16, 0x21F0AAAD), (15, 0xD35A2D97), (15, None)):
        x ^= x >> np.uint32(shift)
        if factor is not None:
            x = x * np.uint32(factor)
    return x


def test_what_is_dropped_is_the_published_hash_of_key_place_row_and_element() -> None:
    cell = Drops(0.3)
    key = connect_dropout(cell)
    assert key is not None
    cell.set_train()
    set_dropout_key(key, seed=1, step=2, first_row=5)
    first, second = (part.asnumpy() for part in cell(Tensor(np.ones((3, 7, 11), np.float32))))
    rows = np.arange(5, 8, dtype=np.uint32)
    stream = hashed(np.array([cell.first.stream.asnumpy() ^ key.asnumpy()[0]]))
    draws = hashed(hashed(stream ^ rows)[:, None] ^ hashed(np.arange(77, dtype=np.uint32))) & 0xFFFFFF
    kept = draws >= round(0.3 * 2**24)
    np.testing.assert_array_equal(first, (kept / np.float32(0.7)).astype(np.float32).reshape(3, 7, 11))
    assert (first != second).any()
    set_dropout_key(key, seed=1, step=2, first_row=6)
    np.testing.assert_array_equal(cell(Tensor(np.ones((3, 7, 11), np.float32)))[0].asnumpy()[:2], first[1:])


def test_the_share_is_that_of_the_rate() -> None:
    cell = Drops(0.1)
    key = connect_dropout(cell)
    assert key is not None
    cell.set_train()
    set_dropout_key(key, seed=0, step=1)
    first, second = (part.asnumpy() for part in cell(Tensor(np.ones((8, 64, 512), np.float32))))
    # Of 262,144 elements, five standard deviations are 0.003; of two streams a hundredth is dropped in both.
    assert (first == 0).mean() == pytest.approx(0.1, abs=0.003)
    assert ((first == 0) & (second == 0)).mean() == pytest.approx(0.01, abs=0.001)
    assert first.max() == pytest.approx(1 / 0.9)
    per_row = (first == 0).mean((1, 2))
    assert np.ptp(per_row) < 0.015 and len(set(per_row)) > 1


@pytest.mark.parametrize("name", ["embedding_dropout_prob", "hidden_dropout_rate", "attention_dropout_rate"])
def test_a_rate_of_one_is_refused(name: str) -> None:
    changes: dict[str, Any] = {name: 1.0}
    assert list(GPT2Config(**changes).problems()) == [(name, "1 leaves nothing to train", "from 0, below 1")]


def test_published_rates_are_taken_over(data: Path) -> None:
    config, model = mf_models.load(data / "gpt2")
    assert isinstance(config, GPT2Config)
    rates = {name: cell.rate for name, cell in model.cells_and_names() if isinstance(cell, Dropout)}
    block = "model.layers.0"
    assert rates["model.embedding_dropout"] == config.embedding_dropout_prob
    assert rates[f"{block}.attention.dropout"] == config.attention_dropout_rate
    assert rates[f"{block}.attention.output_dropout"] == rates[f"{block}.dropout"] == config.hidden_dropout_rate
