"""Exact matches and F1 of written answers."""

import re
from dataclasses import dataclass
from itertools import groupby
from typing import ClassVar

from mf_config.schema import component
from mf_train.evaluation.segmentation import words_of
from mf_train.evaluation.word_overlap import longest_common_run

_LEFT_OUT = frozenset(
    "-:_*^/\\~`+="
    "\uff0c\u3002\uff1a\uff1f\uff01\u201c\u201d\uff1b\u2019\u300a\u300b"
    "\u00b7\u3001\u300c\u300d\uff08\uff09\uff0d\uff5e\u300e\u300f"
)
"""Punctuation that does not count, of ASCII and of Chinese. An ellipsis does: MindFormers looks for two of them as one
character."""

_CHINESE = re.compile(r"[\u4e00-\u9fa5]")


@component("metric", "EmF1Metric")
@dataclass(frozen=True, slots=True, kw_only=True)
class EmF1Metric:
    """Share of answers that match exactly, and F1 of the longest piece in common; both from 0 to 100.

    The first line of a written answer counts, without regard to capitals and to punctuation, of which `.,!?;()"'` are
    kept as in MindFormers. Pieces are Chinese characters, and words of other text as jieba finds them. Source: Cui et
    al. 2019, A Span-Extraction Dataset for Chinese Machine Reading Comprehension; MindFormers 1.3,
    core/metric/metric.py.
    """

    names: ClassVar[tuple[str, ...]] = ("F1", "Em")

    def scores(self, written: str, wanted: str) -> tuple[float, ...]:
        """See `mf_train.metric.TextMetric.scores`."""
        first_line = written.strip().split("\n")[0]
        found, given = _without_punctuation(first_line), _without_punctuation(wanted)
        return 100.0 * _f1(_pieces(found), _pieces(given)), 100.0 * (found == given)


def _without_punctuation(text: str) -> str:
    return "".join(character for character in text.lower().strip() if character not in _LEFT_OUT)


def _pieces(text: str) -> list[str]:
    """Chinese characters, and the words between them."""
    pieces: list[str] = []
    for is_chinese, group in groupby(text, lambda character: bool(_CHINESE.match(character))):
        run = "".join(group)
        pieces += run if is_chinese else words_of()(run)
    return pieces


def _f1(found: list[str], given: list[str]) -> float:
    common = longest_common_run(found, given)
    if not common:
        return 0.0
    precision, recall = common / len(found), common / len(given)
    return 2.0 * precision * recall / (precision + recall)
