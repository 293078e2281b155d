"""The server with a model that computes nothing: limits, errors, connections, numbers."""

import contextlib
import json
import logging
import re
import signal
import socket
import time
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from mf_infer.sampling_params import SamplingParams

LONG_TASK = {"prompt": "x", "max_tokens": 200, "temperature": 0, "stream": True}


@contextlib.contextmanager
def connected(served, **options):
    with httpx.Client(base_url=served.url, timeout=20, **options) as made:
        yield made


def wait_until(condition, seconds=5.0):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.005)


def address_of(served):
    host, port = served.url.removeprefix("http://").split(":")
    return host, int(port)


def is_idle(served):
    load = served.worker.load
    return (load.running, load.waiting, load.used_blocks) == (0, 0, 0)


def sample(text, name):
    return float(re.search(rf"^mf_infer_{re.escape(name)} (\S+)$", text, re.MULTILINE)[1])


def test_answers_equal_those_of_the_model_itself(new_model, serve):
    params = SamplingParams(temperature=0, max_tokens=12)
    expected = new_model().generate("The cat", params)[0].outputs[0].text
    with serve(new_model()) as served, connected(served) as http:
        body = {"prompt": "The cat", "temperature": 0, "max_tokens": 12}
        assert http.post("/v1/completions", json=body).json()["choices"][0]["text"] == expected


def test_requests_need_one_of_the_keys(new_model, serve):
    with serve(new_model(), keys=frozenset({"first", "second"})) as served, connected(served) as http:
        for header in ({}, {"Authorization": "Bearer third"}, {"Authorization": "first"}, {"Authorization": "Bearer"}):
            refused = http.get("/v1/models", headers=header)
            assert (refused.status_code, refused.headers["www-authenticate"]) == (401, "Bearer")
            assert refused.json()["error"]["code"] == "invalid_api_key"
        assert http.get("/v1/models", headers={"Authorization": "Bearer second"}).status_code == 200
        assert http.get("/v1/models", headers={"Authorization": "bearer first"}).status_code == 200
        assert http.get("/metrics").status_code == 401
        assert http.get("/health").json() == {"status": "ok"}


def test_other_pages_may_read_answers_only_where_they_are_named(new_model, serve):
    asking = {"Origin": "https://page.example", "Access-Control-Request-Method": "POST"}
    with serve(new_model()) as served, connected(served) as http:
        assert http.options("/v1/completions", headers=asking).status_code == 405
        assert "access-control-allow-origin" not in http.get("/health", headers=asking).headers
    named = {"origins": ("https://page.example",), "keys": frozenset({"k"})}
    with serve(new_model(), **named) as served, connected(served) as http:
        assert http.options("/v1/completions", headers=asking).status_code == 200
        allowed = http.get("/health", headers=asking).headers["access-control-allow-origin"]
        assert allowed == "https://page.example"
        other = http.get("/health", headers={"Origin": "https://other.example"})
        assert "access-control-allow-origin" not in other.headers


def test_limits_of_bodies_prompts_and_answers(new_model, serve):
    limits = {"max_body_bytes": 300, "max_prompt_tokens": 5, "max_answers": 2}
    with serve(new_model(), **limits) as served, connected(served) as http:
        long = http.post("/v1/completions", content=json.dumps({"prompt": "x" * 300}))
        assert (long.status_code, long.json()["error"]["type"]) == (413, "invalid_request_error")
        ids = http.post("/v1/completions", json={"prompt": [1, 5, 6, 7, 8, 9]})
        assert (ids.status_code, ids.json()["error"]["message"]) == (
            400,
            "prompt: it has 6 tokens. Allowed: up to 5 on this server.",
        )
        for many in ({"prompt": "x", "n": 3}, {"prompt": ["x", "y"], "best_of": 2}, {"prompt": "x", "num_beams": 3}):
            refused = http.post("/v1/completions", json=many)
            assert (refused.status_code, refused.json()["error"]["param"]) == (400, "n")
        assert http.post("/v1/completions", json={"prompt": "x", "n": 2, "max_tokens": 1}).status_code == 200


def test_every_mistake_is_named(new_model, serve):
    body = {
        "messages": [{"role": "usr", "content": "x"}, {"role": "user", "content": [{"type": "image_url"}]}],
        "temperature": "hot",
        "n": 0,
        "response_format": {"type": "json_object"},
        "top_logprobs": 21,
    }
    with serve(new_model()) as served, connected(served) as http:
        refused = http.post("/v1/chat/completions", json=body)
    assert refused.status_code == 400
    error = refused.json()["error"]
    assert error["param"] == "messages[0].role"
    assert error["message"].splitlines() == [
        "messages[0].role: 'usr' can't be used. Allowed: system, user, assistant, tool. Did you mean user?",
        "messages[1].content[0]: {'type': 'image_url'} can't be used. "
        'Allowed: parts of the form {"type": "text", "text": "…"}.',
        "top_logprobs: 21 can't be used. Allowed: an integer from 0 to 20.",
        "temperature: 'hot' can't be used. Allowed: from 0.",
        "n: 0 can't be used. Allowed: an integer from 1.",
        "response_format: {'type': 'json_object'} can't be used. Allowed: {'type': 'text'}; nothing else is served.",
    ]


