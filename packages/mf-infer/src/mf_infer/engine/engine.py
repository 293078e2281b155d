"""Decides which tokens are computed in which step, and hands each request its logits. Legend: V vocabulary."""

from collections import Counter, deque
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mf_config.problems import UserError
from mf_infer.engine.blocks import BlockPool
from mf_infer.engine.chunks import Runner
from mf_infer.engine.row import Row, RowBlocks
from mf_infer.engine.schedule import Entry, Schedule, Stretch
from mf_infer.outputs import Piece
from mf_infer.request import Request


class RequestFailedError(UserError):
    """A request that could not go on, and has been dropped.

    Attributes:
        request_id: of the request.
    """

    def __init__(self, request_id: str, message: str):
        """Takes the request's id, and why it can't go on."""
        self.request_id = request_id
        super().__init__(message)


@dataclass(frozen=True, slots=True)
class EngineLoad:
    """What the engine is busy with.

    Attributes:
        running: requests that have rows.
        waiting: requests that wait for room.
        used_blocks: blocks that rows own.
        free_blocks: the others.
        reused_tokens: tokens so far that were found in the cache instead of being computed.
        preemptions: how often so far a request lost its blocks to an older one.
    """

    running: int
    waiting: int
    used_blocks: int
    free_blocks: int
    reused_tokens: int
    preemptions: int


