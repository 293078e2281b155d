"""The key of a compiled graph: everything that decides the graph changes it, and nothing else does."""

import logging
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import mindspore as ms
import numpy as np
import pytest
from mindspore import Parameter, ParameterTuple, Tensor, nn, ops

from mf_models.families.llama import LlamaConfig
from mf_models.graph_cache import key as key_module
from mf_models.graph_cache.description import UndescribedError
from mf_models.graph_cache.key import key_of
from mf_models.networks import build


@pytest.fixture(autouse=True)
def _a_program_of_python(monkeypatch: pytest.MonkeyPatch) -> None:
    """Processes that share the tests of a run have no program of their own."""
    monkeypatch.setattr(sys, "argv", [__file__])


SCALE = 2.0
X = Tensor(np.zeros((2, 3), np.float32))


def doubled(x: Tensor) -> Tensor:
    return x * SCALE


@dataclass(frozen=True, slots=True)
class Limits:
    norm: float | None = 1.0


class Inner(nn.Cell):
    """Has of each kind of attribute one."""

    def __init__(self, **changed: Any):
        super().__init__()
        self.epsilon = 1e-6
        self.limits = Limits()
        self.sizes = (1, 2)
        self.table = Tensor(np.arange(3, dtype=np.float32))
        self.array = np.arange(3)
        self.reduce = ops.ReduceSum()
        self.activation = doubled
        self.weight = Parameter(Tensor(np.ones(3, np.float32)), name="weight")
        for name, value in changed.items():
            setattr(self, name, value)

    def construct(self, x: Tensor) -> Tensor:
        return self.helped(x) + self.epsilon

    def helped(self, x: Tensor) -> Tensor:
        return self.activation(x) * self.weight + self.table


class Outer(nn.Cell):
    """Differentiates another cell."""

    def __init__(self, inner: nn.Cell):
        super().__init__(auto_prefix=False)
        self.inner = inner
        self.differentiate = ops.value_and_grad(inner, None, ParameterTuple(inner.trainable_params()))

    def construct(self, x: Tensor) -> Any:
        return self.differentiate(x)


def closing_over(value: float) -> Callable[[Tensor], Tensor]:
    def scaled(x: Tensor) -> Tensor:
        return x * value

    return scaled


class Child(Inner):
    """The same by another name."""


class Rewritten(Inner):
    """The same with another method."""

    def helped(self, x: Tensor) -> Tensor:
        return self.activation(x) * self.weight - self.table


def parameter(**changed: Any) -> Parameter:
    told: dict[str, Any] = {"name": "weight", "shape": 3, "dtype": np.float32, "requires_grad": True} | changed
    values = Tensor(np.ones(told["shape"], told["dtype"]))
    return Parameter(values, name=told["name"], requires_grad=told["requires_grad"])


def trained(cell: nn.Cell) -> nn.Cell:
    return cell.set_train()


def hooked(cell: nn.Cell) -> nn.Cell:
    cell.register_forward_hook(lambda cell, inputs, output: output)
    return cell


CHANGES: dict[str, Callable[[], nn.Cell]] = {
    "a number": lambda: Inner(epsilon=1e-5),
    "its type": lambda: Inner(epsilon=1),
    "a field of a dataclass": lambda: Inner(limits=Limits(None)),
    "an item": lambda: Inner(sizes=(1, 3)),
    "the order of items": lambda: Inner(sizes=(2, 1)),
    "a constant tensor's values": lambda: Inner(table=Tensor(np.array([0, 1, 3], np.float32))),
    "a constant tensor's type": lambda: Inner(table=Tensor(np.arange(3, dtype=np.int32))),
    "an array's values": lambda: Inner(array=np.array([0, 1, 3])),
    "an operator": lambda: Inner(reduce=ops.ReduceMean()),
    "an attribute of an operator": lambda: Inner(reduce=ops.ReduceSum(keep_dims=True)),
    "a function": lambda: Inner(activation=ops.tanh),
    "a function's closure": lambda: Inner(activation=closing_over(3.0)),
    "a parameter's name": lambda: Inner(weight=parameter(name="other")),
    "a parameter's shape": lambda: Inner(weight=parameter(shape=(1, 3))),
    "a parameter's type": lambda: Inner(weight=parameter(dtype=np.float64)),
    "whether a parameter is trained": lambda: Inner(weight=parameter(requires_grad=False)),
    "one more attribute": lambda: Inner(more=None),
    "the class": Child,
    "a method that is called": Rewritten,
    "the mode": lambda: trained(Inner()),
    "a flag": lambda: Inner().add_flags(defer_inline=True),
}


