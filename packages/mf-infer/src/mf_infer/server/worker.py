"""One thread computes: it alone touches the engine, and hands what answers grow by to the event loop."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from threading import Thread

from mf_config.problems import UserError
from mf_infer.engine.engine import Engine, EngineLoad, RequestFailedError
from mf_infer.outputs import Piece
from mf_infer.request import Request
from mf_infer.server.errors import EngineStoppedError

_News = Piece | Exception | None
"""What an answer has grown by; why its request failed; or None: it has ended."""

Pieces = AsyncIterator[tuple[int, Piece]]
"""The number of a request among those that were asked together, and what one of its answers has grown by."""


@dataclass(frozen=True, slots=True)
class _Begin:
    request: Request
    tell: Callable[[_News], None]


@dataclass(frozen=True, slots=True)
class _Abort:
    request_id: str


class EngineWorker:
    """Steps an engine as long as it has work, and sleeps else."""

    def __init__(self, engine: Engine):
        """Takes the engine, which nobody else may touch from now on, and starts the thread."""
        self._engine = engine
        self._inbox: SimpleQueue[_Begin | _Abort | None] = SimpleQueue()
        self._open: dict[str, _Begin] = {}
        self._is_running = True
        self._was_stopped = False
        self._thread = Thread(target=self._work, name="engine", daemon=True)
        self._thread.start()

    @property
    def is_running(self) -> bool:
        """Whether requests can be computed."""
        return self._is_running

    @property
    def is_sound(self) -> bool:
        """Whether no error of the engine has ended the thread."""
        return self._is_running or self._was_stopped

    @property
    def load(self) -> EngineLoad:
        """Numbers of the moment; they may be those of two moments, because the engine goes on meanwhile."""
        return self._engine.load

    def stop(self) -> None:
        """End the thread after its current step; open requests fail."""
        self._was_stopped = self._was_stopped or self._is_running
        self._inbox.put(None)

    def join(self) -> None:
        """Wait until the thread has ended."""
        self._thread.join()

    @contextmanager
    def answers(self, requests: Sequence[Request]) -> Iterator[Pieces]:
        """Compute requests while the context is open; those that have not ended when it closes are aborted.

        Args:
            requests: new requests.
        Yields:
            The pieces of all of them, as they come. Iterating raises `UserError` where the engine refuses a request,
            `RequestFailedError` where one can't go on, `EngineStoppedError` where the engine computes nothing any more.
        """
        news: asyncio.Queue[tuple[int, _News]] = asyncio.Queue()
        loop = asyncio.get_running_loop()

        def teller(number: int) -> Callable[[_News], None]:
            return lambda item: _call(loop, news, (number, item))

        for number, request in enumerate(requests):
            self._inbox.put(_Begin(request, teller(number)))
        try:
            # Asked after the inbox was filled: a thread that has ended by then will not look into it.
            if not self._is_running:
                raise EngineStoppedError
            yield _pieces(news, len(requests))
        finally:
            for request in requests:
                self._inbox.put(_Abort(request.id))

    def _work(self) -> None:
        try:
            while self._read_inbox():
                self._step()
        finally:
            # An error of the engine ends the thread with its traceback, but nobody may wait for answers in vain.
            self._is_running = False
            while not self._inbox.empty():
                message = self._inbox.get()
                if isinstance(message, _Begin):
                    message.tell(EngineStoppedError())
            for begun in self._open.values():
                begun.tell(EngineStoppedError())

    def _read_inbox(self) -> bool:
        """Take up what was asked for, and wait for it where there is nothing to compute; False to end."""
        while True:
            try:
                message = self._inbox.get(block=not self._engine.has_work)
            except Empty:
                return True
            if message is None:
                return False
            if isinstance(message, _Begin):
                self._begin(message)
            else:
                self._engine.abort(message.request_id)
                self._open.pop(message.request_id, None)

    def _begin(self, message: _Begin) -> None:
        try:
            self._engine.add_request(message.request)
        except UserError as error:
            message.tell(error)
        else:
            self._open[message.request.id] = message

    def _step(self) -> None:
        try:
            pieces = self._engine.step()
        except RequestFailedError as failure:
            self._open.pop(failure.request_id).tell(failure)
            return
        for piece in pieces:
            # Nobody waits any more for a request that was aborted before its last piece came.
            if piece.request_id in self._open:
                self._open[piece.request_id].tell(piece)
        for request_id in [name for name, begun in self._open.items() if begun.request.has_ended]:
            self._open.pop(request_id).tell(None)


def _call(loop: asyncio.AbstractEventLoop, news: asyncio.Queue[tuple[int, _News]], item: tuple[int, _News]) -> None:
    # A loop that has been closed has nobody who waits.
    if not loop.is_closed():
        loop.call_soon_threadsafe(news.put_nowait, item)


async def _pieces(news: asyncio.Queue[tuple[int, _News]], count: int) -> Pieces:
    while count:
        number, item = await news.get()
        if isinstance(item, Exception):
            raise item
        if item is None:
            count -= 1
        else:
            yield number, item
