"""The page of a run: what it reads, what it draws, and that nothing in it is taken for markup."""

import json
import math
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mf_config.problems import UserError
from mf_train.cli import main
from mf_train.records.output import OutputFolder
from mf_train.report import read_run, render
from mf_train.report.chart import chart, thin
from mf_train.report.run_records import Points
from mf_train.report.scale import Scale, short


@pytest.fixture
def output(tmp_path: Path) -> OutputFolder:
    """The folder of a run of 300 steps with two evaluations, one overflow, and a last line that a crash cut short."""
    output = OutputFolder(tmp_path / "my <run>")
    output.root.mkdir()
    steps = [
        {"step": step, "epoch": 1, "loss": 3 / step, "lr": 1e-3, "tokens": 10 * step, "overflow": step == 7}
        | {"grad_norm": None if step == 7 else 0.5, "tokens_per_second": 100.0, "layer 0 balance": 0.25}
        for step in range(1, 301)
    ]
    output.metrics.write_text("".join(json.dumps(step) + "\n" for step in steps) + '{"step": 301, "lo')
    output.evaluations.write_text('{"step": 0, "loss": 4.5, "perplexity": 90.0}\n{"step": 300, "loss": 2.0}\n')
    output.samples.write_text(json.dumps({"parts": [["<script>alert(1)</script>", False], ["an answer", True]]}) + "\n")
    output.profile.mkdir()
    row = {"operator": "MatMul", "calls": 1200, "milliseconds": 34.56, "share": 0.871}
    (output.profile / "operators.jsonl").write_text(json.dumps(row) + "\n")
    output.resolved_config.write_text("seed: 1 # <b>\n")
    output.environment.write_text('{"device": "CPU"}')
    return output


def test_records_are_read_as_curves(output: OutputFolder):
    run = read_run(output)
    assert (run.name, run.steps, run.tokens, run.overflows) == ("my <run>", 300, 3000, 1)
    assert list(run.training) == ["loss", "lr", "grad_norm", "tokens_per_second", "layer 0 balance"]
    assert run.training["loss"].values[:3] == (3.0, 1.5, 1.0)
    assert 7 not in run.training["grad_norm"].steps
    assert run.evaluation["loss"] == Points((0, 300), (4.5, 2.0))
    assert run.evaluation["perplexity"] == Points((0,), (90.0,))
    assert run.samples == ((("<script>alert(1)</script>", False), ("an answer", True)),)


def test_a_folder_without_metrics_is_a_mistake(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    with pytest.raises(UserError, match=r"holds no metrics\.jsonl\. Allowed: the output_dir of a training run"):
        read_run(OutputFolder(tmp_path))
    assert main(["report", str(tmp_path)]) == 2
    assert list(tmp_path.iterdir()) == []


class Page(HTMLParser):
    """Checks that elements are closed in order, and gathers what a reader sees."""

    def __init__(self, text: str):
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.seen = ""
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.tags.append(tag)
        if tag != "meta":
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: object) -> None:
        self.tags.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.seen += data if self.open and self.open[-1] != "style" else ""


def test_the_page_stands_alone_and_takes_nothing_for_markup(output: OutputFolder):
    text = render(read_run(output))
    page = Page(text)
    assert not {"script", "link", "img", "b>", "iframe"} & set(page.tags)
    assert "http" not in text.replace("http-equiv", "")
    assert "@media (prefers-color-scheme: dark)" in text
    assert page.tags.count("figure") == 6
    for shown in (
        "<script>alert(1)</script>",
        "seed: 1 # <b>",
        "my <run>",
        "held-out text",
        "layer 0 balance",
        "1,20034.6 ms87.1%",
    ):
        assert shown in page.seen
    assert '<span class="counts">an answer</span>' in text


def test_the_command_writes_it_where_it_is_asked(output: OutputFolder, tmp_path: Path, capsys):
    assert main(["report", str(output.root)]) == 0
    assert output.report.read_text() == render(read_run(output))
    assert main(["report", str(output.root), "--to", str(tmp_path / "there.html"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out.splitlines()[-1]) == {"report": str(tmp_path / "there.html")}
    assert (tmp_path / "there.html").read_bytes() == output.report.read_bytes()


def test_a_run_of_one_step_has_charts_too(output: OutputFolder):
    output.metrics.write_text('{"step": 1, "loss": 0.0, "tokens": 0, "tokens_per_second": 0.0}\n')
    output.evaluations.unlink()
    assert Page(render(read_run(output))).tags.count("figure") == 2


def test_a_run_whose_first_step_is_still_to_come_has_a_page(output: OutputFolder):
    output.metrics.write_text("")
    assert "0 steps, 0 targets" in Page(render(read_run(output))).seen


def test_thinning_keeps_the_ends_and_every_spike():
    values = [math.sin(step / 300) for step in range(20_000)]
    values[7777] = 40.0
    thinned = thin(Points(tuple(range(20_000)), tuple(values)))
    assert len(thinned.steps) <= 602
    assert (thinned.steps[0], thinned.steps[-1]) == (0, 19_999)
    assert (max(thinned.values), min(thinned.values)) == (40.0, min(values))
    assert all(value == values[step] for step, value in zip(thinned.steps, thinned.values, strict=True))


@given(st.lists(st.floats(-1e12, 1e12), min_size=1, max_size=30), st.booleans())
def test_all_numbers_lie_on_their_scale(values: list[float], logarithmic: bool):
    scale = Scale.over(values, logarithmic)
    assert all(-1e-6 <= scale.place(value) <= 1 + 1e-6 for value in values)
    marks = scale.marks(5)
    assert marks == sorted(marks)
    assert len(marks) <= 12
    assert all(-1e-6 <= scale.place(mark) <= 1 + 1e-6 for mark in marks)


@pytest.mark.parametrize(
    ("low", "high", "logarithmic", "expected"),
    [
        (0.0, 10.0, False, [0, 2, 4, 6, 8, 10]),
        (0.31, 0.62, False, [0.4, 0.5, 0.6]),
        (1.0, 1e6, True, [1, 1e2, 1e4, 1e6]),
        (3.0, 4000.0, True, [10, 100, 1000]),
        (0.3, 4.0, True, [0.5, 1, 2]),
    ],
)
def test_marks_are_round(low: float, high: float, logarithmic: bool, expected: list[float]):
    assert Scale(low, high, logarithmic).marks(5) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.00012345, "0.0001234"),
        (3.2e-7, "3.2e-07"),
        (2.5, "2.5"),
        (12_345.6, "12,346"),
        (1.5e6, "1.5 M"),
        (-2e9, "-2 G"),
    ],
)
def test_numbers_are_short(value: float, text: str):
    assert short(value) == text


def test_a_few_points_have_dots_and_many_have_spots_to_point_at():
    few = chart("few", {"a": Points((1, 2), (1.0, 2.0))})
    assert few.count('class="dot c0"') == 2
    many = chart("many", {"a": Points(tuple(range(100)), tuple(map(float, range(100))))})
    assert many.count('class="spot c0"') == 100
    assert "a, step 99: 99" in many


@pytest.mark.parametrize(("step", "marks"), [(0, {"0", "1"}), (300, {"300", "301"})])
def test_a_single_point_has_no_step_below_it(step: int, marks: set[str]):
    drawn = chart("one", {"a": Points((step,), (2.5,))})
    assert set(re.findall(r'text-anchor="middle">([^<]+)<', drawn)) == marks
