"""Classes."""

from dataclasses import dataclass
from typing import Literal

from mf_config.schema import component, key


@component("metric", "Accuracy", pending="there is no classification")
@dataclass(frozen=True, slots=True, kw_only=True)
class Accuracy:
    """Share of rows whose class is found."""

    eval_type: Literal["classification", "multilabel"] = key(
        "Whether a row has one class or several.", "classification"
    )
