"""The paths of the server."""

import asyncio
import time
from collections.abc import Callable, Mapping
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from mf_config.problems import UserError
from mf_infer.llm import LLM
from mf_infer.server.access import CLIENT_GONE, AccessLog, KeyCheck
from mf_infer.server.answering import Answering
from mf_infer.server.bodies import (
    ChatBody,
    CompletionBody,
    DetokenizeBody,
    GenerationBody,
    TokenizeBody,
    read_body,
)
from mf_infer.server.connection import ClientGoneError, EventStream, in_time, read_json, while_connected
from mf_infer.server.errors import ApiError, EngineStoppedError, as_api_error
from mf_infer.server.gate import Gate
from mf_infer.server.jobs import JobMaker
from mf_infer.server.metrics import CONTENT_TYPE, Metrics
from mf_infer.server.options import ServerOptions
from mf_infer.server.worker import EngineWorker

_HEALTH = "/health"


class Api:
    """What the paths do.

    Attributes:
        gate: bounds the requests, and is closed when the server stops.
        metrics: what is counted.
        chat_fault: why the model can't chat; None where it can.
        tool_format: name of the form in which calls of tools are read; None where they stay text.
    """

    def __init__(self, llm: LLM, worker: EngineWorker, options: ServerOptions):
        """Takes the model, the worker that computes with it, and the options."""
        self.gate = Gate(options.max_requests)
        self.metrics = Metrics(lambda: worker.load)
        self._llm = llm
        self._worker = worker
        self._options = options
        self._maker = JobMaker(llm, options)
        self._answering = Answering(self._maker, worker, self.gate, self.metrics)
        self._created = int(time.time())
        self.chat_fault = self._maker.chat_fault
        self.tool_format = self._maker.tool_format and self._maker.tool_format.name

    async def chat_completions(self, request: Request) -> Response:
        """The next message of a conversation."""
        return await self._answer(request, read_body(ChatBody, await self._content(request)))

    async def completions(self, request: Request) -> Response:
        """What follows a prompt."""
        return await self._answer(request, read_body(CompletionBody, await self._content(request)))

    async def models(self, request: Request) -> Response:
        """The list of models: the only one."""
        return JSONResponse({"object": "list", "data": [self._model()]})

    async def model(self, request: Request) -> Response:
        """One model."""
        name = request.path_params["name"]
        if name != self._options.name:
            raise ApiError(404, f"model: {name!r:.200} is not served.", param="model", code="model_not_found")
        return JSONResponse(self._model())

    async def tokenize(self, request: Request) -> Response:
        """Tokens of a text or of a conversation."""
        body = read_body(TokenizeBody, await self._content(request))
        # A long text takes its time, and other clients should not wait for it.
        tokens = await asyncio.to_thread(self._tokens, body)
        most = self._llm.config.max_positions
        return JSONResponse({"tokens": tokens, "count": len(tokens), "max_model_len": most})

    async def detokenize(self, request: Request) -> Response:
        """Text of tokens."""
        body = read_body(DetokenizeBody, await self._content(request))
        return JSONResponse({"prompt": await asyncio.to_thread(self._text, body)})

    async def health(self, request: Request) -> Response:
        """Whether requests are answered: status 200 or 503."""
        state = "draining" if self.gate.is_closed else "ok" if self._worker.is_running else "stopped"
        return JSONResponse({"status": state}, 200 if state == "ok" else 503)

    async def show_metrics(self, request: Request) -> Response:
        """The metrics."""
        return Response(self.metrics.text(), headers={"Content-Type": CONTENT_TYPE})

    def _tokens(self, body: TokenizeBody) -> list[int]:
        if body.messages is not None:
            return self._maker.conversation_ids(body.messages, body.tools)
        return self._maker.tokenizer.encode(body.prompt or "", add_special_tokens=body.add_special_tokens)

    def _text(self, body: DetokenizeBody) -> str:
        # Checks that the model knows the tokens.
        tokens = self._llm.encode({"prompt_token_ids": body.tokens}) if body.tokens else []
        return self._maker.tokenizer.decode(tokens, skip_special_tokens=False)

    async def _content(self, request: Request) -> Any:
        return await read_json(request, self._options.max_body_bytes)

    async def _answer(self, request: Request, body: GenerationBody) -> Response:
        timeout_s = self._options.timeout_s
        if body.stream:
            return EventStream(self._answering.events(body), timeout_s)
        async with in_time(timeout_s):
            return JSONResponse(await while_connected(request.receive, self._answering.whole(body)))

    def _model(self) -> dict[str, Any]:
        return {
            "id": self._options.name,
            "object": "model",
            "created": self._created,
            "owned_by": "mf-infer",
            "max_model_len": self._llm.config.max_positions,
        }


def build_app(api: Api, options: ServerOptions) -> Starlette:
    """Put the paths together.

    Args:
        api: what they do.
        options: names, keys and limits.
    Returns:
        The application for a server of ASGI.
    """
    routes = [
        Route(_HEALTH, api.health),
        Route("/metrics", api.show_metrics),
        Route("/v1/models", api.models),
        Route("/v1/models/{name:path}", api.model),
        Route("/v1/chat/completions", api.chat_completions, methods=["POST"]),
        Route("/v1/completions", api.completions, methods=["POST"]),
        Route("/tokenize", api.tokenize, methods=["POST"]),
        Route("/detokenize", api.detokenize, methods=["POST"]),
    ]
    around = [Middleware(AccessLog, api.metrics.responses, [route.path for route in routes])]
    if options.origins:
        names = ["Authorization", "Content-Type"]
        around.append(Middleware(CORSMiddleware, options.origins, ["GET", "POST"], names))
    if options.keys:
        around.append(Middleware(KeyCheck, options.keys, [_HEALTH]))
    app = Starlette(routes=routes, middleware=around, exception_handlers=_HANDLERS)
    app.router.redirect_slashes = False
    return app


async def _refuse(_: Request, error: Exception) -> Response:
    shown = as_api_error(error)
    return JSONResponse(shown.content(), shown.status, shown.headers)


async def _refuse_path(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    message = f"{request.method} {request.url.path[:200]}: {error.detail}."
    return JSONResponse(ApiError(error.status_code, message).content(), error.status_code, error.headers)


async def _see_off(_: Request, __: Exception) -> Response:
    return Response(status_code=CLIENT_GONE)


_HANDLERS: Mapping[Any, Callable[[Request, Exception], Any]] = {
    HTTPException: _refuse_path,
    ClientGoneError: _see_off,
    **dict.fromkeys((ApiError, UserError, EngineStoppedError, RecursionError, Exception), _refuse),
}
"""Every error has OpenAI's shape."""
