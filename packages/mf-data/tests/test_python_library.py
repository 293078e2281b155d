import hashlib
import json
import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from mf_config.problems import UserError
from mf_data.document import Document
from mf_data.loaders import python_library
from mf_data.loaders.python_library import PythonLibraryDataLoader


@pytest.fixture(scope="module")
def train() -> list[Document]:
    return list(PythonLibraryDataLoader(split="train").documents())


@pytest.fixture(scope="module")
def held_out() -> list[Document]:
    return list(PythonLibraryDataLoader(split="eval").documents())


def size(documents: list[Document]) -> int:
    return sum(len(document.text.encode()) for document in documents)


def long_lines(documents: list[Document]) -> set[str]:
    lines = {line.strip() for document in documents for line in document.text.splitlines()}
    return {line for line in lines if len(line) >= 40}


def test_there_are_megabytes_of_code_and_of_prose(train):
    assert size(train) > 2_000_000
    assert size([document for document in train if document.name.startswith("topic/")]) > 200_000
    assert "module/argparse.py" in {document.name for document in train}


def test_about_a_twentieth_is_held_out(train, held_out):
    assert 0.02 < size(held_out) / size(train) < 0.1


def test_splits_share_no_document_and_little_text(train, held_out):
    assert not {document.name for document in train} & {document.name for document in held_out}
    asked = long_lines(held_out)
    assert len(asked & long_lines(train)) / len(asked) < 0.1


def test_documents_come_in_order_of_names(train):
    names = [document.name for document in train]
    assert names == sorted(names)


def test_parts_that_distributions_leave_out_are_not_read(train, held_out):
    parts = {part for document in [*train, *held_out] for part in Path(document.name).parts}
    assert not parts & {"test", "tests", "idlelib", "site-packages", "lib2to3", "ensurepip", "tkinter"}


def test_topics_that_stand_inside_others_are_left_out(train, held_out):
    names = {document.name for document in [*train, *held_out]}
    assert "topic/compound" in names
    assert not names & {"topic/for", "topic/while", "topic/with"}


def test_the_bytes_depend_on_neither_process_nor_folder(train, tmp_path):
    (tmp_path / "argparse.py").write_text("# not the module of the library\n")
    program = (
        "import hashlib, json\n"
        "from mf_data.loaders.python_library import PythonLibraryDataLoader\n"
        "documents = list(PythonLibraryDataLoader(split='train').documents())\n"
        "print(hashlib.sha256(json.dumps([[d.name, d.text] for d in documents]).encode()).hexdigest())\n"
    )
    environment = {**os.environ, "PYTHONHASHSEED": "12345"}
    command = [sys.executable, "-P", "-c", program]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True)
    here = hashlib.sha256(json.dumps([[d.name, d.text] for d in train]).encode()).hexdigest()
    assert done.stdout.strip() == here


def use_library(monkeypatch, folder: Path, topics: dict[str, str]) -> None:
    monkeypatch.setattr(sysconfig, "get_path", lambda name: str(folder))
    monkeypatch.setattr(python_library, "topics", topics)


def test_modules_that_are_missing_are_passed_over(monkeypatch, tmp_path):
    body = "\n".join(f"value_{i} = 'a line that is long enough to count {i}'" for i in range(50))
    (tmp_path / "json").mkdir()
    (tmp_path / "json" / "decoder.py").write_text(body)
    (tmp_path / "json" / "encoder.py").write_text(body.replace("value", "other"))
    (tmp_path / "json" / "test").mkdir()
    (tmp_path / "json" / "test" / "test_it.py").write_text(body.replace("value", "check"))
    (tmp_path / "unknown_module.py").write_text(body.replace("value", "unknown"))
    use_library(monkeypatch, tmp_path, {})
    found = [document.name for document in PythonLibraryDataLoader(split="train").documents()]
    assert found == ["module/json/decoder.py", "module/json/encoder.py"]


def test_documents_that_mostly_repeat_larger_ones_are_left_out(monkeypatch, tmp_path):
    def lines(first: int, last: int) -> str:
        return "\n".join(f"line {i} of a text, long enough not to be a common phrase" for i in range(first, last))

    topics = {
        "large": lines(0, 20),
        "mostly old": f"{lines(10, 15)}\n{lines(30, 33)}",
        "mostly new": f"{lines(0, 3)}\n{lines(40, 44)}",
        "few": "a short line",
    }
    use_library(monkeypatch, tmp_path, topics)
    found = [document.name for document in PythonLibraryDataLoader(split="train").documents()]
    assert found == ["topic/large", "topic/mostly new"]


def test_a_python_without_source_text_is_a_users_problem(monkeypatch, tmp_path):
    use_library(monkeypatch, tmp_path, {})
    with pytest.raises(UserError, match="this Python carries no source text of its library"):
        list(PythonLibraryDataLoader().documents())
