"""Settings of all tests: quiet worker threads, graph mode, and a working directory that MindSpore may litter."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import mf_config
from mf_config.bind import Binding, bind_component
from mf_config.problems import errors_in
from mf_config.schema import ComponentOf

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


@pytest.fixture
def read_section(tmp_path: Path) -> Callable[..., tuple[Any, list[str]]]:
    """Read YAML text as the section of a component: the section, and its mistakes without the name of the file."""

    def read(text: str, kind: str = "model", chooser: str = "type") -> tuple[Any, list[str]]:
        file = tmp_path / "section.yaml"
        file.write_text(text, encoding="utf-8")
        binding = Binding()
        section = bind_component(ComponentOf(kind, chooser), mf_config.load(file).root, "", binding)
        return section, [str(problem).removeprefix(f"{file}:") for problem in errors_in(binding.problems)]

    return read
