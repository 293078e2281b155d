"""Texts of answers as they come, prompt after prompt, while all prompts are computed together."""

from collections.abc import Generator, Iterator, Sequence

from mf_infer.checks import check
from mf_infer.engine.engine import Engine
from mf_infer.request import Request


def streams(engine: Engine, requests: Sequence[Request]) -> Generator[Iterator[str], None, None]:
    """Compute requests together; stop iterating, and those that have not ended do.

    Args:
        engine: computes them.
        requests: new requests, each for one answer.
    Yields:
        For each request, in order, the pieces of its text, which are not empty. Reading them steps the engine, so that
        much of the next ones may be there already.
    Raises:
        UserError: before the first piece: a request asks for several answers, or the engine refuses it.
    """
    for request in requests:
        check("n", request.params.n, request.params.n == 1, "1 for a stream")
    try:
        for request in requests:
            engine.add_request(request)
        for request in requests:
            yield _pieces(engine, request)
    finally:
        for request in requests:
            engine.abort(request.id)


def _pieces(engine: Engine, request: Request) -> Iterator[str]:
    sent, has_ended = 0, False
    while not has_ended:
        has_ended, texts = request.has_ended, request.texts
        piece, sent = "".join(texts[sent:]), len(texts)
        if piece:
            yield piece
        # The steps for another stream may have ended it since.
        if not request.has_ended:
            engine.step()
