from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Annotated, Any

import pytest

from mf_config.decoding import decode
from mf_config.document import load
from mf_config.dump import to_line, to_plain, to_yaml
from mf_config.schema import ComponentOf, component, key
from mf_config.sections.run import RunConfig

Write = Callable[..., str]


def decoded(write: Write, text: str) -> RunConfig:
    return decode(load(write(text)))


def test_a_dump_decodes_to_the_same_configuration(write: Write, toys: None, train_file: str) -> None:
    config = decoded(write, train_file)
    assert decoded(write, to_yaml(config)) == config


def test_every_default_is_written_out(write: Write, toys: None, train_file: str) -> None:
    plain = to_plain(decoded(write, train_file))
    assert plain["runner_config"]["sink_size"] == -1
    assert plain["optimizer"] == {"type": "ToyAdam", "learning_rate": 0.001, "betas": [0.9, 0.999]}
    assert plain["callbacks"] == [{"type": "ToyPrinter", "every": 5}]
    assert plain["train_dataset_task"] == {"type": "ToyRows"}


def test_other_scripts_stay_readable(write: Write, toys: None, train_file: str) -> None:
    config = replace(decoded(write, train_file), output_dir="./输出")
    assert "output_dir: ./输出\n" in to_yaml(config)


def test_numbers_and_words_in_text_get_quotation_marks(write: Write, toys: None, train_file: str) -> None:
    config = replace(decoded(write, train_file), output_dir="010", load_checkpoint="1e-5")
    assert "output_dir: '010'\n" in to_yaml(config)
    assert "load_checkpoint: '1e-5'\n" in to_yaml(config)


@pytest.mark.parametrize(
    ("value", "line"),
    [
        (3, "3"),
        (1e-5, "1.0e-05"),
        (None, "null"),
        ("1e-5", "'1e-5'"),
        ("plain", "plain"),
        ("two\nlines", '"two\\nlines"'),
        (["a", 1], "[a, 1]"),
        (["two\nlines", True, None, 1, 0.5, "x"], '["two\\nlines", true, null, 1, 0.5, x]'),
        ([], "[]"),
        ({}, "{}"),
        ("a # b", "'a # b'"),
    ],
)
def test_a_value_on_one_line(value: Any, line: str) -> None:
    assert to_line(value) == line


@component("shelf", "Shelf", "shelf")
@dataclass(frozen=True, slots=True, kw_only=True)
class Shelf:
    """Holds books."""

    books: int = key("How many.", 3)


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """Holds shelves."""

    shelf: Annotated[Any, ComponentOf("shelf", "wood")] | None = key("One shelf.", None)
    shelves: tuple[Annotated[Any, ComponentOf("shelf", "wood")], ...] = key("Many.", ())


def test_a_component_is_named_by_the_key_that_chooses_it() -> None:
    assert to_plain(Room(shelf=Shelf(), shelves=(Shelf(books=1),))) == {
        "shelf": {"wood": "Shelf", "books": 3},
        "shelves": [{"wood": "Shelf", "books": 1}],
    }
