"""Documents that share a row train as if each had a row of its own."""

import json
from pathlib import Path

import mindspore as ms
import numpy as np
import pytest
from mindspore import Tensor, nn, ops

import mf_models
from mf_data.rows.document_rows import DocumentRows
from mf_data.rows.packing import pack_none
from mf_data.rows.sample_rows import SampleRows
from mf_data.rows.samples import Samples
from mf_data.rows.token_rows import TokenRows
from mf_models.kernels import select_kernels
from mf_train.step.batch_tensors import tensors_of
from mf_train.step.graphs import LossSum
from mf_train.task import Examples
from mf_train.tasks.causal_lm import CausalLanguageModelingTrainer

TASK = CausalLanguageModelingTrainer()
IGNORED = -100
END = 2

pytestmark = pytest.mark.usefixtures("graph_mode")


class Logits(nn.Cell):
    def __init__(self, model):
        super().__init__(auto_prefix=False)
        self.model = model

    def construct(self, input_ids_BT, document_starts_BT):
        return self.model.head(self.model.hidden(input_ids_BT, None, None, None, document_starts_BT))


@pytest.fixture(scope="module")
def model(data: Path) -> nn.Cell:
    _, cell = mf_models.load(data / "llama_gqa")
    return cell


@pytest.fixture(scope="module")
def ids(data: Path) -> np.ndarray:
    """Four documents in one row of 25 tokens."""
    return np.array(json.loads((data / "c29-packed.json").read_text())["input_ids"], np.int32)


@pytest.fixture(scope="module")
def packed(ids: np.ndarray) -> Examples:
    """The row as a run with `eod_reset` reads it; the id behind its end begins a document that has no other token."""
    rows = DocumentRows(TokenRows(np.append(ids, END).astype(np.int32), 26, pad_id=0), END)
    columns = rows[np.array([0])]
    columns["labels"][:, -1] = IGNORED
    return TASK.examples(columns, IGNORED)


@pytest.fixture(scope="module")
def logits(model: nn.Cell) -> Logits:
    return Logits(model)


@pytest.mark.golden
def test_logits_are_those_of_separate_documents(logits: Logits, packed: Examples, data: Path):
    inputs, labels, weights, starts = tensors_of(packed)
    found = logits(inputs, starts).asnumpy()[0].astype(np.float64)
    golden = np.load(data / "c29-logits.npz")
    assert np.abs(golden["separate"] - golden["crossing"]).max() > 1
    np.testing.assert_allclose(found, golden["separate"].reshape(found.shape), atol=2e-4)
    largest = found.max(-1, keepdims=True)
    log_sum = (largest + np.log(np.exp(found - largest).sum(-1, keepdims=True)))[:, 0]
    losses = log_sum - found[np.arange(25), labels.asnumpy()[0]]
    expected = json.loads((data / "c29-expected.json").read_text())
    assert weights.asnumpy()[0].astype(bool).tolist() == [label != IGNORED for label in expected["targets_shifted"]]
    assert (losses * weights.asnumpy()[0]).sum() / 21 == pytest.approx(expected["loss"], abs=2e-5)


def test_no_bit_of_a_document_depends_on_another_one(logits: Logits, packed: Examples):
    inputs, _, _, starts = tensors_of(packed)
    changed = packed.input_ids_BT.copy()
    changed[0, :6] = [7, 9, 11, 13, 15, 17]
    before, after = (logits(tensor, starts).asnumpy()[0] for tensor in (inputs, Tensor(changed)))
    assert (before[:6] != after[:6]).any(axis=1).all()
    np.testing.assert_array_equal(before[7:], after[7:])


def test_loss_and_gradients_are_the_sums_over_the_documents(model: nn.Cell, packed: Examples, ids: np.ndarray):
    documents = np.split(ids, np.flatnonzero(ids == END) + 1)
    assert [len(document) for document in documents] == [7, 5, 9, 4]
    width = 10
    separate = {
        "input_ids": np.stack([np.pad(each, (0, width - len(each))) for each in documents]),
        "labels": np.stack([np.pad(each, (0, width - len(each)), constant_values=IGNORED) for each in documents]),
    }
    loss_sum = LossSum(model, TASK.objective(select_kernels()))
    differentiate = ops.value_and_grad(loss_sum, None, list(model.trainable_params()), has_aux=True)
    one = Tensor(1.0, ms.float32)
    (_, wanted, _), wanted_gradients = differentiate(*tensors_of(TASK.examples(separate, IGNORED)), one)
    (_, found, _), gradients = differentiate(*tensors_of(packed), one)
    assert float(found.asnumpy()) == pytest.approx(float(wanted.asnumpy()), rel=1e-6)
    assert len(gradients) == len(list(model.trainable_params()))
    for gradient, expected in zip(gradients, wanted_gradients, strict=True):
        # Sums over 21 tokens reach 8; rows of one document take another attention kernel, which alone moves the same
        # documents' gradients by 1.2e-5. Without the borders they differ by 10.
        np.testing.assert_allclose(gradient.asnumpy(), expected.asnumpy(), atol=1e-5, rtol=1e-5)


def test_micro_batches_take_the_starts_of_their_rows():
    ids = np.arange(12, dtype=np.int32).reshape(2, 6)
    positions = np.array([[0, 1, 2, 0, 1, 2], [0, 1, 0, 1, 2, 3]], np.int32)
    examples = TASK.examples({"input_ids": ids, "position_ids": positions}, IGNORED)
    first, second = examples.split(2)
    np.testing.assert_array_equal(first.document_starts_BT, [[0, 0, 0, 3, 3]])
    np.testing.assert_array_equal(second.document_starts_BT, [[0, 0, 2, 2, 2]])


@pytest.mark.golden
def test_the_end_token_counts_where_padding_looks_like_it(model: nn.Cell, data: Path):
    expected = json.loads((data / "c31-expected.json").read_text())
    texts = [json.loads(line)["input_ids"] for line in (data / "c31-rows.jsonl").read_text().splitlines()]
    samples = Samples.of((text, text) for text in texts)
    rows = SampleRows(samples, pack_none(samples.lengths, 8), 8, pad_id=END)
    columns = rows[np.arange(2)]
    assert columns["input_ids"].tolist() == expected["input_ids"]
    examples = TASK.examples(columns, IGNORED)
    assert examples.weights_BT.sum() == 11
    loss_sum = LossSum(model, TASK.objective(select_kernels()))
    total = loss_sum(*tensors_of(examples), Tensor(1.0, ms.float32))[1]
    assert float(total.asnumpy()) / 11 == pytest.approx(expected["loss"], abs=2e-5)
