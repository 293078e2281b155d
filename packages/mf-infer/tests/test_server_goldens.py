"""What clients get of a model with golden texts; the cases' numbers come from Hugging Face transformers."""

import json
import re
from pathlib import Path

import httpx
import openai
import pytest

DATA = Path(__file__).parent / "data"
RECORDS = json.loads((DATA / "tiny_chat" / "golden.json").read_text())["records"]
COMPLETIONS = [record for record in RECORDS if record["kind"] == "completion"]
CHATS = [record for record in RECORDS if record["kind"] == "chat"]
CONVERSATIONS = [
    case for case in json.loads((DATA / "c34-golden-chat.json").read_text()) if case["add_generation_prompt"]
]
STOPS = json.loads((DATA / "c42-requests.json").read_text())
LONG = json.loads((DATA / "c43-prompts.json").read_text())
BAD = json.loads((DATA / "c45-requests.json").read_text())
STREAMS = json.loads((DATA / "c46-requests.json").read_text())
NO_TOP = ({}, {"top_logprobs": 0})
FAULTS = {
    "missing_messages": "messages: ",
    "empty_messages": "messages: ",
    "messages_is_string": "messages: ",
    "message_without_role": "messages[0].role: ",
    "unknown_role": "messages[0].role: ",
    "unknown_model": "model: ",
    "temperature_text": "temperature: ",
    "temperature_negative": "temperature: ",
    "top_p_two": "top_p: ",
    "n_zero": "n: ",
    "stop_number": "stop: ",
    "content_null_user": "messages[0].content: ",
    "invalid_json": "body: ",
    "empty_body": "body: ",
    "body_is_list": "body: ",
    "bad_utf8_body": "body: ",
    "get_on_post_route": "GET /v1/chat/completions: ",
    "unknown_route": "GET /v1/nothing: ",
}
"""How the message about each bad request begins: with what is wrong."""

pytestmark = pytest.mark.golden


@pytest.fixture(scope="module")
def client(chat_server):
    with openai.OpenAI(base_url=f"{chat_server.url}/v1", api_key="none", max_retries=0) as made:
        yield made


@pytest.fixture(scope="module")
def http(chat_server):
    with httpx.Client(base_url=chat_server.url, timeout=60) as made:
        yield made


def events(response):
    assert response.headers["content-type"].startswith("text/event-stream")
    blocks = response.text.removesuffix("\n\n").split("\n\n")
    assert all(block.startswith("data: ") for block in blocks)
    assert blocks[-1] == "data: [DONE]"
    return [json.loads(block.removeprefix("data: ")) for block in blocks[:-1]]


def test_completions_equal_the_golden_ones(client):
    for record in COMPLETIONS:
        found = client.completions.create(model="tiny_chat", prompt=record["prompt"], temperature=0, max_tokens=32)
        choice = found.choices[0]
        assert (choice.text, choice.finish_reason) == (record["text"], record["finish_reason"])
        assert found.usage.model_dump(include=record["usage"].keys()) == record["usage"]
        assert (found.object, found.model) == ("text_completion", "tiny_chat")


def test_several_prompts_as_text_or_tokens_are_answered_in_order(client):
    for key in ("prompt", "prompt_ids"):
        prompts = [record[key] for record in COMPLETIONS[:3]]
        found = client.completions.create(model="tiny_chat", prompt=prompts, temperature=0, max_tokens=32)
        assert [choice.index for choice in found.choices] == [0, 1, 2]
        assert [choice.text for choice in found.choices] == [record["text"] for record in COMPLETIONS[:3]]
        assert found.usage.completion_tokens == sum(len(record["ids"]) for record in COMPLETIONS[:3])


def test_chats_equal_the_golden_ones(client):
    for record in CHATS:
        found = client.chat.completions.create(
            model="tiny_chat", messages=record["messages"], temperature=0, max_tokens=32
        )
        choice = found.choices[0]
        assert (choice.message.content, choice.message.role) == (record["text"], "assistant")
        assert choice.finish_reason == record["finish_reason"]
        assert found.usage.model_dump(include=record["usage"].keys()) == record["usage"]


def test_a_stream_of_the_client_joins_to_the_golden_text(client):
    for record in COMPLETIONS:
        asked = {"model": "tiny_chat", "prompt": record["prompt"], "temperature": 0, "max_tokens": 32}
        with client.completions.create(**asked, stream=True) as stream:
            assert "".join(chunk.choices[0].text for chunk in stream) == record["text"]
    for record in CHATS:
        asked = {"model": "tiny_chat", "messages": record["messages"], "temperature": 0, "max_completion_tokens": 32}
        with client.chat.completions.create(**asked, stream=True) as stream:
            chunks = list(stream)
        assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks) == record["text"]
        # What comes together: characters of several tokens, and an end token.
        assert len(chunks) > len(record["ids"]) / 3


@pytest.mark.parametrize("case", CONVERSATIONS, ids=range(len(CONVERSATIONS)))
def test_a_conversation_has_the_golden_tokens_and_one_bos(http, case):
    found = http.post("/tokenize", json={"messages": case["messages"]}).json()
    assert found["tokens"] == case["ids"]
    assert found["tokens"].count(1) == 1
    assert found["count"] == len(case["ids"])


