"""Settings of all tests: quiet worker threads, graph mode, and a working directory that MindSpore may litter."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

# Read when MindSpore is loaded: its threads would otherwise spin between operators.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")

import mindspore as ms

ms.set_context(mode=ms.GRAPH_MODE)


@pytest.fixture(autouse=True, scope="session")
def working_directory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """MindSpore writes `rank_0` and `kernel_meta` where it runs."""
    before = Path.cwd()
    os.chdir(tmp_path_factory.mktemp("run"))
    yield
    os.chdir(before)


@pytest.fixture(scope="session")
def data() -> Path:
    """Golden models: random weights, with results of Hugging Face transformers 5.24."""
    return Path(__file__).parent / "data"
