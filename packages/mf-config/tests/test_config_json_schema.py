import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, Literal

import pytest
import yaml
from jsonschema import Draft202012Validator

from mf_config.json_schema import json_schema
from mf_config.problems import Problem, errors_in
from mf_config.schema import ComponentOf, key

ProblemsOf = Callable[..., list[Problem]]


@cache
def toy_validator() -> Draft202012Validator:
    """A validator of JSON Schema for files with the toy components; first asked for by a test that has them."""
    return Draft202012Validator(json_schema())


def complaints(value: Any, validator: Draft202012Validator | None = None) -> list[str]:
    """What a validator says, as `key path: message`."""
    validator = validator or toy_validator()
    return [f"{'.'.join(map(str, error.path))}: {error.message}" for error in validator.iter_errors(value)]


def test_the_schema_is_a_schema_and_plain_json(toys: None) -> None:
    schema = json_schema()
    Draft202012Validator.check_schema(schema)
    assert json.loads(json.dumps(schema, allow_nan=False)) == schema
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"


def test_every_reference_has_its_definition_and_every_definition_is_used(toys: None) -> None:
    schema = json_schema()
    text = json.dumps(schema)
    referred = {part.partition('"')[0] for part in text.split('"#/$defs/')[1:]}
    assert referred == set(schema["$defs"])


def test_every_key_is_described(toys: None) -> None:
    schema = json_schema()
    for inner in [schema, *schema["$defs"].values()]:
        for name, described in inner.get("properties", {}).items():
            assert name == "type" or described["description"]


def test_a_hover_tells_the_facts_of_a_key(toys: None) -> None:
    key = json_schema()["$defs"]["optimizer.ToySgd"]["properties"]["momentum"]
    assert (key["description"], key["default"]) == ("Momentum.", 0.0)
    assert key["markdownDescription"] == (
        "Momentum.\n\n* default: 0.0\n* allowed: from 0\n* has no effect on CPU: the toy has none"
    )


def test_a_type_offers_its_names_with_what_each_is(toys: None) -> None:
    offered = json_schema()["$defs"]["optimizer"]["properties"]["type"]
    assert offered == {"enum": ["ToyAdam", "ToySgd", "toy_adam"], "enumDescriptions": ["Adam.", "Descent.", "Adam."]}


def test_a_wrong_key_of_a_component_is_the_only_complaint(toys: None) -> None:
    assert complaints({"optimizer": {"type": "ToyAdam", "momentum": 0.5}}) == [
        "optimizer: Additional properties are not allowed ('momentum' was unexpected)"
    ]


def test_without_components_any_section_goes(install: Callable[..., None]) -> None:
    install()
    validator = Draft202012Validator(json_schema())
    assert complaints({"trainer": {"type": "Anything", "x": 1}}, validator) == []
    assert complaints({"trainer": 3}, validator) != []


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """A file of another shape."""

    books: int = key("How many.", 3, unit="books", deprecated="since 2: write volumes")
    first: Annotated[Any, ComponentOf("optimizer", "name")] | None = key("By name.", None)
    second: Annotated[Any, ComponentOf("optimizer", otherwise="ToySgd")] | None = key("A descent.", None)
    mixed: bool | Literal["some", "off"] | tuple[dict[str, int], ...] = key("Which.", True)
    inner: "Room | None" = key("A room in the room.", None)


