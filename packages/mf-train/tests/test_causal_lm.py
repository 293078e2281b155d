"""Rows of ids become inputs, labels and weights."""

import mindspore as ms
import numpy as np
from mindspore import Tensor, nn, ops

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


def test_further_tokens_count_in_training_alone():
    one = Tensor([[1]], ms.int32)
    # The logits are 0, 1 and 0, and the label is the second.
    own = np.log(1 + 2 / np.e)
    for training, wanted, added in ((False, own, [1]), (True, 2 * own + 10, [1, 7])):
        losses_BT, added_L = Objective(Predicting().set_train(training))(one, one)
        np.testing.assert_allclose(losses_BT.asnumpy(), [[wanted]], rtol=1e-5)
        np.testing.assert_array_equal(added_L.asnumpy(), added)
