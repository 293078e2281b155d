"""Many clients at a time, of which some are slow, some leave, and some send nonsense."""

import asyncio
import json
import random

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mf_infer.sampling_params import SamplingParams

STREAMS = 64
ANSWER = 24
HEAD = b"POST %s HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
PATHS = ("/v1/chat/completions", "/v1/completions", "/tokenize", "/detokenize")


def body_of(number):
    """Each asks for something else, some in ways that compete for blocks."""
    body = {"prompt": f"The cat {number % 40} " * (1 + number % 3), "max_tokens": ANSWER, "stream": True}
    return body | ({"temperature": 0} if number % 2 else {"temperature": 1.0, "seed": number})


def expected_texts(model):
    texts = []
    for body in map(body_of, range(STREAMS)):
        params = SamplingParams(max_tokens=ANSWER, temperature=body["temperature"], top_p=1.0, seed=body.get("seed"))
        texts.append(model.generate(body["prompt"], params)[0].outputs[0].text)
    return texts


async def read_stream(client, number, chance):
    """The text of an answer; None where the client has left before its end."""
    leaves = chance.randrange(1, 8) if number % 4 == 3 else None
    pause_s = 0.02 if number % 4 == 2 else 0
    text, count = "", 0
    async with client.stream("POST", "/v1/completions", json=body_of(number)) as answer:
        assert answer.status_code == 200
        async for line in answer.aiter_lines():
            await asyncio.sleep(pause_s)
            if line.startswith("data: {"):
                text += json.loads(line.removeprefix("data: "))["choices"][0]["text"]
                count += 1
            if count == leaves:
                return None
            if line == "data: [DONE]":
                return text
    raise AssertionError("the stream has no end")


async def send_nonsense(client, chance, count):
    for _ in range(count):
        path, content = chance.choice(PATHS), bytes(chance.randrange(32, 127) for _ in range(chance.randrange(40)))
        assert (await client.post(path, content=content)).status_code == 400
        await asyncio.sleep(0.01)


async def run_all(url, chance):
    limits = httpx.Limits(max_connections=None)
    async with httpx.AsyncClient(base_url=url, timeout=60, limits=limits) as client:
        streams = [read_stream(client, number, chance) for number in range(STREAMS)]
        texts = await asyncio.gather(*streams, send_nonsense(client, chance, 30))
    return texts[:-1]


async def idle(worker):
    for _ in range(400):
        load = worker.load
        if (load.running, load.waiting, load.used_blocks) == (0, 0, 0):
            return True
        await asyncio.sleep(0.01)
    return False


@pytest.mark.parametrize("blocks", [400, 19])
def test_no_answer_is_mixed_up_and_no_block_is_lost(new_model, serve, blocks):
    expected = expected_texts(new_model(rows=8, blocks=blocks))
    with serve(new_model(rows=8, blocks=blocks, step_s=0.0005)) as served:
        texts = asyncio.run(run_all(served.url, random.Random(blocks)))
        assert asyncio.run(idle(served.worker))
        assert (served.worker.load.preemptions > 0) == (blocks == 19)
    assert sum(text is None for text in texts) == STREAMS // 4
    assert [text for text in texts if text is not None] == [
        right for text, right in zip(texts, expected, strict=True) if text is not None
    ]


@pytest.fixture(scope="module")
def http(fake_server):
    with httpx.Client(base_url=fake_server.url) as made:
        yield made


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=4),
    max_leaves=10,
)
KEYS = ("messages", "prompt", "max_tokens", "stream", "temperature", "n", "stop", "logprobs", "tokens", "tools", "echo")
FURTHER = ("tool_choice", "parallel_tool_calls", "response_format", "stream_options")
SAYS = st.fixed_dictionaries(
    {"role": st.sampled_from(["system", "user", "assistant", "tool"])},
    optional={"content": st.text(max_size=6) | JSON, "tool_calls": JSON, "name": JSON},
)
NEARLY = st.fixed_dictionaries(
    {},
    optional={
        **dict.fromkeys(KEYS + FURTHER, JSON),
        "prompt": st.text(max_size=6) | st.lists(st.integers(-1, 1000), max_size=4),
        "messages": st.just([{"role": "user", "content": "x"}]) | st.lists(SAYS, max_size=3) | JSON,
        "max_tokens": st.integers(-1, 3),
        "logit_bias": st.dictionaries(st.integers(-1, 2000).map(str), st.floats(-100, 100), max_size=2),
        "bad_words": st.lists(st.text(max_size=3), max_size=2),
        "num_beams": st.integers(0, 3),
    },
)
BODIES = (
    st.binary(max_size=60)
    | JSON.map(lambda value: json.dumps(value).encode())
    | NEARLY.map(lambda value: json.dumps({"max_tokens": 2, **value}).encode())
    | st.sampled_from([b'{"prompt": "\\ud800"}', b'{"prompt": ' + b"[" * 900, b'{"temperature": 1e999, "prompt": "x"}'])
)


@pytest.mark.property
@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(path=st.sampled_from(PATHS), content=BODIES)
def test_any_body_is_answered_or_refused(fake_server, http, path, content):
    found = http.post(path, content=content)
    if found.headers["content-type"].startswith("text/event-stream"):
        assert found.text.endswith("data: [DONE]\n\n")
        return
    answer = found.json()
    assert found.status_code in (200, 400, 404, 413)
    assert ("error" in answer) == (found.status_code != 200)
    assert fake_server.worker.load.used_blocks == 0


def test_bodies_that_nest_too_deeply_are_refused(http):
    for depth in (100, *range(860, 980, 2)):
        content = b'{"prompt": "x", "temperature": ' + b"[" * depth + b"]" * depth + b"}"
        assert http.post("/v1/completions", content=content).status_code in (400, 413)


def test_what_is_no_request_at_all_does_not_disturb_the_next(fake_server, http):
    host, port = fake_server.url.removeprefix("http://").split(":")

    async def send(content):
        reader, writer = await asyncio.open_connection(host, int(port))
        writer.write(content)
        writer.write_eof()
        await reader.read()
        writer.close()

    for content in (b"\x00\xff", b"GET", HEAD % (b"/v1/completions", 500) + b'{"prompt"', b"POST / HTTP/9.9\r\n\r\n"):
        asyncio.run(asyncio.wait_for(send(content), 5))
    assert http.get("/health").status_code == 200
