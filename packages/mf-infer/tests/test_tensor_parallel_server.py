"""The command line with a model that two processes compute: it serves, drains, and ends where one of them dies."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import httpx
import openai
import pytest

CHAT = Path(__file__).parent / "data" / "tiny_chat"
RECORDS = json.loads((CHAT / "golden.json").read_text())["records"]
PROGRAM = [sys.executable, "-c", "import sys; from mf_infer.cli import main; sys.exit(main(sys.argv[1:]))"]
TWO = [str(CHAT), "--tensor-parallel", "2"]
STREAMS = 8
LONG = {"prompt": "The cat", "max_tokens": 200, "temperature": 0, "extra_body": {"ignore_eos": True}}

pytestmark = pytest.mark.slow


@contextmanager
def server(folder: Path) -> Iterator[tuple[subprocess.Popen[str], openai.OpenAI]]:
    command = [*PROGRAM, "serve", *TWO, "--port", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, cwd=folder) as program:
        try:
            address = next(filter(None, (re.search(r"serving .* on (http\S+)", line) for line in program.stderr)))
            with openai.OpenAI(base_url=f"{address[1]}/v1", api_key="none", max_retries=0) as client:
                yield program, client
        finally:
            program.kill()


def children(program: subprocess.Popen[str]) -> list[int]:
    """The scheduler, then the process with the other part of the model."""
    return [int(word) for word in Path(f"/proc/{program.pid}/task/{program.pid}/children").read_text().split()]


def all_end(processes: list[int]) -> bool:
    # The scheduler waits for half a minute for a process that it has lost.
    for _ in range(900):
        if not any(Path(f"/proc/{process}").exists() for process in processes):
            return True
        time.sleep(0.1)
    return False


def text_of(client: openai.OpenAI, number: int) -> str:
    record = RECORDS[number % len(RECORDS)]
    asked = {"model": "tiny_chat", "prompt": record["prompt"], "max_tokens": 32, "temperature": 0}
    return "".join(chunk.choices[0].text for chunk in client.completions.create(**asked, stream=True))


def used_blocks(client: openai.OpenAI) -> float:
    text = httpx.get(str(client.base_url).replace("/v1/", "/metrics")).text
    return float(re.search(r"^mf_infer_cache_blocks_used (\S+)$", text, re.MULTILINE)[1])


def test_it_serves_and_lets_running_requests_end(tmp_path):
    with server(tmp_path) as (program, client):
        others = children(program)
        with ThreadPoolExecutor(STREAMS) as pool:
            texts = list(pool.map(lambda number: text_of(client, number), range(STREAMS)))
        assert texts == [RECORDS[number % len(RECORDS)]["text"] for number in range(STREAMS)]
        with client.completions.create(model="tiny_chat", **LONG, stream=True) as left:
            next(iter(left))
        deadline = time.monotonic() + 20
        while used_blocks(client) and time.monotonic() < deadline:
            time.sleep(0.1)
        assert used_blocks(client) == 0
        stream = client.completions.create(model="tiny_chat", **LONG, stream=True)
        next(iter(stream))
        program.send_signal(signal.SIGTERM)
        assert [chunk.choices[0].finish_reason for chunk in stream][-1] == "length"
        rest = program.stderr.read()
        assert program.wait(30) == 0
        assert "Traceback" not in rest
        assert "died" not in rest
        assert all_end(others)


def test_where_a_process_dies_the_others_end_and_say_so(tmp_path):
    with server(tmp_path) as (program, client):
        others = children(program)
        stream = client.completions.create(model="tiny_chat", **LONG, stream=True)
        next(iter(stream))
        os.kill(others[-1], signal.SIGKILL)
        with pytest.raises((httpx.HTTPError, openai.APIError)):
            list(stream)
        assert program.wait(30) == 1
        said = program.stderr.read()
        assert f"process {others[-1]}, which computes a part of the model, has died (status -9)" in said
        assert all_end(others)


def test_where_the_first_process_dies_no_other_stays(tmp_path):
    with server(tmp_path) as (program, _):
        others = children(program)
        program.kill()
        assert all_end(others)


def test_generate_prints_text_and_ends_in_order(tmp_path):
    words = ["generate", *TWO, "--prompt", RECORDS[0]["prompt"], "--temperature", "0", "--max-tokens", "32"]
    done = subprocess.run([*PROGRAM, *words], capture_output=True, text=True, cwd=tmp_path, timeout=300, check=False)
    assert (done.returncode, done.stdout) == (0, RECORDS[0]["text"] + "\n")
    assert done.stderr.startswith(f"loaded {CHAT}, ")
    assert "Fatal" not in done.stderr
    assert "WARNING" not in done.stderr


def test_bench_measures(tmp_path):
    words = ["bench", *TWO, "--concurrency", "2", "--requests", "2", "--prompt-tokens", "8", "--answer-tokens", "4"]
    done = subprocess.run([*PROGRAM, *words, "--json"], capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.returncode == 0
    assert json.loads(done.stdout)["tokens_per_second"] > 0
