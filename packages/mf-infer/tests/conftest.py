"""Models that several test modules share: loading is quick, but each size of graph takes seconds to compile."""

import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from mf_infer.llm import LLM
from mf_infer.load_options import LoadOptions
from mf_infer.server.app import Api
from mf_infer.server.options import ServerOptions
from mf_infer.server.serving import DrainingServer, bind
from mf_infer.server.worker import EngineWorker
from mf_models.pretrained import read_config

DATA = Path(__file__).parent / "data"


@pytest.fixture(scope="session", autouse=True)
def graphs(tmp_path_factory):
    """Compiled graphs are kept in a temporary folder instead of the user's cache."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MF_GRAPHS", str(tmp_path_factory.mktemp("graphs")))
        yield


@pytest.fixture(scope="session")
def llama(graphs):
    """A model without a tokenizer, context 128: batches of 1, 2 and 4."""
    return LLM(DATA / "llama_gqa", options=LoadOptions(max_batch_size=4))


@pytest.fixture(scope="session")
def chat(graphs):
    """A model with a tokenizer of 900 entries, vocabulary 960, context 256: batches of 1, 2 and 4."""
    return LLM(DATA / "tiny_chat", options=LoadOptions(max_batch_size=4))


class ArithmeticRunner:
    """Its next token is a sum over the tokens in the row's blocks, so that mixed up answers or blocks show."""

    block_size, whole_prompts, weight_bytes = 16, False, 0

    def __init__(self, blocks, vocabulary, step_s):
        self.blocks = blocks
        self.step_s = step_s
        self._vocabulary = vocabulary
        self._content = np.zeros((blocks, self.block_size), np.int64)

    def compute(self, chunks):
        time.sleep(self.step_s)
        return [self._feed(chunk)[-1] for chunk in chunks]

    def score(self, chunk):
        time.sleep(self.step_s)
        return np.stack(self._feed(chunk))

    def copy(self, pairs):
        for source, target in pairs:
            self._content[target] = self._content[source]

    def _feed(self, chunk):
        return [self._logits(chunk, place, token) for place, token in enumerate(chunk.tokens, chunk.start)]

    def _logits(self, chunk, place, token):
        self._content[chunk.blocks[place // self.block_size], place % self.block_size] = token
        seen = self._content[list(chunk.blocks)].reshape(-1)[: place + 1]
        logits = np.zeros(self._vocabulary, np.float32)
        # Tokens of text only, none of them an end token.
        logits[5 + int((seen * np.arange(1, place + 2)).sum()) % 800] = 9
        return logits


class ScriptedRunner(ArithmeticRunner):
    """Its answers are the same tokens, whatever the prompt, unless that ends as they begin."""

    def __init__(self, script, *sizes):
        super().__init__(*sizes)
        self._script = list(script)

    def _logits(self, chunk, place, token):
        logits = super()._logits(chunk, place, token) * 0
        seen = self._content[list(chunk.blocks)].reshape(-1)[: place + 1].tolist()
        lengths = range(min(len(seen), len(self._script) - 1), 0, -1)
        said = next((length for length in lengths if seen[-length:] == self._script[:length]), 0)
        logits[self._script[said]] = 9
        return logits


@contextmanager
def fake_models():
    """Makes models with the configuration, the tokenizer and the template of tiny_chat that compute nothing."""
    config = read_config(DATA / "tiny_chat")
    with pytest.MonkeyPatch.context() as patch:

        def make(rows=4, blocks=129, step_s=0.0, script=None, tokenizer=None):
            sizes = blocks, config.vocab_size, step_s
            runner = ScriptedRunner(script, *sizes) if script else ArithmeticRunner(*sizes)
            patch.setattr("mf_infer.loading.opening.open_runner", lambda *_: (config, runner))
            return LLM(DATA / "tiny_chat", tokenizer=tokenizer, options=LoadOptions(max_batch_size=rows))

        yield make


@pytest.fixture
def new_model():
    """Makes models that compute nothing: see `fake_models`."""
    with fake_models() as make:
        yield make


@dataclass
class Served:
    """A server that listens."""

    url: str
    worker: EngineWorker
    server: DrainingServer
    thread: threading.Thread


@contextmanager
def serving(llm, **options):
    """Serve a model on a free port."""
    chosen = ServerOptions(**{"name": "tiny_chat", "drain_s": 0.0, **options})
    worker = EngineWorker(llm.engine)
    listener = bind("127.0.0.1", 0)
    server = DrainingServer(Api(llm, worker, chosen), worker, chosen)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    while not server.started:
        time.sleep(0.005)
    try:
        yield Served(f"http://127.0.0.1:{listener.getsockname()[1]}", worker, server, thread)
    finally:
        server.should_exit = True
        thread.join()
        worker.stop()
        worker.join()
        listener.close()


@pytest.fixture(scope="module")
def fake_server():
    """A model that computes nothing, served to a module's tests."""
    with fake_models() as make, serving(make(), max_body_bytes=2000) as served:
        yield served


@pytest.fixture
def serve():
    """The context manager that serves a model to a test."""
    return serving


@pytest.fixture(scope="module")
def chat_server(chat):
    """The model with golden texts, served."""
    with serving(chat) as served:
        yield served
