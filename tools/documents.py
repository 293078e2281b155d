"""Check the documents: links and named files exist, and examples marked as tested run.

`python tools/documents.py [ROOT]`. An example is tested where its fence says so: three backticks, then `python tested`
or `console tested`. The tested examples of a document run in its order in one fresh folder that shows `examples` and
`packages` as the repository does; in a console example the lines that start with `$ ` are run by bash.
"""

import argparse
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

DOCUMENTS = ("*.md", "docs/**/*.md", "packages/*/*.md", "examples/*.md", "benchmarks/*.md")
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
EXTERNAL = re.compile(r"\w+:")
NAMED_FILE = re.compile(r"`((?:docs|examples|packages|tools|tests|benchmarks|\.ci)/[\w./*{}<>-]+)`")
PLACEHOLDER = re.compile(r"[<{]")
"""What makes a named path a pattern that stands for many, as in `packages/mf-<name>/`."""

FENCE = re.compile(r"^```(\w*)[ ]*(\w*)[^\n]*\n(.*?)^```", re.MULTILINE | re.DOTALL)
EXAMPLE_SECONDS = 600
VISIBLE = ("examples", "packages")
"""Folders of the repository that examples may name."""


@dataclass(frozen=True)
class Example:
    """A fenced example: its language, whether it is marked as tested, its text, and the line where it opens."""

    language: str
    tested: bool
    text: str
    line: int


def examples(document: str) -> Iterator[Example]:
    """The fenced examples of a document, in its order."""
    for match in FENCE.finditer(document):
        line = document.count("\n", 0, match.start()) + 1
        yield Example(match[1], match[2] == "tested", match[3], line)


def broken_references(document: Path, root: Path) -> Iterator[str]:
    """Relative links, and files named in backticks, that do not exist.

    Args:
        document: the Markdown file; its links are relative to its folder.
        root: the repository; named files are relative to it.

    Yields:
        One message for each.
    """
    text = FENCE.sub(lambda match: "\n" * match[0].count("\n"), document.read_text(encoding="utf-8"))
    for number, line in enumerate(text.splitlines(), 1):
        place = f"{document.relative_to(root)}:{number}"
        for target in LINK.findall(line):
            path = target.partition("#")[0]
            if path and not EXTERNAL.match(target) and not (document.parent / path).exists():
                yield f"{place}: the link to {target} leads nowhere"
        for name in NAMED_FILE.findall(line):
            if not PLACEHOLDER.search(name) and not any(root.glob(name)):
                yield f"{place}: there is no {name}"


def run_examples(document: Path, root: Path) -> Iterator[str]:
    """Run the tested examples of one document in a fresh folder.

    Args:
        document: the Markdown file.
        root: the repository.

    Yields:
        One message for each example that fails, with the end of what it printed.
    """
    with tempfile.TemporaryDirectory() as folder:
        for name in VISIBLE:
            (Path(folder) / name).symlink_to(root / name)
        for example in examples(document.read_text(encoding="utf-8")):
            fault = _fault_of(example, folder) if example.tested else ""
            if fault:
                yield f"{document.relative_to(root)}:{example.line}: {fault}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Check every document and print what is wrong.

    Args:
        arguments: the words after the program's name; those of the process where None.

    Returns:
        The exit status: 1 where anything is wrong.
    """
    parser = argparse.ArgumentParser(description="check the documents", allow_abbrev=False)
    parser.add_argument("root", nargs="?", type=Path, default=Path(__file__).parent.parent, help="repository to check")
    root = parser.parse_args(arguments).root.resolve()
    documents = sorted({path for pattern in DOCUMENTS for path in root.glob(pattern)})
    wrong = 0
    for document in documents:
        for message in (*broken_references(document, root), *run_examples(document, root)):
            print(message)
            wrong += 1
    print(f"{len(documents)} documents, {wrong} faults")
    return 1 if wrong else 0


def _fault_of(example: Example, folder: str) -> str:
    """What is wrong with a tested example, empty where it runs."""
    if example.language == "python":
        command = [sys.executable, "-c", example.text]
    elif example.language == "console":
        lines = [line[2:] for line in example.text.splitlines() if line.startswith("$ ")]
        command = ["bash", "-euc", "\n".join(lines)]
    else:
        return "only python and console examples can be tested"
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=EXAMPLE_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"the example runs longer than {EXAMPLE_SECONDS} s"
    return f"the example ends with status {done.returncode}:\n{done.stdout[-2000:]}" if done.returncode else ""


if __name__ == "__main__":
    sys.exit(main())
