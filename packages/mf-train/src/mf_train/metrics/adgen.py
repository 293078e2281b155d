"""ROUGE and BLEU of written answers."""

from dataclasses import dataclass

from mf_config.schema import component


@component("metric", "ADGENMetric", pending="an evaluation writes no text")
@dataclass(frozen=True, slots=True, kw_only=True)
class ADGENMetric:
    """Words and characters that written and wanted answers have in common: ROUGE-1, ROUGE-2, ROUGE-L and BLEU-4."""
