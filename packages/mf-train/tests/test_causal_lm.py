"""Rows of ids become inputs, labels and weights."""

import numpy as np

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
