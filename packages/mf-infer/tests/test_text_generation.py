"""A network that a program holds writes what the same network writes from a folder, and stays as it is."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from mf_infer import SamplingParams
from mf_infer.text_generation import write
from mf_models.networks import parameters
from mf_models.pretrained import load

DATA = Path(__file__).parent / "data"
PROMPTS = ([5, 6, 7], [400, 401, 402, 403, 9])


@dataclass
class Job:
    model: Any
    config: Any
    tokenizer: Any
    prompts: Any
    max_new_tokens: int


def test_a_live_network_writes_as_one_from_a_folder(chat):
    config, cell = load(DATA / "tiny_chat")
    cell.set_train(False)
    before = {name: parameter.asnumpy().copy() for name, parameter in parameters(cell).items()}
    greedy = replace(config, do_sample=False)
    texts = write(Job(cell, greedy, chat.tokenizer, PROMPTS, max_new_tokens=6))
    params = SamplingParams(temperature=0.0, max_tokens=6)
    expected = chat.generate([{"prompt_token_ids": list(ids)} for ids in PROMPTS], params)
    assert texts == [output.outputs[0].text for output in expected]
    assert all(texts)
    after = parameters(cell)
    assert list(after) == list(before)
    assert all(np.array_equal(after[name].asnumpy(), array) for name, array in before.items())
