from dataclasses import dataclass
from typing import Annotated, Any

import pytest

from mf_config.elsewhere import Elsewhere
from mf_config.schema import ComponentOf, key
from mf_config.yaml_reader import read_text


@dataclass(frozen=True, slots=True, kw_only=True)
class Runner:
    epochs: int = key("Epochs.", 1)
    batch_size: int = key("Rows.", 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    model_config: Annotated[Any, ComponentOf("model")] = key("Family.")


@dataclass(frozen=True, slots=True, kw_only=True)
class File:
    runner: Runner = key("Runner.", Runner())
    model: Model | None = key("Model.", None)
    optimizers: tuple[Annotated[Any, ComponentOf("optimizer")], ...] = key("Optimizers.", ())
    copy: Runner | None = key("The runner again.", None, alias_suffix="copy")


TEXT = "model: {model_config: {type: ToyConfig}}\noptimizers: [{type: ToyAdam}, {type: ToySgd}]\n"


@pytest.mark.parametrize(
    ("name", "path", "home"),
    [
        ("seq_length", "model", "model.model_config.seq_length"),
        ("seq_length", "", "model.model_config.seq_length"),
        ("batch_size", "", "runner.batch_size"),
        ("batch_size", "model.model_config", "runner.batch_size"),
        ("momentum", "", "optimizers[1].momentum"),
        ("warmup_steps", "optimizers[0]", ""),
        ("learning_rate", "runner", ""),
        ("colour", "", ""),
    ],
)
def test_a_key_belongs_where_its_name_stands_once(toys: None, name: str, path: str, home: str) -> None:
    assert Elsewhere(File, read_text(TEXT, "run.yaml").root).find(name, path) == home


def test_below_the_section_wins_over_elsewhere() -> None:
    @dataclass(frozen=True, slots=True, kw_only=True)
    class Two:
        one: Runner = key("One.", Runner())
        other: Runner = key("Other.", Runner())

    root = read_text("", "run.yaml").root
    assert Elsewhere(Two, root).find("epochs", "") == ""
    assert Elsewhere(Two, root).find("epochs", "one") == "one.epochs"


def test_an_unknown_component_has_no_keys(toys: None) -> None:
    root = read_text("model: {model_config: {type: Nobody}}\n", "run.yaml").root
    assert Elsewhere(File, root).find("seq_length", "model") == ""


def test_a_component_is_known_by_its_own_chooser_or_by_what_is_meant_without_one(toys: None) -> None:
    @dataclass(frozen=True, slots=True, kw_only=True)
    class Choosing:
        first: Annotated[Any, ComponentOf("optimizer", "name")] | None = key("By name.", None)
        second: Annotated[Any, ComponentOf("callback", otherwise="ToyPrinter")] | None = key("A printer.", None)

    root = read_text("first: {name: ToySgd}\nsecond: {}\n", "run.yaml").root
    assert Elsewhere(Choosing, root).find("momentum", "") == "first.momentum"
    assert Elsewhere(Choosing, root).find("every", "") == "second.every"
