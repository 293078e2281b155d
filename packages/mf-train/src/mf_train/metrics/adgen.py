"""ROUGE and BLEU of written answers."""

from dataclasses import dataclass
from typing import ClassVar

from mf_config.schema import component
from mf_train.evaluation.segmentation import words_of
from mf_train.evaluation.word_overlap import bleu_4, rouge_l, rouge_n


@component("metric", "ADGENMetric")
@dataclass(frozen=True, slots=True, kw_only=True)
class ADGENMetric:
    """Words and characters that written and wanted answers have in common: ROUGE-1, ROUGE-2, ROUGE-L and BLEU-4.

    All are from 0 to 100. ROUGE counts words as jieba finds them, BLEU characters. An empty answer scores 0;
    MindFormers leaves it out. Source: MindFormers 1.3, core/metric/metric.py.
    """

    names: ClassVar[tuple[str, ...]] = ("rouge-1", "rouge-2", "rouge-l", "bleu-4")

    def scores(self, written: str, wanted: str) -> tuple[float, ...]:
        """See `mf_train.metric.TextMetric.scores`."""
        cut = words_of()
        found, given = ([word for word in cut(text) if word.strip()] for text in (written, wanted))
        rouges = (rouge_n(found, given, 1), rouge_n(found, given, 2), rouge_l(found, given))
        return tuple(100.0 * score for score in (*rouges, bleu_4(written, wanted)))
