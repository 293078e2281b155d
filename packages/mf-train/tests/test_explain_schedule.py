"""What `mf-train explain lr_schedule CONFIG` prints and draws."""

import json
from pathlib import Path

import pytest

from mf_train.cli import main
from mf_train.report.text_plot import HEIGHT, WIDTH, text_plot


def test_the_rates_are_those_of_the_run(run_file: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["explain", "lr_schedule", str(run_file), "--updates", "12", "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["updates"] == 12
    # Two updates of warm-up from 0 to 1e-2, then a cosine to 1e-3 at update 12.
    assert printed["rates"]["0"] == 0
    assert printed["rates"]["1"] == pytest.approx(5e-3)
    assert printed["rates"]["2"] == pytest.approx(1e-2)
    assert printed["rates"]["7"] == pytest.approx(5.5e-3)


def test_a_curve_is_drawn(run_file: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["explain", "lr_schedule", str(run_file), "--plot"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "CosineWithWarmUpLR over 1,000 updates"
    assert lines[1].split() == ["0", "0"]
    assert sum("│" in line for line in lines) == HEIGHT
    assert "█" in lines[12]


def test_total_steps_say_the_length(run_file: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["explain", "lr_schedule", str(run_file), "--set", "lr_schedule.total_steps=40"]) == 0
    assert capsys.readouterr().out.startswith("CosineWithWarmUpLR over 40 updates")


def test_epochs_of_warm_up_are_those_of_the_run(run_file: Path, capsys: pytest.CaptureFixture[str]):
    """The run has two epochs, so one of them is half of the updates."""
    words = [
        "explain",
        "lr_schedule",
        str(run_file),
        "--set",
        "lr_schedule.warmup_epochs=1",
        "--updates",
        "20",
        "--json",
    ]
    assert main(words) == 0
    rates = json.loads(capsys.readouterr().out)["rates"]
    assert rates["2"] == pytest.approx(2e-3)


def test_groups_of_parameters_have_curves_of_their_own(run_file: Path, capsys: pytest.CaptureFixture[str]):
    lines = [line for line in run_file.read_text().splitlines() if not line.startswith("lr_schedule:")]
    constant = "{type: ConstantWarmUpLR, learning_rate: 1.e-5, warmup_steps: 2, params: ['.*wq.*', 'lm_head.weight']}"
    groups = ["grouped_lr_schedule:", "  default: {type: linear, learning_rate: 1.e-3}", f"  grouped: [{constant}]"]
    run_file.write_text("\n".join([*lines, *groups]))
    assert main(["explain", "lr_schedule", str(run_file), "--plot", "--updates", "10"]) == 0
    shown = capsys.readouterr().out
    assert "LinearWithWarmUpLR over 10 updates\n" in shown
    assert "ConstantWarmUpLR over 10 updates of .*wq.*, lm_head.weight\n" in shown
    assert sum("│" in line for line in shown.splitlines()) == 2 * HEIGHT
    assert main(["explain", "lr_schedule", str(run_file), "--updates", "10", "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["rates"]["5"] == pytest.approx(5e-4)
    (group,) = printed["grouped"]
    assert group["params"] == [".*wq.*", "lm_head.weight"]
    assert [group["rates"][str(update)] for update in (0, 1, 2, 9)] == pytest.approx([0, 5e-6, 1e-5, 1e-5])


@pytest.mark.parametrize("words", [["optimizer", "FILE"], ["lr_schedule", "--plot"]])
def test_what_cannot_be_drawn_is_a_mistake(run_file: Path, words: list[str], capsys: pytest.CaptureFixture[str]):
    assert main(["explain", *(str(run_file) if word == "FILE" else word for word in words)]) == 2
    assert "Allowed: lr_schedule CONFIG" in capsys.readouterr().err


def test_a_key_is_explained_as_before(capsys: pytest.CaptureFixture[str]):
    assert main(["explain", "warmup_ratio"]) == 0
    assert "Share of the total that is warm-up" in capsys.readouterr().out


def test_a_straight_line_fills_half_of_the_plot():
    lines = text_plot(float, 100).splitlines()
    assert len(lines) == HEIGHT + 2
    filled = sum(line.count("█") for line in lines)
    assert filled == pytest.approx(WIDTH * HEIGHT / 2, rel=0.15)
    assert lines[0].endswith("█")
    assert lines[-1].split() == ["0", "99"]


def test_a_constant_and_a_single_update_can_be_drawn():
    assert "█" in text_plot(lambda update: 0.5, 10)
    assert "█" in text_plot(lambda update: 0.5, 1)