class Engine:
    """Computes requests together as they come and go.

    Each step computes pieces of prompts, taking turns, and one token of each row that has only that one missing, all
    together. Requests begin in the order in which they came. Where blocks run out, the youngest one gives its blocks to
    the others and is computed anew later; its tokens stay as they are.
    """

    def __init__(self, runner: Runner, max_rows: int):
        """Takes the model, and how many rows are computed together at most."""
        self._runner = runner
        self._max_rows = max_rows
        self._rows = RowBlocks(BlockPool(runner.blocks), runner.block_size, reuse=not runner.whole_prompts)
        self._waiting: deque[Entry] = deque()
        self._running: list[Entry] = []
        self._ended: list[Request] = []
        self._grown: list[Piece] = []
        self._schedule = Schedule(self._rows, max_rows, runner.whole_prompts)
        self._turn = self._preemptions = 0

    @property
    def has_work(self) -> bool:
        """Whether a request has not ended, or something of its answer was not returned yet."""
        return bool(self._waiting or self._running or self._ended or self._grown)

    @property
    def load(self) -> EngineLoad:
        """Numbers of the moment."""
        pool = self._rows.pool
        used = pool.size - pool.free
        return EngineLoad(
            running=len(self._running),
            waiting=len(self._waiting),
            used_blocks=used,
            free_blocks=pool.free,
            reused_tokens=self._schedule.reused_tokens,
            preemptions=self._preemptions,
        )

    def most_tokens(self, prompt_tokens: int, rows: int) -> int:
        """Tokens of prompt and answer together that a request may have, so that the cache can hold it alone.

        Args:
            prompt_tokens: length of the prompt.
            rows: rows that the request grows to.
        """
        shared = 0 if self._runner.whole_prompts else prompt_tokens // self._runner.block_size
        own = max(0, self._rows.pool.size - shared) // rows
        return (shared + own) * self._runner.block_size

    def add_request(self, request: Request) -> None:
        """Queue a request.

        Raises:
            UserError: the cache can't hold its prompt, or a request of the same id has not ended.
        """
        size = self._rows.pool.size * self._runner.block_size
        if len(request.prompt_ids) > size:
            raise UserError(
                f"prompt: it has {len(request.prompt_ids)} tokens, but the cache holds {size}. Allowed: a shorter one, "
                "or more num_blocks."
            )
        if any(entry.request.id == request.id for entry in (*self._running, *self._waiting)):
            raise UserError(f"request {request.id}: has not ended yet. Allowed: another id.")
        if request.has_ended:
            self._ended.append(request)
        else:
            self._waiting.append(Entry(request, [Row(list(request.prompt_ids))]))

    def abort(self, request_id: str) -> None:
        """End a request where it is and free its blocks; without effect where it has ended."""
        for entry in (*self._running, *self._waiting):
            if entry.request.id == request_id:
                entry.request.abort()
                self._drop(entry)

    def step(self) -> list[Piece]:
        """Compute once.

        Returns:
            What the answers have grown by; empty where nothing was certain yet, or there is no work.
        Raises:
            RequestFailedError: the model's logits are not numbers. What other requests have grown by is not lost: the
                next step returns it.
        """
        self._turn += 1
        self._grown += [piece for request in self._ended for piece in request.take_pieces()]
        self._ended = []
        self._admit()
        self._score()
        self._compute()
        for entry in list(self._running):
            self._grown += self._advance(entry)
        pieces, self._grown = self._grown, []
        return pieces

    def _admit(self) -> None:
        """Begin the oldest requests, as long as there are rows and blocks for them."""
        while self._waiting:
            entry = self._waiting[0]
            width = sum(running.request.width for running in self._running)
            needed = sum(len(row.tokens) // self._runner.block_size + 1 for row in entry.rows)
            too_many = width + entry.request.width > self._max_rows or needed > self._rows.pool.free
            if self._running and too_many:
                return
            self._running.append(self._waiting.popleft())
            entry.request.start()

    def _score(self) -> None:
        """Compute a piece of a prompt whose scores are asked for."""
        stretch = self._schedule.scored(self._running)
        if stretch is None or not self._reserve(stretch):
            return
        chunk = stretch.chunk
        logits_TV = self._runner.score(chunk)
        stretch.entry.request.take_prompt_scores(chunk.start, logits_TV)
        self._computed(stretch, logits_TV[-1])

    def _compute(self) -> None:
        """Compute pieces of the other prompts, and single tokens of rows."""
        given = [stretch for stretch in self._schedule.stretches(self._running) if self._reserve(stretch)]
        # Later rows may have taken the blocks of earlier ones.
        stretches = [stretch for stretch in given if stretch.entry in self._running]
        if not stretches:
            return
        logits = self._runner.compute([stretch.chunk for stretch in stretches])
        for stretch, logits_V in zip(stretches, logits, strict=True):
            self._computed(stretch, logits_V)

    def _computed(self, stretch: Stretch, logits_V: NDArray[np.float32]) -> None:
        row = stretch.row
        row.computed += stretch.length
        row.turn = self._turn
        row.logits = None if row.missing else logits_V
        self._rows.remember(row)

    def _reserve(self, stretch: Stretch) -> bool:
        """Give a row blocks for its next tokens; False where the request lost its blocks, now or before."""
        while stretch.entry in self._running:
            if self._rows.extend(stretch.row, stretch.row.computed + stretch.length):
                return True
            self._preempt(self._running[-1])
        return False

    def _preempt(self, entry: Entry) -> None:
        self._preemptions += 1
        self._running.remove(entry)
        for row in entry.rows:
            self._rows.release(row)
        self._waiting.appendleft(entry)

    def _advance(self, entry: Entry) -> list[Piece]:
        """Let a request choose tokens where all of its rows have logits."""
        logits = [row.logits for row in entry.rows if row.logits is not None]
        if len(logits) < len(entry.rows):
            return []
        try:
            following = entry.request.advance(logits)
        except UserError as error:
            self._drop(entry)
            raise RequestFailedError(entry.request.id, str(error)) from error
        if following:
            self._follow(entry, following)
        else:
            self._drop(entry)
        return entry.request.take_pieces()

    def _follow(self, entry: Entry, following: Sequence[tuple[int, int]]) -> None:
        """Put tokens behind rows: (number of the row, token) for each row from now on."""
        uses = Counter(number for number, _ in following)
        for number, row in enumerate(entry.rows):
            if not uses[number]:
                self._rows.release(row)
        rows, copies = [], []
        for number, token_id in following:
            row, uses[number] = entry.rows[number], uses[number] - 1
            # The last one to use a row goes on in its blocks: only then may they change.
            if uses[number]:
                row, copy = self._rows.fork(row)
                copies += [copy] if copy else []
            rows.append((row, token_id))
        if copies:
            self._runner.copy(copies)
        for row, token_id in rows:
            row.tokens.append(token_id)
            row.logits = None
        entry.rows = [row for row, _ in rows]

    def _drop(self, entry: Entry) -> None:
        """Forget a request and free its blocks."""
        for row in entry.rows:
            self._rows.release(row)
        if entry in self._running:
            self._running.remove(entry)
        else:
            self._waiting.remove(entry)