def test_text_is_tokenized_with_one_bos_and_back(http):
    record = COMPLETIONS[2]
    found = http.post("/tokenize", json={"prompt": record["prompt"]}).json()
    assert found == {"tokens": record["prompt_ids"], "count": len(record["prompt_ids"]), "max_model_len": 256}
    bare = http.post("/tokenize", json={"prompt": record["prompt"], "add_special_tokens": False}).json()["tokens"]
    assert bare == record["prompt_ids"][1:]
    assert http.post("/detokenize", json={"tokens": bare}).json() == {"prompt": record["prompt"]}
    assert http.post("/detokenize", json={"tokens": []}).json() == {"prompt": ""}


def test_a_template_that_refuses_a_role_and_text_that_looks_like_a_template(http):
    body = {"model": "tiny_chat", "max_tokens": 1, "messages": [{"role": "tool", "content": "x"}]}
    refused = http.post("/v1/chat/completions", json=body)
    assert refused.status_code == 400
    assert "unknown role: tool" in refused.json()["error"]["message"]
    tokens = http.post("/tokenize", json={"messages": [{"role": "user", "content": "{{ 7*7 }}"}]}).json()["tokens"]
    assert "{{ 7*7 }}" in http.post("/detokenize", json={"tokens": tokens}).json()["prompt"]


@pytest.mark.parametrize("case", STOPS, ids=range(len(STOPS)))
def test_stop_strings_across_tokens(http, case):
    found = http.post(case["path"], json=case["body"]).json()
    choice = found["choices"][0]
    assert (choice["text"], choice["finish_reason"]) == (case["expected_text"], case["finish_reason"])
    assert found["usage"]["completion_tokens"] == case["completion_tokens"]
    chunks = events(http.post(case["path"], json={**case["body"], "stream": True}))
    assert "".join(chunk["choices"][0]["text"] for chunk in chunks) == case["expected_text"]


def test_length_limits(http):
    def ask(prompt, **settings):
        return http.post("/v1/completions", json={"prompt": prompt, "temperature": 0, "ignore_eos": True, **settings})

    long = ask(LONG["300"])
    assert long.status_code == 400
    assert long.json()["error"] == {
        "message": "prompt: it has 300 tokens, but the model's context holds 256.",
        "type": "invalid_request_error",
        "param": "prompt",
        "code": None,
    }
    for length, tokens in (("250", 6), ("256", 0)):
        found = ask(LONG[length], max_tokens=100).json()
        assert found["usage"]["completion_tokens"] == tokens
        assert found["choices"][0]["finish_reason"] == "length"
    empty = ask(LONG["200"], max_tokens=0).json()
    assert empty["usage"] == {"prompt_tokens": 200, "completion_tokens": 0, "total_tokens": 200}
    assert (empty["choices"][0]["text"], empty["choices"][0]["finish_reason"]) == ("", "length")
    for wrong in (-1, 1.5, "ten"):
        refused = ask("x", max_tokens=wrong)
        assert refused.status_code == 400
        assert refused.json()["error"]["param"] == "max_tokens"
    # generation_config.json says 32.
    assert ask("x").json()["usage"]["completion_tokens"] == 32
    assert ask(LONG["250"]).json()["usage"]["completion_tokens"] == 6


def test_log_probabilities_of_chats(client):
    record = CHATS[0]
    asked = {"model": "tiny_chat", "messages": record["messages"], "temperature": 0, "max_tokens": 32}
    found = client.chat.completions.create(**asked, logprobs=True, top_logprobs=5).choices[0]
    assert found.message.content == record["text"]
    content = found.logprobs.content
    assert [entry.logprob for entry in content] == pytest.approx(record["logprobs"], abs=1e-3)
    assert [top.logprob for top in content[0].top_logprobs] == pytest.approx(
        [logprob for _, logprob in record["top5_first"]], abs=1e-3
    )
    assert bytes(byte for entry in content for byte in entry.bytes).decode(errors="replace") == record["text"]
    plain, none = (client.chat.completions.create(**asked, logprobs=True, **more).choices[0] for more in NO_TOP)
    assert {len(entry.top_logprobs) for entry in plain.logprobs.content + none.logprobs.content} == {0}
    with client.chat.completions.create(**asked, logprobs=True, stream=True) as stream:
        streamed = [entry for chunk in stream if (part := chunk.choices[0].logprobs) for entry in part.content]
    assert streamed == plain.logprobs.content


@pytest.mark.parametrize(
    ("asked", "param"),
    [
        ({"logprobs": True, "top_logprobs": 21}, "top_logprobs"),
        ({"logprobs": True, "top_logprobs": -1}, "top_logprobs"),
        ({"top_logprobs": 2}, "top_logprobs"),
        ({"stream_options": {"include_usage": True}}, "stream_options"),
    ],
)
def test_what_goes_with_nothing_is_refused_by_name(http, asked, param):
    body = {"messages": [{"role": "user", "content": "hello"}], "temperature": 0, "max_tokens": 4, **asked}
    refused = http.post("/v1/chat/completions", json=body)
    assert (refused.status_code, refused.json()["error"]["param"]) == (400, param)
    assert param in refused.json()["error"]["message"]


