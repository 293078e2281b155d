"""The rows of the report: every family that is registered, and each golden model of it."""

import json
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from mf_config.components import components
from mf_config.problems import UserError
from mf_config.schema import tag_of
from mf_models.registry import config_from_hf
from mf_models.report.ascend import COMPILE
from mf_models.report.cells import COLUMNS, Cell, Row, not_measured
from mf_models.report.golden import Golden, draw
from mf_parallel.simulation import SimulationError, simulate

_AGAINST_OTHERS: dict[str, Callable[[Golden], Cell]] = {
    "logits": Golden.check_logits,
    "loss": Golden.check_loss,
    "greedy tokens": Golden.check_greedy,
}
"""Column to the comparison with what an independent program computed."""

_AGAINST_ITSELF: dict[str, Callable[[Golden], Cell]] = {
    "round trip": Golden.check_round_trip,
    "LoRA": Golden.check_lora,
    "cache": Golden.check_cache,
}
"""Column to the comparison of two ways to the same result."""

_ON_ASCEND = {"forward": "Ascend forward", "backward": "Ascend backward"}
"""Stage of the compilation to column."""

_FUSED = {
    *("FlashAttentionScore", "FlashAttentionScoreGrad", "RmsNorm", "RmsNormGrad", "LayerNormExt", "LayerNormGradExt"),
    *("RotaryPositionEmbedding", "RotaryPositionEmbeddingGrad", "Swiglu", "SwigluGrad", "GroupedMatmul"),
    *("GeLU", "GeLUGrad"),
}
"""The operators that `mf_models.kernels` chooses on Ascend in place of several."""


_GOLDEN = "golden.npz"

_NO_GOLDEN = (
    "no golden model: the logits of the network and gradients of its layers are compared with NumPy in the tests"
)

_NOT_ASKED = "not asked for"


@dataclass(frozen=True, slots=True)
class Subject:
    """What a row is about.

    Attributes:
        family: as in `Row`.
        path: the directory of the model; None where there is none to measure.
        model: as in `Row`.
        reason: why nothing is measured; empty where something is.
    """

    family: str
    path: Path | None = None
    model: str = ""
    reason: str = ""


def subjects(folder: Path) -> list[Subject]:
    """For each registered family its golden models, or why there is nothing to measure; then models without a family.

    Args:
        folder: holds the golden models, see `Golden`, each in a directory. For families without any, a directory may
            hold a config.json alone: its weights are drawn.

    Raises:
        UserError: it holds no golden model.
    """
    models, strangers = _golden_models(folder)
    found = []
    for name, cls in _families().items():
        tag = tag_of(cls)
        if tag is not None and tag.pending:
            found.append(Subject(name, reason=tag.pending))
        elif not models.get(cls):
            found.append(Subject(name, reason=f"no model of it in {folder}"))
        else:
            known = [path for path in models[cls] if (path / _GOLDEN).is_file()]
            found += [Subject(name, path, path.name) for path in known or models[cls]]
    return found + strangers


def rows(found: Sequence[Subject], with_ascend: bool = True) -> Iterator[Row]:
    """Measure.

    Args:
        found: what is measured.
        with_ascend: whether to compile for Ascend too, which takes some seconds a model.

    Yields:
        A row a subject, in the same order.
    """
    # The processes that compile run ahead, beside the comparisons here.
    with ThreadPoolExecutor(1) as beside:
        compiled = {
            subject.path: beside.submit(_compiled, subject.path) for subject in found if with_ascend and subject.path
        }
        try:
            for subject in found:
                if subject.path is None:
                    cells = dict.fromkeys(COLUMNS, not_measured(subject.reason))
                else:
                    cells = _compared(subject.path)
                    on_ascend = compiled.get(subject.path)
                    not_asked = dict.fromkeys(_ON_ASCEND.values(), not_measured(_NOT_ASKED))
                    cells |= on_ascend.result() if on_ascend else not_asked
                yield Row(subject.family, subject.model, cells)
        finally:
            beside.shutdown(cancel_futures=True)


def _families() -> dict[str, type]:
    """Canonical name to the configuration of each registered family."""
    found = {}
    for cls in components("model").values():
        tag = tag_of(cls)
        assert tag is not None
        found[tag.names[0]] = cls
    return found


def _golden_models(folder: Path) -> tuple[dict[type, list[Path]], list[Subject]]:
    """The family's configuration to the models of it, and the golden models that no family takes."""
    models: dict[type, list[Path]] = {}
    strangers = []
    paths = sorted(file.parent for file in folder.glob("*/config.json"))
    if not any((path / _GOLDEN).is_file() for path in paths):
        allowed = "a folder of directories with config.json and golden.npz"
        raise UserError(f"{folder}: no golden models. Allowed: {allowed}.")
    for path in paths:
        data = json.loads((path / "config.json").read_text(encoding="utf-8"))
        try:
            models.setdefault(type(config_from_hf(data, f"{path.name}/config.json")), []).append(path)
        except UserError as error:
            if (path / _GOLDEN).is_file():
                strangers.append(Subject(str(data.get("model_type", "")), None, path.name, str(error)))
    return models, strangers


def _compared(path: Path) -> dict[str, Cell]:
    """The cells of what is computed here."""
    cells: dict[str, Cell] = {}
    with tempfile.TemporaryDirectory() as folder:
        if (path / _GOLDEN).is_file():
            golden, checks = Golden(path), _AGAINST_OTHERS | _AGAINST_ITSELF
        else:
            golden, checks = draw(path, Path(folder)), _AGAINST_ITSELF
            cells |= dict.fromkeys(_AGAINST_OTHERS, not_measured(_NO_GOLDEN))
        return cells | {column: _checked(check, golden) for column, check in checks.items()}


def _checked(check: Callable[[Golden], Cell], golden: Golden) -> Cell:
    try:
        return check(golden)
    except UserError as error:
        return not_measured(str(error))
    except (ArithmeticError, LookupError, RuntimeError, TypeError, ValueError) as error:
        # A defect in one cell must not hide the others.
        return Cell("failed", False, f"{type(error).__name__}: {_first_line(error)}")


def _compiled(path: Path) -> dict[str, Cell]:
    """The cells of Ascend; where not all stages compile, those before are tried alone."""
    stages = list(_ON_ASCEND)
    cells: dict[str, Cell] = {}
    while stages:
        try:
            found = simulate(COMPILE, {"path": str(path.resolve()), "stages": stages})
        except SimulationError as error:
            cells[_ON_ASCEND[stages.pop()]] = Cell("failed", False, _first_line(error))
        except UserError as error:
            return cells | {_ON_ASCEND[stage]: not_measured(str(error)) for stage in stages}
        else:
            return cells | {_ON_ASCEND[stage]: _fused(operators) for stage, operators in found.items()}
    return cells


def _fused(operators: dict[str, int]) -> Cell:
    fused = sum(count for name, count in operators.items() if name in _FUSED)
    return Cell(f"{sum(operators.values())} operators, {fused} fused", fused > 0)


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0]
