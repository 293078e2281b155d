import math

import numpy as np
import pytest

from mf_config.problems import UserError
from mf_infer.sampling_params import SamplingParams


def test_defaults_draw_sixteen_tokens_without_filters():
    params = SamplingParams()
    assert (params.temperature, params.top_k, params.top_p, params.repetition_penalty) == (1.0, 0, 1.0, 1.0)
    assert (params.seed, params.max_tokens, params.ignore_eos) == (None, 16, False)
    assert (tuple(params.stop_strings), tuple(params.stop_token_ids)) == ((), ())


@pytest.mark.parametrize(
    "setting",
    [
        {"temperature": 0},
        {"temperature": 0.0},
        {"temperature": 2.5},
        {"top_k": -1},
        {"top_k": 100_000},
        {"top_p": 1},
        {"top_p": 1e-9},
        {"repetition_penalty": 0.7},
        {"seed": 0},
        {"seed": 2**64 - 1},
        {"max_tokens": 0},
        {"stop": "end"},
        {"stop": ["a", "b"]},
        {"stop_token_ids": (7,)},
        {"ignore_eos": True},
    ],
)
def test_takes_values_up_to_the_edges(setting):
    SamplingParams(**setting)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("temperature", -0.1, "temperature: -0.1 can't be used. Allowed: from 0."),
        ("temperature", math.nan, "temperature: nan can't be used. Allowed: from 0."),
        ("temperature", math.inf, "temperature: inf can't be used. Allowed: from 0."),
        ("temperature", "hot", "temperature: 'hot' can't be used. Allowed: from 0."),
        ("temperature", True, "temperature: True can't be used. Allowed: from 0."),
        ("top_k", 2.5, "top_k: 2.5 can't be used. Allowed: an integer from -1."),
        ("top_k", "many", "top_k: 'many' can't be used. Allowed: an integer from -1."),
        ("top_k", -2, "top_k: -2 can't be used. Allowed: an integer from -1."),
        ("top_p", 0, "top_p: 0 can't be used. Allowed: above 0, up to 1."),
        ("top_p", -0.5, "top_p: -0.5 can't be used. Allowed: above 0, up to 1."),
        ("top_p", 1.01, "top_p: 1.01 can't be used. Allowed: above 0, up to 1."),
        ("top_p", math.nan, "top_p: nan can't be used. Allowed: above 0, up to 1."),
        ("repetition_penalty", 0, "repetition_penalty: 0 can't be used. Allowed: above 0."),
        ("repetition_penalty", -1.3, "repetition_penalty: -1.3 can't be used. Allowed: above 0."),
        ("seed", 1.5, "seed: 1.5 can't be used. Allowed: an integer from 0 to 2^64 - 1."),
        ("seed", -1, "seed: -1 can't be used. Allowed: an integer from 0 to 2^64 - 1."),
        ("seed", 2**64, "seed: 18446744073709551616 can't be used. Allowed: an integer from 0 to 2^64 - 1."),
        ("max_tokens", -1, "max_tokens: -1 can't be used. Allowed: an integer from 0."),
        ("max_tokens", 1.5, "max_tokens: 1.5 can't be used. Allowed: an integer from 0."),
        ("max_tokens", "ten", "max_tokens: 'ten' can't be used. Allowed: an integer from 0."),
        ("stop", "", "stop: '' can't be used. Allowed: text that is not empty, or a list of it."),
        ("stop", ["a", ""], "stop: ['a', ''] can't be used. Allowed: text that is not empty, or a list of it."),
        ("stop", [3], "stop: [3] can't be used. Allowed: text that is not empty, or a list of it."),
        ("stop", 3, "stop: 3 can't be used. Allowed: text that is not empty, or a list of it."),
        ("stop_token_ids", 3, "stop_token_ids: 3 can't be used. Allowed: a list of integers from 0."),
        ("stop_token_ids", [-3], "stop_token_ids: [-3] can't be used. Allowed: a list of integers from 0."),
        ("ignore_eos", 1, "ignore_eos: 1 can't be used. Allowed: True or False."),
    ],
)
def test_refuses_by_name(name, value, message):
    with pytest.raises(UserError) as caught:
        SamplingParams(**{name: value})
    assert str(caught.value) == message


def test_numpy_floats_are_numbers():
    assert SamplingParams(temperature=np.float64(0.5)).temperature == 0.5
