import json
from dataclasses import dataclass

import pytest

from mf_config.problems import UserError
from mf_infer.loading.defaults import GenerationDefaults
from mf_infer.sampling_params import SamplingParams


@dataclass
class Keys:
    max_decode_length: int = 20
    max_length: int | None = None
    max_new_tokens: int | None = None
    min_length: int = 0
    min_new_tokens: int | None = None
    num_beams: int = 1
    do_sample: bool = True
    temperature: float = 0.8
    top_k: int = 5
    top_p: float = 0.9
    repetition_penalty: float = 1.1


def of_keys(prompt_tokens=12, given=(), **keys):
    return GenerationDefaults.of_keys(Keys(**keys)).params(prompt_tokens, 100, dict(given))


def test_settings_come_from_the_configuration():
    assert of_keys() == SamplingParams(temperature=0.8, top_k=5, top_p=0.9, repetition_penalty=1.1, max_tokens=8)


def test_without_do_sample_it_is_greedy_unless_a_temperature_is_given():
    assert of_keys(do_sample=False).temperature == 0
    assert of_keys(do_sample=False, given={"temperature": 0.5}).temperature == 0.5


def test_beams_are_not_drawn():
    assert (of_keys(num_beams=3).num_beams, of_keys(num_beams=3).temperature) == (3, 0)


def test_given_settings_win():
    given = {"temperature": 0.0, "top_k": 0, "top_p": 1.0, "max_tokens": 99, "seed": 4, "stop": ["."]}
    assert of_keys(given=given) == SamplingParams(repetition_penalty=1.1, **given)


@pytest.mark.parametrize(
    ("keys", "most"),
    [
        ({}, 8),
        ({"max_length": 15}, 3),
        ({"max_new_tokens": 30}, 30),
        ({"max_length": 15, "max_new_tokens": 30}, 30),
    ],
)
def test_of_the_lengths_the_most_particular_one_counts(keys, most):
    assert of_keys(**keys).max_tokens == most


@pytest.mark.parametrize(
    ("keys", "least"),
    [({}, 0), ({"min_length": 15}, 3), ({"min_length": 5}, 0), ({"min_length": 15, "min_new_tokens": 6}, 6)],
)
def test_the_least_length_counts_the_prompt_too(keys, least):
    assert of_keys(**keys).min_tokens == least


def test_a_least_length_beyond_the_most_tokens_is_cut():
    assert of_keys(min_new_tokens=50).min_tokens == 8


@pytest.mark.parametrize(("name", "keys"), [("max_decode_length", {}), ("max_length", {"max_length": 20})])
def test_a_prompt_that_fills_the_length_is_refused_unless_max_tokens_is_given(name, keys):
    with pytest.raises(UserError) as caught:
        of_keys(20, **keys)
    assert str(caught.value) == (f"{name}: 20 leaves no room for an answer to a prompt of 20 tokens. Allowed: from 21.")
    assert of_keys(20, {"max_tokens": 3}, **keys).max_tokens == 3
    assert of_keys(19, **keys).max_tokens == 1


def of_file(tmp_path, content):
    file = tmp_path / "generation_config.json"
    file.write_text(content if isinstance(content, str) else json.dumps(content))
    return GenerationDefaults.of_file(file)


def test_a_file_gives_its_settings(tmp_path):
    found = of_file(
        tmp_path,
        {
            "do_sample": True,
            "temperature": 0.6,
            "top_k": 20,
            "top_p": 0.95,
            "repetition_penalty": 1.05,
            "max_new_tokens": 32,
            "eos_token_id": [5, 7],
            "transformers_version": "4.51.0",
            "min_p": None,
        },
    )
    assert found.end_ids == (5, 7)
    assert found.params(10, 100, {}) == SamplingParams(
        temperature=0.6, top_k=20, top_p=0.95, repetition_penalty=1.05, max_tokens=32
    )


def test_a_file_without_do_sample_is_greedy_and_without_a_length_the_context_counts(tmp_path):
    found = of_file(tmp_path, {"temperature": 0.6, "eos_token_id": 4})
    assert found.end_ids == (4,)
    assert found.params(10, 100, {}) == SamplingParams(temperature=0, max_tokens=90)


@pytest.mark.parametrize(
    ("content", "message"), [("{", "can't be read"), ("[1]", r"is no JSON object\. Allowed: the settings")]
)
def test_a_broken_file_is_named(tmp_path, content, message):
    with pytest.raises(UserError, match=rf"generation_config\.json: {message}"):
        of_file(tmp_path, content)
