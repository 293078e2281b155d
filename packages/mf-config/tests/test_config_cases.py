"""Run configurations in which real users fell into YAML's traps, with the values that they meant."""

import json
import operator
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mf_config.decoding import decode, examine
from mf_config.document import load
from mf_config.dump import to_yaml
from mf_config.nodes import Mapping, Node, Scalar, Sequence
from mf_config.problems import ConfigError, errors_in
from mf_config.sections.run import RunConfig

CASES = Path(__file__).parent / "data" / "cases"

COMPONENTS = {
    "trainer": """
@component("trainer", "CausalLanguageModelingTrainer")
@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    "A task."
    model_name: str = key("A name for logs.", "")
""",
    "model": """
@component("model", "LlamaConfig")
@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    "A family."
    seq_length: int = key("Tokens of a row.", 2048)
    hidden_size: int = key("Width.", 4096)
    num_layers: int = key("Blocks.", 32)
    num_heads: int = key("Heads.", 32)
    n_kv_heads: int | None = key("Heads of keys and values.", None)
    vocab_size: int = key("Tokens known.", 32000)
    rms_norm_eps: float = key("Added to a mean square.", 1e-6)
    extend_method: str | None = key("How positions are extended.", None)
    pre_seq_len: int | None = key("Length of a learnt prefix.", None)
    rope_scaling: dict[str, Any] | None = key("How rotations are scaled.", None)
    pad_token_id: int | None = key("Fills rows.", None)
    eos_token_id: int | None = key("Ends texts.", None)
    compute_dtype: str = key("Numbers of matrix products.", "float16")
    architectures: ClassVar[tuple[str, ...]] = ("LlamaForCausalLM",)
""",
    "optimizer": """
@component("optimizer", "FP32StateAdamWeightDecay")
@dataclass(frozen=True, slots=True, kw_only=True)
class Optimizer:
    "An optimizer."
    beta1: float = key("Decay of the mean.", 0.9)
    beta2: float = key("Decay of the mean square.", 0.999)
    eps: float = key("Added to a root.", 1e-6)
    learning_rate: float | None = key("Constant rate.", None)
""",
    "lr_schedule": """
@component("lr_schedule", "CosineWithWarmUpLR")
@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    "A schedule."
    learning_rate: float = key("Highest rate.")
    lr_end: float = key("Last rate.", 0.0)
    warmup_ratio: float | None = key("Share of warm-up steps.", None)
    total_steps: int = key("Length in steps.", -1)
""",
    "callback": """
@component("callback", "MFLossMonitor")
@dataclass(frozen=True, slots=True, kw_only=True)
class Monitor:
    "A monitor."
""",
}
"""Kind to a component that the cases name, with the keys that they set."""


@pytest.fixture(scope="module")
def site(make_site: Callable[[str, dict[str, str]], Path]) -> Path:
    """A folder with one installed distribution of components; it is not on the import path."""
    return make_site("mf_cases", COMPONENTS)


