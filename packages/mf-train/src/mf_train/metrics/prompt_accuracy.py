"""Choices between prompts by their likelihood."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from mf_config.schema import component
from mf_train.metric import WeighedQuestion


@component("metric", "PromptAccMetric")
@dataclass(frozen=True, slots=True, kw_only=True)
class PromptAccMetric:
    """Share of rows in which the right one of several prompts has the least loss per token.

    Source: MindFormers 1.3, core/metric/metric.py, without its rounding of the counts to 16 bits.
    """

    def choice_values(self, questions: Sequence[WeighedQuestion]) -> Mapping[str, float]:
        """`prompt_accuracy`, from 0 to 1; see `mf_train.metric.ChoiceMetric.choice_values`."""
        right = [np.argmin(one.losses_A / one.tokens_A) == one.right for one in questions]
        return {"prompt_accuracy": float(np.mean(right))}
