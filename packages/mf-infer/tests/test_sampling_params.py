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
        {"n": 2, "best_of": 5},
        {"n": 3, "num_beams": 3},
        {"min_p": 0},
        {"min_p": 1.0},
        {"typical_p": 0.2},
        {"presence_penalty": -2, "frequency_penalty": 2},
        {"no_repeat_ngram_size": 3},
        {"logit_bias": {5: -100, 7: 2.5}},
        {"bad_words": ["a", [1, 2]]},
        {"min_tokens": 16},
        {"logprobs": 0, "prompt_logprobs": 20},
        {"length_penalty": -1.0, "early_stopping": True},
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
        ("repetition_penalty", 0, "repetition_penalty: 0 can't be used. Allowed: 0.001 to 1000."),
        ("repetition_penalty", -1.3, "repetition_penalty: -1.3 can't be used. Allowed: 0.001 to 1000."),
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
        ("n", 0, "n: 0 can't be used. Allowed: an integer from 1."),
        ("best_of", 0, "best_of: 0 can't be used. Allowed: an integer from 1."),
        ("num_beams", 1.5, "num_beams: 1.5 can't be used. Allowed: an integer from 1."),
        ("length_penalty", math.inf, "length_penalty: inf can't be used. Allowed: -10 to 10."),
        ("early_stopping", "never", "early_stopping: 'never' can't be used. Allowed: True or False."),
        ("min_p", 1.1, "min_p: 1.1 can't be used. Allowed: 0 to 1."),
        ("typical_p", 0, "typical_p: 0 can't be used. Allowed: above 0, up to 1."),
        ("presence_penalty", 2.1, "presence_penalty: 2.1 can't be used. Allowed: -2 to 2."),
        ("frequency_penalty", "x", "frequency_penalty: 'x' can't be used. Allowed: -2 to 2."),
        ("no_repeat_ngram_size", -1, "no_repeat_ngram_size: -1 can't be used. Allowed: an integer from 0."),
        ("min_tokens", -1, "min_tokens: -1 can't be used. Allowed: an integer from 0."),
        ("min_tokens", 17, "min_tokens: 17 can't be used. Allowed: up to max_tokens 16."),
        ("logprobs", 21, "logprobs: 21 can't be used. Allowed: an integer from 0 to 20."),
        ("prompt_logprobs", True, "prompt_logprobs: True can't be used. Allowed: an integer from 0 to 20."),
        (
            "logit_bias",
            {-1: 2},
            "logit_bias: {-1: 2} can't be used. Allowed: token ids from 0 with a number from -10000 to 10000 each.",
        ),
        (
            "bad_words",
            "a",
            "bad_words: 'a' can't be used. Allowed: a list of texts and of lists of tokens, none of them empty.",
        ),
        (
            "bad_words",
            [[]],
            "bad_words: [[]] can't be used. Allowed: a list of texts and of lists of tokens, none of them empty.",
        ),
    ],
)
def test_refuses_by_name(name, value, message):
    with pytest.raises(UserError) as caught:
        SamplingParams(**{name: value})
    assert str(caught.value) == message


def test_numpy_floats_are_numbers():
    assert SamplingParams(temperature=np.float64(0.5)).temperature == 0.5


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n": 3, "best_of": 2}, "best_of: 2 can't be used. Allowed: from n 3."),
        ({"n": 3, "num_beams": 2}, "n: 3 can't be used. Allowed: up to num_beams 2."),
        ({"best_of": 3, "num_beams": 2}, "best_of: 3 can't be used. Allowed: nothing beside num_beams."),
        ({"stop": "a", "num_beams": 2}, "stop: 'a' can't be used. Allowed: nothing beside num_beams."),
        ({"logprobs": 2, "num_beams": 2}, "logprobs: 2 can't be used. Allowed: nothing beside num_beams."),
    ],
)
def test_refuses_what_does_not_go_together(settings, message):
    with pytest.raises(UserError) as caught:
        SamplingParams(**settings)
    assert str(caught.value) == message
