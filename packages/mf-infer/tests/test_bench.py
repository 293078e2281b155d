import json

import pytest

from mf_config.problems import UserError
from mf_infer.bench import BenchLoad, measure
from mf_infer.cli import main


def load(**changes):
    return BenchLoad(**{"concurrency": 2, "requests": 6, "prompt_tokens": 8, "answer_tokens": 5, **changes})


class Clock:
    """Time that passes only while somebody sleeps, so that a busy machine changes no result."""

    def __init__(self):
        self.now = 0.0

    def sleep(self, seconds):
        self.now += seconds

    def perf_counter(self):
        return self.now


def test_times_are_those_of_the_model(new_model, monkeypatch):
    model, told, clock = new_model(step_s=0.01), [], Clock()
    monkeypatch.setattr("time.sleep", clock.sleep)
    monkeypatch.setattr("time.perf_counter", clock.perf_counter)
    result = measure(model, load(), lambda *numbers: told.append(numbers))
    assert told == [(done, 6) for done in range(1, 7)]
    # Of each step of two requests, a token takes one decode, and two at most where a prompt comes between.
    assert result.next_token_s[50] == pytest.approx(0.01)
    assert result.next_token_s[99] <= 0.02 + 1e-9
    assert 0.01 - 1e-9 <= result.first_token_s[50] <= result.first_token_s[99] <= 0.04
    assert result.tokens_per_second == pytest.approx(6 * 5 / result.seconds)
    # Three pairs of answers, each of five steps or, where prompts come apart, of a few more.
    assert 3 * 5 * 0.01 - 1e-9 <= result.seconds <= 0.3
    assert not model.engine.has_work


def test_what_waits_takes_longer_to_its_first_token(new_model):
    model = new_model(rows=1, step_s=0.005)
    alone = measure(model, load(concurrency=1), lambda *_: None)
    queued = measure(model, load(concurrency=6), lambda *_: None)
    assert queued.first_token_s[90] > 2 * alone.first_token_s[90]


def test_a_load_must_fit_the_context(new_model):
    with pytest.raises(UserError, match=r"prompt_tokens and answer_tokens: 260 can't be used\. Allowed: up to 256"):
        measure(new_model(), load(prompt_tokens=200, answer_tokens=60), lambda *_: None)
    with pytest.raises(UserError, match=r"concurrency: 0 can't be used\. Allowed: from 1\."):
        load(concurrency=0)


def test_the_command_prints_a_row_or_an_object_for_each_concurrency(new_model, monkeypatch, capsys):
    monkeypatch.setattr("mf_infer.cli.opening.LLM", lambda *_, **__: new_model())
    words = ["bench", "model", "--concurrency", "1", "3", "--requests", "4", "--answer-tokens", "4"]
    assert main([*words, "--json"]) == 0
    captured = capsys.readouterr()
    objects = [json.loads(line) for line in captured.out.splitlines()]
    assert [found["concurrency"] for found in objects] == [1, 3]
    assert set(objects[0]["next_token_s"]) == {"p50", "p90", "p99"}
    assert objects[0]["tokens_per_second"] == pytest.approx(16 / objects[0]["seconds"], rel=0.02)
    assert "4/4 requests" in captured.err
    assert main(words) == 0
    rows = capsys.readouterr().out.splitlines()
    assert len(rows) == 3
    assert rows[0].split("  ")[:2] == ["at a time", "tokens/s"]
    assert rows[2].split()[0] == "3"
