import json
from pathlib import Path

import pytest

from mf_config.cli.commands import MIGRATE
from mf_config.command_line import FAILURE, OK, USER_ERROR, run_command_line

OLD = b"run_mode: fintune\r\nseed: 1\r\n"
NEW = b"run_mode: finetune\r\nseed: 1\r\n"
CHANGE = "run_mode: fintune -> finetune: misspelt"


@pytest.fixture
def old(tmp_path: Path) -> Path:
    path = tmp_path / "old.yaml"
    path.write_bytes(OLD)
    return path


def run(*words: str | Path) -> int:
    return run_command_line("mf-config", "Checks.", [MIGRATE], ["migrate", *map(str, words)])


def test_the_text_goes_to_standard_output_and_the_changes_to_standard_error(
    old: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    assert run(old) == OK
    out, err = capfdbinary.readouterr()
    assert out == NEW
    assert err.decode() == f"{old}:1: {CHANGE}\n{old}: 1 change, 0 left to do by hand\n"
    assert old.read_bytes() == OLD


def test_another_file_is_written(old: Path, tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    assert run(old, "-o", tmp_path / "new.yaml") == OK
    assert capfdbinary.readouterr().out.decode().startswith(f"{old}:1: {CHANGE}\n")
    assert (tmp_path / "new.yaml").read_bytes() == NEW
    assert sorted(path.name for path in tmp_path.iterdir()) == ["new.yaml", "old.yaml"]


def test_in_place_keeps_the_mode_the_link_and_the_byte_order_mark(old: Path, tmp_path: Path) -> None:
    old.write_bytes(b"\xef\xbb\xbf" + OLD)
    old.chmod(0o640)
    link = tmp_path / "link.yaml"
    link.symlink_to(old)
    assert run(link, "--in-place") == OK
    assert old.read_bytes() == b"\xef\xbb\xbf" + NEW
    assert old.stat().st_mode & 0o777 == 0o640
    assert link.is_symlink()


def test_in_place_does_not_touch_a_file_without_changes(old: Path, capsys: pytest.CaptureFixture[str]) -> None:
    old.write_bytes(NEW)
    before = old.stat()
    assert run(old, "--in-place") == OK
    assert (old.stat().st_mtime_ns, old.stat().st_ino) == (before.st_mtime_ns, before.st_ino)
    assert capsys.readouterr().out == f"{old}: nothing to migrate\n"


def test_a_write_that_fails_leaves_the_old_file(old: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: Path, __: Path) -> None:
        raise OSError("no space")

    monkeypatch.setattr(Path, "replace", fail)
    assert run(old, "--in-place") == FAILURE
    assert old.read_bytes() == OLD
    assert [path.name for path in old.parent.iterdir()] == ["old.yaml"]


def test_check_writes_nothing_and_tells_by_its_status(old: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(old, "--check") == FAILURE
    assert CHANGE in capsys.readouterr().out
    assert old.read_bytes() == OLD
    old.write_bytes(NEW)
    assert run(old, "--check") == OK


def test_json(old: Path, capfd: pytest.CaptureFixture[str]) -> None:
    old.write_bytes(OLD + b"old_wrapper: {}\nparallel_config: {optimizer_shard: True, x: 1}\n")
    assert run(old, "--json") == FAILURE
    found = json.loads(capfd.readouterr().out)
    assert found["file"] == str(old)
    assert [(note["line"], note["path"], note["why"]) for note in found["changes"]] == [(1, "run_mode", "misspelt")]
    assert [(note["line"], note["since"]) for note in found["by_hand"]] == [(4, "0.7")]
    assert found["text"].startswith(NEW.decode())


def test_something_left_to_do_is_a_failure(old: Path, capsys: pytest.CaptureFixture[str]) -> None:
    old.write_bytes(b"parallel_config: {optimizer_shard: True, x: 1}\n")
    assert run(old, "--in-place") == FAILURE
    assert "write parallel.enable_parallel_optimizer by hand" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("content", "message"),
    [(b"seed: 1\nseed: 2\n", "written twice"), (b"a: [\n", "old.yaml:"), (b"\xff\n", "UTF-8")],
)
def test_a_file_that_is_no_configuration_is_a_message(
    old: Path, capsys: pytest.CaptureFixture[str], content: bytes, message: str
) -> None:
    old.write_bytes(content)
    assert run(old, "--in-place") == USER_ERROR
    assert message in capsys.readouterr().err
    assert old.read_bytes() == content


def test_two_targets_are_wrong_use(old: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(old, "--in-place", "--check") == USER_ERROR
    assert "not allowed with" in capsys.readouterr().err
