"""Rows of ids become inputs, labels and weights."""

import mindspore as ms
import numpy as np
import pytest
from mindspore import Parameter, Tensor, nn, ops

from mf_models.kernels import select_kernels
from mf_train.tasks.causal_lm import CausalLanguageModelingTrainer

IDS = np.array([[5, 6, 7, 8], [1, 2, 3, 0]], np.int32)


def test_each_token_predicts_the_next_one():
    examples = CausalLanguageModelingTrainer().examples({"input_ids": IDS}, -100)
    np.testing.assert_array_equal(examples.input_ids_BT, [[5, 6, 7], [1, 2, 3]])
    np.testing.assert_array_equal(examples.labels_BT, [[6, 7, 8], [2, 3, 0]])
    np.testing.assert_array_equal(examples.weights_BT, np.ones((2, 3)))
    assert examples.labels_BT.dtype == np.int32
    assert examples.weights_BT.dtype == np.float32


def test_ignored_labels_have_no_weight_and_a_valid_id():
    labels = np.array([[-100, -100, 7, 8], [1, 2, -100, -100]], np.int32)
    examples = CausalLanguageModelingTrainer().examples({"input_ids": IDS, "labels": labels}, -100)
    np.testing.assert_array_equal(examples.labels_BT, [[0, 7, 8], [2, 0, 0]])
    np.testing.assert_array_equal(examples.weights_BT, [[0, 1, 1], [1, 0, 0]])


def test_labels_that_rows_leave_out_count_whatever_the_model_ignores():
    labels = np.array([[-100, -100, 7, 8], [1, 2, -100, 3]], np.int32)
    examples = CausalLanguageModelingTrainer().examples({"input_ids": IDS, "labels": labels}, 3)
    np.testing.assert_array_equal(examples.weights_BT, [[0, 1, 1], [1, 0, 0]])


class Predicting(nn.Cell):
    """Its logits are its hidden states; further tokens cost 10 and the loss of a label, and add 7 to the mean."""

    def __init__(self):
        super().__init__()
        self.further_tokens = 1

    def hidden_and_losses(self, input_ids_BT, document_starts_BT):
        return ops.one_hot(input_ids_BT, 3).astype(ms.float32), (ops.ones((1,), ms.float32),)

    def head(self, x_BTD):
        return x_BTD

    def further_losses(self, hidden_BTD, input_ids_BT, labels_BT, document_starts_BT, token_losses):
        return 10.0 + token_losses(hidden_BTD, labels_BT), (ops.ones((1,), ms.float32) * 7.0,)


class Objective(nn.Cell):
    def __init__(self, model):
        super().__init__()
        self.model = model
        self.losses = CausalLanguageModelingTrainer().objective(select_kernels())

    def construct(self, input_ids_BT, labels_BT):
        losses_BT, added = self.losses(self.model, input_ids_BT, labels_BT, None)
        return losses_BT, ops.concat(added)


@pytest.mark.usefixtures("graph_mode")
def test_further_tokens_count_in_training_alone():
    one = Tensor([[1]], ms.int32)
    # The logits are 0, 1 and 0, and the label is the second.
    own = np.log(1 + 2 / np.e)
    for training, wanted, added in ((False, own, [1]), (True, 2 * own + 10, [1, 7])):
        losses_BT, added_L = Objective(Predicting().set_train(training))(one, one)
        np.testing.assert_allclose(losses_BT.asnumpy(), [[wanted]], rtol=1e-5)
        np.testing.assert_array_equal(added_L.asnumpy(), added)


class Table(nn.Cell):
    """Its weights are the logits."""

    def __init__(self, logits_BTV: np.ndarray):
        super().__init__()
        self.further_tokens = 0
        self.logits_BTV = Parameter(Tensor(logits_BTV.astype(np.float32)), name="logits")

    def hidden_and_losses(self, input_ids_BT, document_starts_BT):
        return self.logits_BTV, ()

    def head(self, x_BTD):
        return x_BTD


class Weighted(nn.Cell):
    """The sum of weighted losses."""

    def __init__(self, model: nn.Cell, z_loss_factor: float):
        super().__init__()
        self.model = model
        self.losses = CausalLanguageModelingTrainer(z_loss_factor=z_loss_factor).objective(select_kernels())

    def construct(self, labels_BT, weights_BT):
        losses_BT, _ = self.losses(self.model, labels_BT, labels_BT, None)
        return (losses_BT * weights_BT).sum()


@pytest.mark.usefixtures("graph_mode")
@pytest.mark.parametrize("factor", [0.0, 0.03])
def test_the_z_loss_follows_its_formula_in_float64(factor: float):
    """Chowdhery et al. 2022, section 5: factor * log(Z)^2, whose gradient is 2 * factor * log(Z) * softmax."""
    chance = np.random.default_rng(4)
    logits, labels = 3.0 * chance.normal(size=(2, 3, 7)) + 5.0, chance.integers(0, 7, (2, 3))
    # The last position does not count, in the z-loss either.
    weights = np.array([[1.0, 1.0, 0.0], [1.0, 1.0, 1.0]])
    normalizer = np.log(np.exp(logits).sum(-1))
    right = np.take_along_axis(logits, labels[..., None], -1)[..., 0]
    shares, is_label = np.exp(logits - normalizer[..., None]), np.eye(7)[labels]
    of_training = ((normalizer - right + factor * normalizer**2) * weights).sum()
    gradient = (shares * (1 + 2 * factor * normalizer)[..., None] - is_label) * weights[..., None]
    model = Table(logits)
    given = Tensor(labels.astype(np.int32)), Tensor(weights.astype(np.float32))
    differentiate = ops.value_and_grad(Weighted(model.set_train(), factor), None, [model.logits_BTV])
    loss, (found,) = differentiate(*given)
    assert float(loss.asnumpy()) == pytest.approx(of_training, rel=1e-6)
    np.testing.assert_allclose(found.asnumpy(), gradient, rtol=1e-5, atol=1e-6)
    held_out = Weighted(model.set_train(False), factor)(*given)
    assert float(held_out.asnumpy()) == pytest.approx(((normalizer - right) * weights).sum(), rel=1e-6)
