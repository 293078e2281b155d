import json
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import yaml

from mf_config.json_schema import json_schema
from mf_config.problems import Problem, errors_in

ProblemsOf = Callable[..., list[Problem]]

_TYPES = {"object": dict, "array": list, "string": str, "boolean": bool}
_KEYWORDS = {
    "$schema",
    "title",
    "description",
    "type",
    "properties",
    "required",
    "additionalProperties",
    "items",
    "enum",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "anyOf",
    "oneOf",
    "pattern",
}


def has_type(value: Any, name: str) -> bool:
    if name == "integer":
        return isinstance(value, int | float) and not isinstance(value, bool) and value == int(value)
    if name == "number":
        return isinstance(value, int | float) and not isinstance(value, bool)
    return isinstance(value, _TYPES[name])


def accepts(schema: dict[str, Any], value: Any) -> bool:
    """JSON Schema (2020-12) for the keywords that mf_config writes."""
    names = schema.get("type", [])
    names = [names] if isinstance(names, str) else names
    if names and not any(has_type(value, name) for name in names):
        return False
    if "enum" in schema and not any(value == one and type(value) is type(one) for one in schema["enum"]):
        return False
    if "anyOf" in schema and not any(accepts(choice, value) for choice in schema["anyOf"]):
        return False
    if "oneOf" in schema and sum(accepts(choice, value) for choice in schema["oneOf"]) != 1:
        return False
    if isinstance(value, str) and not re.search(schema.get("pattern", ""), value):
        return False
    if isinstance(value, list):
        return all(accepts(schema.get("items", {}), item) for item in value)
    if isinstance(value, dict):
        return accepts_members(schema, value)
    return has_bounds(schema, value) if has_type(value, "number") else True


def accepts_members(schema: dict[str, Any], value: dict[str, Any]) -> bool:
    if any(name not in value for name in schema.get("required", [])):
        return False
    others = schema.get("additionalProperties", True)
    for name, member in value.items():
        expected = schema.get("properties", {}).get(name, others)
        if expected is False or (isinstance(expected, dict) and not accepts(expected, member)):
            return False
    return True


def has_bounds(schema: dict[str, Any], value: float) -> bool:
    above = "exclusiveMinimum" not in schema or value > schema["exclusiveMinimum"]
    return above and schema.get("minimum", value) <= value <= schema.get("maximum", value)


def subschemas(schema: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield schema
    nested = [*schema.get("properties", {}).values(), *schema.get("anyOf", []), *schema.get("oneOf", [])]
    nested += [schema[name] for name in ("items", "additionalProperties") if isinstance(schema.get(name), dict)]
    for inner in nested:
        yield from subschemas(inner)


def test_the_schema_is_plain_json_in_known_keywords(toys: None) -> None:
    schema = json_schema()
    assert json.loads(json.dumps(schema)) == schema
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    for inner in subschemas(schema):
        assert set(inner) <= _KEYWORDS
        if "properties" in inner:
            assert set(inner["properties"]).issuperset(inner.get("required", []))
        assert isinstance(inner.get("additionalProperties", False), bool | dict)


def test_every_key_is_described(toys: None) -> None:
    for inner in subschemas(json_schema()):
        for name, key in inner.get("properties", {}).items():
            assert name == "type" or key["description"]


def test_without_components_any_section_goes(install: Callable[..., None]) -> None:
    install()
    schema = json_schema()
    assert accepts(schema["properties"]["trainer"], {"type": "Anything", "x": 1})
    assert not accepts(schema["properties"]["trainer"], 3)


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
    ],
)
def test_a_good_file_passes_both(problems_of: ProblemsOf, train_file: str, old: str, new: str) -> None:
    text = train_file.replace(old, new) if old else train_file
    assert errors_in(problems_of(text)) == []
    assert accepts(json_schema(), yaml.safe_load(text))


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
        ("trainer:\n  type: ToyTask\n", ""),
        ("  arch:\n    type: ToyForCausalLM\n", ""),
        ("  - type: ToyPrinter\n    every: 5", "  - every: 5"),
    ],
)
def test_a_bad_file_fails_both(problems_of: ProblemsOf, train_file: str, old: str, new: str) -> None:
    assert old in train_file
    text = train_file.replace(old, new)
    assert errors_in(problems_of(text)) != []
    assert not accepts(json_schema(), yaml.safe_load(text))


def test_a_file_with_a_base_may_leave_out_what_the_base_has(toys: None) -> None:
    schema = json_schema()
    assert accepts(schema, {"base_config": "base.yaml", "seed": 3})
    assert accepts(schema, {"base_config": ["a.yaml", "b.yaml"]})
    assert not accepts(schema, {"seed": 3})
    assert not accepts(schema, {"base_config": 3})
