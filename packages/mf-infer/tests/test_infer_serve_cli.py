import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from mf_config.problems import UserError
from mf_infer.cli import main
from mf_infer.server.options import ServerOptions, read_keys
from mf_infer.server.serving import bind

DATA = Path(__file__).parent / "data"
RECORD = json.loads((DATA / "tiny_chat" / "golden.json").read_text())["records"][0]


def test_keys_come_from_a_file_and_from_the_environment(tmp_path):
    file = tmp_path / "keys"
    file.write_text("# ours\n\n first \nsecond\n")
    assert read_keys(file, {"MF_INFER_API_KEYS": "third, fourth"}) == {"first", "second", "third", "fourth"}
    assert read_keys(None, {}) == set()


def test_a_file_without_a_key_leaves_no_server_open(tmp_path):
    file = tmp_path / "keys"
    file.write_text("# nothing\n")
    with pytest.raises(UserError, match=r"holds no API key"):
        read_keys(file, {})
    with pytest.raises(UserError, match=r"can't be read"):
        read_keys(tmp_path / "missing", {})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"name": ""}, "name: '' can't be used. Allowed: 1 to 200 characters."),
        ({"max_requests": 0}, "max_requests: 0 can't be used. Allowed: an integer from 1."),
        ({"timeout_s": 0.0}, "timeout: 0.0 can't be used. Allowed: seconds above 0."),
        ({"drain_s": -1}, "drain: -1 can't be used. Allowed: seconds from 0."),
        (
            {"keys": frozenset({"ü"})},
            "API key: 'of other characters' can't be used. Allowed: printable ASCII characters.",
        ),
    ],
)
def test_options_that_can_not_be_used(change, message):
    with pytest.raises(UserError) as caught:
        ServerOptions(**{"name": "m", **change})
    assert str(caught.value) == message


def test_keys_are_not_shown():
    assert "hidden" not in repr(ServerOptions(name="m", keys=frozenset({"hidden"})))


def test_an_address_in_use_is_found_before_the_model_is_loaded(capsys):
    with bind("127.0.0.1", 0) as taken:
        taken.listen()
        port = str(taken.getsockname()[1])
        assert main(["serve", "no such model", "--port", port]) == 1
        assert capsys.readouterr().err == f"mf-infer: 127.0.0.1:{port}: Address already in use\n"
    assert main(["serve", "no such model", "--port", "70000"]) == 2
    assert capsys.readouterr().err == "port: 70000 can't be used. Allowed: 0 to 65535.\n"
    assert main(["serve", "no such model", "--port", "0"]) == 2
    assert capsys.readouterr().err == "no such model: no such file or folder.\n"


def test_the_program_serves_until_it_is_told_to_stop(tmp_path):
    code = "import sys; from mf_infer.cli import main; sys.exit(main(sys.argv[1:]))"
    command = [sys.executable, "-c", code, "serve", str(DATA / "tiny_chat"), "--port", "0"]
    variables = {**os.environ, "MF_INFER_API_KEYS": "k"}
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, cwd=tmp_path, env=variables) as server:
        lines = []
        for line in server.stderr:
            lines.append(line)
            if found := re.search(r"serving tiny_chat on (http://127\.0\.0\.1:\d+)", line):
                break
        with httpx.Client(base_url=found[1], headers={"Authorization": "Bearer k"}, timeout=100) as http:
            body = {"prompt": RECORD["prompt"], "temperature": 0, "max_tokens": 32}
            assert http.post("/v1/completions", json=body).json()["choices"][0]["text"] == RECORD["text"]
        server.send_signal(signal.SIGTERM)
        rest = server.stderr.read()
        assert server.wait(20) == 0
    assert "POST /v1/completions 200" in rest
    assert "SIGTERM" in rest
    assert "Traceback" not in "".join(lines) + rest