def test_paths_and_methods_that_are_not_served(new_model, serve):
    with serve(new_model()) as served, connected(served) as http:
        wrong = http.get("/v1/completions")
        assert (wrong.status_code, wrong.headers["allow"]) == (405, "POST")
        assert http.get("/v1/models/").json()["error"]["message"] == "model: '' is not served."
        assert http.get("/v1/models/other").json()["error"]["code"] == "model_not_found"
        assert http.get("/v1/models/tiny_chat").json()["id"] == "tiny_chat"


def test_content_in_parts_is_read_as_text(new_model, serve):
    parts = [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}]
    with serve(new_model()) as served, connected(served) as http:

        def tokens(content):
            return http.post("/tokenize", json={"messages": [{"role": "user", "content": content}]}).json()["tokens"]

        assert tokens(parts) == tokens("one\ntwo")


def test_a_client_that_leaves_frees_its_blocks_at_once(new_model, serve):
    with serve(new_model(step_s=0.02)) as served, connected(served) as http:
        with http.stream("POST", "/v1/completions", json=LONG_TASK) as answer:
            lines = answer.iter_lines()
            next(lines)
            assert served.worker.load.used_blocks > 0
        wait_until(lambda: is_idle(served), 1.0)
        # One that waits for its whole answer, and one that waits for its turn.
        whole = json.dumps({**LONG_TASK, "stream": False, "n": 4}).encode()
        clients = []
        for _ in range(2):
            client = socket.create_connection(address_of(served))
            head = f"POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Length: {len(whole)}\r\n\r\n"
            client.sendall(head.encode() + whole)
            clients.append(client)
        wait_until(lambda: (served.worker.load.running, served.worker.load.waiting) == (1, 1))
        for client in clients:
            client.close()
        wait_until(lambda: is_idle(served), 1.0)


def test_a_client_that_leaves_before_its_body_has_come_is_no_failure(new_model, serve, caplog):
    caplog.set_level(logging.INFO)
    with serve(new_model()) as served:
        with socket.create_connection(address_of(served)) as client:
            client.sendall(b"POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 50\r\n\r\n{")
        wait_until(lambda: "POST /v1/completions 499" in caplog.text)
    assert "Traceback" not in caplog.text


def test_more_requests_than_allowed_are_sent_away(new_model, serve):
    with serve(new_model(step_s=0.02), max_requests=1) as served, connected(served) as http:
        with http.stream("POST", "/v1/completions", json=LONG_TASK) as answer:
            lines = answer.iter_lines()
            next(lines)
            for stream in (False, True):
                refused = http.post("/v1/completions", json={"prompt": "x", "max_tokens": 1, "stream": stream})
                assert (refused.status_code, refused.headers["retry-after"]) == (429, "1")
                assert refused.json()["error"]["type"] == "rate_limit_error"
        wait_until(lambda: is_idle(served))
        wait_until(lambda: http.post("/v1/completions", json={"prompt": "x", "max_tokens": 1}).status_code == 200)


def test_a_request_that_takes_too_long_ends_with_an_error(new_model, serve):
    with serve(new_model(step_s=0.02), timeout_s=0.3) as served, connected(served) as http:
        slow = http.post("/v1/completions", json={**LONG_TASK, "stream": False})
        assert (slow.status_code, slow.json()["error"]["type"]) == (504, "server_error")
        lines = http.post("/v1/completions", json=LONG_TASK).text.split("\n\n")
        assert "took longer than 0.3 seconds" in json.loads(lines[-2].removeprefix("data: "))["error"]["message"]
        assert "data: [DONE]" not in lines
        assert len(lines) > 3
        wait_until(lambda: is_idle(served))


def test_a_body_that_comes_too_slowly_is_not_waited_for(new_model, serve, monkeypatch):
    monkeypatch.setattr("mf_infer.server.connection._BODY_S", 0.1)
    with serve(new_model()) as served, socket.create_connection(address_of(served)) as client:
        client.sendall(b"POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 50\r\n\r\n{")
        assert client.recv(1000).startswith(b"HTTP/1.1 408 ")


