"""Sixty-four clients of the real kind at a real model: each gets the tokens of Hugging Face transformers, or leaves."""

import asyncio
import json
import random
import time
from pathlib import Path

import openai
import pytest

RECORDS = json.loads((Path(__file__).parent / "data" / "tiny_chat" / "golden.json").read_text())["records"]
STREAMS = 64

pytestmark = pytest.mark.golden


async def stream_of(client, record):
    asked = {"model": "tiny_chat", "temperature": 0, "max_tokens": 32, "stream": True}
    if record["kind"] == "completion":
        return await client.completions.create(prompt=record["prompt"], **asked)
    return await client.chat.completions.create(messages=record["messages"], **asked)


def text_in(choice):
    return choice.text if hasattr(choice, "text") else choice.delta.content or ""


async def answer(client, number, chance):
    """The text and the reason of one stream; None of each fourth, whose client leaves before the end."""
    record = RECORDS[number % len(RECORDS)]
    leaves = chance.randrange(1, 6) if number % 4 == 3 else None
    pause_s = 0.02 if number % 4 == 2 else 0
    await asyncio.sleep(chance.random() * 0.5)
    text, reason = "", None
    async with await stream_of(client, record) as stream:
        count = 0
        async for chunk in stream:
            await asyncio.sleep(pause_s)
            text += text_in(chunk.choices[0])
            reason = chunk.choices[0].finish_reason or reason
            count += 1
            if count == leaves:
                return None
    return text, reason


async def run_all(url):
    chance = random.Random(7)
    async with openai.AsyncOpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0, timeout=120) as client:
        return await asyncio.gather(*(answer(client, number, chance) for number in range(STREAMS)))


def test_no_token_depends_on_what_is_computed_beside_it(chat_server):
    found = asyncio.run(run_all(chat_server.url))
    expected = [RECORDS[number % len(RECORDS)] for number in range(STREAMS)]
    assert [one for one in found if one is not None] == [
        (record["text"], record["finish_reason"])
        for record, one in zip(expected, found, strict=True)
        if one is not None
    ]
    assert sum(one is None for one in found) == STREAMS // 4
    end = time.monotonic() + 5
    while chat_server.worker.load.used_blocks and time.monotonic() < end:
        time.sleep(0.01)
    load = chat_server.worker.load
    assert (load.running, load.waiting, load.used_blocks) == (0, 0, 0)
