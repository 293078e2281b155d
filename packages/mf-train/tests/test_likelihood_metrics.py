"""Perplexity over whole documents and choices by likelihood, against a plain float64 model in numpy."""

import json
import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from mf_config import RunConfig, UserError, decode, load
from mf_data.datasets.multiple_choice import MultipleChoiceDataset
from mf_data.datasets.sliding_window import SlidingWindowDataset
from mf_data.loaders.multiple_choice import MultipleChoiceDataLoader
from mf_data.loaders.text import TextDataLoader
from mf_models.weights import to_checkpoint_names
from mf_train.assemble import Job
from mf_train.layout.processes import Processes
from mf_train.metric import Hits, WeighedQuestion
from mf_train.metrics.accuracy import Accuracy
from mf_train.metrics.multiple_choice import MultipleChoiceMetric
from mf_train.metrics.perplexity import PerplexityMetric
from mf_train.metrics.prompt_accuracy import PromptAccMetric

pytestmark = pytest.mark.usefixtures("graph_mode")

WINDOW = 12
TEXTS = (
    "1 plus 2 is 3, and 2 times 1 is 2. 1 plus 3 is 4, and 3 times 1 is 3.",
    "7 times 8 is",
    "12 plus 30 is 42, ünd so on",
)
QUESTIONS = [
    {"subject": "sums", "question": "1 plus", "choices": ["2", "4 is 5", "3, and"], "answer": 1},
    {"subject": "sums", "question": "2 times", "choices": ["9 is", "4"], "answer": 0},
    {"subject": "names", "question": "x", "choices": ["and", "times 3", "is", "plus"], "answer": 3},
]

Array = NDArray[np.float64]


def log_probabilities(weights: dict[str, Array], ids: list[int]) -> Array:
    """[T, V]: of the token behind each, by a Llama of one layer with two heads of width 8. T tokens, H heads."""

    def norm(x: Array, name: str) -> Array:
        return x / np.sqrt((x**2).mean(-1, keepdims=True) + 1e-5) * weights[name]

    def project(x: Array, name: str) -> Array:
        return x @ weights[f"model.layers.0.{name}.weight"].T

    def heads(x: Array) -> Array:
        return x.reshape(len(ids), 2, 8).transpose(1, 0, 2)

    def rotated(x_HTK: Array) -> Array:
        angle = np.arange(len(ids))[:, None] * 10000.0 ** (-np.arange(4) / 4)
        first, second = x_HTK[..., :4], x_HTK[..., 4:]
        turned = (first * np.cos(angle) - second * np.sin(angle), second * np.cos(angle) + first * np.sin(angle))
        return np.concatenate(turned, -1)

    x = weights["model.embed_tokens.weight"][ids]
    normed = norm(x, "model.layers.0.input_layernorm.weight")
    query, key, value = (heads(project(normed, f"self_attn.{part}_proj")) for part in "qkv")
    scores = rotated(query) @ rotated(key).transpose(0, 2, 1) / math.sqrt(8)
    scores = np.where(np.tri(len(ids), dtype=bool), scores, -np.inf)
    shares = np.exp(scores - scores.max(-1, keepdims=True))
    mixed = (shares / shares.sum(-1, keepdims=True)) @ value
    x = x + project(mixed.transpose(1, 0, 2).reshape(len(ids), 16), "self_attn.o_proj")
    normed = norm(x, "model.layers.0.post_attention_layernorm.weight")
    gate = project(normed, "mlp.gate_proj")
    x = x + project(gate / (1 + np.exp(-gate)) * project(normed, "mlp.up_proj"), "mlp.down_proj")
    logits = norm(x, "model.norm.weight") @ weights["lm_head.weight"].T
    logits -= logits.max(-1, keepdims=True)
    return logits - np.log(np.exp(logits).sum(-1, keepdims=True))


@pytest.fixture(scope="module")
def job_on(write_run: Callable[[Path], Path], tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Job]:
    """Makes runs of the same weights on other held-out data."""
    config: RunConfig = decode(load(str(write_run(tmp_path_factory.mktemp("likelihoods")))))
    model = replace(config.model, model_config=replace(config.model.model_config, initializer_range=0.4))

    def make(loader: Any, task: Any, *metrics: Any) -> Job:
        held_out = replace(config.eval_dataset, data_loader=loader)
        changes = {"eval_dataset": held_out, "eval_dataset_task": task, "metric": metrics, "model": model}
        return Job(replace(config, **changes), Processes.alone())

    return make


