"""Scores of written answers, against nltk 3.10, rouge_chinese 1.0, jieba 0.42 and the formulas of MindFormers 1.3."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mf_config import UserError
from mf_train.evaluation import segmentation
from mf_train.evaluation.word_overlap import bleu_4, longest_common_run, longest_common_subsequence, rouge_l, rouge_n
from mf_train.metrics import adgen, em_f1
from mf_train.metrics.adgen import ADGENMetric
from mf_train.metrics.em_f1 import EmF1Metric

WORDS = st.lists(st.sampled_from("abc"), max_size=7)


@pytest.fixture(scope="module")
def golden() -> dict[str, Any]:
    path = Path(__file__).parent / "data" / "answer_scores.json"
    content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return content


@pytest.fixture
def jieba_words(golden: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """The words that jieba found, because it need not be installed."""
    for module in (adgen, em_f1):
        monkeypatch.setattr(module, "words_of", lambda: golden["words"].__getitem__)


@pytest.mark.golden
@pytest.mark.usefixtures("jieba_words")
@pytest.mark.parametrize(("key", "metric"), [("adgen", ADGENMetric()), ("em_f1", EmF1Metric())])
def test_scores_are_those_of_the_libraries(golden: dict[str, Any], key: str, metric: ADGENMetric | EmF1Metric):
    for case in golden[key]:
        found = metric.scores(case["written"], case["wanted"])
        assert found == pytest.approx(case["scores"], rel=1e-6), case["written"]


def test_words_are_those_of_jieba(golden: dict[str, Any]):
    pytest.importorskip("jieba")
    cut = segmentation.words_of()
    assert {text: cut(text) for text in golden["words"]} == golden["words"]


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch):
    def missing(name: str) -> None:
        raise ModuleNotFoundError(name)

    monkeypatch.setattr(segmentation, "import_module", missing)
    segmentation.words_of.cache_clear()
    with pytest.raises(UserError, match=r"jieba, which is not installed\. Allowed: pip install 'mf-train\[chinese\]'"):
        segmentation.words_of()


@pytest.mark.usefixtures("jieba_words")
def test_an_empty_answer_scores_nothing(golden: dict[str, Any]):
    golden["words"][""] = []
    wanted = golden["adgen"][0]["wanted"]
    assert ADGENMetric().scores("", wanted) == (0.0, 0.0, 0.0, 0.0)


@given(WORDS, WORDS)
def test_common_parts_are_found_as_by_trying_all(one: list[str], other: list[str]):
    def sequences(words: list[str]) -> set[tuple[str, ...]]:
        chosen = [()]
        for word in words:
            chosen += [(*former, word) for former in chosen]
        return set(chosen)

    def runs(words: list[str]) -> set[tuple[str, ...]]:
        return {tuple(words[first:last]) for first in range(len(words) + 1) for last in range(first, len(words) + 1)}

    assert longest_common_subsequence(one, other) == max(map(len, sequences(one) & sequences(other)))
    assert longest_common_run(one, other) == max(map(len, runs(one) & runs(other)))


@given(WORDS.filter(lambda words: len(words) > 3))
def test_a_text_agrees_with_itself_alone(words: list[str]):
    scores = (rouge_n(words, words, 1), rouge_n(words, words, 2), rouge_l(words, words), bleu_4(words, words))
    assert scores == pytest.approx((1.0, 1.0, 1.0, 1.0))
    assert bleu_4(words, ["d"]) == rouge_l(words, ["d"]) == 0.0
