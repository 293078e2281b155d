"""The check of documents finds what a reader would stumble over."""

import pytest

from documents import main


@pytest.fixture
def repository(tmp_path):
    for folder in ("docs", "examples", "packages"):
        (tmp_path / folder).mkdir()
    (tmp_path / "docs" / "guide.md").write_text("# Guide\n\n[home](../README.md) and [far](https://example.org/x)\n")
    (tmp_path / "examples" / "run.yaml").write_text("seed: 7\n")
    return tmp_path


def check(repository, readme, capsys):
    (repository / "README.md").write_text(readme)
    status = main([str(repository)])
    return status, capsys.readouterr().out.splitlines()


def test_links_and_names_that_exist_pass(repository, capsys):
    readme = "[guide](docs/guide.md#start), `examples/run.yaml`, `examples/*.yaml`, `packages/mf-<name>/README.md`\n"

    assert check(repository, readme, capsys) == (0, ["2 documents, 0 faults"])


def test_a_dead_link_and_a_missing_file_are_told_with_their_line(repository, capsys):
    status, lines = check(repository, "\n[gone](docs/gone.md)\nsee `examples/gone.yaml`\n", capsys)

    assert status == 1
    assert lines[:2] == [
        "README.md:2: the link to docs/gone.md leads nowhere",
        "README.md:3: there is no examples/gone.yaml",
    ]


def test_tested_examples_run_in_order_in_one_folder_outside_the_repository(repository, capsys):
    readme = (
        "```python tested\nopen('made.txt', 'w').write('x')\n```\n"
        "```console tested\n$ test -f made.txt\nshown, not run: exit 1\n$ grep seed examples/run.yaml\n```\n"
        "```python\nraise SystemExit(3)\n```\n"
    )

    assert check(repository, readme, capsys) == (0, ["2 documents, 0 faults"])
    assert not (repository / "made.txt").exists()


@pytest.mark.parametrize(
    ("fence", "message"),
    [
        ("```python tested\nraise ValueError('no such thing')\n```\n", "the example ends with status 1"),
        ("```console tested\n$ false\n$ true\n```\n", "the example ends with status 1"),
        ("```yaml tested\na: 1\n```\n", "only python and console examples can be tested"),
    ],
)
def test_an_example_that_fails_is_told_with_the_line_of_its_fence(repository, capsys, fence, message):
    status, lines = check(repository, f"# Title\n\n{fence}", capsys)

    assert status == 1
    assert lines[0].startswith(f"README.md:3: {message}")
