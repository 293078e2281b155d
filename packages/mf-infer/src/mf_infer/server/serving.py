"""Runs the server until it is told to stop."""

import logging
import signal
import socket
from ipaddress import ip_address
from types import FrameType

import uvicorn

from mf_config.command_line import FAILURE, OK
from mf_infer.checks import check
from mf_infer.llm import LLM
from mf_infer.sampling_params import SamplingParams
from mf_infer.server.app import Api, build_app
from mf_infer.server.options import ServerOptions
from mf_infer.server.worker import EngineWorker

LOG = logging.getLogger("mf_infer.server")

_FIRST_REQUEST = SamplingParams(temperature=0, max_tokens=2, ignore_eos=True)
"""Makes ready what every request needs, so that the server answers quickly as soon as it listens."""

_CLOSING_S = 2
"""Seconds for connections whose requests were given up."""


def bind(host: str, port: int) -> socket.socket:
    """Take an address, so that one that somebody has is known before the model is loaded.

    Args:
        host: a name or an address of this machine.
        port: 1 to 65535, or 0 for any free one.
    Raises:
        UserError: there is no such port.
        OSError: there is no such address, or somebody has it.
    """
    check("port", port, 0 <= port < 2**16, "0 to 65535")
    family, kind, protocol, _, place = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    taken = socket.socket(family, kind, protocol)
    try:
        # Without it, a server that is started again waits for the old one's connections to be forgotten.
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        taken.bind(place)
    except OSError as error:
        taken.close()
        raise OSError(f"{host}:{port}: {error.strerror}") from error
    return taken


class DrainingServer(uvicorn.Server):
    """Stops after its requests have ended.

    Told to stop (SIGTERM, Ctrl-C), it refuses new requests, waits for those that run, as long as its options say, and
    ends. Told again, it ends at once. It ends too where the engine has stopped.
    """

    def __init__(self, api: Api, worker: EngineWorker, options: ServerOptions):
        """Takes what answers, and what computes."""
        config = uvicorn.Config(
            build_app(api, options),
            log_config=None,
            log_level="warning",
            access_log=False,
            lifespan="off",
            server_header=False,
            timeout_graceful_shutdown=_CLOSING_S,
        )
        super().__init__(config)
        self._gate = api.gate
        self._worker = worker
        self._drain_s = options.drain_s

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Take a signal."""
        drain_s = 0.0 if self._gate.is_closed else self._drain_s
        LOG.info("%s: no new requests, and up to %g s for those that run", signal.Signals(sig).name, drain_s)
        self._gate.close(drain_s)

    async def on_tick(self, counter: int) -> bool:
        """Look, ten times a second, whether to end."""
        if self._gate.is_drained or not self._worker.is_running:
            # Requests that still run learn of it, before their connections are closed.
            self._worker.stop()
            self.should_exit = True
        return await super().on_tick(counter)


def serve(llm: LLM, options: ServerOptions, listener: socket.socket) -> int:
    """Serve a model until a signal ends the server.

    Args:
        llm: the model; nobody else may use it.
        options: names, keys and limits.
        listener: from `bind`.
    Returns:
        The exit status; a failure where the engine has stopped by itself.
    Raises:
        UserError: the model has no tokenizer, or computes nothing of sense.
    """
    LOG.info("loaded %s, %.1f MB of weights; a first request is tried", llm.path, llm.weight_bytes / 1e6)
    llm.generate({"prompt_token_ids": [0, 0]}, _FIRST_REQUEST)
    worker = EngineWorker(llm.engine)
    try:
        api = Api(llm, worker, options)
        if api.chat_fault:
            LOG.warning("no chat: %s", api.chat_fault)
        if api.tool_format:
            LOG.info("calls of tools are read in the form %s", api.tool_format)
        host, port = listener.getsockname()[:2]
        if not options.keys and not ip_address(host).is_loopback:
            LOG.warning("the server is open to everybody who reaches %s; --key-file closes it", host)
        LOG.info("serving %s on http://%s:%d", options.name, f"[{host}]" if ":" in host else host, port)
        DrainingServer(api, worker, options).run(sockets=[listener])
        return OK if worker.is_sound else FAILURE
    finally:
        worker.stop()
        worker.join()
