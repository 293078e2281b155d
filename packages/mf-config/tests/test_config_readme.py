import re
from pathlib import Path

import pytest

README = Path(__file__).parents[1] / "README.md"


def test_the_examples_of_the_readme_run_and_print_what_it_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": __name__}
    blocks = re.findall(r"^```(python|text)\n(.*?)^```$", README.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    assert [language for language, _ in blocks] == ["python", "text", "python", "text", "python"]
    for language, block in blocks:
        if language == "python":
            exec(compile(block, str(README), "exec"), names)
        else:
            assert capsys.readouterr().out == block
