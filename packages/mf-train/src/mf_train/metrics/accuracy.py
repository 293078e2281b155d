"""How often the likeliest label is the right one."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from mf_config.schema import component, key
from mf_train.metric import Hits


@component("metric", "Accuracy")
@dataclass(frozen=True, slots=True, kw_only=True)
class Accuracy:
    """Share of labels that are the likeliest: classes of texts, or next tokens. Source: mindspore.train.Accuracy."""

    eval_type: Literal["classification", "multilabel"] = key(
        "Whether a row has one class or several.",
        "classification",
        pending="rows have one class each",
        runs=("classification",),
    )

    def hit_values(self, hits: Hits) -> Mapping[str, float]:
        """`accuracy`, from 0 to 1; see `mf_train.metric.HitMetric.hit_values`."""
        return {"accuracy": hits.right / max(1, hits.targets)}
