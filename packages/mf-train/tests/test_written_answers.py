"""Evaluation by written text: what is asked, who answers, and the means of the scores."""

from collections.abc import Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
import pytest

from mf_config import UserError
from mf_train.evaluation import text_generation
from mf_train.evaluation.text_generation import GROUP, text_generator
from mf_train.evaluation.written_answers import Question, mean_scores, questions_of
from mf_train.task import Examples


class Letters:
    """Ids are letters of the alphabet."""

    def decode(self, ids: Sequence[int], skip_special_tokens: bool = True) -> str:
        return "".join(chr(ord("a") + number) for number in ids)


def rows(weights: list[list[int]], starts: np.ndarray | None = None) -> Examples:
    """Row r begins with id 10 r; each label is the next id."""
    ids = np.arange(len(weights[0]), dtype=np.int32) + 10 * np.arange(len(weights), dtype=np.int32)[:, None]
    return Examples(ids, ids + 1, np.array(weights, np.float32), starts)


def questions(examples: Examples) -> list[Question]:
    tokenizer: Any = Letters()
    return list(questions_of([examples], tokenizer))


def test_the_first_targets_of_a_row_are_asked_for():
    found = questions(rows([[0, 0, 1, 1, 0, 1], [0, 1, 1, 1, 1, 1], [0, 0, 0, 0, 0, 0]]))
    assert found == [Question([0, 1, 2], "de"), Question([10, 11], "mnopq")]


def test_rows_without_a_prompt_and_rows_of_several_documents_ask_nothing():
    with pytest.raises(UserError, match="a row begins with its targets, so there is no prompt to answer"):
        questions(rows([[1, 1, 1]]))
    with pytest.raises(UserError, match="a row has several documents"):
        questions(rows([[0, 1, 0, 1]], np.array([[0, 0, 2, 2]], np.int32)))
    # Behind the targets there is only padding.
    assert questions(rows([[0, 1, 0, 0]], np.array([[0, 0, 2, 2]], np.int32))) == [Question([0, 1], "c")]


@dataclass(frozen=True)
class Lengths:
    names: ClassVar[tuple[str, ...]] = ("written", "wanted")

    def scores(self, written: str, wanted: str) -> tuple[float, ...]:
        return float(len(written)), float(len(wanted))


def test_scores_are_means_over_the_answers_of_all_processes():
    asked = [Question([1], "abc"), Question([1, 2], "a")]
    assert mean_scores([Lengths()], asked, ["xxxx", ""], lambda sums: sums) == {"written": 2.0, "wanted": 2.0}
    # Another process has two more answers, that are 10 and 30 long together.
    both = mean_scores([Lengths()], asked, ["xxxx", ""], lambda sums: [4.0, sums[1] + 10, sums[2] + 30])
    assert both == {"written": 3.5, "wanted": 8.5}
    assert mean_scores([Lengths()], [], [], lambda sums: sums) == {"written": 0.0, "wanted": 0.0}


def test_what_writes_text_is_found_among_the_installed_packages(monkeypatch: pytest.MonkeyPatch):
    def write(job: object) -> list[str]:
        return []

    found: dict[str, list[SimpleNamespace]] = {GROUP: [SimpleNamespace(name="any", load=lambda: write)]}
    monkeypatch.setattr(text_generation, "entry_points", lambda group: found[group])
    assert text_generator() is write
    found[GROUP] = []
    with pytest.raises(UserError, match=r"no installed package lets it write\. Allowed: install mf-infer, or other m"):
        text_generator()
