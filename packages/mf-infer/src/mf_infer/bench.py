"""How fast a model answers, and how that changes with the number of requests at a time."""

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from mf_infer.checks import check
from mf_infer.llm import LLM
from mf_infer.request import Request
from mf_infer.sampling_params import SamplingParams

Progress = Callable[[int, int], None]
"""Called with the requests that are done, and with their number when all are."""

PERCENTILES = (50, 90, 99)

_FIRST_TOKEN_ID = 5
"""Below it lie special tokens in most vocabularies."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchLoad:
    """What is asked for.

    Attributes:
        concurrency: requests at a time, from 1: one ends, and the next one comes.
        requests: how many in all, from 1.
        prompt_tokens: length of each prompt, from 1.
        answer_tokens: length of each answer, from 2: between its tokens time is measured.
    """

    concurrency: int
    requests: int
    prompt_tokens: int
    answer_tokens: int

    def __post_init__(self) -> None:
        """Raises: UserError: a number is too small."""
        for name, least in (("concurrency", 1), ("requests", 1), ("prompt_tokens", 1), ("answer_tokens", 2)):
            check(name, getattr(self, name), getattr(self, name) >= least, f"from {least}")


@dataclass(frozen=True, slots=True)
class BenchResult:
    """What was measured.

    Attributes:
        load: what was asked for.
        seconds: from the first request to the end of the last one.
        first_token_s: percentiles of the seconds from a request to its first token, that it waits included.
        next_token_s: percentiles of the seconds from one token of an answer to the next.
    """

    load: BenchLoad
    seconds: float
    first_token_s: dict[int, float]
    next_token_s: dict[int, float]

    @property
    def tokens_per_second(self) -> float:
        """Tokens of all answers over the time."""
        return self.load.requests * self.load.answer_tokens / self.seconds

    def as_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            **asdict(self.load),
            "seconds": round(self.seconds, 4),
            "tokens_per_second": round(self.tokens_per_second, 2),
            "first_token_s": {f"p{rank}": round(value, 6) for rank, value in self.first_token_s.items()},
            "next_token_s": {f"p{rank}": round(value, 6) for rank, value in self.next_token_s.items()},
        }


def measure(llm: LLM, load: BenchLoad, progress: Progress) -> BenchResult:
    """Measure a load.

    Prompts are random tokens, so that no one begins like another. As many requests as there are at a time come before,
    and are not measured: graphs compile then.

    Args:
        llm: the model, with nothing to do.
        load: what to ask for.
        progress: told of each request that has ended.
    Raises:
        UserError: the model's context is too short for the load.
    """
    room = llm.config.max_positions
    total = load.prompt_tokens + load.answer_tokens
    check("prompt_tokens and answer_tokens", total, total <= room, f"up to {room} together, the model's context")
    _run(llm, load, _requests(llm, load, load.concurrency, seed=1), lambda *_: None)
    clock = _run(llm, load, _requests(llm, load, load.requests, seed=0), progress)
    return BenchResult(load, clock.seconds, _percentiles(clock.first_s), _percentiles(clock.next_s))


class _Clock:
    """When each request came, and when its last token did."""

    def __init__(self) -> None:
        self.first_s: list[float] = []
        self.next_s: list[float] = []
        self.seconds = 0.0
        self._started = time.perf_counter()
        self._came: dict[str, float] = {}
        self._last: dict[str, float] = {}

    def note_request(self, request_id: str) -> None:
        self._came[request_id] = time.perf_counter()

    def note_tokens(self, request_id: str, count: int) -> None:
        now = time.perf_counter()
        self.seconds = now - self._started
        if request_id in self._last:
            self.next_s += [(now - self._last[request_id]) / count] * count
        else:
            self.first_s.append(now - self._came[request_id])
        self._last[request_id] = now


def _run(llm: LLM, load: BenchLoad, requests: Sequence[Request], progress: Progress) -> _Clock:
    clock, left, ended = _Clock(), list(reversed(requests)), 0
    while ended < len(requests):
        while left and len(requests) - len(left) - ended < load.concurrency:
            request = left.pop()
            clock.note_request(request.id)
            llm.engine.add_request(request)
        for piece in llm.engine.step():
            if piece.token_ids:
                clock.note_tokens(piece.request_id, len(piece.token_ids))
            if piece.finish_reason:
                ended += 1
                progress(ended, len(requests))
    return clock


def _requests(llm: LLM, load: BenchLoad, count: int, seed: int) -> list[Request]:
    chance = np.random.default_rng([seed, load.concurrency])
    params = SamplingParams(temperature=0, max_tokens=load.answer_tokens, ignore_eos=True)
    first = min(_FIRST_TOKEN_ID, llm.config.vocab_size - 1)
    ids = chance.integers(first, llm.config.vocab_size, (count, load.prompt_tokens))
    return [llm.request({"prompt_token_ids": row.tolist()}, params) for row in ids]


def _percentiles(values: Sequence[float]) -> dict[int, float]:
    return {rank: float(np.percentile(values, rank)) for rank in PERCENTILES}