@pytest.mark.parametrize("change", CHANGES)
def test_what_is_in_a_cell_changes_the_key(change: str) -> None:
    changed = CHANGES[change]
    assert key_of(Outer(changed()), [X]) == key_of(Outer(changed()), [X])
    assert key_of(Outer(changed()), [X]) != key_of(Outer(Inner()), [X])


def test_a_hook_changes_the_key() -> None:
    assert key_of(hooked(Inner()), [X]) != key_of(Inner(), [X])


def test_two_values_in_one_closure_have_two_keys() -> None:
    assert key_of(Inner(activation=closing_over(3.0)), [X]) != key_of(Inner(activation=closing_over(4.0)), [X])


@pytest.mark.parametrize(
    "inputs",
    [
        [Tensor(np.zeros((2, 4), np.float32))],
        [Tensor(np.zeros((2, 3), np.int32))],
        [Tensor(np.zeros((3, 2), np.float32))],
        [X, None],
        [2.0],
        [],
    ],
)
def test_the_form_of_the_inputs_changes_the_key(inputs: list[Any]) -> None:
    assert key_of(Inner(), inputs) != key_of(Inner(), [X])


def test_values_of_weights_and_inputs_do_not() -> None:
    other = Inner(weight=Parameter(Tensor(np.zeros(3, np.float32)), name="weight"))
    assert key_of(other, [Tensor(np.ones((2, 3), np.float32))]) == key_of(Inner(), [X])


def test_a_changed_constant_of_a_module_changes_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    before = key_of(Outer(Inner()), [X])
    monkeypatch.setattr(sys.modules[__name__], "SCALE", 4.0)
    assert key_of(Outer(Inner()), [X]) != before


def test_one_part_in_two_places_is_not_two_parts() -> None:
    first, second = Inner(), Inner()
    keys = {key_of(nn.SequentialCell(first, other), [X]) for other in (first, second)}
    assert len(keys) == 2


