"""The report, on a family that comes from another distribution: it is one folder, and nothing else knows of it."""

import json
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mf_config import components as components_module
from mf_config.problems import UserError
from mf_models.checkpoint_family import checkpoint_family
from mf_models.report.__main__ import main
from mf_models.report.cells import COLUMNS, Cell, Row, measured, not_measured
from mf_models.report.golden import Golden, draw
from mf_models.report.rows import rows, subjects
from mf_models.report.table import as_page, as_table

OUTSIDE = Path(__file__).parent / "outside"


def forget_components() -> None:
    for cached in (components_module.announced, components_module.kinds, components_module.components):
        cached.cache_clear()


@pytest.fixture(scope="module")
def sparrow(tmp_path_factory: pytest.TempPathFactory, data: Path) -> Iterator[Path]:
    """Installs the distribution, and makes a golden model of it from one of Llama."""
    site = tmp_path_factory.mktemp("site")
    shutil.copytree(OUTSIDE, site, dirs_exist_ok=True)
    information = site / "sparrow-1.0.dist-info"
    information.mkdir()
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: sparrow\nVersion: 1.0\n")
    (information / "entry_points.txt").write_text("[mf.components]\nmodel = sparrow.families\n")
    models = tmp_path_factory.mktemp("models")
    shutil.copytree(data / "llama_tied", models / "small")
    described = models / "small" / "config.json"
    config = json.loads(described.read_text())
    config |= {"model_type": "sparrow", "architectures": ["SparrowForCausalLM"], "chirp": 5}
    described.write_text(json.dumps(config))
    golden = dict(np.load(data / "llama_tied" / "golden.npz"))
    logits = 5 * np.tanh(golden["logits"].astype(np.float64) / 5)
    picked = np.take_along_axis(logits[:, :-1], golden["input_ids"][:, 1:, None], -1)
    golden["loss"] = (np.log(np.exp(logits[:, :-1]).sum(-1, keepdims=True)) - picked).mean()
    # The likeliest token stays the same.
    np.savez(models / "small" / "golden.npz", **{**golden, "logits": logits.astype(np.float32)})
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(site)
        forget_components()
        yield models
    forget_components()


def test_a_family_from_outside_is_measured_like_the_others(sparrow: Path) -> None:
    found = {row.family: row for row in rows(subjects(sparrow), with_ascend=False)}
    row = found["SparrowConfig"]
    assert row.model == "small" and row.cells.keys() == set(COLUMNS)
    compiled = {name: cell for name, cell in row.cells.items() if name.startswith("Ascend")}
    assert compiled == dict.fromkeys(compiled, not_measured("not asked for"))
    assert {name: cell for name, cell in row.cells.items() if not cell.passed} == compiled
    assert row.cells["greedy tokens"].text == "48 of 48" and row.cells["round trip"].text == "identical"
    # No cell of another family is empty without a reason.
    assert {"LlamaConfig", "GPT2Config"} < found.keys()
    others = [cell for name, row in found.items() if name != "SparrowConfig" for cell in row.cells.values()]
    assert others and all(cell.passed is None and cell.reason for cell in others)


def test_a_family_from_outside_is_known_to_run_files_and_checkpoints(
    sparrow: Path, read_section: Callable[..., tuple[Any, list[str]]]
) -> None:
    section, problems = read_section("type: SparrowConfig\nchirp: 7\nnum_layers: 2")
    assert not problems and (type(section).__name__, section.chirp) == ("SparrowConfig", 7)
    assert read_section("type: SparrowConfig\nchirp: 0")[1] == ["2: chirp: 0 is out of range. Allowed: above 0."]
    family = checkpoint_family(json.loads((sparrow / "small" / "config.json").read_text()))
    assert family is not None and {rule.pattern for rule in family.rules} > {"model.embed_tokens.weight"}


def test_an_error_is_seen(sparrow: Path) -> None:
    golden = Golden(sparrow / "small")
    golden.logits = golden.arrays["logits"]
    assert (golden.check_logits().passed, golden.check_loss().passed) == (True, True)
    golden.logits = golden.arrays["logits"] + np.float32(0.01)
    assert golden.check_logits() == Cell("1.0e-02", False)
    golden.arrays["loss"] += 0.001
    assert golden.check_loss() == Cell("1.0e-03", False)


