"""Strategy files: how MindSpore divided the parameters of a run, one file for each rank or pipeline stage.

A file is binary, or JSON where its name ends in `.json`. That of a run has one stage; a merged file has all of them and
names its parameters `STAGE-NAME`.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from mf_ckpt.disk.atomic_file import atomic_file
from mf_ckpt.disk.files import CheckpointError, read_json
from mf_ckpt.formats.mindspore_ckpt import strategy_json, strategy_message
from mf_ckpt.formats.mindspore_ckpt.parallel_layout import ParallelLayout
from mf_config.problems import UserError

_MERGED_NAME = re.compile(r"(\d{1,6})-(.+)\Z", re.DOTALL)
_MOST_BYTES = 256 * 1024 * 1024
"""A larger file is no strategy file: 100,000 parameters take about 10 MB."""


@dataclass(frozen=True, slots=True)
class Strategy:
    """The content of a strategy file.

    Attributes:
        stages: pipeline stage to the layouts of its parameters, by name; in the order of the stages.
    """

    stages: Mapping[int, Mapping[str, ParallelLayout]]


def read_strategy(path: str | Path) -> Strategy:
    """Read a strategy file of one stage, or a merged one.

    Args:
        path: the file; JSON where its name ends in `.json`.

    Returns:
        The layouts.

    Raises:
        CheckpointError: the file is missing or damaged, or divides a parameter in a way that isn't supported.
    """
    path = Path(path)
    if not path.is_file() or path.stat().st_size > _MOST_BYTES:
        raise CheckpointError(path, f"is no strategy file. Allowed: a file of at most {_MOST_BYTES} bytes.")
    try:
        is_json = path.name.endswith(".json")
        stage, layouts = strategy_json.parse(read_json(path)) if is_json else strategy_message.parse(path.read_bytes())
        if not layouts:
            raise UserError("names no parameters, so it is no strategy file")
        return _by_stage(stage, layouts)
    except CheckpointError:
        raise
    except UserError as error:
        raise CheckpointError(path, str(error)) from None


def merge_strategies(strategies: Iterable[tuple[Path, Strategy]]) -> Strategy:
    """The stages of several files as one strategy.

    Args:
        strategies: each with the file that it comes from; those of one stage must say the same.

    Returns:
        All stages, in order.

    Raises:
        CheckpointError: two files divide the same stage differently.
    """
    stages: dict[int, Mapping[str, ParallelLayout]] = {}
    for path, strategy in strategies:
        for stage, layouts in strategy.stages.items():
            if stages.setdefault(stage, layouts) != layouts:
                raise CheckpointError(path, f"divides the parameters of stage {stage} differently from another file")
    return Strategy(dict(sorted(stages.items())))


def write_strategy(path: str | Path, strategy: Strategy) -> None:
    """Write a strategy file that MindSpore reads; one with several stages takes the form of a merged file.

    Args:
        path: the file, replaced where there is one; JSON where its name ends in `.json`.
        strategy: at least one stage with at least one parameter.
    """
    path = Path(path)
    merged = len(strategy.stages) > 1
    entries = [
        (stage, name, f"{stage}-{name}" if merged else name, layout)
        for stage, layouts in strategy.stages.items()
        for name, layout in layouts.items()
    ]
    form = strategy_json if path.name.endswith(".json") else strategy_message
    with atomic_file(path) as file:
        file.write(form.render(entries))


def _by_stage(stage: int, layouts: Mapping[str, ParallelLayout]) -> Strategy:
    matches = [(_MERGED_NAME.match(name), layout) for name, layout in layouts.items()]
    stages: dict[int, dict[str, ParallelLayout]] = {}
    for match, layout in matches:
        if match is None:
            return Strategy({stage: layouts})
        stages.setdefault(int(match[1]), {})[match[2]] = layout
    return Strategy(dict(sorted(stages.items())))
