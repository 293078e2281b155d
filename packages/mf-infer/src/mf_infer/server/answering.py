"""From a body to the reply: makes the job, waits for the engine, counts."""

import asyncio
import time
from collections.abc import AsyncGenerator
from typing import Any

from mf_infer.server.bodies import GenerationBody
from mf_infer.server.gate import Gate
from mf_infer.server.jobs import Job, JobMaker
from mf_infer.server.metrics import Metrics
from mf_infer.server.replies import usage
from mf_infer.server.worker import EngineWorker, Pieces


class Answering:
    """Answers bodies, whole or in pieces."""

    def __init__(self, maker: JobMaker, worker: EngineWorker, gate: Gate, metrics: Metrics):
        """Takes what makes jobs, what computes them, what bounds their number, and what counts."""
        self._maker = maker
        self._worker = worker
        self._gate = gate
        self._metrics = metrics

    async def whole(self, body: GenerationBody) -> dict[str, Any]:
        """The reply to a body.

        Raises:
            ApiError: the server or the body's demands don't allow it.
            UserError: the model or the engine refuses it.
            EngineStoppedError: the engine computes nothing any more.
        """
        with self._gate.entered():
            watch = _Watch(self._metrics)
            job = await self._job(body)
            with self._worker.answers(job.requests) as pieces:
                async for _ in watch.counted(pieces):
                    pass
            watch.end()
            outputs = [request.output(None) for request in job.requests]
            return {**job.reply.whole(outputs), "usage": usage(job.prompt_tokens, watch.tokens)}

    async def events(self, body: GenerationBody) -> AsyncGenerator[dict[str, Any], None]:
        """The objects of a stream; raises as `whole`."""
        with self._gate.entered():
            watch = _Watch(self._metrics)
            job = await self._job(body)
            each = job.requests[0].params.n
            with self._worker.answers(job.requests) as pieces:
                async for number, piece in watch.counted(pieces):
                    for chunk in job.reply.chunks(number * each + piece.index, piece):
                        yield chunk
            watch.end()
            if job.include_usage:
                yield {**job.reply.last_chunk(), "usage": usage(job.prompt_tokens, watch.tokens)}

    async def _job(self, body: GenerationBody) -> Job:
        # Templates and tokenizers take their time, and other clients should not wait for it.
        job = await asyncio.to_thread(self._maker.job, body)
        self._metrics.prompt_tokens.add(job.prompt_tokens)
        return job


class _Watch:
    """Counts the tokens of one reply, and the time they take.

    Attributes:
        tokens: tokens so far.
    """

    def __init__(self, metrics: Metrics):
        """Starts now."""
        self.tokens = 0
        self._metrics = metrics
        self._started = time.perf_counter()
        self._last: dict[tuple[int, int], float] = {}

    async def counted(self, pieces: Pieces) -> Pieces:
        """The same pieces."""
        async for number, piece in pieces:
            now = time.perf_counter()
            count = len(piece.token_ids)
            if self.tokens == 0 and count:
                self._metrics.first_token_s.observe(now - self._started)
            before = self._last.get((number, piece.index))
            if before is not None and count:
                self._metrics.next_token_s.observe((now - before) / count)
            self._last[number, piece.index] = now
            self.tokens += count
            self._metrics.generated_tokens.add(count)
            yield number, piece

    def end(self) -> None:
        """Count the reply as ended."""
        self._metrics.request_s.observe(time.perf_counter() - self._started)
