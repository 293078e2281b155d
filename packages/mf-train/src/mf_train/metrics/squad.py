"""Answers by spans of a text."""

from dataclasses import dataclass

from mf_config.schema import component, key


@component("metric", "SQuADMetric", pending="there is no answering by spans")
@dataclass(frozen=True, slots=True, kw_only=True)
class SQuADMetric:
    """Exact matches and F1 on SQuAD."""

    dataset_dir: str | None = key("Folder of the data set.", None)
    n_best_size: int = key("Candidates for an answer.", 20, minimum=1)
    max_answer_len: int = key("Longest answer.", 30, minimum=1, unit="tokens")
    do_lower_case: bool = key("Compare without regard to capitals.", True)
    temp_file_dir: str = key("Folder of prepared data.", "./squad_temp")
