"""A model whose matrices two processes divide, against the tokens that the whole model gives."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from mf_config.problems import UserError
from mf_infer.llm import ON_CPU
from mf_infer.load_options import LoadOptions
from mf_infer.processes.followers import start_followers
from mf_infer.sampling_params import SamplingParams

DATA = Path(__file__).parent / "data"
GOLDEN = json.loads((DATA / "llama_gqa" / "golden.json").read_text())

PROGRAM = """
import json, sys
from mf_infer import LLM, LoadOptions, SamplingParams

path, prompts = sys.argv[1], [{"prompt_token_ids": ids} for ids in json.loads(sys.argv[2])]
llm = LLM(path, options=LoadOptions(tensor_parallel=2, max_batch_size=4))
greedy = SamplingParams(temperature=0, max_tokens=12)
outputs = llm.generate(prompts, greedy)
beams = llm.generate(prompts[0], SamplingParams(num_beams=2, max_tokens=6))
heads = llm.engine._runner._runner.cache.kv_heads
print(json.dumps([heads, [out.outputs[0].token_ids for out in outputs], beams[0].outputs[0].token_ids]))
"""


def test_two_processes_give_the_tokens_of_one(llama, tmp_path):
    prompts = [*GOLDEN["prompts"], [3, 7]]
    words = [sys.executable, "-c", PROGRAM, str(DATA / "llama_gqa"), json.dumps(prompts)]
    result = subprocess.run(words, capture_output=True, text=True, cwd=tmp_path, timeout=300, check=False)
    assert result.returncode == 0, result.stderr
    heads, tokens, beam = json.loads(result.stdout.splitlines()[-1])
    asked = [{"prompt_token_ids": ids} for ids in prompts]
    expected = llama.generate(asked, SamplingParams(temperature=0, max_tokens=12))
    assert tokens == [output.outputs[0].token_ids for output in expected]
    assert beam == llama.generate(asked[0], SamplingParams(num_beams=2, max_tokens=6))[0].outputs[0].token_ids
    assert heads == llama.engine._runner.cache.kv_heads // 2


def test_options_that_do_not_go_with_several_processes_are_named(monkeypatch):
    with pytest.raises(UserError, match=r"tensor_parallel: 0 can't be used\. Allowed: from 1\."):
        LoadOptions(tensor_parallel=0)
    with pytest.raises(UserError, match=r"weight_type: 'int8' can't be used\. Allowed: float32 with tensor_parallel"):
        LoadOptions(tensor_parallel=2, weight_type="int8")
    for name, value in {"MS_ROLE": "MS_WORKER", "RANK_ID": "1", "MS_WORKER_NUM": "2"}.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(UserError, match=r"tensor_parallel: this process is one of several already\."):
        start_followers(2, ON_CPU)
