import pytest

from mf_config.problems import UserError
from mf_infer.sampling_params import SamplingParams
from mf_infer.streams import streams

PROMPTS = ("The cat", "A long time ago", "x")


def requests(model, **settings):
    return [model.request(prompt, SamplingParams(temperature=0, max_tokens=9, **settings)) for prompt in PROMPTS]


def test_texts_come_in_the_order_of_their_prompts_and_are_computed_together(new_model):
    model = new_model()
    expected = [
        output.outputs[0].text for output in model.generate(PROMPTS, SamplingParams(temperature=0, max_tokens=9))
    ]
    found: list[list[str]] = []
    for pieces in streams(model.engine, requests(model)):
        first = next(pieces)
        if not found:
            assert model.engine.load.running == len(PROMPTS)
        found.append([first, *pieces])
    assert ["".join(pieces) for pieces in found] == expected
    assert len(found[0]) > 5
    assert model.engine.load.used_blocks == 0


def test_whoever_stops_reading_ends_the_requests(new_model):
    model = new_model()
    reading = streams(model.engine, requests(model))
    next(next(reading))
    assert model.engine.load.running == 3
    reading.close()
    assert (model.engine.load.running, model.engine.load.used_blocks) == (0, 0)


def test_streams_give_one_answer_each(new_model):
    model = new_model()
    with pytest.raises(UserError, match=r"n: 2 can't be used\. Allowed: 1 for a stream\."):
        next(streams(model.engine, requests(model, n=2)))
    assert not model.engine.has_work
