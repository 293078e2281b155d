"""The script half of noxfile.py: it hands its arguments to nox under a Python that the packages support."""

import importlib.util
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

NOXFILE = Path(__file__).parent.parent / "noxfile.py"
ECHO = "import sys; print(*sys.argv[1:], sep='|')"


@pytest.fixture
def fake_nox(tmp_path, monkeypatch):
    package = tmp_path / "site" / "nox"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "__main__.py").write_text(ECHO)
    monkeypatch.setenv("PYTHONPATH", str(package.parent))


@pytest.mark.parametrize(
    ("words", "handed_over"),
    [
        (["tests", "--", "-k", "layout"], ["--session", "tests", "--", "-k", "layout"]),
        (["lint", "build"], ["--session", "lint", "build"]),
        (["--list"], ["--list"]),
        ([], ["--list"]),
    ],
)
def test_words_become_sessions_of_nox(fake_nox, words, handed_over):
    done = subprocess.run([sys.executable, NOXFILE, *words], capture_output=True, text=True, check=True)

    assert done.stdout.strip().split("|") == ["--noxfile", str(NOXFILE), *handed_over]


def test_unsupported_python_is_told_what_to_install(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(sys, "version_info", (3, 14, 1))
    monkeypatch.setattr(sys, "argv", [str(NOXFILE), "tests"])
    monkeypatch.setenv("PATH", str(tmp_path))

    with pytest.raises(SystemExit, match=r"^2$"):
        runpy.run_path(str(NOXFILE), run_name="__main__")

    assert capsys.readouterr().err == (
        "noxfile.py: this is Python 3.14.1, and no python3.11 or python3.12 is on PATH. Install Python 3.11 or 3.12.\n"
    )


def test_a_name_on_path_that_starts_no_python_is_passed_over(monkeypatch, tmp_path, capsys):
    broken = tmp_path / "python3.11"
    broken.write_text("#!/bin/sh\nexit 127\n")
    broken.chmod(0o755)
    monkeypatch.setattr(sys, "version_info", (3, 10, 0))
    monkeypatch.setattr(sys, "argv", [str(NOXFILE), "tests"])
    monkeypatch.setenv("PATH", str(tmp_path))

    with pytest.raises(SystemExit, match=r"^2$"):
        runpy.run_path(str(NOXFILE), run_name="__main__")

    assert "this is Python 3.10.0" in capsys.readouterr().err


def test_a_python_without_venv_is_told_how_to_get_it(monkeypatch, tmp_path, capsys):
    crippled = tmp_path / "python3"
    crippled.write_text("#!/bin/sh\nexit 1\n")
    crippled.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(crippled))
    monkeypatch.setattr(sys, "argv", [str(NOXFILE), "tests"])
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    monkeypatch.setenv("MF_ENV_DIR", str(tmp_path / "environments"))

    with pytest.raises(SystemExit, match=r"^2$"):
        runpy.run_path(str(NOXFILE), run_name="__main__")

    assert "python3 cannot make virtual environments" in capsys.readouterr().err