def test_log_probabilities_of_completions_whole_and_streamed(client):
    record = COMPLETIONS[1]
    asked = {"model": "tiny_chat", "prompt": record["prompt"], "temperature": 0, "max_tokens": 32, "logprobs": 2}
    found = client.completions.create(**asked).choices[0].logprobs
    assert found.token_logprobs == pytest.approx(record["logprobs"], abs=1e-3)
    assert {len(top) for top in found.top_logprobs} == {2}
    assert len(found.tokens) == len(found.text_offset) == len(record["ids"])
    with client.completions.create(**asked, stream=True) as stream:
        parts = [part for chunk in stream if (part := chunk.choices[0].logprobs)]
    for name in ("tokens", "token_logprobs", "top_logprobs", "text_offset"):
        assert [entry for part in parts for entry in getattr(part, name)] == getattr(found, name)


def test_echo_gives_the_prompt_and_its_log_probabilities(client):
    record = COMPLETIONS[1]
    whole = [*record["prompt_ids"], *record["ids"]]
    asked = {"model": "tiny_chat", "temperature": 0, "logprobs": 0, "echo": True}
    found = client.completions.create(prompt=whole, max_tokens=0, **asked).choices[0]
    assert found.text == record["prompt"] + record["text"]
    assert found.logprobs.token_logprobs[0] is None
    assert found.logprobs.token_logprobs[-len(record["ids"]) :] == pytest.approx(record["logprobs"], abs=1e-3)


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("case", BAD, ids=lambda case: case["name"])
def test_bad_requests_get_plain_errors(http, case, stream):
    asked = {"method": case["method"], "url": case["path"], "headers": {"Content-Type": "application/json"}}
    if "body" in case:
        asked["content"] = json.dumps(case["body"] | ({"stream": True} if stream else {}))
    elif "raw_body" in case or "raw_body_hex" in case:
        asked["content"] = case.get("raw_body", "").encode() or bytes.fromhex(case.get("raw_body_hex", ""))
    found = http.request(**asked, timeout=2)
    assert found.status_code in case["status"]
    if found.status_code == 200:
        assert [model["id"] for model in found.json()["data"]] == ["tiny_chat"]
        return
    assert set(found.json()) == {"error"}
    error = found.json()["error"]
    assert set(error) == {"message", "type", "param", "code"}
    assert error["message"].startswith(FAULTS[case["name"]])
    # No path of the server, and no line of its program.
    assert not re.search(r"/(work|root|home|usr|opt|tmp)/|\.py\b|Traceback", error["message"])


def test_after_bad_requests_a_good_one_with_unknown_keys_is_answered(http, chat_server):
    body = {"messages": [{"role": "user", "content": "hello"}], "temperature": 0, "max_tokens": 4}
    extra = {"model": "tiny_chat", "user": "u", "metadata": {"a": 1}, "foo": [1]}
    found = http.post("/v1/chat/completions", json={**body, **extra}).json()
    record = next(record for record in CHATS if record["messages"][0]["content"] == "hello")
    with_golden_ids = http.post("/detokenize", json={"tokens": record["ids"][:4]}).json()["prompt"]
    assert found["choices"][0]["message"]["content"] == with_golden_ids
    assert chat_server.worker.load.used_blocks == 0


@pytest.mark.parametrize("case", STREAMS, ids=range(len(STREAMS)))
def test_streams_and_their_usage(http, case):
    chunks = events(http.post("/v1/chat/completions", json=case["body"]))
    assert {chunk["object"] for chunk in chunks} == {"chat.completion.chunk"}
    assert len({(chunk["id"], chunk["created"]) for chunk in chunks}) == 1
    assert chunks[0]["choices"][0]["delta"]["role"] == "assistant"
    if case["usage"]:
        last = chunks.pop()
        assert (last["choices"], last["usage"]) == ([], case["usage"])
    assert not any("usage" in chunk for chunk in chunks)
    choices = [chunk["choices"][0] for chunk in chunks]
    assert "".join(choice["delta"].get("content", "") for choice in choices) == case["text"]
    assert [choice["finish_reason"] for choice in choices if choice["finish_reason"]] == [case["finish_reason"]]


def test_a_seed_repeats_and_n_answers_have_numbers(client):
    asked = {"model": "tiny_chat", "prompt": "The cat", "max_tokens": 12, "temperature": 1, "seed": 3}
    first = client.completions.create(**asked, n=2)
    texts = [choice.text for choice in first.choices]
    assert [choice.index for choice in first.choices] == [0, 1]
    assert len(set(texts)) == 2
    assert [choice.text for choice in client.completions.create(**asked, n=2).choices] == texts
    streamed = ["", ""]
    with client.completions.create(**asked, n=2, stream=True) as stream:
        for chunk in stream:
            streamed[chunk.choices[0].index] += chunk.choices[0].text
    assert streamed == texts
    assert client.completions.create(**asked, best_of=3).choices[0].finish_reason in ("stop", "length")
