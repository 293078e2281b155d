from collections.abc import Callable

import pytest

from mf_config.decoding import decode
from mf_config.document import load
from mf_config.nodes import Document
from mf_config.resolved import resolve, sources, to_commented_yaml
from mf_config.sections.run import RunConfig

Write = Callable[..., str]

BASE = """\
seed: 7
callbacks:
  - type: ToyPrinter
optimizer:
  type: toy_adam
  betas: [0.8, 0.9]
"""
OWN = """\
base_config: base.yaml
output_dir: 'out # 1'
callbacks:
  - type: ToyPrinter
    every: 5
  - type: ToyPrinter
model:
  model_config:
    type: ToyConfig
    rope: {type: yarn, steps: [[1, 2], {a: x}], none: {}}
    eos_token_id: [1, 2]
load_checkpoint: ''
"""
OVERRIDES = ("runner_config.epochs=3", "callbacks.1.every=2")


@pytest.fixture
def document(toys: None, write: Write) -> Document:
    write(BASE, "base.yaml")
    return load(write(OWN), OVERRIDES)


def resolved(document: Document) -> list[str]:
    """The resolved view without the blanks before its comments."""
    lines = to_commented_yaml(resolve(decode(document), document)).splitlines()
    return ["  # ".join(part.rstrip() for part in line.rsplit("  # ", 1)) for line in lines]


def section(lines: list[str], name: str) -> list[str]:
    """The lines of one section at the top level."""
    start = lines.index(f"{name}:")
    below = (index for index, line in enumerate(lines) if index > start and not line.startswith(" "))
    return lines[start : next(below, len(lines))]


def test_each_value_has_the_place_where_it_was_written(document: Document) -> None:
    lines = resolved(document)
    assert "seed: 7  # base.yaml:1" in lines
    assert "output_dir: 'out # 1'  # run.yaml:2" in lines
    assert "load_checkpoint: null  # run.yaml:12" in lines
    assert "do_eval: false  # default" in lines
    assert section(lines, "runner_config")[:3] == [
        "runner_config:",
        "  epochs: 3  # --set",
        "  batch_size: 1  # default",
    ]


def test_a_component_has_its_canonical_type(document: Document) -> None:
    assert section(resolved(document), "optimizer") == [
        "optimizer:",
        "  type: ToyAdam  # base.yaml:5",
        "  learning_rate: null  # default",
        "  betas: [0.8, 0.9]  # base.yaml:6",
    ]


def test_lists_of_sections_have_a_dash_each(document: Document) -> None:
    assert section(resolved(document), "callbacks") == [
        "callbacks:",
        "  - type: ToyPrinter  # run.yaml:4",
        "    every: 5  # run.yaml:5",
        "  - type: ToyPrinter  # run.yaml:6",
        "    every: 2  # --set",
    ]


def test_free_values_keep_their_shape(document: Document) -> None:
    lines = section(resolved(document), "model")
    start = lines.index("    rope:")
    assert lines[start : start + 7] == [
        "    rope:",
        "      type: yarn  # run.yaml:10",
        "      steps:",
        "        - [1, 2]  # run.yaml:10",
        "        - a: x  # run.yaml:10",
        "      none: {}  # run.yaml:10",
        "    eos_token_id: [1, 2]  # run.yaml:11",
    ]


def test_a_list_with_elements_of_several_sources_has_a_line_for_each(toys: None, write: Write) -> None:
    document = load(write(BASE), ["optimizer.betas.1=0.5"])
    assert section(resolved(document), "optimizer")[3:] == [
        "  betas:",
        "    - 0.8  # run.yaml:6",
        "    - 0.5  # --set",
    ]


def test_a_long_list_has_a_line_for_each_element(toys: None, write: Write) -> None:
    prompts = [f"a prompt of some words, number {index}" for index in range(3)]
    document = load(write(f"run_mode: predict\ninput_data: {prompts}\n"))
    lines = resolved(document)
    start = lines.index("input_data:") + 1
    assert lines[start : start + 3] == [f"  - {prompt}  # run.yaml:2" for prompt in prompts]


def test_the_view_decodes_to_the_same_configuration(document: Document, write: Write) -> None:
    config = decode(document)
    assert decode(load(write(to_commented_yaml(resolve(config, document)), "again.yaml"))) == config


def test_comments_are_lined_up(document: Document) -> None:
    lines = to_commented_yaml(resolve(decode(document), document)).splitlines()
    assert len({line.rindex("  # ") for line in lines if "  # " in line}) == 1


def test_defaults_alone_are_marked_as_such(toys: None, write: Write) -> None:
    lines = resolve(RunConfig(), load(write("")))
    assert {line.source for line in lines} == {"", "default"}


def test_sources_by_path(document: Document) -> None:
    found = sources(resolve(decode(document), document))
    assert found["callbacks[1].every"] == "--set"
    assert found["optimizer.type"] == "base.yaml:5"
    assert "optimizer" not in found