@pytest.mark.parametrize(("name", "value"), [("MS_JIT_MODULES", "numpy"), ("MS_ALLOC_CONF", "enable_vmm:true")])
def test_variables_of_mindspore_change_the_key(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    before = key_of(Inner(), [X])
    monkeypatch.setenv(name, value)
    assert key_of(Inner(), [X]) != before


def test_no_graph_is_kept_of_a_process_among_others(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"MS_ROLE": "MS_WORKER", "RANK_ID": "1", "MS_WORKER_NUM": "2"}.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(UndescribedError):
        key_of(Inner(), [X])


@pytest.mark.parametrize("setting", ["check_bprop", "max_call_depth", "deterministic"])
def test_settings_of_mindspore_change_the_key(monkeypatch: pytest.MonkeyPatch, setting: str) -> None:
    before = key_of(Inner(), [X])
    real = ms.get_context
    monkeypatch.setattr(ms, "get_context", lambda name: "another" if name == setting else real(name))
    assert key_of(Inner(), [X]) != before


@pytest.mark.parametrize("version", [(ms, "__version__"), (np, "__version__"), (sys, "version")])
def test_versions_change_the_key(monkeypatch: pytest.MonkeyPatch, version: tuple[Any, str]) -> None:
    before = key_module.surroundings()
    monkeypatch.setattr(*version, "0.0.1")
    assert key_module.surroundings() != before


def test_the_processor_changes_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    before = key_of(Inner(), [X])
    monkeypatch.setattr(key_module, "processor", lambda: "another one")
    assert key_of(Inner(), [X]) != before


@pytest.mark.parametrize("name", ["MS_DEV_SAVE_GRAPHS", "MS_DEV_DUMP_IR_PASSES", "MS_COMPILER_CACHE_ENABLE"])
def test_no_graph_is_kept_where_somebody_looks_into_the_compiler(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv(name, "1")
    with pytest.raises(UndescribedError):
        key_of(Inner(), [X])


@pytest.mark.parametrize("value", [iter([]), object(), logging.getLogger("x").handlers.append, Path(), {1, 2}])
def test_what_nobody_knows_how_to_describe_is_refused(value: Any) -> None:
    with pytest.raises(UndescribedError):
        key_of(Inner(sizes=value), [X])


TEXT = """
from mindspore import nn
from helping import helper


class Own(nn.Cell):
    def construct(self, x):
        return helper.help(x)
"""

PROGRAM = """
import sys
import mindspore as ms
from mf_models.graph_cache.key import key_of
from own import Own
print(key_of(Own(), [ms.Tensor([1.0])]))
"""


def key_of_program(folder: Path, program: str, seed: str = "0") -> str:
    file = folder / "program.py"
    file.write_text(program)
    environment = {**os.environ, "PYTHONHASHSEED": seed}
    done = subprocess.run([sys.executable, file], capture_output=True, text=True, check=True, env=environment)
    return done.stdout


def test_the_text_of_every_package_that_takes_part_changes_the_key(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(TEXT)
    (tmp_path / "helping").mkdir()
    (tmp_path / "helping" / "__init__.py").touch()
    helper = tmp_path / "helping" / "helper.py"
    helper.write_text("from helping import deeper\n\n\ndef help(x):\n    return deeper.twice(x)\n")
    deeper = tmp_path / "helping" / "deeper.py"
    deeper.write_text("def twice(x):\n    return x * 2\n")
    first = key_of_program(tmp_path, PROGRAM)
    assert key_of_program(tmp_path, PROGRAM) == first
    deeper.write_text("def twice(x):\n    return x * 3\n")
    second = key_of_program(tmp_path, PROGRAM)
    deeper.write_text("def twice(x):\n    # More text.\n    return x * 3\n")
    assert len({first, second, key_of_program(tmp_path, PROGRAM)}) == 3


LLAMA = """
import mindspore as ms
import numpy as np
from mf_models.families.llama import LlamaConfig
from mf_models.graph_cache.key import key_of
from mf_models.networks import build
config = LlamaConfig(hidden_size=32, num_layers=2, num_heads=4, n_kv_heads=2, vocab_size=64, seq_length=16)
print(key_of(build(config), [ms.Tensor(np.zeros((1, 8), np.int32))]))
"""


def test_every_process_finds_the_same_key(tmp_path: Path) -> None:
    assert key_of_program(tmp_path, LLAMA, "1") == key_of_program(tmp_path, LLAMA, "2")


def test_no_graph_is_kept_where_the_program_is_no_python(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "program").write_bytes(b"\x7fELF\x00")
    for name in ("-c", str(tmp_path / "program")):
        monkeypatch.setattr(sys, "argv", [name])
        with pytest.raises(UndescribedError):
            key_of(Inner(), [X])


@pytest.mark.parametrize(
    "change",
    [{"num_layers": 3}, {"rms_norm_eps": 1e-6}, {"theta": 1e5}, {"n_kv_heads": 4}, {"tie_word_embeddings": True}],
)
def test_sizes_of_a_network_change_the_key(change: dict[str, Any]) -> None:
    sizes = {"hidden_size": 32, "num_layers": 2, "num_heads": 4, "n_kv_heads": 2, "vocab_size": 64, "seq_length": 16}
    ids = Tensor(np.zeros((1, 8), np.int32))
    keys = [key_of(build(LlamaConfig(**(sizes | changed))), [ids]) for changed in ({}, {}, change)]
    assert keys[0] == keys[1] != keys[2]