@pytest.fixture
def case(
    site: Path, install: Callable[..., None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[[str], Path]:
    """Copies a case into the working directory, where messages name its files shortly; gives its folder."""
    install(site)

    def enter(name: str) -> Path:
        folder = tmp_path / name
        shutil.copytree(CASES / name, folder)
        monkeypatch.chdir(folder)
        return folder

    return enter


def expected(name: str) -> dict[str, Any]:
    values: dict[str, Any] = json.loads((CASES / name / "expected.json").read_text(encoding="utf-8"))
    return values


def values_at(config: RunConfig, paths: dict[str, Any]) -> dict[str, Any]:
    return {path: operator.attrgetter(path)(config) for path in paths}


def errors(name: str) -> list[str]:
    return [str(problem) for problem in errors_in(examine(load(name)).problems)]


def plain(node: Node) -> Any:
    """The node as dicts, lists and texts."""
    if isinstance(node, Mapping):
        return {name: plain(child) for name, child in node.entries.items()}
    return [plain(item) for item in node.items] if isinstance(node, Sequence) else node.text


def test_c01_floats_without_a_dot_are_numbers(case: Callable[[str], Path]) -> None:
    case("c01")
    found = values_at(decode(load("run.yaml")), expected("c01"))
    assert found == expected("c01")
    assert {type(value) for value in found.values()} == {float}


@pytest.mark.parametrize("override", ["lr_schedule.learning_rate='3e-5'", 'lr_schedule.learning_rate="3e-5"'])
def test_c01_a_quoted_float_is_never_text(case: Callable[[str], Path], override: str) -> None:
    case("c01")
    assert decode(load("run.yaml", [override])).lr_schedule.learning_rate == 3e-5


def test_c02_none_means_not_set(case: Callable[[str], Path]) -> None:
    case("c02")
    assert values_at(decode(load("run.yaml")), expected("c02")) == expected("c02")
    overrides = ["model.model_config.extend_method='None'", "model.model_config.pre_seq_len='None'"]
    assert values_at(decode(load("run.yaml", overrides)), expected("c02")) == expected("c02")


def test_c03_both_places_of_a_duplicate_are_named(case: Callable[[str], Path]) -> None:
    case("c03")
    assert errors("run.yaml") == [
        "run.yaml:19: optimizer.learning_rate: key written twice: first at line 18, column 3, "
        "again at line 19, column 3 (5.e-4 there, 1.e-5 here). Allowed: one definition.",
        "run.yaml:48: runner_config: key written twice: first at line 8, column 1, again at line 48, column 1. "
        "Allowed: one definition.",
    ]


def test_c03_a_merged_key_may_be_overridden(case: Callable[[str], Path]) -> None:
    case("c03")
    document = load("merge_ok.yaml")
    assert document.problems == ()
    root = plain(document.root)
    assert (root["first"]["source"], root["second"]["source"], root["third"]["batch_size"]) == (
        "production",
        "production",
        "8",
    )


def test_c04_misspelt_and_misplaced_keys_are_reported_together(case: Callable[[str], Path]) -> None:
    case("c04")
    found = [(error.split(": ")[1], error.rpartition("Did you mean ")[2]) for error in errors("run.yaml")]
    assert found == [
        ("runner_config.batchsize", "batch_size?"),
        ("lr_scheduler", "lr_schedule?"),
        ("model.seq_length", "model.model_config.seq_length?"),
        ("model.model_config.num_head", "num_heads?"),
    ]


def test_c05_words_are_booleans_in_quotation_marks_too(case: Callable[[str], Path]) -> None:
    case("c05")
    allowed = {path: False if value == "false or refused" else value for path, value in expected("c05").items()}
    found = values_at(decode(load("run.yaml")), allowed)
    assert found == allowed
    assert {type(value) for value in found.values()} == {bool}


def test_c06_ambiguous_integers_are_refused(case: Callable[[str], Path]) -> None:
    case("c06")
    assert errors("run.yaml") == [
        "run.yaml:1: seed: 08 is ambiguous (octal or decimal?). Allowed: an integer. Did you mean 8?",
        "run.yaml:9: runner_config.epochs: 1:30 is not an integer. Allowed: an integer.",
        "run.yaml:10: runner_config.batch_size: 010 is ambiguous (octal or decimal?). Allowed: an integer. "
        "Did you mean 10?",
    ]
    corrected = load("run.yaml", ["seed=8", "runner_config.epochs=1", "runner_config.batch_size=10"])
    assert decode(corrected).model.model_config.seq_length == 4096


def test_c07_a_tab_is_called_by_its_name(case: Callable[[str], Path]) -> None:
    folder = case("c07")
    with pytest.raises(ConfigError) as caught:
        load("run.yaml")
    assert str(caught.value) == "run.yaml:9: a tab indents this line. Allowed: spaces only."
    assert [path.name for path in folder.iterdir()] == ["run.yaml"]


def test_c08_byte_order_mark_line_ends_and_chinese_text(case: Callable[[str], Path]) -> None:
    case("c08")
    config = decode(load("run.yaml"))
    assert values_at(config, expected("c08")) == expected("c08")
    assert "小模型" in to_yaml(config) and "./输出" in to_yaml(config)


PROGRAM = """
import json
from mf_config import load
root = load("run.yaml").root.entries
print(json.dumps([root["seed"].text, root["trainer"].entries["model_name"].text, root["output_dir"].text]))
"""


@pytest.mark.parametrize("locale", ["C", "C.UTF-8", "zh_CN.GBK"])
def test_c08_no_locale_changes_what_is_read(locale: str) -> None:
    # Without these two settings Python would turn to UTF-8 by itself.
    environment = {**os.environ, "LC_ALL": locale, "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    command = [sys.executable, "-c", PROGRAM]
    done = subprocess.run(command, cwd=CASES / "c08", env=environment, capture_output=True, check=True)
    assert json.loads(done.stdout) == ["42", "小模型", "./输出"]


def test_c09_bases_are_read_from_any_working_directory(
    case: Callable[[str], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    case("c09")
    monkeypatch.chdir(tmp_path)
    document = load("c09/child.yaml")
    wanted = expected("c09")
    assert plain(document.root) == json.loads(json.dumps(wanted), parse_int=str)
    config = decode(document)
    assert (config.seed, config.runner_config.epochs, config.runner_config.batch_size) == (7, 5, 4)
    assert (config.model.model_config.hidden_size, config.model.model_config.num_layers) == (64, 2)
    assert len(config.callbacks) == 1


def test_c09_a_missing_base_is_named_with_the_file_that_asks(case: Callable[[str], Path]) -> None:
    case("c09")
    with pytest.raises(ConfigError) as caught:
        load("broken.yaml")
    expected_text = "broken.yaml:1: base_config: no file 'base/nothere.yaml'. Allowed: a path relative to this file."
    assert str(caught.value) == expected_text


def test_every_scalar_of_the_cases_keeps_no_carriage_return(case: Callable[[str], Path]) -> None:
    case("c08")

    def scalars(node: Node) -> list[str]:
        if isinstance(node, Scalar):
            return [node.text]
        children = node.items if isinstance(node, Sequence) else node.entries.values()
        return [text for child in children for text in scalars(child)]

    texts = scalars(load("run.yaml").root)
    assert len(texts) == 37
    assert not [text for text in texts if "\r" in text or "\ufeff" in text]
