"""Compiled libraries: named by all that decides them, whole or not there, and not needed."""

import logging
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from mf_parallel import compiled
from mf_parallel.machine import user_cache

COMPILER = """\
#!/bin/sh
if [ "$1" = --version ]; then echo "stand-in 1"; exit; fi
if [ -e "{folder}/broken" ]; then echo "no such instruction" >&2; exit 1; fi
echo compiled >> "{folder}/calls"
while [ "$1" != -o ]; do shift; done
echo library > "$2"
"""


@pytest.fixture
def compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A compiler that only writes down that it was called; the folder of its records."""
    (tmp_path / "source").mkdir()
    (tmp_path / "source" / "one.cc").write_text("int one;")
    program = tmp_path / "bin" / "c++"
    program.parent.mkdir()
    program.write_text(COMPILER.format(folder=tmp_path))
    program.chmod(0o755)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(compiled.shutil, "which", lambda name: str(program) if name == "c++" else None)
    monkeypatch.delenv(compiled.SWITCH, raising=False)
    return tmp_path


def make(folder: Path) -> Path | None:
    return compiled.compiled_library(folder / "source", "kernels")


def calls(folder: Path) -> int:
    return len((folder / "calls").read_text().splitlines()) if (folder / "calls").exists() else 0


def test_it_is_compiled_once_for_all_processes(compiler: Path):
    first = make(compiler)
    assert first is not None
    assert first.is_absolute()
    assert first.read_text() == "library\n"
    assert make(compiler) == first
    assert calls(compiler) == 1
    assert list(first.parent.iterdir()) == [first]


@pytest.mark.parametrize("change", ["source", "compiler", "processor", "flags"])
def test_whatever_decides_it_is_in_its_name(compiler: Path, monkeypatch: pytest.MonkeyPatch, change: str):
    first = make(compiler)
    if change == "source":
        (compiler / "source" / "other.cc").write_text("int other;")
    elif change == "compiler":
        program = compiler / "bin" / "c++"
        program.write_text(program.read_text().replace("stand-in 1", "stand-in 2"))
    elif change == "processor":
        monkeypatch.setattr(compiled, "processor", lambda: "another one")
    else:
        monkeypatch.setattr(compiled, "_FLAGS", (*compiled._FLAGS, "-g"))
    assert make(compiler) not in (None, first)
    assert calls(compiler) == 2


def test_several_may_compile_at_once(compiler: Path):
    recipe = user_cache("kernels") / "made.so"
    with ThreadPoolExecutor(4) as pool:
        list(
            pool.map(lambda _: compiled._compile(str(compiler / "bin" / "c++"), compiler / "source", recipe), range(4))
        )
    assert recipe.read_text() == "library\n"
    assert list(recipe.parent.iterdir()) == [recipe]


def test_without_a_compiler_there_is_none(compiler: Path, monkeypatch, caplog: pytest.LogCaptureFixture):
    monkeypatch.setattr(compiled.shutil, "which", lambda name: None)
    with caplog.at_level(logging.INFO):
        assert make(compiler) is None
    assert "Install one, for example: apt install g++" in caplog.text


def test_a_compiler_that_fails_leaves_nothing_behind(compiler: Path, caplog: pytest.LogCaptureFixture):
    (compiler / "broken").touch()
    assert make(compiler) is None
    assert "no such instruction" in caplog.text
    assert list(user_cache("kernels").iterdir()) == []


def test_a_cache_that_cannot_be_written_is_no_failure(compiler: Path, monkeypatch, caplog: pytest.LogCaptureFixture):
    (compiler / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(compiler / "file"))
    assert make(compiler) is None
    assert "can't be compiled" in caplog.text


def test_a_switch_leaves_it_out(compiler: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv(compiled.SWITCH, "0")
    assert make(compiler) is None
    assert calls(compiler) == 0
