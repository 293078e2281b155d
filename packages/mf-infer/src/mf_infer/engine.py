"""Decides which requests are computed together, and gives each its next token. Legend: N requests, V vocabulary."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from mf_infer.request import Request
from mf_infer.sampler import next_token


class Slots(Protocol):
    """Room for the keys and values of some requests; each has its row."""

    def prefill(self, prompts: Sequence[Sequence[int]]) -> NDArray[np.float32]:
        """Read a whole prompt in each row, from position 0.

        Args:
            prompts: token ids of N requests.
        Returns:
            [N, V] logits of the token after each prompt.
        """
        ...

    def decode(self, token_ids: Sequence[int], positions: Sequence[int]) -> NDArray[np.float32]:
        """Read one more token in each row.

        Args:
            token_ids: N tokens.
            positions: N positions; the positions before were read already.
        Returns:
            [N, V] logits of the token after each.
        """
        ...


class Runner(Protocol):
    """A model that can hold several requests."""

    def slots(self, count: int, tokens: int) -> Slots:
        """Room for `count` requests of up to `tokens` tokens each; former slots may lose their content."""
        ...


class Engine:
    """Computes requests in groups, in the order in which they came; a group ends when all of its requests have.

    Watch the requests themselves: their `pieces` grow and their `finish_reason` is set while `step` is called.
    """

    def __init__(self, runner: Runner, max_batch_size: int):
        """Takes the model, and how many requests it computes together at most."""
        self._runner = runner
        self._max_batch_size = max_batch_size
        self._waiting: list[Request] = []
        self._group: list[Request] = []
        self._slots: Slots | None = None

    def add(self, request: Request) -> None:
        """Queue a request."""
        self._waiting.append(request)

    def step(self) -> None:
        """Give one token to each unfinished request of the present group, or start the next group; no work, no effect.

        Raises:
            UserError: the model's logits are not numbers.
        """
        if self._slots is not None and _unfinished(self._group):
            # Rows that have ended are computed too, with the token that they have: the shapes are static.
            ids, positions = [r.last_id for r in self._group], [r.length - 1 for r in self._group]
            logits_NV = self._slots.decode(ids, positions)
        else:
            self._form_group()
            if self._slots is None:
                return
            logits_NV = self._slots.prefill([request.prompt_ids for request in self._group])
        for request, logits_V in zip(self._group, logits_NV, strict=True):
            if request.finish_reason is None:
                request.append(next_token(logits_V, request.params, request.seen, request.seed, request.length))

    def _form_group(self) -> None:
        """Take the next requests from the queue; without any, the engine holds no slots."""
        waiting = _unfinished(self._waiting)
        self._group, self._waiting = waiting[: self._max_batch_size], waiting[self._max_batch_size :]
        self._slots = None
        if not self._group:
            return
        for request in self._group:
            request.start()
        longest = max(len(request.prompt_ids) + request.limit for request in self._group)
        self._slots = self._runner.slots(len(self._group), longest)


def _unfinished(requests: Sequence[Request]) -> list[Request]:
    return [request for request in requests if request.finish_reason is None]