@pytest.fixture(scope="module")
def likelihood(job_on: Callable[..., Job]) -> Callable[[list[int]], Array]:
    """The float64 model with the weights of `job_on`."""
    job = job_on(None, None)
    stored = to_checkpoint_names(job.config.model.model_config, job.model)
    weights = {name: array.astype(np.float64) for name, array in stored}
    return lambda ids: log_probabilities(weights, ids)


def overlapping(ids: list[int], stride: int) -> Iterator[tuple[list[int], int]]:
    """Each token of a document but the first, behind what its window has of the document."""
    for place in range(1, len(ids)):
        begin = 0
        while begin + WINDOW < place:
            begin += stride
        yield ids[begin:place], ids[place]


def test_perplexity_of_whole_documents(job_on, likelihood, tmp_path: Path):
    for number, text in enumerate(TEXTS):
        (tmp_path / f"{number}.txt").write_text(text)
    task = SlidingWindowDataset(stride=5)
    job = job_on(TextDataLoader(dataset_dir=str(tmp_path)), task, PerplexityMetric(), Accuracy())
    values = job.evaluate()
    losses, hits = [], []
    for text in TEXTS:
        tokenizer = job.data.tokenizer
        for before, token in overlapping([tokenizer.bos_id, *tokenizer.encode(text, add_special_tokens=False)], 5):
            last = likelihood(before)[-1]
            losses.append(-last[token])
            hits.append(last.argmax() == token)
    assert len(losses) > 3 * WINDOW
    text_bytes = sum(len(text.encode()) for text in TEXTS)
    expected = {
        "loss": np.mean(losses),
        "perplexity": math.exp(np.mean(losses)),
        "byte_perplexity": math.exp(sum(losses) / text_bytes),
        "accuracy": np.mean(hits),
    }
    assert values == pytest.approx(expected, rel=1e-4)


def test_choices_between_answers(job_on, likelihood, tmp_path: Path):
    path = tmp_path / "questions.jsonl"
    path.write_text("".join(json.dumps(question) + "\n" for question in QUESTIONS))
    loader = MultipleChoiceDataLoader(
        dataset_dir=str(path), choice_fields=("choices",), answer_form="text", introduction="", answer_prompt="is"
    )
    metrics = [MultipleChoiceMetric(normalize=kind) for kind in ("none", "token", "byte")]
    job = job_on(loader, MultipleChoiceDataset(), *metrics)
    tokenizer = job.data.tokenizer
    right: dict[str, dict[str, list[bool]]] = {}
    for question in QUESTIONS:
        context = tokenizer.encode(f"{question['question']}\nis")
        losses, tokens, text_bytes = [], [], []
        for answer in question["choices"]:
            ids = tokenizer.encode(f"{question['question']}\nis {answer}")[-(WINDOW + 1) :]
            count = len(tokenizer.encode(f"{question['question']}\nis {answer}")) - len(context)
            table = likelihood(ids[:-1])
            losses.append(-sum(table[place - 1, ids[place]] for place in range(len(ids) - count, len(ids))))
            tokens.append(count)
            text_bytes.append(len(f" {answer}".encode()))
        for kind, sizes in (("none", 1), ("token", np.array(tokens)), ("byte", np.array(text_bytes))):
            hit = int(np.argmin(np.array(losses) / sizes)) == question["answer"]
            right.setdefault(kind, {}).setdefault(question["subject"], []).append(hit)
    expected: dict[str, Any] = {}
    for kind, name in (("none", "accuracy"), ("token", "accuracy_per_token"), ("byte", "accuracy_per_byte")):
        means = {f"{name}/{subject}": np.mean(hits) for subject, hits in right[kind].items()}
        every = np.mean([hit for hits in right[kind].values() for hit in hits])
        expected |= {name: every, f"subject_{name}": np.mean(list(means.values())), **means}
    assert job.evaluate() == pytest.approx(expected)


