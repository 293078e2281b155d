"""Choices between answers by their likelihood, for each subject and over all of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from mf_config.schema import component, key
from mf_train.metric import WeighedQuestion


@component("metric", "MultipleChoiceMetric")
@dataclass(frozen=True, slots=True, kw_only=True)
class MultipleChoiceMetric:
    """Share of questions whose right answer is the likeliest.

    Source: Gao et al., A framework for few-shot language model evaluation (lm-evaluation-harness), acc and acc_norm;
    the latter counts characters, `normalize: byte` bytes and the space before the answer among them.
    """

    normalize: Literal["none", "token", "byte"] = key(
        "What the logarithm of an answer's likelihood is divided by: nothing, its tokens, or its bytes.", "none"
    )

    def choice_values(self, questions: Sequence[WeighedQuestion]) -> Mapping[str, float]:
        """Shares from 0 to 1; see `mf_train.metric.ChoiceMetric.choice_values`.

        Returns:
            `accuracy` of all questions; where they have subjects, `subject_accuracy`, the mean over these, and
            `accuracy/<subject>` of each. With another `normalize` than none, the names say so: `accuracy_per_byte`.
        """
        name = "accuracy" if self.normalize == "none" else f"accuracy_per_{self.normalize}"
        right: dict[str, list[bool]] = {}
        for one in questions:
            sizes_A = {"none": np.ones(()), "token": one.tokens_A, "byte": one.text_bytes_A}[self.normalize]
            chosen = int(np.argmin(one.losses_A / sizes_A))
            right.setdefault(one.subject, []).append(chosen == one.right)
        values = {name: float(np.mean([hit for hits in right.values() for hit in hits]))}
        if any(right):
            by_subject = {f"{name}/{subject}": float(np.mean(hits)) for subject, hits in sorted(right.items())}
            values |= {f"subject_{name}": float(np.mean(list(by_subject.values()))), **by_subject}
        return values