def test_a_family_without_a_golden_model_is_compared_with_itself(data: Path, tmp_path: Path) -> None:
    drawn = draw(data / "internlm2", tmp_path)
    assert drawn.check_round_trip() == Cell("identical", True)
    cache = drawn.check_cache()
    assert cache.passed and np.abs(drawn.logits).max() > 0.1
    drawn.logits = drawn.logits + np.float32(0.01)
    assert not drawn.check_cache().passed


def test_the_table_numbers_its_reasons() -> None:
    cells = dict.fromkeys(COLUMNS, not_measured("no network yet"))
    first = Row("AConfig", "", cells)
    second = Row(
        "BConfig", "b", {**cells, "logits": measured(3e-5, 2e-4), "loss": Cell("failed", False, "ValueError: x")}
    )
    lines = as_table([first, second]).splitlines()
    assert lines[0].split()[:3] == ["family", "model", "logits"]
    assert lines[1].split() == ["AConfig", "-", *["(1)"] * len(COLUMNS)]
    assert lines[2].split()[:5] == ["BConfig", "b", "3.0e-05", "failed!", "(2)"]
    assert lines[3:] == ["", "(1) no network yet", "(2) ValueError: x"]
    assert (first.failed, second.failed) == ([], ["loss"])


def test_a_page_has_the_same_cells() -> None:
    cells = {**dict.fromkeys(COLUMNS, measured(3e-5, 2e-4)), "cache": not_measured("no room")}
    lines = as_page([Row("AConfig", "a", cells)], "# Title").splitlines()
    assert lines[:2] == ["# Title", ""] and lines[3] == f"|{' --- |' * (len(COLUMNS) + 2)}"
    assert lines[4].split(" | ")[:3] == ["| AConfig", "a", "3.0e-05"] and "(1)" in lines[4]
    assert lines[5:] == ["", "1. no room"]


def test_the_printed_page_has_every_family_and_golden_model_and_no_cell_without_a_reason(data: Path) -> None:
    text = (Path(__file__).parents[1] / "REPORT.md").read_text()
    lines = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("| ")]
    (head, _), found = lines[:2], lines[2:]
    assert head == ["family", "model", *COLUMNS]
    installed = components_module.components("model").values()
    own = {cls.__name__ for cls in installed if cls.__module__.startswith("mf_models.")}
    assert {line[0] for line in found} == own
    models = {file.parent.name for file in data.glob("*/golden.npz") if (file.parent / "config.json").is_file()}
    assert models <= {line[1] for line in found}
    reasons = set(re.findall(r"^\d+(?=\. )", text, re.MULTILINE))
    for line in found:
        assert len(line) == len(head) and all(line) and not any(cell.endswith("!") for cell in line)
        assert {cell.strip("()") for cell in line if cell.startswith("(")} <= reasons


def test_an_array_that_a_golden_model_lacks_is_named(sparrow: Path) -> None:
    golden = Golden(sparrow / "small")
    del golden.arrays["prompt0"]
    with pytest.raises(UserError, match=r"its golden\.npz has no prompt0"):
        golden.check_greedy()


def test_the_program_says_what_it_needs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tmp_path)]) == 2
    said = capsys.readouterr().err
    assert said == f"{tmp_path}: no golden models. Allowed: a folder of directories with config.json and golden.npz.\n"


def test_a_model_that_no_family_takes_has_a_row(sparrow: Path, tmp_path: Path) -> None:
    stranger = tmp_path / "strange"
    stranger.mkdir()
    (stranger / "config.json").write_text('{"model_type": "ostrich"}')
    np.savez(stranger / "golden.npz")
    row = list(rows(subjects(tmp_path)))[-1]
    assert (row.family, row.model) == ("ostrich", "strange")
    assert row.cells["logits"].reason.startswith("strange/config.json: model_type: no family 'ostrich'.")


@pytest.mark.slow
def test_every_golden_model_is_within_its_bounds(data: Path) -> None:
    assert {f"{row.model}: {row.failed}" for row in rows(subjects(data)) if row.failed} == set()