def questions() -> list[WeighedQuestion]:
    """Three questions by hand: the second answer has the least loss in each, the first the least per token."""
    sizes = (np.array([8.0, 5.0, 9.0]), np.array([4.0, 2.0, 3.0]), np.array([8.0, 10.0, 3.0]))
    return [WeighedQuestion(subject, right, *sizes) for subject, right in (("a", 1), ("a", 0), ("b", 1))]


def test_what_losses_are_divided_by():
    # Per nat 8, 5, 9; per token 2, 2.5, 3; per byte 1, 0.5, 3.
    of_kind = {kind: MultipleChoiceMetric(normalize=kind).choice_values(questions()) for kind in ("none", "token")}
    assert of_kind["none"] == pytest.approx(
        {"accuracy": 2 / 3, "subject_accuracy": 0.75, "accuracy/a": 0.5, "accuracy/b": 1.0}
    )
    per_token = {"": 1 / 3, "/a": 0.5, "/b": 0.0}
    assert of_kind["token"] == pytest.approx(
        {f"accuracy_per_token{end}": value for end, value in per_token.items()} | {"subject_accuracy_per_token": 0.25}
    )
    assert PromptAccMetric().choice_values(questions()) == pytest.approx({"prompt_accuracy": 1 / 3})
    without = [replace(question, subject="") for question in questions()]
    assert MultipleChoiceMetric(normalize="byte").choice_values(without) == pytest.approx({"accuracy_per_byte": 2 / 3})


def test_prompt_accuracy_is_that_of_mean_cross_entropies():
    """The formula of MindFormers on logits: masked mean of the loss of each prompt, the least of them is chosen."""
    chance = np.random.default_rng(3)
    logits, ids = chance.normal(size=(5, 3, 6, 7)), chance.integers(0, 7, (5, 3, 6))
    mask, right = chance.integers(0, 2, (5, 3, 6)), chance.integers(0, 3, 5)
    mask[..., 1] = 1
    log_softmax = logits - np.log(np.exp(logits).sum(-1, keepdims=True))
    losses = -np.take_along_axis(log_softmax[:, :, :-1], ids[:, :, 1:, None], -1)[..., 0] * mask[:, :, 1:]
    counts = mask[:, :, 1:].sum(-1).astype(float)
    weighed = [
        WeighedQuestion("", int(answer), loss, count, count)
        for answer, loss, count in zip(right, losses.sum(-1), counts, strict=True)
    ]
    expected = np.mean((losses.sum(-1) / counts).argmin(-1) == right)
    assert 0 < expected < 1
    assert PromptAccMetric().choice_values(weighed) == {"prompt_accuracy": expected}


def test_hits():
    assert Accuracy().hit_values(Hits(3, 4)) == {"accuracy": 0.75}
    assert Accuracy().hit_values(Hits(0, 0)) == {"accuracy": 0.0}


def test_rows_without_questions_and_incomplete_questions_are_refused(job_on, tmp_path: Path):
    (tmp_path / "a.txt").write_text(TEXTS[0] * 3)
    job = job_on(TextDataLoader(dataset_dir=str(tmp_path)), SlidingWindowDataset(), PromptAccMetric())
    with pytest.raises(UserError, match=r"the rows of eval_dataset are none\. Allowed: eval_dataset_task MultipleCh"):
        job.evaluate()
    path = tmp_path / "questions.jsonl"
    path.write_text("".join(json.dumps(question) + "\n" for question in QUESTIONS))
    loader = MultipleChoiceDataLoader(dataset_dir=str(path), choice_fields=("choices",), introduction="")
    job = job_on(loader, MultipleChoiceDataset(), PromptAccMetric())
    config = replace(job.config, eval_dataset=replace(job.config.eval_dataset, drop_remainder=True))
    with pytest.raises(UserError, match=r"drop_remainder: True leaves out 1 of 9 answers\. Allowed: False"):
        Job(config, Processes.alone()).evaluate()


def test_metrics_of_all_logits_need_whole_networks(job_on, monkeypatch: pytest.MonkeyPatch):
    evaluation = job_on(None, None, Accuracy()).evaluation
    monkeypatch.setattr(evaluation, "_processes", SimpleNamespace(size=2, row_groups=1))
    with pytest.raises(UserError, match=r"sees all of the logits\. Allowed: processes that differ in their rows alone"):
        evaluation.values()
