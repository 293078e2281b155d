"""Perplexity per token and per byte."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from mf_config.schema import component
from mf_train.metric import Sums


@component("metric", "PerplexityMetric")
@dataclass(frozen=True, slots=True, kw_only=True)
class PerplexityMetric:
    """Loss and perplexity over all tokens, and per byte of text, which compares models of different vocabularies."""

    def values(self, sums: Sums) -> Mapping[str, float]:
        """See `mf_train.metric.Metric.values`.

        Returns:
            `loss` (nats a token), `perplexity` (a token), and `byte_perplexity` where the tokens stand for text.
        """
        loss = sums.loss / max(1, sums.tokens)
        values = {"loss": loss, "perplexity": _exp(loss)}
        if sums.text_bytes:
            values["byte_perplexity"] = _exp(sums.loss / sums.text_bytes)
        return values


def _exp(value: float) -> float:
    """exp, infinite where it would overflow."""
    try:
        return math.exp(value)
    except OverflowError:
        return math.inf