@pytest.mark.parametrize("stream", [False, True])
def test_a_model_without_sense_fails_its_request_and_the_next_is_answered(new_model, serve, stream):
    model = new_model()
    runner = model.engine._runner
    compute = runner.compute
    runner.compute = lambda chunks: [logits * float("nan") for logits in compute(chunks)]
    with serve(model) as served, connected(served) as http:
        failed = http.post("/v1/completions", json={"prompt": "x", "stream": stream})
        assert failed.status_code == 500
        assert "are not finite numbers" in failed.json()["error"]["message"]
        runner.compute = compute
        assert http.post("/v1/completions", json={"prompt": "x"}).status_code == 200
        assert is_idle(served)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_an_engine_that_breaks_ends_the_server_and_nobody_waits(new_model, serve):
    model = new_model(step_s=0.01)
    with serve(model) as served, connected(served) as http, ThreadPoolExecutor(2) as pool:
        streamed = pool.submit(http.post, "/v1/completions", json=LONG_TASK)
        whole = pool.submit(http.post, "/v1/completions", json={**LONG_TASK, "stream": False})
        wait_until(lambda: served.worker.load.running == 2)

        def broken(chunks):
            raise RuntimeError("out of memory")

        model.engine._runner.compute = broken
        assert whole.result().status_code == 503
        assert "the engine has stopped" in streamed.result().text
        served.thread.join(10)
        assert not served.thread.is_alive()
        assert not served.worker.is_sound


def test_told_to_stop_it_ends_what_runs_and_refuses_what_comes(new_model, serve, caplog):
    caplog.set_level(logging.INFO, "mf_infer")
    with serve(new_model(step_s=0.01), drain_s=20.0) as served, connected(served) as http:
        with http.stream("POST", "/v1/completions", json={**LONG_TASK, "max_tokens": 40}) as answer:
            lines = answer.iter_lines()
            next(lines)
            served.server.handle_exit(signal.SIGTERM, None)
            refused = http.post("/v1/completions", json={"prompt": "x"})
            assert (refused.status_code, http.get("/health").json()) == (503, {"status": "draining"})
            assert list(lines)[-2:] == ["data: [DONE]", ""]
        served.thread.join(5)
        assert not served.thread.is_alive()
        assert served.worker.is_sound
    assert "SIGTERM: no new requests, and up to 20 s for those that run" in caplog.text


def test_what_runs_too_long_after_the_signal_is_told_so(new_model, serve):
    with serve(new_model(step_s=0.02), drain_s=0.2) as served, connected(served) as http:
        with http.stream("POST", "/v1/completions", json=LONG_TASK) as answer:
            served.server.handle_exit(signal.SIGTERM, None)
            assert "the engine has stopped" in [line for line in answer.iter_lines() if line][-1]
        served.thread.join(5)
        assert not served.thread.is_alive()


def test_the_log_tells_of_requests_but_not_of_their_text(new_model, serve, caplog):
    caplog.set_level(logging.DEBUG)
    bearing = {"Authorization": "Bearer hidden-key"}
    with serve(new_model(), keys=frozenset({"hidden-key"})) as served, connected(served, headers=bearing) as http:
        http.post("/v1/completions", json={"prompt": "my secret", "max_tokens": 2})
        http.get("/no%0Apath?key=hidden-key")
    lines = [record.getMessage() for record in caplog.records if record.name == "mf_infer.access"]
    assert [re.sub(r"\d\.\d{3}", "T", line) for line in lines] == [
        "127.0.0.1 POST /v1/completions 200 T s",
        "127.0.0.1 GET /no%0Apath 404 T s",
    ]
    ours = [record.getMessage() for record in caplog.records if not record.name.startswith("http")]
    assert not any("secret" in line or "hidden-key" in line for line in ours)


def test_metrics_count_requests_tokens_and_times(new_model, serve):
    with serve(new_model(blocks=41)) as served, connected(served) as http:
        body = {"prompt": [1] + [9] * 40, "max_tokens": 5, "temperature": 0}
        assert http.post("/v1/completions", json=body).status_code == 200
        assert http.post("/v1/completions", json=body).status_code == 200
        http.get("/nothing")
        found = http.get("/metrics")
    assert found.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    expected = {
        'http_responses_total{path="/v1/completions",status="200"}': 2,
        'http_responses_total{path="other",status="404"}': 1,
        "prompt_tokens_total": 82,
        "generated_tokens_total": 10,
        "reused_tokens_total": 32,
        "cache_blocks_used": 0,
        "cache_blocks_free": 40,
        "requests_running": 0,
        "time_to_first_token_seconds_count": 2,
        "time_per_token_seconds_count": 8,
        "request_seconds_count": 2,
        'request_seconds_bucket{le="+Inf"}': 2,
    }
    assert {name: sample(found.text, name) for name in expected} == expected


def test_an_error_of_the_server_itself_has_the_same_shape(new_model, serve, monkeypatch):
    with serve(new_model()) as served, connected(served) as http:

        def broken(*_):
            raise ZeroDivisionError("private")

        monkeypatch.setattr("mf_infer.server.jobs.JobMaker.job", broken)
        failed = http.post("/v1/completions", json={"prompt": "x"})
        assert failed.status_code == 500
        assert failed.json()["error"]["type"] == "server_error"
        assert "private" not in failed.text
        assert is_idle(served)
