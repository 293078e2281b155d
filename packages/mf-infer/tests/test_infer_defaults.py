from dataclasses import dataclass

import pytest

from mf_config.problems import UserError
from mf_infer.defaults import with_defaults
from mf_infer.sampling_params import SamplingParams


@dataclass
class Keys:
    max_decode_length: int = 20
    do_sample: bool = True
    temperature: float = 0.8
    top_k: int = 5
    top_p: float = 0.9
    repetition_penalty: float = 1.1


def test_settings_come_from_the_configuration():
    assert with_defaults(Keys(), 12, {}) == SamplingParams(
        temperature=0.8, top_k=5, top_p=0.9, repetition_penalty=1.1, max_tokens=8
    )


def test_without_do_sample_it_is_greedy_unless_a_temperature_is_given():
    assert with_defaults(Keys(do_sample=False), 1, {}).temperature == 0
    assert with_defaults(Keys(do_sample=False), 1, {"temperature": 0.5}).temperature == 0.5


def test_given_settings_win():
    given = {"temperature": 0.0, "top_k": 0, "top_p": 1.0, "max_tokens": 99, "seed": 4, "stop": ["."]}
    assert with_defaults(Keys(), 12, given) == SamplingParams(repetition_penalty=1.1, **given)


def test_a_prompt_that_fills_max_decode_length_is_refused_unless_max_tokens_is_given():
    with pytest.raises(UserError) as caught:
        with_defaults(Keys(), 20, {})
    assert str(caught.value) == (
        "max_decode_length: 20 leaves no room for an answer to a prompt of 20 tokens. Allowed: from 21."
    )
    assert with_defaults(Keys(), 20, {"max_tokens": 3}).max_tokens == 3
    assert with_defaults(Keys(), 19, {}).max_tokens == 1
