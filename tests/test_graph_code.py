"""Python that MindSpore compiles: what it would compute wrongly without a word."""

import ast
from collections.abc import Iterator
from pathlib import Path

import mindspore as ms
import numpy as np
from mindspore import Tensor, nn

ROOT = Path(__file__).parent.parent
SOURCES = sorted([*ROOT.glob("packages/*/src/**/*.py"), *ROOT.glob("examples/**/*.py")])


def augmented(source: str) -> Iterator[int]:
    """Lines of cells' `construct` and `bprop` with `a += b` and the like, but for tuples that grow."""
    for function in ast.walk(ast.parse(source)):
        if isinstance(function, ast.FunctionDef) and function.name in ("construct", "bprop"):
            for line in ast.walk(function):
                if isinstance(line, ast.AugAssign) and not isinstance(line.value, ast.Tuple):
                    yield line.lineno


def test_no_cell_adds_in_place() -> None:
    found = [f"{path.relative_to(ROOT)}:{line}" for path in SOURCES for line in augmented(path.read_text())]
    assert not found, "MindSpore 2.10 makes wrong gradients of this; write a = a + b"


def test_a_sum_in_place_is_found() -> None:
    cell = "class A:\n    def construct(self, x):\n        x += self.b(x)\n        parts += (x,)\n        return x\n"
    assert list(augmented(cell)) == [3]


class _Doubled(nn.Cell):
    """Forward as it is, backward twice the gradient."""

    def construct(self, x: Tensor) -> Tensor:
        return x

    def bprop(self, x: Tensor, out: Tensor, dout: Tensor) -> tuple[Tensor]:
        return (dout * 2.0,)


class _Sum(nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        self.parts = nn.CellList([_Doubled() for _ in range(3)])

    def construct(self, x: Tensor) -> Tensor:
        total = (x * 0.0).sum()
        for number, part in enumerate(self.parts):
            total = total + (part(x) * (number + 1)).sum()
        return total


def test_cells_with_gradients_of_their_own_add_up() -> None:
    """Each of three cells doubles its gradient once: 2 * (1 + 2 + 3). With `total += …` MindSpore 2.10 says 34."""
    ms.set_context(mode=ms.GRAPH_MODE)
    gradient = ms.grad(_Sum(), 0)(Tensor(np.zeros((2, 3), np.float32))).asnumpy()
    np.testing.assert_array_equal(gradient, np.full((2, 3), 12.0))
