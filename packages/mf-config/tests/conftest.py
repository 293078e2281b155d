"""Fixtures of mf-config's tests: files in a folder of their own, and a throw-away package of components."""

from collections.abc import Callable, Iterator
from importlib import metadata
from pathlib import Path

import pytest

from mf_config import components as components_module
from mf_config.decoding import examine
from mf_config.document import load
from mf_config.problems import Problem

TOY_COMPONENTS = {
    "trainer": """
@component("trainer", "ToyTask")
@dataclass(frozen=True, slots=True, kw_only=True)
class ToyTask:
    "A task."
    model_name: str = key("A name for logs.", "toy")
""",
    "model": """
@component("model", "ToyConfig")
@dataclass(frozen=True, slots=True, kw_only=True)
class ToyConfig:
    "A family."
    seq_length: int = key("Tokens of a row.", 16, minimum=1)
    num_heads: int = key("Heads.", 2, minimum=1)
    rope: dict[str, Any] | None = key("Free settings.", None)
    eos_token_id: int | tuple[int, ...] = key("Ends of a text.", 2, minimum=0)
    kind: str = key("A kind.", "plain", allowed=("plain", "gated"))
    architectures: ClassVar[tuple[str, ...]] = ("ToyForCausalLM", "ToyForReading")
    pending_architectures: ClassVar[dict[str, str]] = {"ToyForReading": "it can't read"}

    def problems(self):
        "Keys against each other."
        if self.seq_length % self.num_heads:
            yield "seq_length", f"{self.seq_length} is not divisible by num_heads {self.num_heads}", "a multiple"
""",
    "tokenizer": """
@component("tokenizer", "ToyTokenizer")
@dataclass(frozen=True, slots=True, kw_only=True)
class ToyTokenizer:
    "Letters."
    unk_token: str | None = key("The unknown letter.", None)
""",
    "processor": """
@component("processor", "BaseProcessor")
@dataclass(frozen=True, slots=True, kw_only=True)
class BaseProcessor:
    "Holds a tokenizer."
    tokenizer: Annotated[Any, ComponentOf("tokenizer")] | None = key("The tokenizer.", None)
""",
    "data_loader": """
@component("data_loader", "ToyLoader")
@dataclass(frozen=True, slots=True, kw_only=True)
class ToyLoader:
    "A folder."
    dataset_dir: str = key("The folder.")
""",
    "dataset": """
@component("dataset", "ToyRows")
@dataclass(frozen=True, slots=True, kw_only=True)
class ToyRows:
    "Rows."
    dataset_config: Any = key("The same section again.", None, alias_suffix="_task.dataset_config")
""",
    "optimizer": """
@component("optimizer", "ToyAdam", "toy_adam")
@dataclass(frozen=True, slots=True, kw_only=True)
class ToyAdam:
    "Adam."
    learning_rate: float | None = key("Constant rate.", None, above=0)
    betas: tuple[float, ...] = key("Decays.", (0.9, 0.999), minimum=0, maximum=1)


@component("optimizer", "ToySgd")
@dataclass(frozen=True, slots=True, kw_only=True)
class ToySgd:
    "Descent."
    learning_rate: float | None = key("Constant rate.", None, above=0)
    momentum: float = key("Momentum.", 0.0, minimum=0, inert_on={"CPU": "the toy has none"})
""",
    "lr_schedule": """
@component("lr_schedule", "ToyRamp")
@dataclass(frozen=True, slots=True, kw_only=True)
class ToyRamp:
    "A ramp."
    warmup_steps: int = key("Steps.", 10, minimum=0)
""",
    "callback": """
@component("callback", "ToyPrinter")
@dataclass(frozen=True, slots=True, kw_only=True)
class ToyPrinter:
    "Prints."
    every: int = key("Steps.", 1, minimum=1)
""",
    "metric": """
@component("metric", "ToyMetric")
@dataclass(frozen=True, slots=True, kw_only=True)
class ToyMetric:
    "Counts."
""",
}
"""Kind to the body of the one module that declares its components."""

TOY_HEADER = """from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from mf_config.schema import ComponentOf, component, key
"""

TRAIN_FILE = """\
seed: 1
run_mode: train
output_dir: ./out
context:
  device_target: CPU
trainer:
  type: ToyTask
runner_config:
  epochs: 2
  batch_size: 4
model:
  arch:
    type: ToyForCausalLM
  model_config:
    type: ToyConfig
    seq_length: 16
processor:
  tokenizer:
    type: ToyTokenizer
train_dataset: &train_dataset
  data_loader:
    type: ToyLoader
    dataset_dir: text
train_dataset_task:
  type: ToyRows
  dataset_config: *train_dataset
optimizer:
  type: ToyAdam
  learning_rate: 1e-3
callbacks:
  - type: ToyPrinter
    every: 5
"""


@pytest.fixture
def train_file() -> str:
    """The text of a small training run that is right in every key."""
    return TRAIN_FILE


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """Writes a file under a relative name, so that messages are the same everywhere."""
    monkeypatch.chdir(tmp_path)

    def write_file(content: str | bytes, name: str = "run.yaml") -> str:
        path = Path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return name

    return write_file


@pytest.fixture
def problems_of(toys: None, write: Callable[..., str]) -> Callable[..., list[Problem]]:
    """Every problem of a run configuration given as text."""
    return lambda text, *overrides: list(examine(load(write(text), overrides)).problems)


@pytest.fixture(scope="session")
def toy_site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with one installed distribution, `mf_toys`; it is not on the import path."""
    return write_distribution(tmp_path_factory.mktemp("site"), "mf_toys", TOY_COMPONENTS)


@pytest.fixture(scope="session")
def make_site(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, dict[str, str]], Path]:
    """Makes a folder like `toy_site` with a distribution of one's own: its name, and kind to module body."""
    return lambda name, components: write_distribution(tmp_path_factory.mktemp("site"), name, components)


def write_distribution(site: Path, name: str, components: dict[str, str]) -> Path:
    """Install a distribution of components into a folder: kind to the body of the one module that declares them."""
    points = ["[mf.components]"]
    for kind, body in components.items():
        package = site / name / f"{kind}s"
        package.mkdir(parents=True)
        (package / "__init__.py").touch()
        (package / "toy.py").write_text(f"{TOY_HEADER}\n{body}")
        points.append(f"{kind} = {name}.{kind}s")
    information = site / f"{name}-1.0.dist-info"
    information.mkdir()
    (information / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name.replace('_', '-')}\nVersion: 1.0\n")
    (information / "entry_points.txt").write_text("\n".join(points))
    return site


@pytest.fixture
def install(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., None]]:
    """Makes components come from the named folders only, whatever else is installed."""

    def only(*folders: Path) -> None:
        for folder in folders:
            monkeypatch.syspath_prepend(folder)
        distributions = metadata.distributions(path=[str(folder) for folder in folders])
        points = metadata.EntryPoints(point for found in distributions for point in found.entry_points)
        monkeypatch.setattr(components_module, "entry_points", points.select)
        _forget_components()

    yield only
    _forget_components()


@pytest.fixture
def toys(toy_site: Path, install: Callable[..., None]) -> None:
    """The toy components are installed, and no others."""
    install(toy_site)


def _forget_components() -> None:
    components_module.announced.cache_clear()
    components_module.kinds.cache_clear()
    components_module.components.cache_clear()
