"""Numbers for Prometheus.

Source: the text format of Prometheus 0.0.4.
"""

from bisect import bisect_left
from collections import Counter as Counts
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate
from typing import Protocol

from mf_infer.engine.engine import EngineLoad

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

_PREFIX = "mf_infer_"
_SHORT_S = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0)
_LONG_S = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 60.0, 120.0, 300.0)


class Metric(Protocol):
    """One metric.

    Attributes:
        name: without the prefix of all of them.
        kind: Prometheus' word for it.
        summary: what it counts.
    """

    name: str
    kind: str
    summary: str

    def samples(self) -> Iterator[tuple[str, float]]:
        """What stands behind the name, and the value."""
        ...


class Counter:
    """Something that only grows; for each set of labels a number of its own. See `Metric`."""

    kind = "counter"

    def __init__(self, name: str, summary: str, labels: Sequence[str] = ()):
        """Starts at 0."""
        self.name = name
        self.summary = summary
        self._labels = labels
        self._counts: Counts[tuple[str, ...]] = Counts() if labels else Counts({(): 0})

    def add(self, amount: int = 1, *values: str) -> None:
        """Grow by an amount, at the values of the labels, which must come from a small set."""
        self._counts[values] += amount

    def samples(self) -> Iterator[tuple[str, float]]:
        """See `Metric.samples`."""
        for values, count in sorted(self._counts.items()):
            pairs = ",".join(f'{label}="{value}"' for label, value in zip(self._labels, values, strict=True))
            yield f"{{{pairs}}}" if pairs else "", count


class Reading:
    """A number that is read when it is asked for. See `Metric`."""

    def __init__(self, name: str, summary: str, read: Callable[[], float], kind: str = "gauge"):
        """Takes what reads it."""
        self.name = name
        self.summary = summary
        self.kind = kind
        self._read = read

    def samples(self) -> Iterator[tuple[str, float]]:
        """See `Metric.samples`."""
        yield "", self._read()


class Histogram:
    """How many values lie below each of a few borders. See `Metric`."""

    kind = "histogram"

    def __init__(self, name: str, summary: str, borders: Sequence[float]):
        """Takes the borders, the lowest first."""
        self.name = name
        self.summary = summary
        self._borders = borders
        self._counts = [0] * (len(borders) + 1)
        self._sum = 0.0

    def observe(self, value: float) -> None:
        """Count a value."""
        self._counts[bisect_left(self._borders, value)] += 1
        self._sum += value

    def samples(self) -> Iterator[tuple[str, float]]:
        """See `Metric.samples`."""
        totals = list(accumulate(self._counts))
        for border, total in zip([*map(str, self._borders), "+Inf"], totals, strict=True):
            yield f'_bucket{{le="{border}"}}', total
        yield "_sum", self._sum
        yield "_count", totals[-1]


class Metrics:
    """All metrics of a server."""

    def __init__(self, load: Callable[[], EngineLoad]):
        """Takes what tells the engine's load."""
        self.responses = Counter("http_responses_total", "Responses by path and status.", ("path", "status"))
        self.prompt_tokens = Counter("prompt_tokens_total", "Tokens of prompts.")
        self.generated_tokens = Counter("generated_tokens_total", "Tokens of answers.")
        self.first_token_s = Histogram(
            "time_to_first_token_seconds", "From the arrival of a request to its first token.", _LONG_S
        )
        self.next_token_s = Histogram("time_per_token_seconds", "From one token of an answer to its next.", _SHORT_S)
        self.request_s = Histogram("request_seconds", "From the arrival of a request to its last token.", _LONG_S)
        self._all: Sequence[Metric] = (
            self.responses,
            self.prompt_tokens,
            self.generated_tokens,
            Reading("reused_tokens_total", "Tokens found in the cache.", lambda: load().reused_tokens, "counter"),
            Reading("preemptions_total", "Requests that lost their blocks.", lambda: load().preemptions, "counter"),
            Reading("requests_running", "Requests that are computed.", lambda: load().running),
            Reading("requests_waiting", "Requests that wait for room.", lambda: load().waiting),
            Reading("cache_blocks_used", "Blocks of the cache that requests own.", lambda: load().used_blocks),
            Reading("cache_blocks_free", "The other blocks.", lambda: load().free_blocks),
            self.first_token_s,
            self.next_token_s,
            self.request_s,
        )

    def text(self) -> str:
        """All of them, as Prometheus reads them."""
        lines = []
        for metric in self._all:
            name = f"{_PREFIX}{metric.name}"
            lines += [f"# HELP {name} {metric.summary}", f"# TYPE {name} {metric.kind}"]
            lines += [
                f"{name}{suffix} {value:g}" if value % 1 else f"{name}{suffix} {value:.0f}"
                for suffix, value in metric.samples()
            ]
        return "\n".join([*lines, ""])
