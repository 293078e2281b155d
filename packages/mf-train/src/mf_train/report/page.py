"""The page: numbers at a glance, curves, what was read, how it was configured, what it ran on."""

from collections.abc import Iterator, Mapping
from html import escape
from importlib.resources import files
from statistics import median

from mf_train.report.chart import chart
from mf_train.report.run_records import Points, RunRecords
from mf_train.report.scale import short

_TITLES = {
    "lr": "Learning rate",
    "grad_norm": "Norm of the gradients",
    "tokens_per_second": "Tokens a second",
    "loss_scale": "Loss scale",
}
"""Curves that always come first, with their titles; the others have their own names."""

_MOST_OPERATORS = 12

_LOGARITHMIC = frozenset({"grad_norm", "loss_scale", "perplexity"})


def render(run: RunRecords) -> str:
    """The report of a run as one HTML document, without scripts and without anything to load.

    Args:
        run: its records.
    """
    style = (files("mf_train.report") / "page.css").read_text(encoding="utf-8")
    about = f"{run.steps:,} steps, {run.tokens:,} targets"
    sections = [
        f'<div class="tiles">{"".join(_tiles(run))}</div>',
        f'<h2>Curves</h2><div class="charts">{"".join(_charts(run))}</div>',
        *_operators(run),
        *_samples(run),
        *_configuration(run),
        *_environment(run.environment),
    ]
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(run.name)}</title><style>{style}</style></head>"
        f'<body><h1>{escape(run.name)}</h1><p class="about">{about}</p>{"".join(sections)}</body></html>\n'
    )


def _tiles(run: RunRecords) -> Iterator[str]:
    """The last value of what matters most."""
    last = {name: points.values[-1] for name, points in run.training.items()}
    if "loss" in last:
        yield _tile("loss of the last step", short(last["loss"]))
    for name, points in run.evaluation.items():
        yield _tile(f"{name}, held-out text", short(points.values[-1]))
    if "tokens_per_second" in run.training:
        yield _tile("tokens a second, median", short(median(run.training["tokens_per_second"].values)))
    if run.overflows:
        yield _tile("steps that overflowed", short(run.overflows))


def _tile(name: str, value: str) -> str:
    return f'<div class="tile"><b>{escape(value)}</b><span>{escape(name)}</span></div>'


def _charts(run: RunRecords) -> Iterator[str]:
    training, evaluation = dict(run.training), dict(run.evaluation)
    losses: dict[str, Points] = {}
    if "loss" in training:
        losses["training"] = training.pop("loss")
    if "loss" in evaluation:
        losses["held-out text"] = evaluation.pop("loss")
    if losses:
        yield chart("Loss", losses)
    for name, title in _TITLES.items():
        # A loss scale that never changes says nothing.
        if name in training and not (name == "loss_scale" and len(set(training[name].values)) == 1):
            yield chart(title, {title: training[name]}, name in _LOGARITHMIC)
    for name, points in training.items():
        if name not in _TITLES:
            yield chart(name, {name: points})
    for name, points in evaluation.items():
        yield chart(f"{name}, held-out text", {name: points}, name in _LOGARITHMIC)


def _operators(run: RunRecords) -> Iterator[str]:
    """Where the time of the profiled steps went."""
    if not run.operators:
        return
    rows = (
        f"<tr><td>{escape(str(row['operator']))}</td><td>{row['calls']:,}</td>"
        f"<td>{row['milliseconds']:,.1f} ms</td><td>{row['share']:.1%}</td></tr>"
        for row in run.operators[:_MOST_OPERATORS]
    )
    yield f"<h2>The hottest operators</h2><table>{''.join(rows)}</table>"


def _samples(run: RunRecords) -> Iterator[str]:
    if not run.samples:
        return
    yield "<h2>What the run reads</h2><p class='about'>The first rows; what counts in the loss is underlined.</p>"
    for sample in run.samples:
        parts = (f'<span class="{"counts" if counts else "silent"}">{escape(text)}</span>' for text, counts in sample)
        yield f'<div class="sample">{"".join(parts)}</div>'


def _configuration(run: RunRecords) -> Iterator[str]:
    if run.configuration:
        text = escape(run.configuration)
        yield f"<h2>Configuration</h2><details><summary>with every default</summary><pre>{text}</pre></details>"


def _environment(environment: Mapping[str, str]) -> Iterator[str]:
    if environment:
        rows = (f"<tr><td>{escape(name)}</td><td>{escape(value)}</td></tr>" for name, value in environment.items())
        yield f"<h2>Environment</h2><table>{''.join(rows)}</table>"