def test_facts_choosers_and_mixed_types(toys: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mf_config.json_schema.RunConfig", Room)
    schema = json_schema()
    Draft202012Validator.check_schema(schema)
    books = schema["properties"]["books"]
    assert books["deprecated"] is True
    assert books["markdownDescription"] == (
        "How many.\n\n* default: 3\n* unit: books\n* deprecated: since 2: write volumes"
    )
    validator = Draft202012Validator(schema)
    for right in (
        {"first": {"name": "ToyAdam", "betas": [0.5]}},
        {"second": {"momentum": 0.5}},
        {"second": {"type": "ToyAdam", "betas": [0.5]}},
        {"mixed": "some"},
        {"mixed": False},
        {"mixed": [{"a": 1}]},
        {"inner": {"inner": {"books": 1}}},
        {"inner": None},
    ):
        assert complaints(right, validator) == []
    for wrong in (
        {"first": {"type": "ToyAdam"}},
        {"first": {"name": "ToyAdam", "momentum": 0.5}},
        {"second": {"betas": [0.5]}},
        {"mixed": "any"},
        {"mixed": [{"a": "b"}]},
        {"inner": {"inner": {"book": 1}}},
    ):
        assert complaints(wrong, validator) != []


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("", ""),
        ("learning_rate: 1e-3", "learning_rate: 1.0e-3"),
        ("learning_rate: 1e-3", "learning_rate: None\nlr_schedule:\n  type: ToyRamp"),
        ("seq_length: 16", "eos_token_id: [1, 2]"),
        ("seq_length: 16", "rope: {type: any, factor: 2.5, list: [1, x]}"),
        ("seq_length: 16", "kind: gated"),
        ("every: 5", "every: 5.0"),
        ("callbacks:", "metric: {type: ToyMetric}\ncallbacks:"),
        ("callbacks:", "metric: [{type: ToyMetric}]\ncallbacks:"),
        ("callbacks:", "runner_wrapper: {scale_sense: 1}\ncallbacks:"),
        ("callbacks:", "runner_wrapper: {scale_sense: {loss_scale_value: 4096}}\ncallbacks:"),
        ("callbacks:", "load_checkpoint: ''\ncallbacks:"),
        ("callbacks:", "input_data: [a, b]\ncallbacks:"),
        ("type: ToyAdam", "type: toy_adam"),
        ("epochs: 2", "epochs: '2'"),
        ("epochs: 2", "epochs: 2.0"),
        ("epochs: 2", "epochs: 4_096"),
        ("epochs: 2", "epochs: '4_096'"),
        ("epochs: 2", "epochs: 1e3"),
        ("epochs: 2", "sink_mode: off"),
        ("epochs: 2", "sink_mode: 'False'"),
        ("learning_rate: 1e-3", "learning_rate: '1.e-3'"),
        ("learning_rate: 1e-3", "learning_rate: .5"),
        ("learning_rate: 1e-3", "learning_rate: .inf"),
        ("learning_rate: 1e-3", "learning_rate: 'null'"),
        ("learning_rate: 1e-3", "learning_rate:"),
        ("learning_rate: 1e-3", "learning_rate: ''"),
        ("device_target: CPU", "device_target: CPU\n  infer_boost: on"),
        ("device_target: CPU", "device_target: CPU\n  mode: '0'"),
        ("device_target: CPU", "device_target: CPU\n  mode: PYNATIVE_MODE"),
        ("device_target: CPU", "device_target: CPU\n  jit_config: None"),
        ("  device_target: CPU\n", ""),
        ("output_dir: ./out", "output_dir: 7"),
        ("callbacks:", "metric: None\ncallbacks:"),
        ("callbacks:", "base_config:\ncallbacks:"),
    ],
)
def test_a_good_file_passes_both(problems_of: ProblemsOf, train_file: str, old: str, new: str) -> None:
    text = train_file.replace(old, new) if old else train_file
    assert errors_in(problems_of(text)) == []
    assert complaints(yaml.safe_load(text)) == []


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("seed: 1", "seed: -1"),
        ("seed: 1", "seed: x"),
        ("seed: 1", "colour: red"),
        ("run_mode: train", "run_mode: fintune"),
        ("device_target: CPU", "device_target: NPU"),
        ("epochs: 2", "epochs: 0"),
        ("epochs: 2", "epochs: 1.5"),
        ("epochs: 2", "epochs: [1]"),
        ("epochs: 2", "epoch: 2"),
        ("type: ToyAdam", "type: ToyAdm"),
        ("type: ToyAdam", "momentum: 0.5\n  type: ToyAdam"),
        ("learning_rate: 1e-3", "learning_rate: 0"),
        ("learning_rate: 1e-3", "learning_rate: fast"),
        ("learning_rate: 1e-3", "betas: [0.9, 1.5]"),
        ("seq_length: 16", "eos_token_id: [1, -2]"),
        ("seq_length: 16", "kind: gatd"),
        ("    dataset_dir: text\n", ""),
        ("trainer:\n  type: ToyTask\n", "trainer:\n  model_name: x\n"),
        ("    type: ToyForCausalLM\n", "    typ: ToyForCausalLM\n"),
        ("epochs: 2", "epochs: two"),
        ("epochs: 2", "epochs: '-2'"),
        ("epochs: 2", "epochs: '010'"),
        ("epochs: 2", "epochs: None"),
        ("epochs: 2", "sink_mode: 1"),
        ("epochs: 2", "sink_mode: Flase"),
        ("epochs: 2", "sink_mode: None"),
        ("device_target: CPU", "device_target: CPU\n  jit_config: 3"),
        ("device_target: CPU", "device_target: CPU\n  infer_boost: maybe"),
        ("device_target: CPU", "device_target: CPU\n  mode: 2"),
        ("callbacks:", "metric: ToyMetric\ncallbacks:"),
        ("callbacks:", "optimizer2: 1\ncallbacks:"),
        ("  - type: ToyPrinter", "  - ToyPrinter\n  - type: ToyPrinter"),
        ("  - type: ToyPrinter\n    every: 5", "  - every: 5"),
    ],
)
def test_a_bad_file_fails_both(problems_of: ProblemsOf, train_file: str, old: str, new: str) -> None:
    assert old in train_file
    text = train_file.replace(old, new)
    assert errors_in(problems_of(text)) != []
    assert complaints(yaml.safe_load(text)) != []
